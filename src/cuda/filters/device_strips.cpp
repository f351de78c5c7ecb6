#include "cuda/filters/device_strips.hpp"

#include "core/visit_types.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/planned_problem.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

namespace boxsum::cuda {
namespace {

using filters::window_job;

/// Rows first .. end - 1 of one plane, as a view of one plane.
template <typename View>
View rows_of(const View& v, std::int64_t plane, std::int64_t first, std::int64_t end) {
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    View part = v;
    part.data = static_cast<byte*>(v.data) + plane * v.shape.plane_stride + first * v.shape.row_stride;
    part.shape.planes = 1;
    part.shape.plane_stride = 0;
    part.shape.rows = end - first;
    return part;
}

/// The same memory named from row 0 of the plane: only rows that exist may be touched.
const_any_view from_row_zero(const const_any_view& part, std::int64_t first) {
    const_any_view v = part;
    v.data = reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(part.data) -
                                           static_cast<std::uintptr_t>(first * part.shape.row_stride));
    return v;
}

struct table_types {
    dtype sum;
    dtype square;
    bool wide;  ///< numerators of variances
};

/// The narrowest types that hold every window. Below 2^31 for sums of 32 bits, so that half a window fits on top.
table_types types_for(dtype image, std::int64_t largest_window) {
    if (is_floating(image)) return {dtype::f64, dtype::f64, false};
    const bool byte = image == dtype::u8;
    return {largest_window <= (byte ? std::int64_t{1} << 23 : 32767) ? dtype::u32 : dtype::u64, dtype::u64,
            largest_window > (byte ? 16843009 : 65537)};
}

/// The tables of some rows of a plane, again and again in the same memory.
class window_tables {
  public:
    window_tables(const window_job& job, bool squares, std::int64_t most_rows, stream_ref stream)
        : job_(job),
          types_(types_for(job.image.shape.type, job.largest_window)),
          squares_wanted_(squares),
          stream_(stream) {
        const view_shape& s = job.image.shape;
        if (s.type == dtype::s16)
            raised_ = device_buffer(span_bytes(device_shape(dtype::u16, most_rows, s.cols, s.channels)), stream);
        table_ = device_buffer(span_bytes(table_shape(types_.sum, most_rows)), stream);
        if (squares) squares_ = device_buffer(span_bytes(table_shape(types_.square, most_rows)), stream);
    }

    /// Enqueues the tables of rows table_row .. (all of `part`) of a plane; the task for its windows, without their
    /// rows.
    window_task compute(const const_any_view& part, std::int64_t table_row) {
        const_any_view pixels = part;
        window_task task;
        if (part.shape.type == dtype::s16) {
            const view_shape s = device_shape(dtype::u16, part.shape.rows, part.shape.cols, part.shape.channels);
            enqueue_raise(part, {raised_.data(), s}, stream_);
            pixels = {raised_.data(), s};
            task.offset = 32768;
        }
        const any_view table{table_.data(), table_shape(types_.sum, part.shape.rows)};
        const any_view squares{squares_.data(), table_shape(types_.square, part.shape.rows)};
        // The arguments are the filter's, which looked at the caller's, and memory of its own.
        planned(plan_for(pixels.shape, table.shape, squares.shape))
            .enqueue({pixels.data, table.data, squares.data}, workspace_, stream_);

        task.rows = job_.rows;
        task.cols = job_.cols;
        task.image = from_row_zero(pixels, table_row);
        task.table = table;
        if (squares_wanted_) task.squares = squares;
        task.table_row = table_row;
        task.border_value = job_.border_value + static_cast<double>(task.offset);
        task.wide = types_.wide;
        return task;
    }

  private:
    view_shape table_shape(dtype type, std::int64_t rows) const {
        return device_shape(type, rows + 1, job_.image.shape.cols + 1, job_.image.shape.channels);
    }

