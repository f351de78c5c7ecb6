#include "cuda/filters/planned_filter.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace_use.hpp"

#include <boxsum/cuda/device.hpp>

#include <algorithm>
#include <utility>

namespace boxsum::cuda {

filter_memory plane_of(const filter_memory& memory, std::int64_t plane) {
    filter_memory one;
    one.image = rows_of(memory.image, plane, 0, memory.image.shape.rows);
    for (std::size_t i = 0; i < one.results.size(); ++i) {
        const any_view& r = memory.results[i];
        if (r.data != nullptr) one.results[i] = rows_of(r, plane, 0, r.shape.rows);
    }
    const auto of_plane = [&](const const_any_view& map) {
        return map.data == nullptr ? map : rows_of(map, map.shape.planes == 1 ? 0 : plane, 0, map.shape.rows);
    };
    one.radius = of_plane(memory.radius);
    one.mask = of_plane(memory.mask);
    one.weights = of_plane(memory.weights);
    return one;
}

window_task tableless_task(const filters::window_job& job, const const_any_view& part, std::int64_t part_row,
                           std::int64_t first_row, std::int64_t end_row) {
    window_task task{};
    task.rows = job.rows;
    task.cols = job.cols;
    task.image = from_row_zero(part, part_row);
    task.first_row = first_row;
    task.end_row = end_row;
    return task;
}

std::size_t tableless_scratch_bytes(const window_filter& filter, std::int64_t first_row, std::int64_t end_row) {
    const filters::window_job& job = filter.windows;
    if (filter.maker == window_maker::tiles) return 0;
    const auto bytes = [&](bool squares) {
        return filter.maker == window_maker::real
                   ? real_scratch_bytes(job, squares, first_row, end_row)
                   : fused_scratch_bytes(job, fused_sums_of(job, squares), end_row - first_row);
    };
    return filter.squares ? std::max(bytes(false), bytes(true)) : bytes(false);
}

void enqueue_step(const window_filter& filter, const window_task& task, const filter_memory& plane, void* scratch,
                  window_extremes* extremes, stream_ref stream) {
    const filters::window_job& job = filter.windows;
    const std::int64_t first = job.first_row;
    filter_step step{task,
                     {&job, task.image, task.first_row, task.end_row, scratch},
                     {&job, task.image, {}, {}, task.first_row, task.end_row, scratch},
                     {},
                     {},
                     extremes,
                     stream};
    if (plane.mask.data != nullptr) step.real.mask = from_row_zero(plane.mask, job.part_row);
    if (plane.weights.data != nullptr) step.real.weights = from_row_zero(plane.weights, job.part_row);
    for (std::size_t i = 0; i < plane.results.size(); ++i)
        if (plane.results[i].data != nullptr) step.results[i] = from_row_zero(plane.results[i], first);
    if (plane.radius.data != nullptr) step.radius = from_row_zero(plane.radius, first);
    if (filter.extremes) {
        enqueue_clear_extremes(extremes, stream);
        switch (filter.maker) {
            case window_maker::tables:
                enqueue_extremes(task, extremes, stream);
                break;
            case window_maker::fused:
                enqueue_fused_extremes(step.fused, extremes, stream);
                break;
            case window_maker::real:
                enqueue_real_extremes(step.real, extremes, stream);
                break;
            case window_maker::tiles:
                break;  // which no threshold has
        }
    }
    filter.consume(step);
}

// ---- views of any strides -------------------------------------------------------------------------------------------

filter_copies::filter_copies(filter_memory& views) {
    const auto add = [&](packed_copy& copy, auto& view) {
        if (view.shape.rows != 0) copy.add(view.shape, bytes_);
    };
    add(image_, views.image);
    add(radius_, views.radius);
    add(mask_, views.mask);
    add(weights_, views.weights);
    for (std::size_t i = 0; i < results_.size(); ++i) add(results_[i], views.results[i]);
}

filter_memory filter_copies::pack(const filter_memory& given, void* space, stream_ref stream) const {
    filter_memory memory = given;
    const auto fill = [&](const packed_copy& copy, const_any_view& view) {
        if (copy.exists()) view = {copy.fill(view.data, space, stream), copy.shape()};
    };
    fill(image_, memory.image);
    fill(radius_, memory.radius);
    fill(mask_, memory.mask);
    fill(weights_, memory.weights);
    for (std::size_t i = 0; i < results_.size(); ++i)
        if (results_[i].exists()) memory.results[i] = {results_[i].at(space), results_[i].shape()};
    return memory;
}

void filter_copies::unpack(const filter_memory& given, void* space, stream_ref stream) const {
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i].empty(given.results[i].data, space, stream);
}

// ---- plans ----------------------------------------------------------------------------------------------------------

planned_filter::planned_filter(window_filter filter, filter_memory views)
    : filter_(std::move(filter)), device_(current_device()), copies_(views) {
    const filters::window_job& job = filter_.windows;
    if (filter_.maker == window_maker::tables)
        tables_.emplace(job, filter_.squares, job.shape.rows, views.image.shape.row_stride);
    table_part_ = (table_workspace_bytes() + 255) / 256 * 256;
    window_bytes_ = tables_ ? tables_->bytes().total() : tableless_scratch_bytes(filter_, job.first_row, job.end_row);
    copies_at_ = window_bytes_ + (filter_.extremes ? sizeof(window_extremes) : 0);
    if (copies_.bytes() > 0) copies_at_ = (copies_at_ + 255) / 256 * 256;
}

void planned_filter::enqueue(const filter_memory& memory, void* scratch, const workspace_use& workspace,
                             std::size_t workspace_bytes, stream_ref stream) const {
    const filters::window_job& job = filter_.windows;
    const device_scope scope(device_);
    auto* const extremes = reinterpret_cast<window_extremes*>(static_cast<std::byte*>(scratch) + window_bytes_);
    auto* const copies = static_cast<std::byte*>(scratch) + copies_at_;
    const filter_memory plain = copies_.pack(memory, copies, stream);
    for (std::int64_t plane = 0; plane < job.shape.planes; ++plane) {
        const filter_memory one = plane_of(plain, plane);
        window_task task;
        if (tables_) {
            task = tables_->enqueue({one.image, one.mask, one.weights}, job.part_row, scratch, workspace,
                                    workspace_bytes, stream);
            task.first_row = job.first_row;
            task.end_row = job.end_row;
        } else {
            task = tableless_task(job, one.image, job.part_row, job.first_row, job.end_row);
        }
        enqueue_step(filter_, task, one, scratch, filter_.extremes ? extremes : nullptr, stream);
    }
    copies_.unpack(memory, copies, stream);
}

void planned_filter::enqueue(const filter_memory& memory, workspace& workspace, stream_ref stream) const {
    const workspace_end space(workspace, workspace_bytes(), scratch_bytes(), device_, stream);
    // Tables' algorithms have words with tags before the scratch. Tables themselves need not be zeroed behind a call:
    // that would take a tenth of its time.
    if (tables_) space.use().want_clean(space.bytes_before());
    enqueue(memory, space.data(), space.use(), space.bytes_before(), stream);
    if (scratch_bytes() == 0) return;
    const device_scope scope(device_);
    space.leave();
}

}  // namespace boxsum::cuda
