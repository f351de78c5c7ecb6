#include "core/tensor_checks.hpp"
#include "core/window_grids.hpp"
#include "cuda/queries/window_search.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "cuda/workspace.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>

#include <iterator>
#include <limits>
#include <string>
#include <string_view>

namespace boxsum::cuda {
namespace {

void check_pointer(std::string_view argument, const void* data, int device) {
    if (data == nullptr) throw invalid_argument(std::string(argument) + ": is null");
    check_device_pointer(argument, data, device);
}

/// Throws unless values of this type and number are `count` histograms.
void check_out(dtype type, std::int64_t values, std::int64_t count, const tensor_shape& entries, const char* what) {
    if (type != entries.type)
        throw invalid_argument("out: type is " + std::string(name_of(type)) + ", but the histograms' is " +
                               std::string(name_of(entries.type)));
    if (values / entries.bins != count || values % entries.bins != 0)
        throw invalid_argument("out: has " + std::to_string(values) + " elements, must have " + std::to_string(count) +
                               " x " + std::to_string(entries.bins) + " (" + what + " x bins)");
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

/// Fills `out`, of the host, by what `enqueue` puts into device memory.
template <typename T, typename F>
void answer_on_host(std::span<T> out, stream_ref stream, F&& enqueue) {
    if (out.empty()) return;
    const device_scope scope(device_of(stream));
    const device_buffer there(out.size_bytes(), stream);
    enqueue(any_device_span(static_cast<T*>(there.data()), std::ssize(out)));
    download(there, out.data(), stream);
}

}  // namespace

void box_histograms_async(const const_any_histogram_view& histograms, const device_boxes& boxes,
                          const any_device_span& out, stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    if (boxes.edges != nullptr) throw unsupported("boxes: edges are given, but histograms are of whole pixels");
    check_count("boxes: count", boxes.count);
    check_out(out.type, out.count, boxes.count, histograms.entries.shape, "boxes");
    if (boxes.count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("histograms", histograms.entries.data, device);
    check_pointer("boxes", boxes.data, device);
    check_pointer("out", out.data, device);
    enqueue_box_histograms(plane_of(histograms, plane), {boxes.data}, boxes.count, out.data, stream);
}

void box_histograms(const const_any_histogram_view& histograms, const device_boxes& boxes, const any_device_span& out,
                    stream_ref stream, std::int64_t plane) {
    box_histograms_async(histograms, boxes, out, stream, plane);
    stream.synchronize();
}

void window_histograms_async(const const_any_histogram_view& histograms, const window_grid& grid,
                             const any_device_span& out, stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    const histogram_shape shape = histograms.shape();
    const std::int64_t count = window_count(grid, shape.image_rows(), shape.image_cols());
    check_count("grid: number of windows", count);
    check_out(out.type, out.count, count, shape.entries, "windows");
    if (count == 0) return;
    const device_scope scope(device_of(stream));
    const int device = current_device();
    check_pointer("histograms", histograms.entries.data, device);
    check_pointer("out", out.data, device);
    const detail::grid_extents e = detail::checked_extents(grid, shape.image_rows(), shape.image_cols());
    enqueue_window_histograms(plane_of(histograms, plane), place(grid, e, 0), count, out.data, stream);
}

void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid, const any_device_span& out,
                       stream_ref stream, std::int64_t plane) {
    window_histograms_async(histograms, grid, out, stream, plane);
    stream.synchronize();
}

template <typename T>
void box_histograms(const const_any_histogram_view& histograms, std::span<const box> boxes, std::span<T> out,
                    stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    check_out(dtype_of<T>, std::ssize(out), std::ssize(boxes), histograms.entries.shape, "boxes");
    check_boxes(boxes, histograms.shape().image_rows(), histograms.shape().image_cols());
    answer_on_host(out, stream, [&](const any_device_span& there) {
        const device_buffer boxes_there = upload(boxes.data(), boxes.size_bytes(), stream);
        box_histograms_async(histograms, {static_cast<const box*>(boxes_there.data()), std::ssize(boxes)}, there,
                             stream, plane);
    });
}

template <typename T>
void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid, std::span<T> out,
                       stream_ref stream, std::int64_t plane) {
    check_histograms(histograms, plane);
    const histogram_shape shape = histograms.shape();
    check_out(dtype_of<T>, std::ssize(out), window_count(grid, shape.image_rows(), shape.image_cols()), shape.entries,
              "windows");
    answer_on_host(out, stream, [&](const any_device_span& there) {
        window_histograms_async(histograms, grid, there, stream, plane);
    });
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
                                          std::int64_t plane, double largest_overlap) {
    check_histograms(histograms, plane);
    detail::check_distance(distance);
    detail::check_largest_overlap(largest_overlap);
    detail::check_target(target, histograms.entries.shape.bins);
    const device_scope scope(device_of(stream));
    check_pointer("histograms", histograms.entries.data, current_device());
    const bool all = largest_overlap < 1 && count > 0;
    const window_search search(histograms.shape(), grids, distance,
                               all ? std::numeric_limits<std::int64_t>::max() : count);
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
    if (!all) return found;
    std::vector<histogram_match> apart;
    for (const histogram_match& m : found) {
        if (std::ssize(apart) == count) break;
        detail::take_apart(apart, m, largest_overlap);
    }
    return apart;
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

struct best_windows_plan::state {
    histogram_shape shape;
    window_search search;
    int device = 0;
    device_buffer grids;
    std::size_t scratch_bytes = 0;

    /// On the device that is current.
    state(const histogram_shape& histograms, std::span<const window_grid> wanted, histogram_distance distance,
          std::int64_t count)
        : shape(checked(histograms)), search(histograms, wanted, distance, count), device(current_device()) {
        if (search.windows == 0) return;
        // On the legacy stream and waited for: from then on every stream may read them.
        const stream_ref stream = stream_ref::legacy_default();
        grids = upload(search.grids.data(), search.grids.size() * sizeof(placed_grid), stream);
        stream.synchronize();
        workspace_slots slots;
        (void)planned_scratch(slots, search, histograms.entries.bins);
        scratch_bytes = slots.bytes();
    }

  private:
    static const histogram_shape& checked(const histogram_shape& histograms) {
        check_histograms(histograms, 0);
        return histograms;
    }
};

best_windows_plan::best_windows_plan(std::shared_ptr<const state> made) noexcept : state_(std::move(made)) {}

best_windows_plan::best_windows_plan(const histogram_shape& histograms, std::span<const window_grid> grids,
                                     histogram_distance distance, std::int64_t count)
    : best_windows_plan(std::make_shared<const state>(histograms, grids, distance, count)) {}

std::int64_t best_windows_plan::matches() const noexcept {
    return state_->search.keep;
}

std::size_t best_windows_plan::workspace_bytes() const noexcept {
    return state_->scratch_bytes == 0 ? 0 : workspace_header_bytes + state_->scratch_bytes;
}

int best_windows_plan::device() const noexcept {
    return state_->device;
}

void best_windows_plan::run_async(const const_any_histogram_view& histograms, const double* target,
                                  histogram_match* found, workspace& workspace, stream_ref stream,
                                  std::int64_t plane) const {
    const state& s = *state_;
    require_histograms(histograms.shape(), s.shape);
    check_histograms(histograms, plane);
    if (s.search.windows == 0) return;
    check_pointer("histograms", histograms.entries.data, s.device);
    check_pointer("target", target, s.device);
    check_pointer("found", found, s.device);
    const workspace_use use(workspace, workspace_bytes(), s.device, stream);

    const device_scope scope(s.device);
    const execution how = use.execution_of({});
    workspace_slots slots(how.workspace);
    const std::int64_t bins = s.shape.entries.bins;
    const planned_scratch scratch(slots, s.search, bins);
    enqueue_shares(target, scratch.shares, bins, stream);
    enqueue_search(plane_of(histograms, plane), s.search, static_cast<const placed_grid*>(s.grids.data()),
                   scratch.shares, scratch.search, found, stream);
    initialize_workspace_async(how.workspace, s.scratch_bytes, stream);  // zero again, as every plan finds it
}

std::int64_t best_windows_async(const const_any_histogram_view& histograms, std::span<const window_grid> grids,
                                const double* target, histogram_distance distance, std::int64_t count,
                                histogram_match* found, workspace& workspace, stream_ref stream, std::int64_t plane) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const device_scope scope(workspace.device());
    const auto made = std::make_shared<best_windows_plan::state>(histograms.shape(), grids, distance, count);
    const best_windows_plan plan(made);
    workspace.reserve(plan.workspace_bytes(), stream);
    made->grids.set_stream(stream);  // given back behind the run, also where that fails
    plan.run_async(histograms, target, found, workspace, stream, plane);
    return plan.matches();
}

}  // namespace boxsum::cuda
