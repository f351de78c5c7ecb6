#include "cuda/filters/non_local_sums.cuh"
#include "cuda/filters/non_local_tiles.cuh"
#include "cuda/filters/real_windows.cuh"
#include "cuda/runtime/launch.cuh"
#include "filters/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// Non-local means of images whose pixels may not count: tiles as in non_local_means.cu, in double, with what patches
// share beside their differences.

namespace boxsum::cuda {
namespace {

// ---- pixels and weights that lie as the kernel wants them -----------------------------------------------------------

/// A view of one plane, of any strides.
struct strided_plane {
    const char* data;  ///< null: not given
    std::int64_t row_stride, pixel_stride;

    explicit strided_plane(const const_any_view& v)
        : data(static_cast<const char*>(v.data)),
          row_stride(v.shape.row_stride),
          pixel_stride(v.shape.pixel_stride()) {}

    __device__ const char* at(std::int64_t row, std::int64_t col) const {
        return data + row * row_stride + col * pixel_stride;
    }
};

/// An image whose borders are continued, and what says which of its pixels count.
struct continued_samples {
    real_view values;  ///< their type, and what of them does not count
    strided_plane image, mask, weights;
    filters::window_axis rows, cols;
    int channels;
    double beyond;  ///< where the axes have no source
    float beyond_weight;
};

/// What weights are held in: where there are none, 255 is said of what counts.
template <bool Weighted>
using weight_of_held = std::conditional_t<Weighted, float, u8>;

constexpr int copy_threads = 256;

/// A thread owns the pixels of a held column.
template <typename Held, typename Weight>
__global__ __launch_bounds__(copy_threads) void hold_samples_kernel(const __grid_constant__ continued_samples from,
                                                                    Held* to, Weight* weights, std::int64_t held_rows,
                                                                    std::int64_t pitch, std::int64_t above,
                                                                    std::int64_t left) {
    const std::int64_t col = std::int64_t{blockIdx.x} * copy_threads + threadIdx.x;
    if (col >= pitch) return;
    const std::int64_t x = from.cols.source(col - left);
    for (std::int64_t r = blockIdx.y; r < held_rows; r += gridDim.y) {
        const std::int64_t y = from.rows.source(r - above);
        const bool inside = y >= 0 && x >= 0;
        float w = inside ? 1 : from.beyond_weight;
        if (inside) {
            if (from.weights.data != nullptr) w = weight_of(*reinterpret_cast<const float*>(from.weights.at(y, x)));
            if (from.mask.data != nullptr && *from.mask.at(y, x) == 0) w = 0;
            for (int k = 0; k < from.channels; ++k)
                if (!has_value(from.values, any_pixel_at(from.values, from.image.at(y, x), k))) w = 0;
        }
        if constexpr (std::is_same_v<Weight, float>)
            weights[r * pitch + col] = w;
        else
            weights[r * pitch + col] = w > 0 ? 255 : 0;
        for (int k = 0; k < from.channels; ++k) {
            double value = 0;
            if (w > 0) value = inside ? any_pixel_at(from.values, from.image.at(y, x), k) : from.beyond;
            to[(k * held_rows + r) * pitch + col] = static_cast<Held>(value);
        }
    }
}

// ---- means ----------------------------------------------------------------------------------------------------------

/// Of two patches: weighted squared differences of what counts in both, and how much does: a number of pairs where all
/// that counts has one weight.
template <bool Weighted>
struct patch_sums {
    double distance = 0;
    std::conditional_t<Weighted, double, u32> share = 0;

