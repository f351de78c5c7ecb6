// Windows of repeated boxes with a radius per pixel (Heckbert 1986), and radii from depths.
//
// A table of a table of ... is one of as many prefix sums along the rows and then along the columns. A warp goes along
// a row, a thread down a column, and both keep what each of the sums has come to: one pass over memory for each axis,
// whatever the order.
//
//     row      x  ->  carry 0 += x  ->  carry 1 += carry 0  ->  ...  ->  entry
//
// A pixel then costs (order + 1)^2 reads. Its radius is that of no neighbour, so what counts is how many are under way.

#include "core/blur_terms.hpp"
#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/blur_kernels.hpp"
#include "cuda/filters/pixel_planes.cuh"
#include "cuda/runtime/launch.cuh"

#include <cstdint>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

constexpr int row_warps = 4;  ///< of a block
constexpr int column_threads = 64;
constexpr int column_reads = 16;  ///< rows of a column whose reads are under way together
/// A warp owns the row of one channel.
template <typename Entry>
__global__ void __launch_bounds__(row_warps* warp_size)
    sum_rows_kernel(pixel_plane image, std::int64_t rows, std::int64_t cols, order_table<Entry> table) {
    const std::int64_t line = std::int64_t{blockIdx.x} * row_warps + warp_id();
    if (line >= rows * table.channels) return;
    const std::int64_t r = line / table.channels, channel = line - r * table.channels;
    Entry* const to = table.entries + r * table.cols * table.channels + channel;
    const auto pixel = [&](std::int64_t c) { return c < cols ? image.number_at<Entry>(r, c, channel) : Entry{0}; };
    Entry carry[highest_blur_order] = {};
    Entry next = pixel(lane_id());
    for (std::int64_t c = lane_id(); c - lane_id() < table.cols; c += warp_size) {
        Entry x = next;
        next = pixel(c + warp_size);
#pragma unroll
        for (int i = 0; i < highest_blur_order; ++i)
            if (i < table.order) {
                x = warp_scan(x) + carry[i];
                carry[i] = shuffle(x, warp_size - 1);
            }
        if (c < table.cols) to[c * table.channels] = x;
    }
}

/// A thread owns a column of a table whose first `rows` rows have been summed; those beyond are zeros that nobody
/// wrote.
template <typename Entry>
__global__ void __launch_bounds__(column_threads) sum_columns_kernel(std::int64_t rows, order_table<Entry> table) {
    const std::int64_t pitch = table.cols * table.channels, i = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
    if (i >= pitch) return;
    Entry carry[highest_blur_order] = {};
    for (std::int64_t first = 0; first < table.rows; first += column_reads) {
        Entry x[column_reads];
#pragma unroll
        for (int k = 0; k < column_reads; ++k)
            x[k] = first + k < rows ? table.entries[(first + k) * pitch + i] : Entry{0};
#pragma unroll
        for (int k = 0; k < column_reads; ++k) {
            if (first + k >= table.rows) break;
#pragma unroll
            for (int j = 0; j < highest_blur_order; ++j)
                if (j < table.order) x[k] = carry[j] += x[k];
            table.entries[(first + k) * pitch + i] = x[k];
        }
    }
}

struct blur_task {
    pixel_plane radius, result;
    std::int64_t rows, cols, largest;
    bool half_up;
};

