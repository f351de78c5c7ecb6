#include "cuda/filters/window_walk.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// Radii of one plane.
struct radius_plane {
    const char* data;
    std::int64_t row_stride;
    dtype type;

    __device__ std::int64_t at(std::int64_t row, std::int64_t col) const {
        const char* const values = data + row * row_stride;
        switch (type) {
            case dtype::u8:
                return reinterpret_cast<const u8*>(values)[col];
            case dtype::u16:
                return reinterpret_cast<const u16*>(values)[col];
            case dtype::u32:
                return reinterpret_cast<const u32*>(values)[col];
            default:
                return reinterpret_cast<const s32*>(values)[col];
        }
    }
};

radius_plane plane_of(const const_any_view& radius, std::int64_t plane) {
    return {static_cast<const char*>(radius.data) + plane * radius.shape.plane_stride, radius.shape.row_stride,
            radius.shape.type};
}

/// The window of this radius around sample i of an axis that has another one.
__device__ axis_terms terms_around(const filters::window_axis& axis, std::int64_t i, std::int64_t radius) {
    const std::int64_t low = i - radius, high = i + radius + 1;
    if (low < 0 || high > axis.extent)
        return terms_of(filters::window_axis(axis.extent, radius, radius, axis.border), i);
    axis_terms terms;
    terms.high = high;
    terms.low = low;
    terms.inside = terms.samples = high - low;
    return terms;
}

/// A thread owns a column's pixels in row blockIdx.y and every gridDim.y-th after it.
template <typename Sum, typename Out>
__global__ __launch_bounds__(walk_threads) void variable_mean_kernel(device_task<Sum, Sum> task, radius_plane radii,
                                                                     any_view result) {
    const std::int64_t col = std::int64_t{blockIdx.x} * walk_threads + threadIdx.x;
    if (col >= task.cols.extent) return;
    for (std::int64_t row = task.first_row + blockIdx.y; row < task.end_row; row += gridDim.y) {
        const std::int64_t radius = radii.at(row, col);
        const axis_terms rows = terms_around(task.rows, row, radius), cols = terms_around(task.cols, col, radius);
        for (int channel = 0; channel < task.channels; ++channel) {
            windows<1, Sum, Sum> w{};
            w.sum[0] = any_window(task.table, rows, cols, task.table_row, task.channels, channel);
            w.samples = rows.samples * cols.samples;
            add_border(w, task, rows.inside * cols.inside);
            Out out[1];
            if constexpr (std::is_integral_v<Out>) {  // half up, in the raised pixels
                const auto n = static_cast<Sum>(w.samples);
                out[0] = static_cast<Out>((w.sum[0] + n / 2) / n - static_cast<Sum>(task.offset));
            } else {
                out[0] = static_cast<Out>(mean_of(w.sum[0], w.samples, task.offset));
            }
            store_elements(result, row, col * task.channels + channel, out);
        }
    }
}

dim3 grid_for(std::int64_t cols, std::int64_t rows, std::int64_t most) {
    return {static_cast<unsigned>((cols + walk_threads - 1) / walk_threads),
            static_cast<unsigned>(rows < most ? rows : most), 1};
}

__global__ void radius_range_kernel(radius_plane radii, std::int64_t rows, std::int64_t cols, std::int64_t first_index,
                                    std::int64_t most, radius_range* range) {
    const std::int64_t col = std::int64_t{blockIdx.x} * walk_threads + threadIdx.x;
    if (col >= cols) return;
    std::int64_t largest = 0, refused = -1;
    for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
        const std::int64_t radius = radii.at(row, col);
        if (radius > largest) largest = radius;
        if ((radius < 0 || radius > most) && refused < 0) refused = first_index + row * cols + col;
    }
    // Most columns change nothing: look before the atomic.
    if (static_cast<unsigned long long>(largest) > *const_cast<const volatile unsigned long long*>(&range->largest))
        atomicMax(&range->largest, static_cast<unsigned long long>(largest));
    if (refused >= 0) atomicMin(&range->first_refused, static_cast<unsigned long long>(refused));
}

}  // namespace

void enqueue_variable_means(const window_task& task, const const_any_view& radius, const any_view& result,
                            stream_ref stream) {
    const dim3 grid = grid_for(task.image.shape.cols, task.end_row - task.first_row, 32768);
    visit_mean_types(task, result, [&]<typename Sum, typename Out>() {
        launch(variable_mean_kernel<Sum, Out>, {.grid = grid, .block = walk_threads}, stream, on_device<Sum, Sum>(task),
               plane_of(radius, 0), result);
    });
}

void enqueue_radius_range(const const_any_view& radius, std::int64_t most, radius_range* range, stream_ref stream) {
    BOXSUM_CUDA_TRY(cudaMemsetAsync(&range->largest, 0, sizeof range->largest, stream.get()));
    BOXSUM_CUDA_TRY(cudaMemsetAsync(&range->first_refused, 0xff, sizeof range->first_refused, stream.get()));
    const view_shape& s = radius.shape;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        launch(radius_range_kernel, {.grid = grid_for(s.cols, s.rows, 256), .block = walk_threads}, stream,
               plane_of(radius, plane), s.rows, s.cols, plane * s.rows * s.cols, most, range);
}

}  // namespace boxsum::cuda
