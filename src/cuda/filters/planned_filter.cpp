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
        }
    }
    filter.consume(step);
}

planned_filter::planned_filter(window_filter filter, std::int64_t row_stride)
    : filter_(std::move(filter)), device_(current_device()) {
    const filters::window_job& job = filter_.windows;
    if (filter_.maker == window_maker::tables) tables_.emplace(job, filter_.squares, job.shape.rows, row_stride);
    table_part_ = (table_workspace_bytes() + 255) / 256 * 256;
    window_bytes_ = tables_ ? tables_->bytes().total() : tableless_scratch_bytes(filter_, job.first_row, job.end_row);
    extremes_bytes_ = filter_.extremes ? sizeof(window_extremes) : 0;
}

void planned_filter::enqueue(const filter_memory& memory, void* scratch, const workspace_use& workspace,
                             std::size_t workspace_bytes, stream_ref stream) const {
    const filters::window_job& job = filter_.windows;
    const device_scope scope(device_);
    auto* const extremes = reinterpret_cast<window_extremes*>(static_cast<std::byte*>(scratch) + window_bytes_);
    for (std::int64_t plane = 0; plane < job.shape.planes; ++plane) {
        const filter_memory one = plane_of(memory, plane);
        window_task task;
        if (tables_) {
            task = tables_->enqueue(one.image, job.part_row, scratch, workspace, workspace_bytes, stream);
            task.first_row = job.first_row;
            task.end_row = job.end_row;
        } else {
            task = tableless_task(job, one.image, job.part_row, job.first_row, job.end_row);
        }
        enqueue_step(filter_, task, one, scratch, filter_.extremes ? extremes : nullptr, stream);
    }
}

void planned_filter::enqueue(const filter_memory& memory, workspace& workspace, stream_ref stream) const {
    const workspace_use use(workspace, workspace_bytes(), device_, stream);
    // At the end, so that the tables' algorithm has all before it: it zeroes what it has where its tags begin again.
    const std::size_t before = (use.bytes() - scratch_bytes()) / 256 * 256;
    auto* const scratch = static_cast<std::byte*>(use.data()) + before;
    enqueue(memory, scratch, use, before, stream);
    if (scratch_bytes() == 0) return;
    // Other plans tag words there and take any that are not zero for such. Without room before it
    // the whole workspace becomes a fresh one.
    const device_scope scope(device_);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(scratch, 0, use.bytes() - before, stream.get()));
}

}  // namespace boxsum::cuda
