#pragma once

#include "core/shadow_job.hpp"

#include <boxsum/cuda/stream.hpp>

namespace boxsum::cuda {

/// Arguments have been checked.
void enqueue_shadows(const shadow_job& job, const shadow_inputs& inputs, const shadow_outputs& outputs,
                     const shadow_options& options, stream_ref stream);

}  // namespace boxsum::cuda
