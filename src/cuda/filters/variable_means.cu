#include "cuda/filters/variable_windows.cuh"

#include <algorithm>
#include <limits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// Of `samples` pixels, wherever they lie.
template <typename Out, typename Sum>
__device__ Out variable_mean(Sum sum, std::int64_t samples, std::int64_t offset) {
    if constexpr (std::is_integral_v<Out>) {  // half up, in the raised pixels
        const auto n = static_cast<Sum>(samples);
        return static_cast<Out>((sum + n / 2) / n - static_cast<Sum>(offset));
    } else {
        return static_cast<Out>(mean_of(sum, samples, offset));
    }
}

/// The same of a window inside the image.
template <typename Out>
__device__ Out variable_mean(u32 sum, u32 n, std::int64_t offset) {
    if constexpr (std::is_integral_v<Out>) {
        const u32 q = inner_quotient(sum + n / 2, n);
        return static_cast<Out>(q - static_cast<u32>(offset));
    } else {
        return variable_mean<Out, u32>(sum, std::int64_t{n}, offset);
    }
}

/// Where pixels are that are not finite, in whose place sums have 0: numbers of 32 bits or 64.
struct infinite_pixels {
    table_view<u32> positive, negative;  ///< inf or NaN; -inf or NaN
    bool wide;
    const u32* any;  ///< 0: there are none

    /// What the sum of a window lacks: inf, -inf, NaN or 0.
    __device__ f64 in(const axis_terms& rows, const axis_terms& cols, std::int64_t table_row, int channels,
                      int channel) const {
        const auto has = [&](const table_view<u32>& table) {
            const auto number_of = [&](const auto& numbers) {
                return any_window(numbers, rows, cols, table_row, channels, channel);
            };
            return wide ? number_of(table_view<u64>{table.data, table.row_stride, false}) != 0 : number_of(table) != 0;
        };
        return (has(positive) ? INFINITY : 0.0) - (has(negative) ? INFINITY : 0.0);
    }
};

/// Of the windows of one pixel, wherever they lie; `infinite`: or null.
template <typename Out, typename Sum>
__device__ __forceinline__ void store_any(const device_task<Sum, Sum>& task, const infinite_pixels* infinite,
                                          const any_view& result, int row, int col, int radius) {
    const axis_terms rows = terms_around(task.rows, row, radius), cols = terms_around(task.cols, col, radius);
    for (int channel = 0; channel < task.channels; ++channel) {
        windows<1, Sum, Sum> w{};
        w.sum[0] = any_window(task.table, rows, cols, task.table_row, task.channels, channel);
        w.samples = rows.samples * cols.samples;
        add_border(w, task, rows.inside * cols.inside);
        if constexpr (std::is_floating_point_v<Sum>)
            if (infinite != nullptr) w.sum[0] += infinite->in(rows, cols, task.table_row, task.channels, channel);
        const Out out[1] = {variable_mean<Out, Sum>(w.sum[0], w.samples, task.offset)};
        store_elements(result, row, std::int64_t{col} * task.channels + channel, out);
    }
}

/// Of those that reach a border.
template <typename Sum, typename Out>
__device__ __noinline__ void store_at_border(const device_task<Sum, Sum>& task, const any_view& result, int row,
                                             int col, int radius) {
    store_any<Out>(task, nullptr, result, row, col, radius);
}

/// How many rows of a thread have entries that are read together, and blocks of a multiprocessor:
/// docs/decisions/radius-maps.md has the others. Sums of 64 bits want the registers.
template <typename Sum>
constexpr int rows_of_thread = sizeof(Sum) == 4 ? 4 : 8;
template <typename Sum>
constexpr int blocks_at_once = sizeof(Sum) == 4 ? 4 : 2;

