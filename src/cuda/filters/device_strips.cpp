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

any_view allocate_like(const view_shape& s, std::deque<device_buffer>& memory, stream_ref stream) {
    const view_shape shape = device_shape(s.type, s.rows, s.cols, s.channels, s.planes);
    memory.emplace_back(span_bytes(shape), stream);
    return {memory.back().data(), shape};
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
    window_task enqueue(const const_any_view& part, const strip& s, stream_ref stream) {
        if (filter_.maker != window_maker::tables) return tableless_task(filter_.windows, part, s.from, s.first, s.end);
        const table_plan& plan = plans_.at(part.shape.rows);
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

void run_on_host_memory(const window_filter& filter, const filter_memory& memory, std::int64_t strip_bytes) {
    const window_job& job = filter.windows;
    const std::int64_t planes = job.shape.planes;
    const stream upload, work, download;
    std::deque<device_buffer> buffers;
    const any_view image = allocate_like(job.shape, buffers, work);
    filter_memory on_device{image};
    for (std::size_t i = 0; i < memory.results.size(); ++i)
        if (memory.results[i].data != nullptr)
            on_device.results[i] = allocate_like(memory.results[i].shape, buffers, work);
    any_view radius, mask, weights;
    const auto allocate = [&](const const_any_view& map, any_view& to, const_any_view& named) {
        if (map.data != nullptr) named = to = allocate_like(map.shape, buffers, work);
    };
    allocate(memory.radius, radius, on_device.radius);
    allocate(memory.mask, mask, on_device.mask);
    allocate(memory.weights, weights, on_device.weights);
    device_buffer extremes;
    if (filter.extremes) extremes = device_buffer(sizeof(window_extremes), work);

    const std::vector<strip> strips = strips_of(job, strip_rows(filter, memory, strip_bytes));
    strip_windows windows(filter, image.shape.row_stride);
    for (const strip& s : strips) windows.plan(s);
    windows.allocate(work);
    const wait_at_end guard{{upload, work, download}};
    let_wait(upload, work);  // the memory is there

    for (std::int64_t plane = 0; plane < planes; ++plane) {
        const filter_memory one = plane_of(on_device, plane);
        std::int64_t uploaded = job.part_row;
        for (const strip& s : strips) {
            if (s.to > uploaded) {
                const std::int64_t begin = uploaded - job.part_row, end = s.to - job.part_row;
                copy_async(rows_of(memory.image, plane, begin, end), rows_of(image, plane, begin, end), upload);
                const auto with_it = [&](const const_any_view& map, const any_view& to) {
                    if (map.data != nullptr && plane < map.shape.planes)
                        copy_async(rows_of(map, plane, begin, end), rows_of(to, plane, begin, end), upload);
                };
                with_it(memory.mask, mask);
                with_it(memory.weights, weights);
                uploaded = s.to;
            }
            const std::int64_t first = s.first - job.first_row, end = s.end - job.first_row;  // of the results
            if (radius.data != nullptr && plane < radius.shape.planes)
                copy_async(rows_of(memory.radius, plane, first, end), rows_of(radius, plane, first, end), upload);
            let_wait(work, upload);
            const window_task task = windows.enqueue(
                rows_of(const_any_view(image), plane, s.from - job.part_row, s.to - job.part_row), s, work);
            enqueue_step(filter, task, one, windows.scratch(), static_cast<window_extremes*>(extremes.data()), work);
            let_wait(download, work);
            for (std::size_t i = 0; i < memory.results.size(); ++i)
                if (memory.results[i].data != nullptr)
                    copy_async(rows_of(on_device.results[i], plane, first, end),
                               rows_of(memory.results[i], plane, first, end), download);
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
    for (const any_view& r : memory.results)
        if (r.data != nullptr) require_memory_of_image("result", r.data, host, device);
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
