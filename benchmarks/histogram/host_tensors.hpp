#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"

#include <vector>

namespace boxsum::bench {

/// Tensors larger than this are measured on the CPU for a part of their bins, whose time is scaled: bins are computed
/// one by one, and a machine with a GPU should not spend its time on the CPU's rows.
inline constexpr std::int64_t most_host_bytes = std::int64_t{1} << 29;

/// Threads of rows with several: what the options say, or all of the machine.
int several_threads(const histogram_bench_options& options);

/// Algorithm 1 of the paper, and ours with one thread and several, on the CPU. Every result is compared with a plain
/// loop's.
std::vector<histogram_row> measure_on_host(const tensor_case& c, const histogram_bench_options& options);

}  // namespace boxsum::bench
