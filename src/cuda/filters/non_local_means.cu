#include "cuda/filters/non_local_sums.cuh"
#include "cuda/runtime/launch.cuh"
#include "filters/window_axis.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

// Non-local means of any type, window, patch and border, and the pixels that they read.
//
// A block owns a tile. For each distance its threads put the sums of squared differences down a patch's rows into
// shared memory, one for each pixel of the tile and of what patches reach beside it, and then take those of a patch's
// columns. Every sum is of what a patch holds, in an order that does not depend on the tile: integers are exact, and
// what is not finite goes no further.

namespace boxsum::cuda {
namespace {

// ---- pixels that lie as kernels want them ---------------------------------------------------------------------------

/// An image of any strides, whose borders are continued.
struct continued_plane {
    const char* data;
    std::int64_t row_stride, pixel_stride;
    filters::window_axis rows, cols;
    double beyond;  ///< where the axes have no source
};

constexpr int copy_threads = 256;

/// A thread owns elements of a held column of channel blockIdx.z.
template <typename Pixel, typename Held>
__global__ __launch_bounds__(copy_threads) void hold_kernel(const __grid_constant__ continued_plane from, Held* to,
                                                            std::int64_t held_rows, std::int64_t pitch,
                                                            std::int64_t above, std::int64_t left) {
    const std::int64_t col = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x;
    if (col >= pitch) return;
    const std::int64_t at = from.cols.source(col - left);
    for (std::int64_t r = blockIdx.y; r < held_rows; r += gridDim.y) {
        const std::int64_t row = from.rows.source(r - above);
        to[(blockIdx.z * held_rows + r) * pitch + col] =
            row < 0 || at < 0 ? static_cast<Held>(from.beyond)
                              : static_cast<Held>(reinterpret_cast<const Pixel*>(from.data + row * from.row_stride +
                                                                                 at * from.pixel_stride)[blockIdx.z]);
    }
}

// ---- means ----------------------------------------------------------------------------------------------------------

constexpr int tile_cols = 32, thread_rows = 8, rows_of_thread = 2, tile_rows = thread_rows * rows_of_thread;

/// What sums of patches and means are computed in.
template <typename Held>
struct means_of;
template <>
struct means_of<u8> {
    using difference = int;
    using sum = u32;
};
template <>
struct means_of<u16> {
    using difference = std::int64_t;
    using sum = u64;
};
template <>
struct means_of<f32> {
    using difference = f64;
    using sum = f64;
};
template <>
struct means_of<f64> {
    using difference = f64;
    using sum = f64;
};

/// What of -before .. after around samples i and i + by of an axis is in the image around both.
struct compared {
    int low, high;
    __device__ compared(int before, int after, std::int64_t i, std::int64_t by, std::int64_t extent, bool shrinks)
        : low(-before), high(after) {
        if (!shrinks) return;
        const std::int64_t first = by < 0 ? i + by : i, room = extent - 1 - (by < 0 ? i : i + by);
        if (-first > low) low = static_cast<int>(-first);
        if (room < high) high = static_cast<int>(room);
    }
    __device__ int count() const { return high - low + 1; }
};

__device__ inline bool is_inside(std::int64_t i, std::int64_t extent) {
    return i >= 0 && i < extent;
}

/// One pixel's sums: weights, and values by channel.
template <bool Floating>
struct pixel_sums {
    double weights = 0, values[4] = {};
    float some_weights = 0, some_values[4] = {};