    __device__ patch_sums& operator+=(const patch_sums& b) {
        distance += b.distance;
        share += b.share;
        return *this;
    }
};

/// What a pixel is compared with: how much counts, its weights, and values by channel.
template <bool Weighted, int MostChannels>
struct sampled_sums {
    std::conditional_t<Weighted, double, u32> count = 0;
    double weights = 0, values[MostChannels] = {};
};

/// A block owns a tile, a thread `run` pixels of one of its rows.
template <bool Weighted, int MostChannels>
__global__ __launch_bounds__(means_threads, MostChannels == 1 ? 3 : 2) void sampled_means_kernel(
    const __grid_constant__ sampled_patches t, unsigned across) {
    const int patch_rows = t.patch.rows(), patch_cols = t.patch.cols(), channels = MostChannels == 1 ? 1 : t.channels;
    const int tile_cols = tile_cols_of(patch_cols), groups = tile_cols / run, width = tile_cols + patch_cols - 1,
              line = place_of(width - 1) + 1;
    using sums_of_patch = patch_sums<Weighted>;
    sums_of_patch* const lines = dynamic_shared<sums_of_patch>();
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
    const std::int64_t tile_row = std::int64_t{blockIdx.x / across} * tile_rows,
                       tile_col = std::int64_t{blockIdx.x % across} * tile_cols;
    const std::int64_t of_channel = t.held_rows * t.pitch, pitch = t.pitch, first = t.above * pitch + t.left;
    const double* const origin = static_cast<const double*>(t.pixels) + first;
    const auto* const weights = static_cast<const weight_of_held<Weighted>*>(t.weights) + first;

    // The run whose sums down the columns this thread adds up, and that of its own pixels.
    const int summed = warp % (tile_rows / run) * run, own = thread / groups, from = thread % groups * run;
    const std::int64_t first_place = (tile_row + summed - t.patch.above) * pitch + tile_col - t.patch.left;
    const std::int64_t row = tile_row + own, col = tile_col + from, place = row * pitch + col;
    const sums_of_patch* const own_line = lines + own * line + place_of(from);
    const bool has_pixels = own < tile_rows && row < t.rows && col < t.cols;
    sampled_sums<Weighted, MostChannels> pixels[run];
    for (int right = -t.search.left; right <= t.search.right; ++right)
        for (int down = -t.search.above; down <= t.search.below; ++down) {
            const std::int64_t away = down * pitch + right;
            __syncthreads();  // the lines of the distance before have been read
            for (int c = lane + warp / (tile_rows / run) * 32; c < width; c += lines_across) {
                sums_of_patch sums[run] = {};
                std::int64_t at = first_place + c;
                add_windows(sums, patch_rows, [&](int) {
                    sums_of_patch x;
                    if constexpr (Weighted)
                        x.share = static_cast<double>(weights[at]) * static_cast<double>(weights[at + away]);
                    else
                        x.share = weights[at] & weights[at + away] & 1;
                    if (x.share > 0) {
                        for (int k = 0; k < channels; ++k) {
                            const double d = origin[k * of_channel + at] - origin[k * of_channel + at + away];
                            x.distance += d * d;
                        }
                        if constexpr (Weighted) x.distance *= x.share;
                    }
                    at += pitch;
                    return x;
                });
#pragma unroll
                for (int i = 0; i < run; ++i) lines[(summed + i) * line + place_of(c)] = sums[i];
            }
            __syncthreads();  // the lines of this distance are there
            if (!has_pixels) continue;
            sums_of_patch sums[run] = {};
            add_windows(sums, patch_cols, [&](int j) { return own_line[place_of(j)]; });
#pragma unroll
            for (int i = 0; i < run; ++i) {
                const std::int64_t there = place + i + away;
                std::conditional_t<Weighted, double, u32> v = weights[there];
                if constexpr (!Weighted) v &= 1;
                const auto share = static_cast<double>(sums[i].share);
                if (!(v > 0) || !(share > 0) || share < t.least) continue;
                const double beyond = sums[i].distance / (channels * share) - t.noise;
                double w = beyond <= 0 ? 1 : exp(-beyond * t.scale);  // NaN: NaN
                if constexpr (Weighted) w *= v;
                pixels[i].count += v;
                pixels[i].weights += w;
#pragma unroll
                for (int k = 0; k < MostChannels; ++k)
                    if (k < channels) pixels[i].values[k] += w * origin[k * of_channel + there];
            }
        }
    if (!has_pixels) return;
#pragma unroll
    for (int i = 0; i < run; ++i)
#pragma unroll
        for (int k = 0; k < MostChannels; ++k) {
            if (col + i >= t.cols || k >= channels) continue;
            const sampled_sums<Weighted, MostChannels>& p = pixels[i];
            store_mean(t, row, col + i, k, p.weights == 0 ? t.fill : p.values[k] / p.weights);
            if (t.count.data != nullptr) store_count(t.count, row, col + i, k, p.count);
        }
}

std::size_t held_pixels(const non_local_task& task) {
    return static_cast<std::size_t>(task.held_rows * task.pitch);
}

}  // namespace

sampled_patches make_sampled_patches(const filters::non_local_call& call, const view_shape& image,
                                     std::size_t shared_bytes) {
    filters::non_local_job job = call.job;
    if (job.border == border_mode::shrink) job.border = border_mode::constant;  // all that windows reach is held
    const filters::window_job& s = call.samples;
    sampled_patches patches{make_non_local_task(job, image)};
    if (s.weighted || !masked_bytes_support(patches, shared_bytes)) {
        view_shape doubles = image;
        doubles.type = dtype::f64;
        patches = {make_non_local_task(job, doubles)};
    }
    patches.weighted = s.weighted;
    patches.least = s.weighted ? s.min_weight : static_cast<double>(s.min_count);
    patches.fill = s.fill.value_or(std::nan(""));
    return patches;
}

std::size_t sampled_bytes(const sampled_patches& patches) {
    const auto channels = static_cast<std::size_t>(patches.channels);
    return held_pixels(patches) * (channels * size_of(patches.held) + (patches.weighted ? sizeof(float) : sizeof(u8)));
}

void enqueue_sampled_patches(sampled_patches patches, const filters::non_local_call& call,
                             const non_local_inputs& plane, const filter_outputs& to, void* held, stream_ref stream) {
    patches.pixels = held;
    patches.result = to.result;
    patches.count = to.count;

    const view_shape& s = plane.image.shape;
    const filters::non_local_job& job = call.job;
    const bool is_constant = job.border == border_mode::constant;
    continued_samples from{{},
                           strided_plane(plane.image),
                           strided_plane(plane.mask),
                           strided_plane(plane.weights),
                           filters::window_axis(s.rows, 0, 0, job.border),
                           filters::window_axis(s.cols, 0, 0, job.border),
                           static_cast<int>(s.channels),
                           is_constant ? job.border_value : 0,
                           0};
    from.values.type = s.type;
    from.values.omits_nan = call.samples.nan == nan_mode::omit;
    from.values.has_nodata = call.samples.nodata.has_value();
    from.values.nodata = call.samples.nodata.value_or(0);
    if (is_constant && !filters::is_nodata(job.border_value, call.samples.nan, call.samples.nodata))
        from.beyond_weight = 1;
    const auto hold = [&]<typename Held, typename Weight>(Held* pixels, Weight*) {
        auto* const weights =
            reinterpret_cast<Weight*>(pixels + held_pixels(patches) * static_cast<std::size_t>(patches.channels));
        launch(hold_samples_kernel<Held, Weight>,
               {.grid = {static_cast<unsigned>((patches.pitch + copy_threads - 1) / copy_threads),
                         static_cast<unsigned>(std::min<std::int64_t>(patches.held_rows, 32768)), 1},
                .block = copy_threads},
               stream, from, pixels, weights, patches.held_rows, patches.pitch, patches.above, patches.left);
        return weights;
    };
    if (patches.held == dtype::u8) {
        hold(static_cast<u8*>(held), static_cast<u8*>(nullptr));
        return enqueue_masked_bytes(patches, stream);
    }
    auto* const doubles = static_cast<double*>(held);
    if (patches.weighted)
        patches.weights = hold(doubles, static_cast<float*>(nullptr));
    else
        patches.weights = hold(doubles, static_cast<u8*>(nullptr));

    const int cols = tile_cols_of(patches.patch.cols());
    const auto across = static_cast<unsigned>((patches.cols + cols - 1) / cols);
    const auto sums = static_cast<std::size_t>(tile_rows * (place_of(cols + patches.patch.cols() - 2) + 1));
    launch(patches.weighted        ? sampled_means_kernel<true, 4>
           : patches.channels == 1 ? sampled_means_kernel<false, 1>
                                   : sampled_means_kernel<false, 4>,
           {.grid = across * static_cast<unsigned>((patches.rows + tile_rows - 1) / tile_rows),
            .block = means_threads,
            .shared_bytes = sums * (patches.weighted ? sizeof(patch_sums<true>) : sizeof(patch_sums<false>))},
           stream, patches, across);
}

}  // namespace boxsum::cuda
