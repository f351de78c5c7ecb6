#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_table.hpp>

namespace boxsum::cuda {

/// Enqueues the copy of a tensor between host and device, or within either. Extents and types are equal, strides may
/// differ; only entries are copied.
void copy_tensor_async(const const_any_tensor_view& from, const any_tensor_view& to, stream_ref stream);

}  // namespace boxsum::cuda