    template <typename Held>
    __device__ void add(double weight, const Held* pixel, std::int64_t of_channel, int channels) {
        if constexpr (Floating) {
            weights += weight;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (k < channels) values[k] += weight * static_cast<double>(pixel[k * of_channel]);
        } else {
            const auto w = static_cast<float>(weight);
            some_weights += w;
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (k < channels)
                    some_values[k] = __fmaf_rn(w, static_cast<float>(pixel[k * of_channel]), some_values[k]);
        }
    }
    __device__ void flush() {
        if constexpr (!Floating) {
            weights += static_cast<double>(some_weights);
            some_weights = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                values[k] += static_cast<double>(some_values[k]);
                some_values[k] = 0;
            }
        }
    }
};

/// A block owns a tile of task.area, a thread pixels of one of its columns.
template <typename Held>
__global__ __launch_bounds__(tile_cols* thread_rows) void means_kernel(const __grid_constant__ non_local_task t,
                                                                       const byte_weights weights, unsigned across) {
    using Sum = typename means_of<Held>::sum;
    using Difference = typename means_of<Held>::difference;
    constexpr bool floating = std::is_floating_point_v<Held>;
    const int width = tile_cols + t.patch.cols() - 1;
    Sum* const all_lines = dynamic_shared<Sum>();
    const int x = static_cast<int>(threadIdx.x) % tile_cols, y = static_cast<int>(threadIdx.x) / tile_cols;
    const std::int64_t tile_row = t.area.first_row + std::int64_t{blockIdx.x / across} * tile_rows,
                       tile_col = t.area.first_col + std::int64_t{blockIdx.x % across} * tile_cols;
    const std::int64_t of_channel = t.held_rows * t.pitch, col = tile_col + x;
    const Held* const origin = static_cast<const Held*>(t.pixels) + t.above * t.pitch + t.left;
    pixel_sums<floating> sums[rows_of_thread];
    int turn = 0;
    for (int right = -t.search.left; right <= t.search.right; ++right)
        for (int down = -t.search.above; down <= t.search.below; ++down, turn ^= 1) {
            // Others may still read the lines of the distance before.
            Sum* const lines = all_lines + turn * tile_rows * width;
            for (int i = y; i < tile_rows; i += thread_rows) {
                const std::int64_t r = tile_row + i;
                if (r >= t.area.end_row || (t.shrinks && !is_inside(r + down, t.rows))) continue;
                const compared rows(t.patch.above, t.patch.below, r, down, t.rows, t.shrinks);
                for (int c = x; c < width; c += tile_cols) {
                    const std::int64_t place = tile_col + c - t.patch.left;
                    if (place >= t.area.end_col + t.patch.right ||
                        (t.shrinks && !(is_inside(place, t.cols) && is_inside(place + right, t.cols))))
                        continue;
                    Sum sum{};
                    for (int k = 0; k < t.channels; ++k) {
                        const Held* a = origin + k * of_channel + (r + rows.low) * t.pitch + place;
                        const Held* b = a + down * t.pitch + right;
                        for (int j = rows.low; j <= rows.high; ++j, a += t.pitch, b += t.pitch) {
                            const Difference d = static_cast<Difference>(*a) - static_cast<Difference>(*b);
                            sum += static_cast<Sum>(d * d);
                        }
                    }
                    lines[i * width + c] = sum;
                }
            }
            __syncthreads();
            const bool whole = is_whole(down + t.search.above + 1, t.search.rows(), t.together);
#pragma unroll
            for (int j = 0; j < rows_of_thread; ++j) {
                const int i = y + j * thread_rows;
                const std::int64_t r = tile_row + i;
                if (r < t.area.end_row && col < t.area.end_col &&
                    (!t.shrinks || (is_inside(r + down, t.rows) && is_inside(col + right, t.cols)))) {
                    const compared rows(t.patch.above, t.patch.below, r, down, t.rows, t.shrinks);
                    const compared cols(t.patch.left, t.patch.right, col, right, t.cols, t.shrinks);
                    Sum sum{};
                    for (int c = cols.low; c <= cols.high; ++c) sum += lines[i * width + x + t.patch.left + c];
                    const int samples = rows.count() * cols.count() * t.channels;
                    const bool itself = right == 0 && down == 0;  // also where it differs from itself
                    double weight = 1;
                    if constexpr (floating) {
                        const double beyond = sum / samples - t.noise;
                        if (!itself) weight = exp((beyond < 0 ? 0 : beyond) * -t.scale);
                    } else if (!itself) {
                        weight = weight_of(__fmaf_rn(static_cast<float>(sum), -weights.share(samples), weights.noise));
                    }
                    sums[j].add(weight, origin + (r + down) * t.pitch + col + right, of_channel, t.channels);
                }
                if (whole) sums[j].flush();
            }
        }
    if (col >= t.area.end_col) return;
#pragma unroll
    for (int j = 0; j < rows_of_thread; ++j) {
        const std::int64_t r = tile_row + y + j * thread_rows;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (r < t.area.end_row && k < t.channels) store_mean(t, r, col, k, sums[j].values[k] / sums[j].weights);
    }
}

using held_types = type_list<u8, u16, f32, f64>;

constexpr std::int64_t most_samples_in_32_bits = 66051;  // of 255^2

}  // namespace