    const sat_plan& plan_for(const view_shape& pixels, const view_shape& table, const view_shape& squares) {
        const auto found = plans_.find(pixels.rows);
        if (found != plans_.end()) return found->second;
        sat_shapes shapes{pixels, table};
        if (squares_wanted_) shapes.squares = squares;
        shapes.form = table_layout::padded;
        const sat_plan plan(shapes);
        workspace_.reserve(plan.workspace_bytes(), stream_);
        return plans_.emplace(pixels.rows, plan).first->second;
    }

    const window_job& job_;
    table_types types_;
    bool squares_wanted_;
    stream_ref stream_;
    device_buffer raised_, table_, squares_;
    workspace workspace_;
    std::map<std::int64_t, sat_plan> plans_;  // by rows
};

std::vector<any_view> plane_of(const std::vector<any_view>& results, std::int64_t plane) {
    std::vector<any_view> parts;
    for (const any_view& r : results) parts.push_back(rows_of(r, plane, 0, r.shape.rows));
    return parts;
}

/// A map of one plane serves all of the image's.
const_any_view map_of_plane(const const_any_view& radius, std::int64_t plane) {
    if (radius.data == nullptr) return radius;
    return rows_of(radius, radius.shape.planes == 1 ? 0 : plane, 0, radius.shape.rows);
}

// ---- device memory --------------------------------------------------------------------------------------------------

void run_on_device(const filter_run& run, stream_ref stream) {
    const const_any_view& image = run.job.image;
    window_tables tables(run.job, run.squares, image.shape.rows, stream);
    for (std::int64_t plane = 0; plane < image.shape.planes; ++plane) {
        window_task task = tables.compute(rows_of(image, plane, 0, image.shape.rows), 0);
        task.end_row = image.shape.rows;
        const std::vector<any_view> results = plane_of(run.results, plane);
        const filter_step step{task, results, map_of_plane(run.radius.value_or(const_any_view{}), plane), stream};
        if (run.before) run.before(step);
        run.consume(step);
    }
    stream.synchronize();
}

// ---- host memory ----------------------------------------------------------------------------------------------------

/// A point in a stream that others can wait for.
class event {
  public:
    explicit event(stream_ref stream) {
        BOXSUM_CUDA_TRY(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming));
        const cudaError_t code = cudaEventRecord(handle_, stream.get());
        if (code != cudaSuccess) (void)cudaEventDestroy(handle_);
        BOXSUM_CUDA_TRY(code);
    }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() { (void)cudaEventDestroy(handle_); }

    void wait(stream_ref waiter) const { BOXSUM_CUDA_TRY(cudaStreamWaitEvent(waiter.get(), handle_, 0)); }

  private:
    cudaEvent_t handle_ = nullptr;
};

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

/// Rows of a strip. Not below the radius, so that a strip's windows reach no further than its neighbours.
std::int64_t strip_rows(const filter_run& run) {
    const window_job& job = run.job;
    const std::int64_t rows = job.image.shape.rows;
    const bool repeats = job.rows.repeats > 0 || job.rows.edge_repeats > 0 || job.rows.radius >= rows;
    if (run.before || repeats) return rows;
    std::int64_t bytes = row_bytes(job.image.shape);
    for (const any_view& r : run.results) bytes = std::max(bytes, row_bytes(r.shape));
    return std::min(rows, std::max({run.strip_bytes / bytes, job.rows.radius, std::int64_t{1}}));
}

any_view allocate_like(const view_shape& s, std::deque<device_buffer>& memory, stream_ref stream) {
    const view_shape shape = device_shape(s.type, s.rows, s.cols, s.channels, s.planes);
    memory.emplace_back(span_bytes(shape), stream);
    return {memory.back().data(), shape};
}

