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
template <typename Count, int BandRows>
struct count_shared {
    alignas(16) std::uint8_t bin_of_pixel[256];  ///< where pixels are bytes
    alignas(16) std::uint8_t bins[BandRows][strip_cols + 4];
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
__device__ vector_of<Pixel, 4> load_pixels(const line<const Pixel>& row, std::int64_t col, std::int64_t cols,
                                           bool vector) {
    if (vector) return *reinterpret_cast<const vector_of<Pixel, 4>*>(&row[col]);
    vector_of<Pixel, 4> x{};
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (col + i >= 0 && col + i < cols) x.x[i] = row[col + i];
    return x;
}

/// A block owns the band and strip blockIdx.x, strips along a band first, of plane blockIdx.y, for the 32 bins
/// blockIdx.z of the group: reads the pixels, writes row_counts, col_counts, corners (here: of the band alone), and the
/// first 32 bins' block writes `bins`. BandRows: cut.band_rows.
template <int BandRows, typename Pixel, typename Count, typename Sum>
__global__ void __launch_bounds__(count_threads, sizeof(Pixel) + sizeof(Count) == 2 ? 6 : 3)
    count_bins_kernel(layers<const Pixel> image, bin_finder bin_of, layers<const float> weights,
                      count_task<Count, Sum> task) {
    using words = counter_words<Count>;
    using word = typename words::word;
    __shared__ count_shared<Count, BandRows> s;
    let_successor_start();
    const histogram_cut& cut = task.cut;
    const int t = static_cast<int>(threadIdx.x);
    const std::int64_t band = blockIdx.x / static_cast<unsigned>(cut.strips), strip = blockIdx.x - band * cut.strips;
    const std::int64_t plane = task.first_plane + blockIdx.y;
    const std::int64_t row0 = band * BandRows, col0 = strip * strip_cols;
    const int bin0 = static_cast<int>(blockIdx.z) * count_bins;
    const int bins = task.bins - bin0 < count_bins ? task.bins - bin0 : count_bins;

    const auto find = [&](Pixel x) -> std::uint32_t {
        const int bin = bin_of(x);
        const unsigned in_group = static_cast<unsigned>(bin - static_cast<int>(task.first_bin));
        return bin >= 0 && in_group < static_cast<unsigned>(task.bins) ? in_group : 255u;
    };
    const auto bin_in_group = [&](Pixel x) -> std::uint32_t {
        if constexpr (sizeof(Pixel) == 1)
            return s.bin_of_pixel[x];
        else
            return find(x);
    };

    // Pixels to bins, 4 a word
    {
        constexpr int lines = count_threads / warp_size, batch = 4;
        const int c = lane_id() * 4;
        const std::int64_t col = col0 + c + cut.image_col, top = row0 + cut.image_row;
        std::uint32_t missing = 0;  // a byte of ones for a column without pixels
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (col + i < 0 || col + i >= image.cols) missing |= 0xffu << 8 * i;
        // Rows of the band that the image has, if the lane's columns are any
        const int begin = top < 0 ? 1 : 0;
        const int end =
            missing == ~0u ? 0 : static_cast<int>(image.rows - top < BandRows ? image.rows - top : BandRows);
        const bool vector = task.vectors && missing == 0;
        const line<const Pixel> column{image[plane].data, image.row_stride};
        const auto pixels_of_row = [&](int r) {
            return line<const Pixel>{&column[top + r], static_cast<std::int64_t>(sizeof(Pixel))};
        };
        std::uint8_t* const to =
            task.scratch.bins + (blockIdx.y * cut.padded_rows() + row0) * cut.padded_cols() + col0 + c;
        vector_of<Pixel, 4> x[batch];
        const auto load = [&](int first) {
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const int r = first + k * lines;
                if (r >= begin && r < end) x[k] = load_pixels(pixels_of_row(r), col, image.cols, vector);
            }
        };
        load(warp_id());
        s.clear();
        if constexpr (sizeof(Pixel) == 1) {
            s.bin_of_pixel[t] = static_cast<std::uint8_t>(find(static_cast<Pixel>(t)));
            __syncthreads();
        }
        for (int i = warp_id(); i < BandRows; i += lines * batch) {
            if (i != warp_id()) load(i);
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const int r = i + k * lines;
                std::uint32_t four = ~0u;
                if (r >= begin && r < end) {
                    four = missing;
#pragma unroll
                    for (int e = 0; e < 4; ++e) four |= bin_in_group(x[k].x[e]) << 8 * e;
                }
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
            counter += weights[plane].at(row0 + r + cut.image_row, col0 + c + cut.image_col);
        else
            counter = static_cast<Count>(counter + 1);
    };
    const std::int64_t table0 = std::int64_t{blockIdx.y} * task.bins + bin0;

    // Columns: a thread counts half of column `slot` % 128
    {
        constexpr int width = strip_cols / words::counts;
        const int c = slot % strip_cols, first = slot / strip_cols * (BandRows / 2);
#pragma unroll 8
        for (int r = first; r < first + BandRows / 2; ++r) count(s.bins[r][c], r, c);
        __syncthreads();
        const int x = t % width;
        Count* const to = task.scratch.col_counts + (table0 * cut.bands + band) * cut.padded_cols() + col0;
        const std::int64_t step = cut.bands * cut.padded_cols();
#pragma unroll 4
        for (int k = t / width; k < bins; k += count_threads / width)
            reinterpret_cast<word*>(to + k * step)[x] =
                s.counters[k * words::of_bin + x] + s.counters[k * words::of_bin + width + x];
        __syncthreads();
    }

    // Rows: a thread counts a part of row `slot` % BandRows
    {
        s.clear();
        __syncthreads();
        constexpr int parts = count_threads / BandRows, cols = strip_cols / parts;
        const int r = slot % BandRows, first = slot / BandRows * cols;
#pragma unroll 4
        for (int c = first; c < first + cols; c += 4) {
            const std::uint32_t four = *reinterpret_cast<const std::uint32_t*>(&s.bins[r][c]);
#pragma unroll
            for (int e = 0; e < 4; ++e) count(four >> 8 * e & 0xffu, r, c + e);
        }
        __syncthreads();
        // `width` lanes share a bin
        constexpr int height = BandRows / words::counts, width = height < warp_size ? height : warp_size;
        const int x = t % width;
        Count* const to = task.scratch.row_counts + (table0 * cut.strips + strip) * cut.padded_rows() + row0;
        Sum* const corners = task.scratch.corners + (table0 * cut.bands + band) * cut.strips + strip;
        const std::int64_t step = cut.strips * cut.padded_rows(), corners_step = cut.bands * cut.strips;
        for (int k0 = 0; k0 < bins; k0 += count_threads / width) {
            const int k = k0 + t / width;
            Sum total{};
            if (k < bins)
#pragma unroll
                for (int y = 0; y < height; y += width) {
                    word sum{};
#pragma unroll
                    for (int p = 0; p < parts; ++p) sum += s.counters[k * words::of_bin + p * height + y + x];
                    reinterpret_cast<word*>(to + k * step)[y + x] = sum;
                    total += words::template total<Sum>(sum);
                }
#pragma unroll
            for (int i = 1; i < width; i *= 2) total += __shfl_xor_sync(whole_warp, total, i);
            if (k < bins && x == 0) corners[k * corners_step] = total;
        }
    }
    // Whoever waits for this kernel has the group before this one behind it, whose scratch memory it may write to
    wait_for_predecessor();
}

}  // namespace boxsum::cuda
