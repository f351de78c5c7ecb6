#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tensor.hpp>

#include <cstdint>

/// Questions to integral histograms that stay on a device. Arguments were checked; all pointers are the device's; only
/// enqueues.
namespace boxsum::cuda {

/// A tensor of counts, 32u or 16u, or of sums of weights, 32f.
struct device_counts {
    const_any_tensor_view tensor;
    table_layout layout = table_layout::inclusive;
    std::int64_t plane = 0;
};

/// boxes x bins: counts of 32u, or sums of 32f as the CPU's box_histograms() gives them, bit for bit.
void enqueue_box_histograms(const device_counts& counts, const box* boxes, std::int64_t count, void* out,
                            stream_ref stream);

/// One grid of a search. `shares` are the target's, bins of them, adding up to 1 or all zero.
struct device_search {
    window_grid grid;            ///< with its region
    std::int64_t grid_cols = 0;  ///< windows side by side
    std::int64_t windows = 0;
    const double* shares = nullptr;
    bool target_empty = false;
    histogram_distance distance = histogram_distance::bhattacharyya;
};

/// The distance of every window, as best_windows() computes it, bit for bit.
void enqueue_window_distances(const device_counts& counts, const device_search& search, double* out, stream_ref stream);

/// The nearest window of each stretch of `nearest_stretch` windows, the first one among equals. A distance that is not
/// a number comes last.
struct nearest_window {
    double distance;
    std::int64_t window;
};
inline constexpr std::int64_t nearest_stretch = 1024;
void enqueue_nearest(const double* distances, std::int64_t windows, nearest_window* out, stream_ref stream);

}  // namespace boxsum::cuda