void run_on_host_memory(const filter_run& run) {
    const const_any_view& image = run.job.image;
    const std::int64_t rows = image.shape.rows, radius = run.job.rows.radius, height = strip_rows(run);
    const stream upload, work, download;

    std::deque<device_buffer> memory;
    const any_view device_image = allocate_like(image.shape, memory, work);
    std::vector<any_view> device_results;
    for (const any_view& r : run.results) device_results.push_back(allocate_like(r.shape, memory, work));
    any_view device_radius;
    if (run.radius) device_radius = allocate_like(run.radius->shape, memory, work);
    window_tables tables(run.job, run.squares, std::min(rows, height + 2 * radius), work);
    const wait_at_end guard{{upload, work, download}};
    event(work).wait(upload);  // the memory is there

    std::deque<event> done;
    for (std::int64_t plane = 0; plane < image.shape.planes; ++plane) {
        const std::vector<any_view> results = plane_of(device_results, plane);
        std::int64_t uploaded = 0;
        for (std::int64_t first = 0; first < rows; first += height) {
            const std::int64_t end = std::min(rows, first + height);
            const std::int64_t from = std::max<std::int64_t>(0, first - radius), to = std::min(rows, end + radius);
            if (to > uploaded) {
                copy_async(rows_of(image, plane, uploaded, to), rows_of(device_image, plane, uploaded, to), upload);
                uploaded = to;
            }
            if (run.radius && plane < run.radius->shape.planes)
                copy_async(rows_of(*run.radius, plane, first, end), rows_of(device_radius, plane, first, end), upload);
            done.emplace_back(upload).wait(work);
            window_task task = tables.compute(rows_of(const_any_view(device_image), plane, from, to), from);
            task.first_row = first;
            task.end_row = end;
            const filter_step step{task, results, map_of_plane(device_radius, plane), work};
            if (run.before) run.before(step);
            run.consume(step);
            done.emplace_back(work).wait(download);
            for (std::size_t i = 0; i < results.size(); ++i)
                copy_async(rows_of(device_results[i], plane, first, end), rows_of(run.results[i], plane, first, end),
                           download);
        }
    }
    work.synchronize();
    download.synchronize();
}

// ---- arguments ------------------------------------------------------------------------------------------------------

void require_same_memory(const char* argument, const void* data, bool host, int device) {
    if (is_host_memory(data) != host)
        throw invalid_argument(std::string(argument) + (host ? ": is device memory, but the image is host memory"
                                                             : ": is host memory, but the image is device memory"));
    if (!host) check_device_pointer(argument, data, device);
}

}  // namespace

void execute(const filter_run& run, stream_ref stream) {
    const int device = current_device();
    const bool host = is_host_memory(run.job.image.data);
    for (const any_view& r : run.results) require_same_memory("result", r.data, host, device);
    if (run.radius) require_same_memory("radius", run.radius->data, host, device);
    if (host) return run_on_host_memory(run);
    check_device_pointer("image", run.job.image.data, device);
    check_stream(stream, device);
    run_on_device(run, stream);
}

std::int64_t check_radii(const const_any_view& radius, stream_ref stream) {
    const int device = current_device();
    if (is_host_memory(radius.data)) return filters::check_radii(radius);
    check_device_pointer("radius", radius.data, device);
    check_stream(stream, device);
    const device_buffer memory(sizeof(radius_range), stream);
    radius_range range{};
    enqueue_radius_range(radius, static_cast<radius_range*>(memory.data()), stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(&range, memory.data(), sizeof range, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    if (range.first_negative == ~0ull) return static_cast<std::int64_t>(range.largest);
    const view_shape& s = radius.shape;
    const auto index = static_cast<std::int64_t>(range.first_negative);
    const std::int64_t col = index % s.cols, row = index / s.cols % s.rows, plane = index / s.cols / s.rows;
    const_any_view found = rows_of(radius, plane, row, row + 1);
    s32 value = 0;
    found.data = static_cast<const s32*>(found.data) + col;
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(&value, found.data, sizeof value, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    filters::refuse_negative_radius(value, plane, row, col);
}

}  // namespace boxsum::cuda
