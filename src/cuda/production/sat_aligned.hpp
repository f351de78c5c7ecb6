#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/production/sat_geometry.hpp"

#include <boxsum/types.hpp>

#include <cstddef>

/// Between the record `fast` and its aligned kernels, which are compiled in several files, one for some pixel types and
/// one channel or several each.
namespace boxsum::cuda {

/// Whether these kernels compute the table, on a device of compute capability 9.0: any that has sums and not too many
/// tiles. They are fastest where rows of image and table are at multiples of 16 bytes. Pointers that are not known yet
/// are null. `tile_cols`: of one panel.
bool aligned_kernels_fit(const sat_geometry& g, int tile_cols);

/// Words in bytes. `multiprocessors`: of the current device.
std::size_t aligned_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors);

/// The same where one kernel computes sums and squares at once.
std::size_t aligned_squares_workspace_bytes(const sat_geometry& sums, const sat_geometry& squares, int pixel_bytes,
                                            int sum_bytes, int squares_bytes, int multiprocessors);

/// Whether the kernels were compiled for the current device.
bool aligned_kernels_available();

/// Enqueues a table of sums, or of sums of squares, for pixels of this type (integers as wide as the sum are unsigned).
template <typename Pixel>
void enqueue_aligned(const sat_geometry& g, dtype sum, bool square, int multiprocessors, const execution& how);

/// The same for several channels; enqueue_aligned() calls it.
template <typename Pixel>
void enqueue_aligned_channels(const sat_geometry& g, dtype sum, bool square, int multiprocessors, const execution& how);

/// Whether there are kernels that compute tables of sums and of squares of these types at once: for pixels of 8 bits,
/// and for 32f where both tables are. Others would have more than 64 registers of sums in a lane of `finish`.
constexpr bool aligned_kernels_have_squares(squares_triple types) {
    return types.input == dtype::u8 || types == squares_triple{dtype::f32, dtype::f32, dtype::f32};
}

/// Enqueues both, of one channel, with one launch that reads the image once. False, and nothing is enqueued, if there
/// is no kernel for where rows of the image and of the tables start, or for the types.
template <typename Pixel>
bool enqueue_aligned_squares(const sat_geometry& sums, const sat_geometry& squares, squares_triple types,
                             int multiprocessors, const execution& how);

}  // namespace boxsum::cuda
