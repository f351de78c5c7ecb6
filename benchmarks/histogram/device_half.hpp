#pragma once

#include "histogram/plan.hpp"
#include "report/record.hpp"

#include <vector>

namespace boxsum::bench {

/// The half of `boxsum bench hist` that needs a GPU: the case's variants on the current device beside a memset of the
/// tensor, their parts and the transfers. Every result is compared with the CPU's. What fails becomes a row that says
/// so. Where CUDA was not built this throws unsupported.
std::vector<histogram_row> measure_on_device(const tensor_case& c, const histogram_bench_options& options);

}  // namespace boxsum::bench
