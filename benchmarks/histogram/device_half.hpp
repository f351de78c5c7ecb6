#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// The half of `boxsum bench hist` that needs a GPU: the case's variants on the current device beside a memset of the
/// tensor, their parts and the transfers. Every result is compared with the CPU's. What fails becomes a row that says
/// so. Where CUDA was not built this throws unsupported.
std::vector<histogram_row> measure_on_device(const tensor_case& c, const histogram_bench_options& options);

/// Algorithm 6 of Poostchi et al. as printed, beside the pipeline of three streams that measure_stream() times: a
/// stream for each of two buffers, and copies and kernels of both issued breadth first. Every tensor goes to the host;
/// the first is compared with a plain loop's. On the current device. Where CUDA was not built the row says so.
histogram_row measure_breadth_first(const stream_case& c, const std::string& algorithm, int frames);

/// Gives a row what the links of its workers' devices need for `bytes` bytes into page-locked `memory`: each its share
/// alone, and all at once. Where CUDA was not built this throws unsupported.
void measure_links(histogram_row& row, void* memory, std::int64_t bytes);

}  // namespace boxsum::bench
