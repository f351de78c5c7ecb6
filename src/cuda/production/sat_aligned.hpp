#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/production/sat_geometry.hpp"

#include <boxsum/types.hpp>

#include <cstddef>

/// Between the record `fast` and its kernels for one channel with aligned rows, which are compiled in several files,
/// one for some pixel types each.
namespace boxsum::cuda {

/// Whether these kernels compute the table, on a device of compute capability 9.0: one channel that is not empty, its
/// rows at multiples of 16 bytes. A pointer that is not known yet, null, counts as aligned.
bool aligned_kernels_fit(const sat_geometry& g, dtype sum);

/// Words in bytes. `multiprocessors`: of the current device.
std::size_t aligned_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors);

/// Whether the kernels were compiled for the current device.
bool aligned_kernels_available();

/// Enqueues a table of sums, or of sums of squares, for pixels of this type (integers as wide as the sum are unsigned).
/// False, and nothing is enqueued, where the copy engine cannot describe the image: extents and strides out of its
/// range.
template <typename Pixel>
bool enqueue_aligned(const sat_geometry& g, dtype sum, bool square, int multiprocessors, const execution& how);

}  // namespace boxsum::cuda
