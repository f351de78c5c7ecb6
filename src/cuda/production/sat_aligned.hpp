#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/production/sat_geometry.hpp"

#include <boxsum/types.hpp>

#include <cstddef>

/// Between the record `fast-aligned` and its kernels, which are compiled in several files, one for some pixel types
/// each.
namespace boxsum::cuda {

/// Words of the kernel that fits the table, in bytes. `multiprocessors`: of the current device.
std::size_t aligned_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors);

/// Whether the kernels were compiled for the current device.
bool aligned_kernels_available();

/// Enqueues a table of sums for pixels of this type (integers as wide as the sum are unsigned). False, and nothing is
/// enqueued, where the copy engine cannot describe the image: extents and strides out of its range.
template <typename Pixel>
bool enqueue_aligned(const problem& p, const sat_geometry& g, int multiprocessors, const execution& how);

}  // namespace boxsum::cuda