template <int Order>
__global__ void __launch_bounds__(pixel_block_cols* pixel_block_rows) blur_kernel(blur_task t, order_table<u64> table) {
    for_own_pixels(t.rows, t.cols, [&](std::int64_t r, std::int64_t c) {
        const std::int64_t radius = t.radius.radius_at(r, c, t.largest), width = 2 * radius + 1;
        const u64 weights = blur_weights(t.rows, Order, r, radius) * blur_weights(t.cols, Order, c, radius);
        const std::int64_t bottom = r + Order * radius, right = c + Order * radius;
        for (std::int64_t channel = 0; channel < table.channels; ++channel) {
            u64 entries[Order + 1][Order + 1];
#pragma unroll
            for (int i = 0; i <= Order; ++i)
#pragma unroll
                for (int j = 0; j <= Order; ++j) {
                    const std::int64_t y = bottom - i * width, x = right - j * width;
                    entries[i][j] = y < 0 || x < 0 ? 0 : table.entries[(y * table.cols + x) * table.channels + channel];
                }
            u64 sum = 0;
#pragma unroll
            for (int i = 0; i <= Order; ++i)
#pragma unroll
                for (int j = 0; j <= Order; ++j) {
                    const u64 term = difference_weight(Order, i) * difference_weight(Order, j) * entries[i][j];
                    sum = (i + j) % 2 == 0 ? sum + term : sum - term;
                }
            const auto store = [&](auto type) {
                using Out = decltype(type);
                t.result.at<Out>(r, c, channel) = blurred_pixel<Out>(sum, weights, t.half_up);
            };
            if (t.result.type == dtype::u8)
                store(std::uint8_t{});
            else if (t.result.type == dtype::u16)
                store(std::uint16_t{});
            else if (t.result.type == dtype::f32)
                store(float{});
            else
                store(double{});
        }
    });
}

struct circle_task {
    pixel_plane depth, radii;
    std::int64_t rows, cols;
    double focus, aperture, largest;
};

__global__ void __launch_bounds__(pixel_block_cols* pixel_block_rows) confuse_pixels_kernel(circle_task t) {
    for_own_pixels(t.rows, t.cols, [&](std::int64_t r, std::int64_t c) {
        const double radius = confusion_radius(t.depth.real_at(r, c), t.focus, t.aperture, t.largest);
        if (t.radii.type == dtype::u8)
            t.radii.at<std::uint8_t>(r, c) = static_cast<std::uint8_t>(radius);
        else if (t.radii.type == dtype::u16)
            t.radii.at<std::uint16_t>(r, c) = static_cast<std::uint16_t>(radius);
        else
            t.radii.at<std::uint32_t>(r, c) = static_cast<std::uint32_t>(radius);
    });
}

unsigned blocks_of(std::int64_t n, int size) {
    return static_cast<unsigned>((n + size - 1) / size);
}

}  // namespace

template <typename Entry>
void enqueue_order_table(const const_any_view& image, std::int64_t plane, const order_table<Entry>& table,
                         stream_ref stream) {
    const view_shape& s = image.shape;
    launch(sum_rows_kernel<Entry>, {.grid = blocks_of(s.rows * s.channels, row_warps), .block = row_warps * warp_size},
           stream, pixel_plane(image, plane), s.rows, s.cols, table);
    launch(sum_columns_kernel<Entry>,
           {.grid = blocks_of(table.cols * table.channels, column_threads), .block = column_threads}, stream, s.rows,
           table);
}
template void enqueue_order_table(const const_any_view&, std::int64_t, const order_table<u64>&, stream_ref);
template void enqueue_order_table(const const_any_view&, std::int64_t, const order_table<double>&, stream_ref);

void enqueue_blur(const variable_inputs& inputs, const any_view& result, std::int64_t plane,
                  const order_table<u64>& table, std::int64_t largest, rounding_mode rounding, stream_ref stream) {
    const view_shape& s = result.shape;
    const blur_task task{pixel_plane(inputs.radius, inputs.radius.shape.planes == 1 ? 0 : plane),
                         pixel_plane(result, plane),
                         s.rows,
                         s.cols,
                         largest,
                         rounding == rounding_mode::half_up};
    launch(table.order == 1   ? blur_kernel<1>
           : table.order == 2 ? blur_kernel<2>
                              : blur_kernel<3>,
           for_pixels(s), stream, task, table);
}

void enqueue_circles(const const_any_view& depth, const any_view& radii, const thin_lens& lens, stream_ref stream) {
    const view_shape& s = depth.shape;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        launch(confuse_pixels_kernel, for_pixels(s), stream,
               circle_task{pixel_plane(depth, plane), pixel_plane(radii, plane), s.rows, s.cols, lens.focus,
                           lens.aperture, static_cast<double>(lens.largest_radius)});
}

}  // namespace boxsum::cuda
