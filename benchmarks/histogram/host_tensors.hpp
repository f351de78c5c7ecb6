#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"

#include <vector>

namespace boxsum::bench {

/// Tensors larger than this are measured on the CPU for a part of their bins, whose time is scaled: a machine with a
/// GPU should not spend its time on the CPU's rows.
inline constexpr std::int64_t most_host_bytes = std::int64_t{1} << 29;

/// Bins that are measured: halved while the tensor is larger than that, and never fewer than threads, which would have
/// none to compute.
std::int64_t measured_bins(const tensor_case& c, int threads);

/// Degrees of parallelism on the CPU: one thread, the paper's 8 and 16 (figures 17, 19 and 20), and `several`.
std::vector<int> cpu_degrees(int several);

/// Threads of rows with several: what the options say, or all of the machine.
int several_threads(const histogram_bench_options& options);

/// Algorithm 1 of the paper, its bins dealt to threads, and ours, each at all degrees, on the CPU. Every result is
/// compared with a plain loop's.
std::vector<histogram_row> measure_on_host(const tensor_case& c, const histogram_bench_options& options);

}  // namespace boxsum::bench
