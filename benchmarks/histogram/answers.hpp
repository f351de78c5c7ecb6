#pragma once

#include "histogram/plan.hpp"
#include "program/record.hpp"
#include "program/target.hpp"

#include <vector>

namespace boxsum::bench {

/// Answers to a stream of images whose tensors stay where they are computed, by number of buffers; of images that are
/// copied into their buffers, and of images that are there already. Those of the first image are compared with what a
/// plain loop's tensor gives.
std::vector<histogram_row> measure_answers(const answer_case& c, const histogram_bench_options& options,
                                           const target& where);

}  // namespace boxsum::bench
