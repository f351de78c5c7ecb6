#include "cuda/filters/non_local_sums.cuh"
#include "cuda/filters/non_local_tiles.cuh"
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

/// What sums of patches are computed in.
template <typename Held>
struct means_of;
template <>
struct means_of<u8> {
    using sum = u32;
    static __device__ sum squared(u8 x, u8 y) {
        const int d = int{x} - int{y};
        return static_cast<sum>(d * d);
    }
};
template <>
struct means_of<u16> {
    using sum = u64;
    static __device__ sum squared(u16 x, u16 y) {
        const auto d = static_cast<u32>(int{x} - int{y});
        return sum{d * d};  // below 2^32
    }
};
template <>
struct means_of<f64> {
    using sum = f64;
    static __device__ sum squared(f64 x, f64 y) {
        const f64 d = x - y;
        return d * d;
    }
};

/// Samples first .. end - 1.
struct sample_range {
    int first, end;

    /// Of those from `begin` of an axis on, those that are in the image, there and `by` further.
    __device__ sample_range(std::int64_t begin, std::int64_t by, std::int64_t extent) {
        const std::int64_t low = by < 0 ? -begin - by : -begin, high = (by < 0 ? extent : extent - by) - begin;
        first = static_cast<int>(low < 0 ? 0 : low < 1 << 20 ? low : 1 << 20);
        end = static_cast<int>(high < 0 ? 0 : high < 1 << 20 ? high : 1 << 20);
    }
    __device__ bool contains(int i) const { return first <= i && i < end; }
    /// Of `length` samples from i on.
    __device__ int count(int i, int length) const {
        const int low = first > i ? first : i, high = end < i + length ? end : i + length;
        return high - low;
    }
};

__device__ inline bool is_inside(std::int64_t i, std::int64_t extent) {
    return i >= 0 && i < extent;
}

/// One pixel's sums: weights, and values by channel.
template <bool Floating>
struct pixel_sums {
    double weights = 0, values[4] = {};
    float some_weights = 0, some_values[4] = {};

