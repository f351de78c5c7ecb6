#include "cuda/filters/device_strips.hpp"

#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cuda/filters/filter_calls.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/event.hpp"
#include "cuda/runtime/packed_copies.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::cuda {
namespace {

using filters::window_job;

/// Memory for tables, or what windows without them need, and what making tables needs.
struct table_memory {
    device_buffer tables;
    cuda::workspace workspace;

    table_memory(std::size_t bytes, std::size_t workspace_bytes, stream_ref stream)
        : tables(bytes, stream), workspace(workspace_bytes, stream) {}
};

// ---- device memory --------------------------------------------------------------------------------------------------

void run_on_device(const window_filter& filter, const filter_memory& memory, stream_ref stream) {
    const planned_filter plan(filter, memory);
    table_memory own(plan.scratch_bytes(), plan.table_workspace_bytes(), stream);
    const workspace_use use(own.workspace, plan.table_workspace_bytes(), plan.device(), stream);
    plan.enqueue(memory, own.tables.data(), use, use.bytes(), stream);
    stream.synchronize();
}

// ---- host memory ----------------------------------------------------------------------------------------------------

/// What is enqueued on `waiter` from here on comes behind what is on `stream`.
void let_wait(stream_ref waiter, stream_ref stream) {
    event now(timing::off);
    now.record(stream);
    now.precede(waiter);  // which outlives the event: that goes when it has happened
}

/// Nothing that the streams use may be freed before they are done, also when an exception passes.
struct wait_at_end {
    std::vector<stream_ref> streams;
    ~wait_at_end() {
        for (const stream_ref s : streams) (void)cudaStreamSynchronize(s.get());
    }
};

std::int64_t row_bytes(const view_shape& s) {
    return s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
}

/// Rows of a strip's results. Not below the window's reach, so that a strip's windows end in its neighbours.
std::int64_t strip_rows(const window_filter& filter, const filter_memory& memory, std::int64_t strip_bytes) {
    const window_job& job = filter.windows;
    const std::int64_t rows = job.result_rows(), reach = std::max(job.rows.before, job.rows.after);
    if (filter.extremes || job.rows.reduced() || reach >= rows) return rows;
    std::int64_t bytes = row_bytes(memory.image.shape);
    for (const any_view& r : memory.results)
        if (r.data != nullptr) bytes = std::max(bytes, row_bytes(r.shape));
    return std::min(rows, std::max({strip_bytes / bytes, reach, std::int64_t{1}}));
}

/// A strip: rows first .. end - 1 have results, rows from .. to - 1 are read. All numbered in the whole image.
struct strip {
    std::int64_t first, end, from, to;
};

/// The plans of strips, by their rows, and memory for any of them.
class strip_windows {
  public:
    strip_windows(const window_filter& filter, std::int64_t row_stride) : filter_(filter), row_stride_(row_stride) {}

    void plan(const strip& s) {
        if (filter_.maker != window_maker::tables) {
            bytes_ = std::max(bytes_, tableless_scratch_bytes(filter_, s.first, s.end));
            return;
        }
        const std::int64_t rows = s.to - s.from;
        const auto [at, added] = plans_.try_emplace(rows, filter_.windows, filter_.squares, rows, row_stride_);
        if (!added) return;
        workspace_bytes_ = std::max(workspace_bytes_, at->second.workspace_bytes());
        bytes_ = std::max(bytes_, at->second.bytes().total());
    }

    void allocate(stream_ref stream) { memory_.emplace(bytes_, workspace_bytes_, stream); }

    /// `part` is the rows that the strip reads.
    window_task enqueue(const sampled_pixels& part, const strip& s, stream_ref stream) {
        if (filter_.maker != window_maker::tables)
            return tableless_task(filter_.windows, part.image, s.from, s.first, s.end);
        const table_plan& plan = plans_.at(part.image.shape.rows);
        const workspace_use use(memory_->workspace, plan.workspace_bytes(), device_, stream);
        window_task task = plan.enqueue(part, s.from, memory_->tables.data(), use, use.bytes(), stream);
        task.first_row = s.first;
        task.end_row = s.end;
        return task;
    }

    void* scratch() const noexcept { return memory_->tables.data(); }

  private:
    const window_filter& filter_;
    std::int64_t row_stride_;
    std::map<std::int64_t, table_plan> plans_;
    int device_ = current_device();
    std::size_t workspace_bytes_ = 0, bytes_ = 0;
    std::optional<table_memory> memory_;
};

std::vector<strip> strips_of(const window_job& job, std::int64_t height) {
    std::vector<strip> strips;
    const bool at_once = height == job.result_rows();
    const std::int64_t part_end = job.part_row + job.shape.rows;
    for (std::int64_t first = job.first_row; first < job.end_row; first += height) {
        const std::int64_t end = std::min(job.end_row, first + height);
        const auto taken = job.rows.taken_by(first, end);
        strips.push_back(at_once ? strip{first, end, job.part_row, part_end}
                                 : strip{first, end, taken.first, taken.end});
    }
    return strips;
}

/// Memory for a plane's rows on the device, of views' shapes.
class rows_in_turn {
  public:
    event computed{timing::off};  ///< of whoever used them last

