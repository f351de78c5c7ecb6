#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_table.hpp>

#include <cstdint>

namespace boxsum::cuda {

/// Enqueues what joins a strip of columns of an integral histogram with those to its left. `carries` are entries of the
/// tensor's type, a row's after the other and bins apart by `rows`, planes by `plane_entries`: the whole tensor's
/// entries in the column before the strip's first (its first where a tensor is padded), zeros before the first strip.
/// They are added to the strip, and become those of its last column. Entries of a row lie side by side.
void enqueue_column_carries(const any_tensor_view& strip, void* carries, std::int64_t plane_entries, stream_ref stream);

}  // namespace boxsum::cuda
