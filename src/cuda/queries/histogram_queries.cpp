#include "core/tensor_checks.hpp"
#include "core/window_grids.hpp"
#include "cuda/queries/window_search.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {
namespace {

void check_pointer(std::string_view argument, const void* data, int device) {
    if (data == nullptr) throw invalid_argument(std::string(argument) + ": is null");
    check_device_pointer(argument, data, device);
}

/// Throws unless `out` has a row of bins for each of `count` boxes.
void check_rows(const any_view& out, std::int64_t count, const tensor_shape& entries) {
    const view_shape& s = out.shape;
    if (s.type != entries.type)
        throw invalid_argument("out: type is " + std::string(name_of(s.type)) + ", but the histograms' is " +
                               std::string(name_of(entries.type)));
    if (s.rows != count || s.cols != entries.bins || s.channels != 1 || s.planes != 1)
        throw invalid_argument("out: is " + std::to_string(s.planes) + " x " + std::to_string(s.rows) + " x " +
                               std::to_string(s.cols) + " x " + std::to_string(s.channels) + ", must be 1 x " +
                               std::to_string(count) + " x " + std::to_string(entries.bins) + " x 1 (boxes x bins)");
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    if (s.row_stride < s.cols * element || s.row_stride % element != 0)
        throw invalid_argument("out: row_stride is " + std::to_string(s.row_stride) +
                               ", must be a multiple of the element size, " + std::to_string(element) +
                               ", and at least a row of " + std::to_string(s.cols * element) + " bytes");
}

queried_histograms plane_of(const const_any_histogram_view& histograms, std::int64_t plane) {
    return {histograms.entries.data, histograms.shape(), plane};
}

/// Copies host values to the device, in the stream's order.
device_buffer upload(const void* data, std::size_t bytes, stream_ref stream) {
    device_buffer there(bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(there.data(), data, bytes, cudaMemcpyHostToDevice, stream.get()));
    return there;
}

/// Copies what is on the device to the host, and waits.
void download(const device_buffer& from, void* to, stream_ref stream) {
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
}

/// Fills `out`, of the host, with `count` histograms that `enqueue` puts into device memory.
template <typename T, typename F>
void answer_on_host(const const_any_histogram_view& histograms, std::int64_t count, std::span<T> out, stream_ref stream,
                    const char* rows, F&& enqueue) {
    const tensor_shape& s = histograms.entries.shape;
    if (s.type != dtype_of<T>)
        throw invalid_argument("out: type is " + std::string(name_of(dtype_of<T>)) + ", but the histograms' is " +
                               std::string(name_of(s.type)));
    if (out.size() / static_cast<std::size_t>(s.bins) != static_cast<std::size_t>(count) ||
        out.size() % static_cast<std::size_t>(s.bins) != 0)
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(count) + " x " + std::to_string(s.bins) + " (" + rows + " x bins)");
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    check_pointer("histograms", histograms.entries.data, current_device());
    const device_buffer there(out.size_bytes(), stream);
    enqueue(any_view(image_view<T>(static_cast<T*>(there.data()), count, s.bins)));
    download(there, out.data(), stream);
}

}  // namespace

void box_histograms_async(const const_any_histogram_view& histograms, std::span<const box> boxes, const any_view& out,
                          stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    const auto count = static_cast<std::int64_t>(boxes.size());
    check_count("boxes: their number", count);
    check_rows(out, count, histograms.entries.shape);
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("histograms", histograms.entries.data, device);
    check_pointer("boxes", boxes.data(), device);
    check_pointer("out", out.data, device);
    enqueue_box_histograms(plane_of(histograms, plane), {boxes.data()}, count, {out.data, out.shape.row_stride},
                           stream);
}

void window_histograms_async(const const_any_histogram_view& histograms, const window_grid& grid, const any_view& out,
                             stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    const histogram_shape shape = histograms.shape();
    const std::int64_t count = window_count(grid, shape.image_rows(), shape.image_cols());
    check_count("grid: number of windows", count);
    check_rows(out, count, shape.entries);
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("histograms", histograms.entries.data, device);
    check_pointer("out", out.data, device);
    const detail::grid_extents e = detail::checked_extents(grid, shape.image_rows(), shape.image_cols());
    enqueue_window_histograms(plane_of(histograms, plane), place(grid, e, 0), count, {out.data, out.shape.row_stride},
                              stream);
}

template <typename T>
void box_histograms(const const_any_histogram_view& histograms, std::span<const box> boxes, std::span<T> out,
                    stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    check_boxes(boxes, histograms.shape().image_rows(), histograms.shape().image_cols());
    const auto count = static_cast<std::int64_t>(boxes.size());
    answer_on_host(histograms, count, out, stream, "boxes", [&](const any_view& there) {
        const device_buffer boxes_there = upload(boxes.data(), boxes.size_bytes(), stream);
        const std::span<const box> on_device(static_cast<const box*>(boxes_there.data()), boxes.size());
        box_histograms_async(histograms, on_device, there, stream, plane);
    });
}

