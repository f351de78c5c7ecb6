#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// Queries of integral histograms in device memory that leave their answers there, beside those of
/// device_histograms.hpp. The same values, bit for bit, as the CPU's functions give for the same tensor.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Enqueues the histograms of `count` boxes of sums of weights: `tensor` is 32f, `boxes` and `out` (count x bins) lie
/// in device memory. A box that does not lie inside the image has an empty histogram, since the boxes are not seen by
/// the host. Neither allocates nor synchronises. Throws invalid_argument for a bad tensor, layout, plane or count, and
/// for pointers that are null or host memory.
void box_histograms_async(const const_any_tensor_view& tensor, const box* boxes, std::int64_t count, float* out,
                          table_layout layout, std::int64_t plane, stream_ref stream);

/// The histograms of all windows of a grid, row by row; `out` is device memory for window_count() x bins entries of the
/// tensor's type, 32u, 16u or 32f. Throws as window_count too.
void window_histograms_async(const const_any_tensor_view& tensor, const window_grid& grid, void* out,
                             table_layout layout, std::int64_t plane, stream_ref stream);

/// Exhaustive search on the current device, as best_windows() does on the CPU: only the matches leave it. Immutable;
/// several threads and streams may run one search, each with its own workspace.
class histogram_search {
  public:
    /// Most matches of a search.
    static constexpr std::int64_t max_count = 256;

    /// For tensors of this shape. Throws as best_windows() does, invalid_argument for a count above max_count, and
    /// unsupported without a device.
    histogram_search(const tensor_shape& tensor, table_layout layout, std::span<const window_grid> grids,
                     histogram_distance distance, std::int64_t count);

    /// Matches that a run writes: `count`, or all windows where there are fewer.
    std::int64_t matches() const noexcept;

    std::size_t workspace_bytes() const noexcept;

    /// Enqueues a search of one plane: `target` (bins values, not normalised) and `found` (matches() results, best
    /// first) lie in device memory. A target that is negative or not finite gives distances that are not numbers; one
    /// whose total best_windows() refuses gives some that are wrong.
    /// Neither allocates nor synchronises; the search outlives the run. Throws invalid_argument for a tensor of another
    /// shape, a plane that it lacks, pointers that are null or host memory, a workspace as sat_plan::run_async()
    /// refuses it.
    void run_async(const const_any_tensor_view& tensor, std::int64_t plane, const double* target,
                   histogram_match* found, workspace& workspace, stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

}  // namespace cuda
}  // namespace boxsum