  protected:
    /// None for the shape of a view that is none.
    any_view allocate(const view_shape& s, std::int64_t rows, stream_ref stream) {
        if (s.rows == 0) return {};
        const view_shape shape = device_shape(s.type, rows, s.cols, s.channels, 1);
        memory_.emplace_back(span_bytes(shape), stream);
        return {memory_.back().data(), shape};
    }

  private:
    std::deque<device_buffer> memory_;
};

/// What strips read: rows of the image, its mask and weights.
struct rows_read : rows_in_turn {
    rows_read(const filter_memory& like, std::int64_t rows, stream_ref stream)
        : image(allocate(like.image.shape, rows, stream)),
          mask(allocate(like.mask.shape, rows, stream)),
          weights(allocate(like.weights.shape, rows, stream)) {}

    any_view image, mask, weights;
};

/// Rows of a strip's results, and what is read beside them.
struct rows_written : rows_in_turn {
    rows_written(const filter_memory& like, std::int64_t rows, stream_ref stream)
        : radius(allocate(like.radius.shape, rows, stream)) {
        for (std::size_t i = 0; i < results.size(); ++i) results[i] = allocate(like.results[i].shape, rows, stream);
    }

    any_view radius;
    result_views results;
    event downloaded{timing::off};
};

/// Three strips share the device's memory: one arrives, one is computed, one leaves. Rows that the strip before has,
/// too, come from there, so that each travels once, but for maps of one plane, which travel with each plane of the
/// image.
void run_on_host_memory(const window_filter& filter, const filter_memory& memory, std::int64_t strip_bytes) {
    const window_job& job = filter.windows;
    const stream upload, work, download;
    const std::vector<strip> strips = strips_of(job, strip_rows(filter, memory, strip_bytes));
    std::int64_t most_read = 0, most_written = 0;
    for (const strip& s : strips) {
        most_read = std::max(most_read, s.to - s.from);
        most_written = std::max(most_written, s.end - s.first);
    }
    const bool whole = most_read == job.shape.rows;  // windows that wrap around: all strips read the same rows
    const std::size_t turns = std::min<std::size_t>(3, strips.size() * static_cast<std::size_t>(job.shape.planes));
    std::deque<rows_read> read;
    std::deque<rows_written> written;
    while (read.size() < (whole ? 1 : turns)) read.emplace_back(memory, most_read, work);
    while (written.size() < turns) written.emplace_back(memory, most_written, work);
    device_buffer extremes;
    if (filter.extremes) extremes = device_buffer(sizeof(window_extremes), work);
    strip_windows windows(filter, read.front().image.shape.row_stride);
    for (const strip& s : strips) windows.plan(s);
    windows.allocate(work);
    const wait_at_end guard{{upload, work, download}};
    let_wait(upload, work);  // the memory is there

    std::size_t turn = 0;
    for (std::int64_t plane = 0; plane < job.shape.planes; ++plane) {
        const filter_memory given = plane_of(memory, plane);
        rows_read* before = nullptr;
        row_range there{job.part_row, job.part_row};  // rows that lie before
        for (const strip& s : strips) {
            rows_read& in = read[turn % read.size()];
            rows_written& out = written[turn % written.size()];
            ++turn;
            const std::int64_t base = whole ? job.part_row : s.from;  // the row at the start of `in`
            if (!whole || before == nullptr) in.computed.precede(upload);
            const auto bring = [&](const const_any_view& from, const any_view& to, const any_view* kept) {
                if (from.data == nullptr) return;
                const auto fetch = [&](std::int64_t first, std::int64_t end) {
                    if (first < end)
                        copy_async(rows_of(from, 0, first - job.part_row, end - job.part_row),
                                   rows_of(to, 0, first - base, end - base), upload);
                };
                if (kept == nullptr) return fetch(s.from, s.to);
                const std::int64_t first = std::max(there.first, s.from), end = std::min(there.end, s.to);
                if (first >= end) return fetch(s.from, s.to);
                if (!whole)  // the link does not wait for it
                    copy_async(rows_of(const_any_view(*kept), 0, first - there.first, end - there.first),
                               rows_of(to, 0, first - base, end - base), work);
                fetch(s.from, first);
                fetch(end, s.to);
            };
            bring(given.image, in.image, before == nullptr ? nullptr : &before->image);
            bring(given.mask, in.mask, before == nullptr ? nullptr : &before->mask);
            bring(given.weights, in.weights, before == nullptr ? nullptr : &before->weights);
            if (before != nullptr && before != &in) before->computed.record(work);  // and copied from
            there = whole && before != nullptr ? row_range{there.first, std::max(there.end, s.to)}
                                               : row_range{s.from, s.to};
            before = &in;

            const std::int64_t first = s.first - job.first_row, end = s.end - job.first_row;  // of the results
            if (given.radius.data != nullptr) {
                out.computed.precede(upload);
                copy_async(rows_of(given.radius, 0, first, end), rows_of(out.radius, 0, 0, end - first), upload);
            }
            let_wait(work, upload);
            out.downloaded.precede(work);
            filter_memory here;  // named as if all rows were there
            here.mask = from_row_zero(const_any_view(in.mask), base - job.part_row);
            here.weights = from_row_zero(const_any_view(in.weights), base - job.part_row);
            here.radius = from_row_zero(const_any_view(out.radius), first);
            for (std::size_t i = 0; i < here.results.size(); ++i)
                if (out.results[i].data != nullptr) here.results[i] = from_row_zero(out.results[i], first);
            const auto read_of = [&](const any_view& rows) {
                return rows.data == nullptr ? const_any_view{}
                                            : rows_of(const_any_view(rows), 0, s.from - base, s.to - base);
            };
            const window_task task =
                windows.enqueue({read_of(in.image), read_of(in.mask), read_of(in.weights)}, s, work);
            enqueue_step(filter, task, here, windows.scratch(), static_cast<window_extremes*>(extremes.data()), work);
            in.computed.record(work);
            out.computed.record(work);
            out.computed.precede(download);
            for (std::size_t i = 0; i < out.results.size(); ++i)
                if (out.results[i].data != nullptr)
                    copy_async(rows_of(const_any_view(out.results[i]), 0, 0, end - first),
                               rows_of(given.results[i], 0, first, end), download);
            out.downloaded.record(download);
        }
    }
    work.synchronize();
    download.synchronize();
}

// ---- images and results of any strides ------------------------------------------------------------------------------

void run_on_packed_host_memory(const window_filter& filter, const filter_memory& memory, std::int64_t strip_bytes) {
    const packed_input image(memory.image, is_plain), radius(memory.radius, is_plain), mask(memory.mask, is_plain),
        weights(memory.weights, is_plain);
    const auto result = [&](std::size_t i) { return packed_output(memory.results[i], is_plain); };
    const std::array results{result(0), result(1), result(2), result(3), result(4)};
    filter_memory plain = memory;
    plain.image = image.view();
    plain.radius = radius.view();
    plain.mask = mask.view();
    plain.weights = weights.view();
    for (std::size_t i = 0; i < results.size(); ++i) plain.results[i] = results[i].view();
    run_on_host_memory(filter, plain, strip_bytes);
    for (const packed_output& one : results) one.unpack();
}

}  // namespace