/// A thread owns the pixels of a column in so many rows from blockIdx.y times as many on, and so forth.
/// `reach`: radii above it are those of windows that are taken with numbers of 64 bits.
template <typename Sum, typename Out>
__global__ __launch_bounds__(walk_threads, blocks_at_once<Sum>) void variable_mean_kernel(
    const __grid_constant__ device_task<Sum, Sum> task, const radius_plane radii, int most, int reach,
    const __grid_constant__ any_view result) {
    constexpr int variable_rows = rows_of_thread<Sum>;
    const int col = static_cast<int>(blockIdx.x) * walk_threads + static_cast<int>(threadIdx.x);
    const auto width = static_cast<int>(task.cols.extent), height = static_cast<int>(task.rows.extent);
    if (col >= width) return;
    const int right = width - 1 - col, side = col < right ? col : right, nearer = side < reach ? side : reach;
    const u32 stride = static_cast<u32>(task.table.row_stride / static_cast<int>(sizeof(Sum))),
              step = static_cast<u32>(task.channels);
    const auto* const table = reinterpret_cast<const Sum*>(task.table.data);
    const auto first_row = static_cast<int>(task.first_row), end_row = static_cast<int>(task.end_row);
    for (int first = first_row + static_cast<int>(blockIdx.y) * variable_rows; first < end_row;
         first += static_cast<int>(gridDim.y) * variable_rows) {
        const int valid = end_row - first < variable_rows ? end_row - first : variable_rows;
        int radius[variable_rows];
        radii.read(radius, first, col, valid, most);
        bool inside[variable_rows];
        u32 across[variable_rows], along[variable_rows];
#pragma unroll
        for (int j = 0; j < variable_rows; ++j) {
            const int row = first + (j < valid ? j : 0), below = height - 1 - row, end = row < below ? row : below;
            inside[j] = radius[j] <= (nearer < end ? nearer : end);
            const u32 r = inside[j] ? static_cast<u32>(radius[j]) : 0;
            across[j] = r * (stride + step);
            along[j] = r * (stride - step);
        }
        const u32 from =
            static_cast<u32>(first - static_cast<int>(task.table_row)) * stride + static_cast<u32>(col) * step;
        for (u32 channel = 0; channel < step; ++channel) {
            Sum sum[variable_rows];
#pragma unroll
            for (int j = 0; j < variable_rows; ++j) {
                const u32 at = from + channel + (j < valid ? static_cast<u32>(j) * stride : 0);
                sum[j] = (table[at + stride + step + across[j]] - table[at + stride + along[j]]) -
                         (table[at + step - along[j]] - table[at - across[j]]);
            }
#pragma unroll
            for (int j = 0; j < variable_rows; ++j) {
                const u32 side_of = 2 * static_cast<u32>(radius[j]) + 1, n = side_of * side_of;
                Out out[1];
                if constexpr (sizeof(Sum) == 4)
                    out[0] = variable_mean<Out>(sum[j], n, task.offset);
                else
                    out[0] = variable_mean<Out, Sum>(sum[j], std::int64_t{n}, task.offset);
                if (j < valid && inside[j])
                    store_elements(result, first + j, std::int64_t{col} * task.channels + channel, out);
            }
        }
#pragma unroll
        for (int j = 0; j < variable_rows; ++j)
            if (j < valid && !inside[j]) store_at_border<Sum, Out>(task, result, first + j, col, radius[j]);
    }
}

/// All windows again where pixels are not finite; else nothing.
template <typename Out>
__global__ __launch_bounds__(walk_threads) void infinite_mean_kernel(const __grid_constant__ device_task<f64, f64> task,
                                                                     const __grid_constant__ infinite_pixels infinite,
                                                                     const radius_plane radii, int most,
                                                                     const __grid_constant__ any_view result) {
    const int col = static_cast<int>(blockIdx.x) * walk_threads + static_cast<int>(threadIdx.x);
    if (*infinite.any == 0 || col >= static_cast<int>(task.cols.extent)) return;
    for (std::int64_t row = task.first_row + blockIdx.y; row < task.end_row; row += gridDim.y) {
        int radius[1];
        radii.read(radius, row, col, 1, most);
        store_any<Out>(task, &infinite, result, static_cast<int>(row), col, radius[0]);
    }
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

void enqueue_variable_means(const window_task& task, const const_any_view& radius, std::int64_t most,
                            const any_view& result, stream_ref stream) {
    const int reach = has_32_bit_places(task.table, size_of(task.table.shape.type)) ? largest_inner_radius : -1;
    const auto largest = static_cast<int>(std::min<std::int64_t>(most, std::numeric_limits<int>::max()));
    const auto launch_means = [&]<typename Sum, typename Out>() {
        launch(variable_mean_kernel<Sum, Out>,
               {.grid = grid_for_windows(task, rows_of_thread<Sum>), .block = walk_threads}, stream,
               on_device<Sum, Sum>(task), plane_of(radius, 0), largest, reach, result);
        if constexpr (std::is_floating_point_v<Sum>) {
            if (task.samples.any_infinite == nullptr) return;
            const view_shape& s = task.samples.counts.shape;
            table_view<u32> positive = on_device<u32>(task.samples.counts), negative = positive;
            positive.data += s.plane_stride;
            negative.data += 2 * s.plane_stride;
            const infinite_pixels infinite{positive, negative, s.type == dtype::u64, task.samples.any_infinite};
            launch(infinite_mean_kernel<Out>,
                   {.grid = grid_for(task.image.shape.cols, task.end_row - task.first_row, 16), .block = walk_threads},
                   stream, on_device<Sum, Sum>(task), infinite, plane_of(radius, 0), largest, result);
        }
    };
    visit_type(type_list<u32, u64, f64>{}, task.table.shape.type,
               [&]<typename Sum>() { visit_means_of<Sum>(result, launch_means); });
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
