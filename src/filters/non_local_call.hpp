#pragma once

#include "filters/filter_jobs.hpp"
#include "filters/non_local_job.hpp"
#include "filters/window_job.hpp"

#include <boxsum/non_local_means.hpp>

namespace boxsum::filters {

/// Non-local means, checked.
struct non_local_call {
    non_local_job job;
    window_job samples;  ///< which pixels count, and for how much
    bool sampled = false;
};

/// Mask and weights without rows are not given.
part part_of(const non_local_inputs& inputs);

/// Of shapes that are checked by themselves. Throws invalid_argument or unsupported, and names argument and value, as
/// all of these do.
non_local_call non_local_call_of(const part& given, const result_shapes& results, const non_local_rule& rule,
                                 const filter_options& options);

/// Well-formed memory of which no result overlaps another argument.
void check_memory(const non_local_inputs& inputs, const filter_outputs& outputs);

/// Of a call, whose memory is checked, too.
non_local_call make_non_local_call(const non_local_inputs& inputs, const filter_outputs& outputs,
                                   const non_local_rule& rule, const filter_options& options);

}  // namespace boxsum::filters