non_local_task make_non_local_task(const filters::non_local_job& job, const view_shape& image) {
    non_local_task task;
    task.search = window_reach(job.search);
    task.patch = window_reach(job.patch);
    task.shrinks = job.border == border_mode::shrink;
    task.rows = image.rows;
    task.cols = image.cols;
    task.channels = static_cast<int>(image.channels);
    const std::int64_t samples = std::int64_t{task.patch.rows()} * task.patch.cols() * image.channels;
    task.held = image.type == dtype::u8 && samples > most_samples_in_32_bits ? dtype::u16 : image.type;
    task.held_rows = image.rows;
    task.held_cols = image.cols;
    if (!task.shrinks) {
        task.above = job.search.above + job.patch.above;
        task.left = job.search.left + job.patch.left;
        task.held_rows += task.above + job.search.below + job.patch.below;
        task.held_cols += task.left + job.search.right + job.patch.right;
    }
    const auto in_line = static_cast<std::int64_t>(128 / size_of(task.held));
    task.pitch = (task.held_cols + in_line - 1) / in_line * in_line;
    task.scale = job.scale;
    task.noise = job.noise;
    task.half = job.rounding == rounding_mode::half_up ? 0.5 : 0;
    task.together = 7 + std::min(task.patch.rows(), 7);
    return task;
}

std::size_t held_bytes(const non_local_task& task) {
    return static_cast<std::size_t>(task.held_rows * task.pitch * task.channels) * size_of(task.held);
}

void enqueue_held_pixels(const non_local_task& task, const const_any_view& plane, const filters::non_local_job& job,
                         stream_ref stream) {
    const view_shape& s = plane.shape;
    const continued_plane from{static_cast<const char*>(plane.data),
                               s.row_stride,
                               s.pixel_stride(),
                               filters::window_axis(s.rows, 0, 0, job.border),
                               filters::window_axis(s.cols, 0, 0, job.border),
                               job.border == border_mode::constant ? job.border_value : 0};
    const dim3 grid(static_cast<unsigned>((task.pitch + copy_threads - 1) / copy_threads),
                    static_cast<unsigned>(std::min<std::int64_t>(task.held_rows, 32768)),
                    static_cast<unsigned>(task.channels));
    visit_type(held_types{}, s.type, [&]<typename Pixel>() {
        const auto hold = [&]<typename Held>(Held) {
            launch(hold_kernel<Pixel, Held>, {.grid = grid, .block = copy_threads}, stream, from,
                   static_cast<Held*>(const_cast<void*>(task.pixels)), task.held_rows, task.pitch, task.above,
                   task.left);
        };
        if constexpr (std::is_same_v<Pixel, u8>) {
            if (task.held == dtype::u16) return hold(u16{});
        }
        hold(Pixel{});
    });
}

void enqueue_non_local_means(const non_local_task& task, stream_ref stream) {
    if (task.area.empty()) return;
    const std::int64_t across = (task.area.end_col - task.area.first_col + tile_cols - 1) / tile_cols,
                       down = (task.area.end_row - task.area.first_row + tile_rows - 1) / tile_rows;
    const auto sums = static_cast<std::size_t>(2 * tile_rows * (tile_cols + task.patch.cols() - 1));
    visit_type(held_types{}, task.held, [&]<typename Held>() {
        launch(means_kernel<Held>,
               {.grid = static_cast<unsigned>(across * down),
                .block = tile_cols * thread_rows,
                .shared_bytes = sums * sizeof(typename means_of<Held>::sum)},
               stream, task, byte_weights(task), static_cast<unsigned>(across));
    });
}

}  // namespace boxsum::cuda
