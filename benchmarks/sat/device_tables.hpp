#pragma once

#include "program/record.hpp"
#include "sat/plan.hpp"

#include <vector>

/// The half of `boxsum bench sat` that needs a GPU. Where CUDA was not built these throw unsupported.
namespace boxsum::bench {

/// Measures a case on the current device, the competitors of the host too, and adds what it found to the record:
/// tables, and for `broken_down` algorithms and where nothing else is known of a kernel, its passes.
void measure_on_device(const sat_case& c, const sat_bench_options& options, bench_record& record);

/// Section V of Chen et al. 2018: latencies and throughputs.
std::vector<micro_row> measure_micro();

}  // namespace boxsum::bench
