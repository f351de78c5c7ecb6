#pragma once

#include "program/record.hpp"
#include "sat/plan.hpp"

#include <boxsum/cuda/stream.hpp>

namespace boxsum::bench {

/// The notes' box blur: a padded table by each of the case's algorithms, and from it the mean of every window of 17 x
/// 17 (cut at the border, rounded half up), all on the device; and the library's filter, which makes no table. Compared
/// with the definition.
void measure_blurs(const sat_case& c, const sat_bench_options& options, cuda::stream_ref stream, bench_record& record);

}  // namespace boxsum::bench
