#pragma once

#include "cuda/device/bin_finder.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram_plan.hpp"

#include <type_traits>

/// Kernel 1 of the record `fast`: bins of all pixels, and their counts per row, column and band of a strip.
namespace boxsum::cuda {

inline constexpr int count_threads = 256;

template <typename Count, typename Sum>
struct count_task {
    histogram_cut cut;
    histogram_scratch<Count, Sum> scratch;
    std::int64_t first_plane, first_bin;
    int bins;      ///< of the group
    bool vectors;  ///< four pixels from a multiple of four on are aligned to their size
};

/// Counters of the counting kernel. Those of neighbouring rows or columns that fill a word are added up and copied
/// together: 4 counts of a byte, which holds the 128 at most, or one sum of weights.
template <typename Count>
struct counter_words {
    using word = std::conditional_t<std::is_floating_point_v<Count>, float, std::uint32_t>;
    static constexpr int counts = sizeof(word) / sizeof(Count);
    static constexpr int of_bin = count_threads / counts;

    template <typename Sum>
    __device__ static Sum total(word w) {
        if constexpr (counts == 1)
            return w;
        else
            return __dp4a(w, 0x01010101u, 0u);
    }
};

/// Shared memory of a block.
template <typename Count>
struct count_shared {
    alignas(16) std::uint8_t bin_of_pixel[256];  ///< where pixels are bytes
    alignas(16) std::uint8_t bins[most_band_rows][strip_cols + 4];
    /// Every thread counts for itself, in counters of its own, so that nothing is atomic and sums of weights are added
    /// in one order: [bin][slot of the thread].
    alignas(16) typename counter_words<Count>::word counters[count_bins * counter_words<Count>::of_bin];

    /// Slots of the lanes of a warp lie in 32 banks.
    __device__ static int slot() {
        if constexpr (sizeof(Count) == 1)
            return lane_id() * 4 + warp_id() % 4 + warp_id() / 4 * strip_cols;
        else
            return static_cast<int>(threadIdx.x);
    }

    __device__ void clear() {
        using four = vector_of<std::uint32_t, 4>;
        for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(sizeof counters) / 16; i += count_threads)
            reinterpret_cast<four*>(counters)[i] = four{};
    }

    __device__ Count* own() { return reinterpret_cast<Count*>(counters) + slot(); }
};

/// Four neighbouring pixels from column `col` on, which may be -1; those that do not exist become 0.
template <typename Pixel>
__device__ vector_of<Pixel, 4> load_pixels(const layer<const Pixel>& pixels, std::int64_t row, std::int64_t col,
                                           bool vectors) {
    if (vectors && col + 4 <= pixels.cols) return *reinterpret_cast<const vector_of<Pixel, 4>*>(&pixels.at(row, col));
    vector_of<Pixel, 4> x{};
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (col + i >= 0 && col + i < pixels.cols) x.x[i] = pixels.at(row, col + i);
    return x;
}