    template <typename Weight, typename Held>
    __device__ void add(Weight weight, const Held* pixel, std::int64_t of_channel, int channels) {
        if constexpr (Floating)
            weights += weight;
        else
            some_weights += weight;
        add_value(weight, pixel, 0);
        if (channels == 1) return;
#pragma unroll
        for (int k = 1; k < 4; ++k)
            if (k < channels) add_value(weight, pixel + k * of_channel, k);
    }
    template <typename Weight, typename Held>
    __device__ void add_value(Weight weight, const Held* pixel, int k) {
        if constexpr (Floating)
            values[k] += weight * *pixel;
        else
            some_values[k] = __fmaf_rn(weight, static_cast<float>(*pixel), some_values[k]);
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

/// The weight of patches from their sum, which counts so many samples.
template <typename Held>
struct patch_weights {
    double scale, noise;
    __device__ patch_weights(const non_local_task& t, const byte_weights&) : scale(t.scale), noise(t.noise) {}
    __device__ double share(int samples) const { return 1.0 / samples; }
    __device__ double weight(double sum, double share) const {
        const double beyond = sum * share - noise;
        return exp((beyond < 0 ? 0 : beyond) * -scale);
    }
};
template <typename Held>
requires std::is_integral_v<Held>
struct patch_weights<Held> {
    byte_weights weights;
    __device__ patch_weights(const non_local_task&, const byte_weights& w) : weights(w) {}
    __device__ float share(int samples) const { return weights.share(samples); }
    template <typename Sum>
    __device__ float weight(Sum sum, float share) const {
        return weight_of_power(__fmaf_rn(static_cast<float>(sum), -share, weights.noise));
    }
};

/// Areas and, of each, its tiles in a row and the number of the tile behind its last one.
struct tiles_of_areas {
    static constexpr int most = 4;
    pixel_area area[most];
    unsigned across[most] = {}, end[most] = {};
};

/// A block owns a tile of an area, a thread `run` pixels of one of its rows. Shrinks: nothing is beyond the image; else
/// what tiles reach beyond it is held.
template <typename Held, bool Shrinks>
__global__ __launch_bounds__(means_threads, 2) void means_kernel(const __grid_constant__ non_local_task t,
                                                                 const byte_weights given,
                                                                 const __grid_constant__ tiles_of_areas tiles) {
    using Sum = typename means_of<Held>::sum;
    const patch_weights<Held> weights(t, given);
    const int patch_rows = t.patch.rows(), patch_cols = t.patch.cols();
    const int tile_cols = tile_cols_of(patch_cols), groups = tile_cols / run, width = tile_cols + patch_cols - 1,
              line = place_of(width - 1) + 1;
    Sum* const lines = dynamic_shared<Sum>();
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    int number = 0;
    unsigned tile = blockIdx.x;
    for (int i = 0; i + 1 < tiles_of_areas::most; ++i)
        if (blockIdx.x >= tiles.end[i]) {
            number = i + 1;
            tile = blockIdx.x - tiles.end[i];
        }
    const pixel_area area = tiles.area[number];
    const std::int64_t tile_row = area.first_row + std::int64_t{tile / tiles.across[number]} * tile_rows,
                       tile_col = area.first_col + std::int64_t{tile % tiles.across[number]} * tile_cols;
    const std::int64_t of_channel = t.held_rows * t.pitch, pitch = t.pitch;
    const Held* const origin = static_cast<const Held*>(t.pixels) + t.above * pitch + t.left;

    // The run whose sums down the columns this thread adds up, and that of its own pixels.
    const int summed = warp % (tile_rows / run) * run, own = thread / groups, from = thread % groups * run;
    const std::int64_t first_row = tile_row + summed - t.patch.above, first_col = tile_col - t.patch.left,
                       row = tile_row + own, col = tile_col + from;
    const Sum* const own_line = lines + own * line + place_of(from);
    const bool has_pixels = own < tile_rows && row < area.end_row && col < area.end_col;
    const auto whole_share = weights.share(patch_rows * patch_cols * t.channels);
    pixel_sums<std::is_floating_point_v<Held>> pixels[run];
    for (int right = -t.search.left; right <= t.search.right; ++right) {
        const sample_range cols(first_col + from, right, t.cols);
        int together = 0;
        for (int down = -t.search.above; down <= t.search.below; ++down) {
            const std::int64_t away = down * pitch + right;
            const sample_range rows(first_row, down, t.rows);
            __syncthreads();  // the lines of the distance before have been read
            for (int c = lane + warp / (tile_rows / run) * 32; c < width; c += lines_across) {
                if (Shrinks && !(is_inside(first_col + c, t.cols) && is_inside(first_col + c + right, t.cols)))
                    continue;
                Sum sums[run] = {};
                for (int k = 0; k < t.channels; ++k) {
                    const Held* a = origin + k * of_channel + first_row * pitch + first_col + c;
                    const Held* b = a + away;
                    add_windows(sums, patch_rows, [&](int j) {
                        Sum x{};
                        if (!Shrinks || rows.contains(j)) x = means_of<Held>::squared(*a, *b);
                        a += pitch;
                        b += pitch;
                        return x;
                    });
                }
#pragma unroll
                for (int i = 0; i < run; ++i) lines[(summed + i) * line + place_of(c)] = sums[i];
            }
            __syncthreads();
            ++together;
            const bool whole = is_whole(down + t.search.above + 1, t.search.rows(), t.together, together == t.together);
            if (together == t.together) together = 0;
            if (has_pixels && (!Shrinks || is_inside(row + down, t.rows))) {
                Sum sums[run] = {};
                add_windows(sums, patch_cols,
                            [&](int j) { return !Shrinks || cols.contains(j) ? own_line[place_of(j)] : Sum{}; });
                int counted = 0;  // rows
                if constexpr (Shrinks)
                    counted = t.channels * sample_range(row - t.patch.above, down, t.rows).count(0, patch_rows);
                const Held* const other = origin + row * pitch + col + away;
#pragma unroll
                for (int i = 0; i < run; ++i) {
                    if (Shrinks && !is_inside(col + i + right, t.cols)) continue;
                    const auto share = Shrinks ? weights.share(counted * cols.count(i, patch_cols)) : whole_share;
                    auto weight = weights.weight(sums[i], share);
                    if (right == 0 && down == 0) weight = 1;  // also where a pixel differs from itself
                    pixels[i].add(weight, other + i, of_channel, t.channels);
                }
            }
            if (!whole) continue;
#pragma unroll
            for (int i = 0; i < run; ++i) pixels[i].flush();
        }
    }
    if (!has_pixels) return;
#pragma unroll
    for (int i = 0; i < run; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (col + i < area.end_col && k < t.channels)
                store_mean(t, row, col + i, k, pixels[i].values[k] / pixels[i].weights);
}

using pixel_types = type_list<u8, u16, f32, f64>;
using held_types = type_list<u8, u16, f64>;  // as which pixels of all types are exact

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
    task.held = is_floating(image.type)                                         ? dtype::f64
                : image.type == dtype::u8 && samples <= most_samples_in_32_bits ? dtype::u8
                                                                                : dtype::u16;
    task.held_rows = image.rows;
    task.held_cols = image.cols;
    if (!task.shrinks) {
        task.above = job.search.above + job.patch.above;
        task.left = job.search.left + job.patch.left;
        // Tiles are computed as a whole.
        task.held_rows += task.above + job.search.below + job.patch.below + tile_rows - 1;
        task.held_cols += task.left + job.search.right + job.patch.right + lines_across - 1;
    }
    const auto in_line = static_cast<std::int64_t>(128 / size_of(task.held));
    task.pitch = (task.held_cols + in_line - 1) / in_line * in_line;
    task.scale = job.scale;
    task.noise = job.noise;
    task.half = job.rounding == rounding_mode::half_up ? 0.5 : 0;
    task.together = byte_rows_of(task.channels) - 1 + std::min(task.patch.rows(), 7);
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
    visit_type(pixel_types{}, s.type, [&]<typename Pixel>() {
        const auto hold = [&]<typename Held>(Held) {
            launch(hold_kernel<Pixel, Held>, {.grid = grid, .block = copy_threads}, stream, from,
                   static_cast<Held*>(const_cast<void*>(task.pixels)), task.held_rows, task.pitch, task.above,
                   task.left);
        };
        if constexpr (std::is_floating_point_v<Pixel>) return hold(f64{});
        if constexpr (std::is_same_v<Pixel, u8>) {
            if (task.held == dtype::u8) return hold(u8{});
        }
        if constexpr (std::is_integral_v<Pixel>) hold(u16{});
    });
}

void enqueue_non_local_means(const non_local_task& task, std::span<const pixel_area> areas, stream_ref stream) {
    const int cols = tile_cols_of(task.patch.cols());
    tiles_of_areas tiles;
    unsigned count = 0;
    for (std::size_t i = 0; i < tiles_of_areas::most; ++i) {
        if (i < areas.size() && !areas[i].empty()) {
            const pixel_area& area = tiles.area[i] = areas[i];
            tiles.across[i] = static_cast<unsigned>((area.end_col - area.first_col + cols - 1) / cols);
            count +=
                tiles.across[i] * static_cast<unsigned>((area.end_row - area.first_row + tile_rows - 1) / tile_rows);
        }
        tiles.end[i] = count;
    }
    if (count == 0) return;
    const auto sums = static_cast<std::size_t>(tile_rows * (place_of(cols + task.patch.cols() - 2) + 1));
    visit_type(held_types{}, task.held, [&]<typename Held>() {
        launch(task.shrinks ? means_kernel<Held, true> : means_kernel<Held, false>,
               {.grid = count, .block = means_threads, .shared_bytes = sums * sizeof(typename means_of<Held>::sum)},
               stream, task, byte_weights(task), tiles);
    });
}

}  // namespace boxsum::cuda
