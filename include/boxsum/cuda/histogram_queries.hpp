#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tensor.hpp>
#include <boxsum/types.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// Questions to integral histograms in device memory (32u or 16u, or 32f with weights, as cuda::histogram_plan makes
/// them): only boxes and answers travel.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Enqueues the histograms of `count` boxes, boxes x bins counts. `boxes` and `out` are device memory. Boxes are not
/// looked at on the host: one outside of the image is undefined. One thread per bin of a box.
/// Throws invalid_argument for a tensor that is wrong in itself, a plane that it lacks, host pointers and a count below
/// 0; unsupported for sums of weights (32f).
void box_histograms_async(const const_any_tensor_view& tensor, const box* boxes, std::int64_t count, std::uint32_t* out,
                          table_layout layout, std::int64_t plane, stream_ref stream);

/// The same for boxes of the host, checked as by boxsum::box_histograms(); waits.
std::vector<std::uint32_t> box_histograms(const const_any_tensor_view& tensor, std::span<const box> boxes,
                                          table_layout layout, std::int64_t plane, stream_ref stream);

/// The same for sums of weights: `tensor` is 32f, and so are the boxes x bins results.
std::vector<float> box_sums(const const_any_tensor_view& tensor, std::span<const box> boxes, table_layout layout,
                            std::int64_t plane, stream_ref stream);

/// Exhaustive search as by boxsum::best_windows(), with the same result to the last bit; waits. Distances are computed
/// on the device, and for one match reduced there.
std::vector<histogram_match> best_windows(const const_any_tensor_view& tensor, std::span<const window_grid> grids,
                                          std::span<const double> target, histogram_distance distance,
                                          std::int64_t count, table_layout layout, std::int64_t plane,
                                          stream_ref stream);

}  // namespace cuda
}  // namespace boxsum
