#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"

#include <cstdint>
#include <vector>

namespace boxsum::bench {

/// The half of `boxsum bench hist` that needs a GPU: the case's variants on the current device beside a memset of the
/// tensor, their parts and the transfers. Every result is compared with the CPU's. What fails becomes a row that says
/// so. Where CUDA was not built this throws unsupported.
std::vector<histogram_row> measure_on_device(const tensor_case& c, const histogram_bench_options& options);

/// Gives a row what the links of its workers' devices need for `bytes` bytes into page-locked `memory`: each its share
/// alone, and all at once. Where CUDA was not built this throws unsupported.
void measure_links(histogram_row& row, void* memory, std::int64_t bytes);

}  // namespace boxsum::bench