/// A block owns the band and strip blockIdx.x, strips along a band first, of plane blockIdx.y, for the 32 bins
/// blockIdx.z of the group: reads the pixels, writes row_counts, col_counts, corners (here: of the band alone), and the
/// first 32 bins' block writes `bins`.
template <typename Pixel, typename Count, typename Sum>
__global__ void __launch_bounds__(count_threads)
    count_bins_kernel(layers<const Pixel> image, bin_finder bin_of, layers<const float> weights,
                      count_task<Count, Sum> task) {
    using words = counter_words<Count>;
    using word = typename words::word;
    __shared__ count_shared<Count> s;
    let_successor_start();
    const histogram_cut& cut = task.cut;
    const int t = static_cast<int>(threadIdx.x), band_rows = cut.band_rows;
    const std::int64_t band = blockIdx.x / static_cast<unsigned>(cut.strips), strip = blockIdx.x - band * cut.strips;
    const std::int64_t plane = task.first_plane + blockIdx.y;
    const std::int64_t row0 = band * band_rows, col0 = strip * strip_cols;
    const std::int64_t first_row = cut.rows - image.rows, first_col = cut.cols - image.cols;  // 1 for padded tables
    const int bin0 = static_cast<int>(blockIdx.z) * count_bins;
    const int bins = task.bins - bin0 < count_bins ? task.bins - bin0 : count_bins;

    const auto find = [&](Pixel x) -> std::uint32_t {
        const int bin = bin_of(x);
        const unsigned in_group = static_cast<unsigned>(bin - static_cast<int>(task.first_bin));
        return bin >= 0 && in_group < static_cast<unsigned>(task.bins) ? in_group : 255u;
    };
    s.clear();
    if constexpr (sizeof(Pixel) == 1) {
        s.bin_of_pixel[t] = static_cast<std::uint8_t>(find(static_cast<Pixel>(t)));
        __syncthreads();
    }
    const auto bin_in_group = [&](Pixel x) -> std::uint32_t {
        if constexpr (sizeof(Pixel) == 1)
            return s.bin_of_pixel[x];
        else
            return find(x);
    };

    // Pixels to bins, 4 a word
    {
        constexpr int lines = count_threads / warp_size, batch = 4;  // loads on their way together
        const int c = lane_id() * 4;
        const std::int64_t col = col0 + c - first_col;
        const layer<const Pixel> pixels = image[plane];
        std::uint32_t missing = 0;  // a byte of ones for a column without pixels
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (col + i < 0 || col + i >= image.cols) missing |= 0xffu << 8 * i;
        std::uint8_t* const to =
            task.scratch.bins + (blockIdx.y * cut.padded_rows() + row0) * cut.padded_cols() + col0 + c;
        for (int i = warp_id(); i < band_rows; i += lines * batch) {
            vector_of<Pixel, 4> x[batch];
            bool valid[batch];
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const std::int64_t row = row0 + i + k * lines - first_row;
                valid[k] = row >= 0 && row < image.rows && missing != ~0u;
                if (valid[k]) x[k] = load_pixels(pixels, row, col, task.vectors);
            }
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                std::uint32_t four = ~0u;
                if (valid[k]) {
                    four = missing;
#pragma unroll
                    for (int e = 0; e < 4; ++e) four |= bin_in_group(x[k].x[e]) << 8 * e;
                }
                const int r = i + k * lines;
                *reinterpret_cast<std::uint32_t*>(&s.bins[r][c]) = four;
                if (blockIdx.z == 0) *reinterpret_cast<std::uint32_t*>(to + r * cut.padded_cols()) = four;
            }
        }
    }
    __syncthreads();

    Count* const own = s.own();
    const int slot = s.slot();
    const auto count = [&](std::uint32_t bin, int r, int c) {
        const unsigned k = bin - static_cast<unsigned>(bin0);
        if (k >= count_bins) return;
        Count& counter = own[k * count_threads];
        if constexpr (std::is_floating_point_v<Count>)
            counter += weights[plane].at(row0 + r - first_row, col0 + c - first_col);
        else
            counter = static_cast<Count>(counter + 1);
    };
    const std::int64_t table0 = std::int64_t{blockIdx.y} * task.bins + bin0;

    // Columns: a thread counts half of column `slot` % 128
    {
        constexpr int in_row = strip_cols / words::counts;
        const int c = slot % strip_cols, first = slot / strip_cols * (band_rows / 2);
#pragma unroll 4
        for (int r = first; r < first + band_rows / 2; ++r) count(s.bins[r][c], r, c);
        __syncthreads();
        for (int i = t; i < bins * in_row; i += count_threads) {
            const int k = i / in_row, x = i % in_row;
            const word sum = s.counters[k * words::of_bin + x] + s.counters[k * words::of_bin + in_row + x];
            reinterpret_cast<word*>(task.scratch.col_counts + ((table0 + k) * cut.bands + band) * cut.padded_cols() +
                                    col0)[x] = sum;
        }
        __syncthreads();
    }

    // Rows: a thread counts a part of row `slot` % band_rows
    {
        s.clear();
        __syncthreads();
        const int parts = count_threads / band_rows, cols = strip_cols / parts;
        const int r = slot % band_rows, first = slot / band_rows * cols;
#pragma unroll 4
        for (int c = first; c < first + cols; c += 4) {
            const std::uint32_t four = *reinterpret_cast<const std::uint32_t*>(&s.bins[r][c]);
#pragma unroll
            for (int e = 0; e < 4; ++e) count(four >> 8 * e & 0xffu, r, c + e);
        }
        __syncthreads();
        const int in_col = band_rows / words::counts;
        for (int k = warp_id(); k < bins; k += count_threads / warp_size) {
            Sum total{};
            for (int x = lane_id(); x < in_col; x += warp_size) {
                word sum{};
                for (int p = 0; p < parts; ++p) sum += s.counters[k * words::of_bin + p * in_col + x];
                reinterpret_cast<word*>(task.scratch.row_counts +
                                        ((table0 + k) * cut.strips + strip) * cut.padded_rows() + row0)[x] = sum;
                total += words::template total<Sum>(sum);
            }
            total = warp_sum(total);
            if (lane_id() == 0) task.scratch.corners[((table0 + k) * cut.bands + band) * cut.strips + strip] = total;
        }
    }
}

}  // namespace boxsum::cuda