template <typename T>
void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid, std::span<T> out,
                       stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    const std::int64_t count = window_count(grid, histograms.shape().image_rows(), histograms.shape().image_cols());
    answer_on_host(histograms, count, out, stream, "windows",
                   [&](const any_view& there) { window_histograms_async(histograms, grid, there, stream, plane); });
}

template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint16_t>,
                             stream_ref, std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint32_t>,
                             stream_ref, std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<float>, stream_ref,
                             std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint16_t>,
                                stream_ref, std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint32_t>,
                                stream_ref, std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<float>, stream_ref,
                                std::int64_t);

// ---- Search ---------------------------------------------------------------------------------------------------------

std::vector<histogram_match> best_windows(const const_any_histogram_view& histograms,
                                          std::span<const window_grid> grids, std::span<const double> target,
                                          histogram_distance distance, std::int64_t count, stream_ref stream,
                                          std::int64_t plane) {
    check_histograms(histograms, plane);
    detail::check_target(target, histograms.entries.shape.bins);
    const device_scope scope(device_of(stream));
    check_pointer("histograms", histograms.entries.data, current_device());
    const window_search search(histograms.shape(), grids, distance, count);
    std::vector<histogram_match> found(static_cast<std::size_t>(search.keep));
    if (found.empty()) return found;
    const std::vector<double> shares = shares_of(target);
    const device_buffer grids_there = upload(search.grids.data(), search.grids.size() * sizeof(placed_grid), stream);
    const device_buffer shares_there = upload(shares.data(), shares.size() * sizeof(double), stream);
    const device_buffer found_there(found.size() * sizeof(histogram_match), stream);
    workspace_slots measure;
    (void)search_scratch(measure, search);
    const device_buffer memory(measure.bytes(), stream);
    workspace_slots slots(memory.data());
    enqueue_search(plane_of(histograms, plane), search, static_cast<const placed_grid*>(grids_there.data()),
                   static_cast<const double*>(shares_there.data()), search_scratch(slots, search),
                   static_cast<histogram_match*>(found_there.data()), stream);
    download(found_there, found.data(), stream);
    return found;
}

namespace {

/// What a planned search works in.
struct planned_scratch {
    search_scratch search;
    double* shares;

    planned_scratch(workspace_slots& slots, const window_search& s, std::int64_t bins)
        : search(slots, s), shares(slots.take<double>(bins + 1)) {}
};

}  // namespace

struct histogram_search::state {
    histogram_shape shape;
    window_search search;
    int device = 0;
    device_buffer grids;
    std::size_t workspace = 0;
};

histogram_search::histogram_search(const histogram_shape& histograms, std::span<const window_grid> grids,
                                   histogram_distance distance, std::int64_t count) {
    check_histograms(histograms, 0);
    auto made = std::make_shared<state>();
    made->shape = histograms;
    made->device = current_device();
    made->search = window_search(histograms, grids, distance, count);
    if (made->search.windows > 0) {
        // On the legacy stream and waited for: from then on every stream may read them.
        const stream_ref stream = stream_ref::legacy_default();
        made->grids = upload(made->search.grids.data(), made->search.grids.size() * sizeof(placed_grid), stream);
        stream.synchronize();
        workspace_slots slots;
        (void)planned_scratch(slots, made->search, histograms.entries.bins);
        made->workspace = slots.bytes();
    }
    state_ = std::move(made);
}

std::int64_t histogram_search::matches() const noexcept {
    return state_->search.keep;
}

std::size_t histogram_search::workspace_bytes() const noexcept {
    return state_->workspace;
}

void histogram_search::run_async(const const_any_histogram_view& histograms, const double* target,
                                 histogram_match* found, workspace_ref workspace, stream_ref stream,
                                 std::int64_t plane) const {
    const state& s = *state_;
    if (!(histograms.shape() == s.shape)) throw invalid_argument("histograms: their shape is not that of the search");
    check_histograms(histograms, plane);
    if (s.search.windows == 0) return;
    check_pointer("histograms", histograms.entries.data, s.device);
    check_pointer("target", target, s.device);
    check_pointer("found", found, s.device);
    check_workspace(workspace, s.workspace, s.device);
    check_stream(stream, s.device);

    const device_scope scope(s.device);
    workspace_slots slots(workspace.data);
    const std::int64_t bins = s.shape.entries.bins;
    const planned_scratch scratch(slots, s.search, bins);
    enqueue_shares(target, scratch.shares, bins, stream);
    enqueue_search(plane_of(histograms, plane), s.search, static_cast<const placed_grid*>(s.grids.data()),
                   scratch.shares, scratch.search, found, stream);
}

}  // namespace boxsum::cuda