void execute(const window_filter& filter, const filter_memory& memory, stream_ref stream, std::int64_t strip_bytes) {
    const int device = device_of(stream);
    const device_scope scope(device);
    const bool host = is_host_memory(memory.image.data);
    const std::array names{memory.first_result, "variance", "deviation", "sum", "count"};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (memory.results[i].data != nullptr) require_memory_of_image(names[i], memory.results[i].data, host, device);
    for (const auto& [name, map] :
         {std::pair{"radius", &memory.radius}, {"mask", &memory.mask}, {"weights", &memory.weights}})
        if (map->data != nullptr) require_memory_of_image(name, map->data, host, device);
    if (!host) check_device_pointer("image", memory.image.data, device);
    filter_memory wanted = memory;
    for (any_view& r : wanted.results)
        if (r.data == nullptr) r = {};
    if (host)
        run_on_packed_host_memory(filter, wanted, strip_bytes);
    else
        run_on_device(filter, wanted, stream);
}

std::int64_t check_radii(const const_any_view& radius, std::optional<std::int64_t> largest, stream_ref stream) {
    const int device = device_of(stream);
    if (is_host_memory(radius.data)) return filters::check_radii(packed_input(radius, is_plain).view(), largest);
    const device_scope scope(device);
    check_device_pointer("radius", radius.data, device);
    view_shape s = radius.shape;
    packed_copy copy;
    std::size_t copied_bytes = 0;
    copy.add(s, copied_bytes);
    const device_buffer space(copied_bytes, stream);
    const const_any_view plain{copy.fill(radius.data, space.data(), stream), s};
    const device_buffer memory(sizeof(radius_range), stream);
    radius_range range{};
    enqueue_radius_range(plain, largest.value_or(std::numeric_limits<std::int64_t>::max()),
                         static_cast<radius_range*>(memory.data()), stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(&range, memory.data(), sizeof range, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    if (range.first_refused == ~0ull) return static_cast<std::int64_t>(range.largest);
    const auto index = static_cast<std::int64_t>(range.first_refused);
    const std::int64_t col = index % s.cols, row = index / s.cols % s.rows, plane = index / s.cols / s.rows;
    const_any_view found = rows_of(plain, plane, row, row + 1);
    found.data = static_cast<const std::byte*>(found.data) + col * static_cast<std::int64_t>(size_of(s.type));
    u32 bits = 0;  // little endian: narrower radii fill its low bytes
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(&bits, found.data, size_of(s.type), cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    const std::int64_t value = s.type == dtype::s32 ? std::int64_t{static_cast<s32>(bits)} : std::int64_t{bits};
    filters::refuse_radius(value, plane, row, col, largest);
}

}  // namespace boxsum::cuda
