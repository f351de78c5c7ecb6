#pragma once

#include "cuda/device/bin_finder.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram_plan.hpp"

#include <type_traits>

/// Kernel 1 of the record `fast`: bins of all pixels, and their counts per row, per column and per tile of 64 x 128.
namespace boxsum::cuda {

inline constexpr int count_threads = 256;

template <typename Count, typename Sum>
struct count_task {
    histogram_cut cut;
    histogram_scratch<Count, Sum> scratch;
    std::int64_t first_plane, first_bin;
    int bins;  ///< of the group
};

struct no_weights {};

/// Shared memory of a block.
template <typename Sum>
struct count_shared {
    /// 4 bytes more than a row has: 32 rows of a column lie in 32 banks.
    std::uint8_t bins[band_rows][strip_cols + 4];
    /// Every thread counts for itself, in counters of its own, so that nothing is atomic and sums of weights are added
    /// in one order: 2 x 128 threads along columns, 4 x 64 along rows. [part][bin][column or row]
    Sum counters[count_threads * count_bins];
};

/// Adds up a part of a line of the tile: `at(i)` is the bin in the group, `weight(i)` what it counts.
template <typename Sum, typename At, typename Weight>
__device__ void count_line(Sum* own, int stride, int first_bin, At at, Weight weight) {
#pragma unroll 8
    for (int k = 0; k < count_bins; ++k) own[k * stride] = Sum{};
#pragma unroll 4
    for (int i = 0; i < 32; ++i) {
        const unsigned k = static_cast<unsigned>(at(i) - first_bin);
        if (k < count_bins) own[static_cast<int>(k) * stride] += weight(i);
    }
}

/// A block owns the tile blockIdx.x, tiles strip by strip along a band, of plane blockIdx.y, for the 32 bins
/// blockIdx.z of the group: reads the pixels, writes row_counts, col_counts, corners (here: of the tile alone), and the
/// first 32 bins' block writes `bins`.
template <typename Pixel, typename Count, typename Sum>
__global__ void __launch_bounds__(count_threads)
    count_bins_kernel(layers<const Pixel> image, bin_finder bin_of, layers<const float> weights,
                      count_task<Count, Sum> task) {
    __shared__ count_shared<Sum> s;
    let_successor_start();
    const histogram_cut& cut = task.cut;
    const int t = static_cast<int>(threadIdx.x);
    const std::int64_t strip = blockIdx.x % cut.strips, band = blockIdx.x / cut.strips;
    const std::int64_t plane = task.first_plane + blockIdx.y;
    const std::int64_t row0 = band * band_rows, col0 = strip * strip_cols;
    const std::int64_t first_row = cut.rows - image.rows, first_col = cut.cols - image.cols;  // 1 for padded tables
    const int bin0 = static_cast<int>(blockIdx.z) * count_bins;
    const int bins = task.bins - bin0 < count_bins ? task.bins - bin0 : count_bins;

    // Pixels to bins
    {
        constexpr int lines = count_threads / strip_cols, batch = 8;
        const int c = t % strip_cols;
        const std::int64_t col = col0 + c - first_col;
        const layer<const Pixel> pixels = image[plane];
        for (int i = t / strip_cols; i < band_rows; i += lines * batch) {
            Pixel x[batch];
            bool valid[batch];
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const std::int64_t row = row0 + i + k * lines - first_row;
                valid[k] = row >= 0 && row < image.rows && col >= 0 && col < image.cols;
                if (valid[k]) x[k] = pixels.at(row, col);
            }
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const int bin = valid[k] ? bin_of(x[k]) : -1;
                const unsigned in_group = static_cast<unsigned>(bin - static_cast<int>(task.first_bin));
                s.bins[i + k * lines][c] = static_cast<std::uint8_t>(
                    bin >= 0 && in_group < static_cast<unsigned>(task.bins) ? in_group : 255u);
            }
        }
    }
    __syncthreads();
    if (blockIdx.z == 0) {
        std::uint8_t* const to = task.scratch.bins + (blockIdx.y * cut.padded_rows() + row0) * cut.padded_cols() + col0;
        for (int i = t; i < band_rows * strip_cols / 4; i += count_threads) {
            const int r = i / (strip_cols / 4), word = i % (strip_cols / 4);
            reinterpret_cast<std::uint32_t*>(to + r * cut.padded_cols())[word] =
                reinterpret_cast<const std::uint32_t*>(s.bins[r])[word];
        }
    }

    const auto weight_at = [&](int r, int c) {
        if constexpr (std::is_floating_point_v<Sum>)
            return weights[plane].at(row0 + r - first_row, col0 + c - first_col);
        else
            return Sum{1};
    };
    const std::int64_t table0 = std::int64_t{blockIdx.y} * task.bins + bin0;

    // Columns: thread t counts rows part * 32 ... of column c
    {
        const int c = t % strip_cols, part = t / strip_cols;
        count_line(
            s.counters + part * count_bins * strip_cols + c, strip_cols, bin0,
            [&](int i) { return static_cast<int>(s.bins[part * 32 + i][c]); },
            [&](int i) { return weight_at(part * 32 + i, c); });
        __syncthreads();
        for (int k = part; k < bins; k += count_threads / strip_cols) {
            const Sum sum = s.counters[k * strip_cols + c] + s.counters[(count_bins + k) * strip_cols + c];
            task.scratch.col_counts[((table0 + k) * cut.bands + band) * cut.padded_cols() + col0 + c] =
                static_cast<Count>(sum);
        }
        __syncthreads();
    }

    // Rows: thread t counts columns part * 32 ... of row r
    {
        const int r = t % band_rows, part = t / band_rows;
        count_line(
            s.counters + part * count_bins * band_rows + r, band_rows, bin0,
            [&](int i) { return static_cast<int>(s.bins[r][part * 32 + i]); },
            [&](int i) { return weight_at(r, part * 32 + i); });
        __syncthreads();
        for (int k = warp_id(); k < bins; k += count_threads / warp_size) {
            Sum both{};
#pragma unroll
            for (int half = 0; half < band_rows / warp_size; ++half) {
                const int row = lane_id() + half * warp_size;
                Sum sum{};
#pragma unroll
                for (int p = 0; p < 4; ++p) sum += s.counters[(p * count_bins + k) * band_rows + row];
                task.scratch.row_counts[((table0 + k) * cut.strips + strip) * cut.padded_rows() + row0 + row] =
                    static_cast<Count>(sum);
                both += sum;
            }
            const Sum tile = warp_sum(both);
            if (lane_id() == 0) task.scratch.corners[((table0 + k) * cut.bands + band) * cut.strips + strip] = tile;
        }
    }
}

}  // namespace boxsum::cuda
