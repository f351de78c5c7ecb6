#pragma once

#include "core/window_query.hpp"

#include <boxsum/cuda/stream.hpp>

namespace boxsum::cuda {

/// The query has been checked.
void enqueue_windows(const window_query& query, stream_ref stream);

}  // namespace boxsum::cuda
