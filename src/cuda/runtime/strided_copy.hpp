#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum::cuda {

/// Bytes from a plane, a row and a column to the next, of any sign.
struct element_strides {
    std::int64_t plane, row, col;
};

/// Of a view; zero where there is no next.
element_strides strides_of(const view_shape& shape) noexcept;

/// Enqueues the copy of a batch of images within device memory, whatever the strides: slices, images that are turned
/// over (negative strides) or transposed, and for `from` rows, columns or planes that repeat (stride 0). Reads and
/// writes of a warp lie side by side where the strides of either side allow it. Types and extents are those of `shape`,
/// the memory does not overlap, elements are aligned; arguments have been checked. Neither allocates nor synchronises.
void enqueue_copy_strided(const view_shape& shape, const void* from, const element_strides& from_strides, void* to,
                          const element_strides& to_strides, stream_ref stream);

}  // namespace boxsum::cuda
