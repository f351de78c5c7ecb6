#pragma once

#include "filters/non_local_job.hpp"
#include "filters/window_job.hpp"

namespace boxsum::filters {

/// A call on the CPU.
struct non_local_call {
    non_local_job job;
    window_job samples;  ///< which pixels count, and for how much
    bool sampled = false;
};
non_local_call make_non_local_call(const non_local_inputs& inputs, const filter_outputs& outputs,
                                   const non_local_rule& rule, const filter_options& options);

}  // namespace boxsum::filters
