#include "cuda/filters/device_tables.hpp"

#include "cuda/filters/finite_tables.hpp"
#include "cuda/runtime/planned_problem.hpp"

#include <algorithm>

namespace boxsum::cuda {
namespace {

using filters::window_job;

std::size_t aligned(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// The narrowest types that hold every window. Below 2^31 for sums of 32 bits, so that half a window fits on top.
dtype sum_type(const window_job& job) {
    if (is_floating(job.shape.type) || job.weighted) return dtype::f64;
    return job.largest_window <= (job.shape.type == dtype::u8 ? std::int64_t{1} << 23 : 32767) ? dtype::u32
                                                                                               : dtype::u64;
}

/// The numerator of a variance may exceed 64 bits: of integers.
bool is_wide(const window_job& job) {
    return job.largest_window > (job.shape.type == dtype::u8 ? 16843009 : 65537);
}

/// 16s pixels enter their table 32768 higher, but not products with weights.
bool is_raised(const window_job& job) {
    return job.shape.type == dtype::s16 && !job.weighted;
}

view_shape pixels_of(const window_job& job, std::int64_t rows, std::int64_t row_stride) {
    const view_shape& s = job.shape;
    if (is_raised(job)) return device_shape(dtype::u16, rows, s.cols, s.channels);
    return {s.type, 1, rows, s.cols, s.channels, row_stride, 0};
}

view_shape table_of(const window_job& job, dtype type, std::int64_t rows) {
    return device_shape(type, rows + 1, job.shape.cols + 1, job.shape.channels);
}

std::optional<sampled_tables> samples_of(const window_job& job, const view_shape& pixels) {
    if (!job.sampled()) return {};
    return sampled_tables(job, pixels, is_raised(job) ? 32768 : 0);
}

sat_plan plan_of(const view_shape& pixels, const view_shape& table, const view_shape* squares) {
    sat_shapes shapes{.image = pixels, .sums = table, .form = {table_layout::padded}};
    if (squares != nullptr) shapes.squares = *squares;
    return sat_plan(shapes);
}

}  // namespace

table_plan::table_plan(const window_job& job, bool squares, std::int64_t rows, std::int64_t row_stride)
    : pixels_(pixels_of(job, rows, row_stride)),
      table_(table_of(job, sum_type(job), rows)),
      squares_(table_of(job, dtype::u64, rows)),
      with_squares_(squares),
      numbers_(count_type(job)),
      samples_(samples_of(job, pixels_)),
      sums_(plan_of(samples_ ? samples_->summed() : pixels_, table_, squares ? &squares_ : nullptr)) {
    if (is_raised(job)) {
        space_.raised = aligned(span_bytes(pixels_));
        task_.offset = 32768;
    }
    space_.table = aligned(span_bytes(table_));
    if (squares) space_.squares = aligned(span_bytes(squares_));
    if (samples_)
        space_.samples = samples_->bytes();
    else if (is_floating(job.shape.type))
        space_.infinite = finite_table_bytes(table_, numbers_);
    task_.rows = job.rows;
    task_.cols = job.cols;
    task_.border_value = job.border_value + static_cast<double>(task_.offset);
    task_.wide = is_wide(job);
}

std::size_t table_plan::workspace_bytes() const noexcept {
    return std::max(sums_.workspace_bytes(), samples_ ? samples_->workspace_bytes() : 0);
}

window_task table_plan::enqueue(const sampled_pixels& part, std::int64_t table_row, void* tables,
                                const workspace_use& workspace, std::size_t workspace_bytes, stream_ref stream) const {
    auto* const raised = static_cast<std::byte*>(tables);
    auto* const sums = raised + space_.raised;
    auto* const squares = sums + space_.table;
    window_task task = task_;
    const_any_view pixels{part.image.data, pixels_};
    if (space_.raised > 0) {
        enqueue_raise(part.image, {raised, pixels_}, stream);
        pixels.data = raised;
    }
    if (samples_)
        pixels = samples_->enqueue({pixels, part.mask, part.weights}, squares + space_.squares, workspace,
                                   workspace_bytes, stream, task.samples);
    // The arguments are the filter's, which looked at the caller's, and memory of its own.
    buffers memory;
    memory.image = pixels.data;
    memory.table = sums;
    if (with_squares_) memory.squares = squares;
    planned(sums_).enqueue(memory, workspace, workspace_bytes);
    if (space_.infinite > 0)
        enqueue_finite_table(pixels, {sums, table_}, numbers_, squares + space_.squares, stream, task.samples);
    task.image = from_row_zero(pixels, table_row);
    task.table = {sums, table_};
    if (with_squares_) task.squares = {squares, squares_};
    task.table_row = table_row;
    return task;
}

}  // namespace boxsum::cuda
