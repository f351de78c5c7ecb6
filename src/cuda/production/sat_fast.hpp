#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/production/sat_geometry.hpp"

#include <boxsum/types.hpp>

#include <cstddef>
#include <span>

/// Between the record `fast` and its kernels, which are compiled in several files, one for some pixel types each.
namespace boxsum::cuda {

/// What a table needs of the device and the workspace.
struct fast_limits {
    int multiprocessors = 0;
    bool copy_engine = false;  ///< compute capability 9.0 or later
};

/// Of the current device.
fast_limits limits_of_device();

/// Words of the kernel that fits the table, in bytes. `sum` is the table's type.
std::size_t fast_workspace_bytes(const sat_geometry& g, dtype sum, const fast_limits& limits);

/// Enqueues a table of sums, or of sums of squares, for pixels of this type (integers as wide as the sum are unsigned).
template <typename Pixel>
void enqueue_fast(const sat_geometry& g, dtype sum, bool square, const fast_limits& limits, const execution& how);

/// Images of any shapes that all fit on the chip by themselves (one_wave_rows), in as few launches as kernel parameters
/// allow.
template <typename Pixel>
void enqueue_fast_list(std::span<const sat_geometry> images, dtype sum, bool square, const execution& how);

/// Words of such a list, in bytes.
std::size_t fast_list_workspace_bytes(std::span<const sat_geometry> images, dtype sum);

}  // namespace boxsum::cuda
