#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_table.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Questions to integral histograms in device memory (32u, 16u or 32f, as cuda::histogram_plan makes them), with the
/// values, bit for bit, that the host's functions of the same names give for the same histograms. The functions that
/// end in `_async` only enqueue: but for best_windows_async() they neither allocate nor wait, and can be captured into
/// a graph, as what plans run can. The others wait.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// The histograms of boxes in device memory: `out` has boxes.count x bins values of the histograms' type, box by box.
/// The host does not see the boxes: one that is empty or does not lie inside the image has an empty histogram.
/// Throws invalid_argument, naming the argument and its value, for histograms that are wrong in themselves, a plane
/// that they lack, another count or type of `out`, and for memory that is null, the host's or another device's.
///
///     boxsum::cuda::box_histograms_async(d_histograms, {d_boxes, count}, {d_counts, count * bins}, stream);
void box_histograms_async(const const_any_histogram_view& histograms, const device_boxes& boxes,
                          const any_device_span& out, stream_ref stream, std::int64_t plane = 0);

/// The same, and waits.
void box_histograms(const const_any_histogram_view& histograms, const device_boxes& boxes, const any_device_span& out,
                    stream_ref stream, std::int64_t plane = 0);

/// The same for boxes and answers in host memory: boxes are checked as by boxsum::box_histograms().
template <typename T>
BOXSUM_EXPORT void box_histograms(const const_any_histogram_view& histograms, std::span<const box> boxes,
                                  std::span<T> out, stream_ref stream, std::int64_t plane = 0);

/// The histograms of all windows of a grid, row by row: `out` has window_count() x bins values. Throws as
/// window_count() and box_histograms_async().
void window_histograms_async(const const_any_histogram_view& histograms, const window_grid& grid,
                             const any_device_span& out, stream_ref stream, std::int64_t plane = 0);

/// The same, and waits.
void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid, const any_device_span& out,
                       stream_ref stream, std::int64_t plane = 0);

/// The same into host memory.
template <typename T>
BOXSUM_EXPORT void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid,
                                     std::span<T> out, stream_ref stream, std::int64_t plane = 0);

extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint16_t>,
                                    stream_ref, std::int64_t);
extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint32_t>,
                                    stream_ref, std::int64_t);
extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<float>, stream_ref,
                                    std::int64_t);
extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint16_t>,
                                       stream_ref, std::int64_t);
extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint32_t>,
                                       stream_ref, std::int64_t);
extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<float>,
                                       stream_ref, std::int64_t);

/// Exhaustive search as by boxsum::best_windows(), with its result; only the target goes up and the matches come down.
/// With a `largest_overlap` below 1 all windows are sorted on the device and come down, 40 bytes each; the host then
/// leaves out those that overlap. (The plan below, whose matches stay on the device, has no such choice.)
/// Throws what that throws, and as box_histograms_async() for histograms that are not in device memory.
std::vector<histogram_match> best_windows(const const_any_histogram_view& histograms,
                                          std::span<const window_grid> grids, std::span<const double> target,
                                          histogram_distance distance, std::int64_t count, stream_ref stream,
                                          std::int64_t plane = 0, double largest_overlap = 1);

/// The plan of best_windows() on the device that is current when it is made: target and matches stay on it. Immutable;
/// several threads and streams may run one, each with its own workspace.
class best_windows_plan {
  public:
    /// For histograms of this shape. Throws as best_windows() does, and unsupported without a device.
    best_windows_plan(const histogram_shape& histograms, std::span<const window_grid> grids,
                      histogram_distance distance, std::int64_t count);

    /// Matches that a run writes: `count`, or all windows where there are fewer.
    std::int64_t matches() const noexcept;

    std::size_t workspace_bytes() const noexcept;
    int device() const noexcept;

    /// Enqueues a search of one plane: `target` (bins values, not normalised) and `found` (matches() results, best
    /// first) lie in device memory. A target that is negative or not finite gives distances that are not numbers; one
    /// whose total best_windows() refuses gives some that are wrong.
    /// Neither allocates nor synchronises; the search outlives the run. Throws invalid_argument for histograms of
    /// another shape, a plane that they lack, pointers that are null or host memory, a workspace as
    /// sat_plan::run_async() refuses it.
    void run_async(const const_any_histogram_view& histograms, const double* target, histogram_match* found,
                   workspace& workspace, stream_ref stream, std::int64_t plane = 0) const;

  private:
    friend std::int64_t best_windows_async(const const_any_histogram_view& histograms,
                                           std::span<const window_grid> grids, const double* target,
                                           histogram_distance distance, std::int64_t count, histogram_match* found,
                                           workspace& workspace, stream_ref stream, std::int64_t plane);
    struct state;
    explicit best_windows_plan(std::shared_ptr<const state> made) noexcept;
    std::shared_ptr<const state> state_;
};

/// Enqueues such a search on the workspace's device, whose workspace grows as needed: makes the plan, which waits for a
/// copy of the grids, and runs it. `found` has room for `count` matches; returns how many are written. Throws what the
/// plan throws, and out_of_memory.
std::int64_t best_windows_async(const const_any_histogram_view& histograms, std::span<const window_grid> grids,
                                const double* target, histogram_distance distance, std::int64_t count,
                                histogram_match* found, workspace& workspace, stream_ref stream,
                                std::int64_t plane = 0);

}  // namespace cuda
}  // namespace boxsum
