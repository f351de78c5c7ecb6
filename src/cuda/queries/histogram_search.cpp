#include "core/checked_tensor.hpp"
#include "core/tensor_checks.hpp"
#include "core/visit_histogram.hpp"
#include "core/window_grids.hpp"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/queries/histogram_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "cuda/workspace.hpp"

#include <boxsum/cuda/histogram_search.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace boxsum::cuda {
namespace {

/// Windows or boxes of one launch, at 32 threads each.
constexpr std::int64_t most_boxes = std::int64_t{std::numeric_limits<std::int32_t>::max()} * 8;

std::int64_t image_rows_of(const tensor_shape& s, table_layout layout) {
    return s.rows - (layout == table_layout::padded ? 1 : 0);
}
std::int64_t image_cols_of(const tensor_shape& s, table_layout layout) {
    return s.cols - (layout == table_layout::padded ? 1 : 0);
}

void check_shape(const tensor_shape& s, table_layout layout, std::int64_t plane) {
    checked_tensor_bytes("tensor", s);
    if (!contains(histogram_entries{}, s.type))
        throw invalid_argument("tensor: type is " + std::string(name_of(s.type)) +
                               ", integral histograms are 32u, 16u or 32f");
    if (layout == table_layout::exclusive)
        throw invalid_argument("layout: is exclusive, integral histograms are inclusive or padded");
    if (plane < 0 || plane >= s.planes)
        throw invalid_argument("plane: is " + std::to_string(plane) + ", but the tensor has " +
                               std::to_string(s.planes));
}

void check_tensor_and_plane(const const_any_tensor_view& tensor, table_layout layout, std::int64_t plane) {
    check_shape(tensor.shape, layout, plane);
    check_tensor("tensor", tensor);
}

void check_pointer(std::string_view argument, const void* data, int device) {
    if (data == nullptr) throw invalid_argument(std::string(argument) + ": is null");
    check_device_pointer(argument, data, device);
}

void check_count(std::string_view argument, std::int64_t count) {
    if (count < 0 || count > most_boxes)
        throw invalid_argument(std::string(argument) + ": is " + std::to_string(count) + ", must be 0 to " +
                               std::to_string(most_boxes));
}

placed_grid place(const window_grid& grid, const detail::grid_extents& e, std::int64_t first) {
    return {first, {e.region.row, e.region.col, grid.rows, grid.cols}, grid.row_step, grid.col_step, e.cols};
}

/// Copies host values to the device, in the stream's order, and waits, so that the host memory may go.
device_buffer upload(const void* data, std::size_t bytes, stream_ref stream) {
    device_buffer there(bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(there.data(), data, bytes, cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
    return there;
}

}  // namespace

void box_histograms_async(const const_any_tensor_view& tensor, const box* boxes, std::int64_t count, float* out,
                          table_layout layout, std::int64_t plane, stream_ref stream) {
    check_tensor_and_plane(tensor, layout, plane);
    if (tensor.shape.type != dtype::f32)
        throw invalid_argument("out: type is 32f, but the tensor's is " + std::string(name_of(tensor.shape.type)));
    check_count("count", count);
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("tensor", tensor.data, device);
    check_pointer("boxes", boxes, device);
    check_pointer("out", out, device);
    enqueue_box_histograms({tensor.data, tensor.shape, layout, plane}, boxes, {}, count, out, stream);
}

void window_histograms_async(const const_any_tensor_view& tensor, const window_grid& grid, void* out,
                             table_layout layout, std::int64_t plane, stream_ref stream) {
    check_tensor_and_plane(tensor, layout, plane);
    const detail::grid_extents e =
        detail::checked_extents(grid, image_rows_of(tensor.shape, layout), image_cols_of(tensor.shape, layout));
    const std::int64_t count = e.rows * e.cols;
    check_count("grid: number of windows", count);
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("tensor", tensor.data, device);
    check_pointer("out", out, device);
    enqueue_box_histograms({tensor.data, tensor.shape, layout, plane}, nullptr, place(grid, e, 0), count, out, stream);
}

// ---- Search ---------------------------------------------------------------------------------------------------------

namespace {

/// Two arrays that the levels of the selection write in turn, and the normalised target.
struct search_scratch {
    search_candidate* all;
    search_candidate* selected;
    double* shares;

    search_scratch(workspace_slots& slots, std::int64_t windows, std::int64_t keep, std::int64_t bins)
        : all(slots.take<search_candidate>(std::max(windows, keep))),
          selected(slots.take<search_candidate>((windows + select_block - 1) / select_block * keep)),
          shares(slots.take<double>(bins + 1)) {}
};

}  // namespace

struct histogram_search::state {
    tensor_shape tensor;
    table_layout layout = table_layout::inclusive;
    histogram_distance distance = histogram_distance::l1;
    std::int64_t windows = 0, keep = 0;
    int grid_count = 0;
    int device = 0;
    device_buffer grids;
    std::size_t scratch_bytes = 0;
};

histogram_search::histogram_search(const tensor_shape& tensor, table_layout layout, std::span<const window_grid> grids,
                                   histogram_distance distance, std::int64_t count) {
    if (count < 1 || count > max_count)
        throw invalid_argument("count: is " + std::to_string(count) + ", must be 1 to " + std::to_string(max_count));
    if (grids.empty()) throw invalid_argument("grids: there is none");
    check_shape(tensor, layout, 0);
    auto made = std::make_shared<state>();
    made->tensor = tensor;
    made->layout = layout;
    made->distance = distance;
    made->device = current_device();
    std::vector<placed_grid> placed;
    for (const window_grid& g : grids) {
        const detail::grid_extents e =
            detail::checked_extents(g, image_rows_of(tensor, layout), image_cols_of(tensor, layout));
        if (e.rows * e.cols > 0) placed.push_back(place(g, e, made->windows));
        made->windows += e.rows * e.cols;
        check_count("grids: number of windows", made->windows);
    }
    made->keep = std::min(count, made->windows);
    made->grid_count = static_cast<int>(placed.size());
    if (made->windows > 0) {
        made->grids = upload(placed.data(), placed.size() * sizeof(placed_grid), stream_ref::legacy_default());
        workspace_slots slots;
        (void)search_scratch(slots, made->windows, made->keep, tensor.bins);
        made->scratch_bytes = slots.bytes();
    }
    state_ = std::move(made);
}

std::int64_t histogram_search::matches() const noexcept {
    return state_->keep;
}

std::size_t histogram_search::workspace_bytes() const noexcept {
    return state_->scratch_bytes == 0 ? 0 : workspace_header_bytes + state_->scratch_bytes;
}

void histogram_search::run_async(const const_any_tensor_view& tensor, std::int64_t plane, const double* target,
                                 histogram_match* found, workspace& workspace, stream_ref stream) const {
    const state& s = *state_;
    if (!(tensor.shape == s.tensor)) throw invalid_argument("tensor: its shape is not that of the search");
    check_tensor_and_plane(tensor, s.layout, plane);
    if (s.windows == 0) return;
    check_pointer("tensor", tensor.data, s.device);
    check_pointer("target", target, s.device);
    check_pointer("found", found, s.device);
    const workspace_use use(workspace, workspace_bytes(), s.device, stream);

    const device_scope scope(s.device);
    const execution how = use.execution_of({});
    workspace_slots slots(how.workspace);
    const search_scratch scratch(slots, s.windows, s.keep, s.tensor.bins);
    const auto* const grids = static_cast<const placed_grid*>(s.grids.data());
    enqueue_shares(target, scratch.shares, s.tensor.bins, stream);
    enqueue_window_distances({tensor.data, tensor.shape, s.layout, plane}, grids, s.grid_count, s.windows,
                             scratch.shares, s.distance, scratch.all, stream);
    // Each level leaves at most a quarter, so it ends with one block.
    search_candidate *from = scratch.all, *to = scratch.selected;
    for (std::int64_t left = s.windows;; std::swap(from, to)) {
        const std::int64_t blocks = (left + select_block - 1) / select_block;
        enqueue_selection(from, left, s.keep, to, stream);
        if (blocks == 1) break;
        left = blocks * s.keep;
    }
    enqueue_matches(to, s.keep, grids, s.grid_count, found, stream);
    initialize_workspace_async(how.workspace, s.scratch_bytes, stream);  // zero again, as every plan finds it
}

}  // namespace boxsum::cuda
