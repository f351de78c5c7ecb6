#pragma once

#include "cuda/device/bin_finder.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram/cut.hpp"

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
    dead_memory of_group_before;
};

/// What a pixel's bin in the group, or 255, stands for in a block of counts: the bin, its counter among those of the
/// block from bin0 on, and the counter's place in bytes. The other bins have one counter together, which nobody reads:
/// to count without asking is cheaper.
__device__ inline std::uint32_t counter_entry(std::uint32_t bin, int bin0) {
    const unsigned k = bin - static_cast<unsigned>(bin0), counter = k < counted_bins ? k : counted_bins;
    return counter * (warp_size * 4) << 16 | counter << 8 | bin;
}

/// Byte `Which` of 4 words.
template <int Which>
__device__ std::uint32_t gather_bytes(const std::uint32_t (&x)[4]) {
    constexpr unsigned pair = Which | (Which + 4) << 4;
    return __byte_perm(__byte_perm(x[0], x[1], pair), __byte_perm(x[2], x[3], pair), 0x5410);
}

/// Counters of a block: of bytes, or sums of weights.
template <typename Count, int BandRows>
struct bin_counters;

/// Counts are added by atomics without a result, which take one instruction, in any order, and no two lanes of a warp
/// ever meet in a word or a bank.
template <int BandRows>
struct bin_counters<std::uint8_t, BandRows> {
    alignas(16) std::uint32_t cols[counted_bins + 1][warp_size];  ///< of 4 neighbouring columns, a byte each
    alignas(16) std::uint32_t rows[counted_bins + 1][warp_size];  ///< of rows i and i + 32, in 16 bits each

    __device__ void clear() {
        using four = vector_of<std::uint32_t, 4>;
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof *this) / 16; i += count_threads)
            if (i + static_cast<int>(threadIdx.x) < static_cast<int>(sizeof *this) / 16)
                reinterpret_cast<four*>(cols)[i + threadIdx.x] = four{};
    }

    /// Pixels of the lane's 4 columns in some row.
    __device__ void count_columns(const std::uint32_t (&entries)[4]) {
        char* const own = reinterpret_cast<char*>(&cols[0][lane_id()]);
#pragma unroll
        for (int e = 0; e < 4; ++e) atomicAdd(reinterpret_cast<std::uint32_t*>(own + (entries[e] >> 16)), 1u << 8 * e);
    }

    /// 4 pixels of row lane_id() + 32 * half: their counters.
    __device__ void count_row(std::uint32_t four, int half) {
#pragma unroll
        for (int e = 0; e < 4; ++e) atomicAdd(&rows[__byte_perm(four, 0, 0x4440 + e)][lane_id()], 1u << 16 * half);
    }

    /// Counts of the 4 rows from 4 * i on, in bytes: 128 at most.
    __device__ std::uint32_t four_rows(int k, int i) const {
        const auto x = *reinterpret_cast<const vector_of<std::uint32_t, 4>*>(&rows[k][i % (warp_size / 4) * 4]);
        return i < warp_size / 4 ? gather_bytes<0>(x.x) : gather_bytes<2>(x.x);
    }
};

/// Every thread counts for itself, so that sums of weights are added in one order: [bin][thread].
template <int BandRows>
struct bin_counters<float, BandRows> {
    alignas(16) float sums[counted_bins][count_threads];

    __device__ void clear() {
#pragma unroll
        for (int k = 0; k < counted_bins; ++k) sums[k][threadIdx.x] = 0;
    }
};

/// Shared memory of a block.
template <typename Count, int BandRows>
struct count_shared {
    std::uint32_t entry_of_pixel[256];                        ///< where pixels are bytes
    alignas(16) std::uint8_t bins[BandRows][strip_cols + 4];  ///< of the group; of counts, the counters
    bin_counters<Count, BandRows> counters;
};

/// Behind a barrier: counts the rows, and writes everything. Steps: from bin to bin.
template <int BandRows, typename Sum>
__device__ void write_counts(bin_counters<std::uint8_t, BandRows>& counters,
                             const std::uint8_t (&counter_of)[BandRows][strip_cols + 4], int bins, std::uint8_t* cols,
                             std::int64_t cols_step, std::uint8_t* rows, std::int64_t rows_step, Sum* corners,
                             std::int64_t corners_step) {
    constexpr int warps = count_threads / warp_size, words = strip_cols / 4 / warps;
#pragma unroll
    for (int half = 0; half < BandRows / warp_size; ++half)
#pragma unroll
        for (int i = 0; i < words; ++i)
            counters.count_row(*reinterpret_cast<const std::uint32_t*>(
                                   &counter_of[lane_id() + half * warp_size][(warp_id() * words + i) * 4]),
                               half);
#pragma unroll
    for (int i = 0; i < counted_bins; i += warps) {
        const int k = i + warp_id();
        if (k < bins) reinterpret_cast<std::uint32_t*>(cols + k * cols_step)[lane_id()] = counters.cols[k][lane_id()];
    }
    __syncthreads();

    constexpr int width = BandRows / 4;  // lanes that share a bin
    const int t = static_cast<int>(threadIdx.x), x = t % width;
#pragma unroll
    for (int k0 = 0; k0 < counted_bins; k0 += count_threads / width) {
        const int k = k0 + t / width;
        const std::uint32_t four = counters.four_rows(k, x);
        if (k < bins) reinterpret_cast<std::uint32_t*>(rows + k * rows_step)[x] = four;
        Sum total = __dp4a(four, 0x01010101u, 0u);
#pragma unroll
        for (int i = 1; i < width; i *= 2) total += __shfl_xor_sync(whole_warp, total, i);
        if (k < bins && x == 0) corners[k * corners_step] = total;
    }
}

/// The same of sums of weights: weight(row, column).
template <int BandRows, typename Sum, typename F>
__device__ void write_sums(float (&sums)[counted_bins][count_threads],
                           const std::uint8_t (&bin_of)[BandRows][strip_cols + 4], int bin0, int bins, F&& weight,
                           float* cols, std::int64_t cols_step, float* rows, std::int64_t rows_step, Sum* corners,
                           std::int64_t corners_step) {
    const int t = static_cast<int>(threadIdx.x);
    const auto add = [&](int r, int c) {
        const unsigned k = bin_of[r][c] - static_cast<unsigned>(bin0);
        if (k < counted_bins) sums[k][t] += weight(r, c);
    };

    // Columns: a thread adds half of column t % 128
    {
        const int c = t % strip_cols, first = t / strip_cols * (BandRows / 2);
#pragma unroll 8
        for (int r = first; r < first + BandRows / 2; ++r) add(r, c);
        __syncthreads();
#pragma unroll 4
        for (int k = t / strip_cols; k < bins; k += count_threads / strip_cols)
            cols[k * cols_step + c] = sums[k][c] + sums[k][strip_cols + c];
        __syncthreads();
    }

    // Rows: a thread adds a part of row t % BandRows
    {
#pragma unroll
        for (int k = 0; k < counted_bins; ++k) sums[k][t] = 0;
        __syncthreads();
        constexpr int parts = count_threads / BandRows, length = strip_cols / parts;
        const int r = t % BandRows, first = t / BandRows * length;
#pragma unroll 4
        for (int c = first; c < first + length; ++c) add(r, c);
        __syncthreads();
        for (int k = warp_id(); k < bins; k += count_threads / warp_size) {
            Sum total{};
#pragma unroll
            for (int y = lane_id(); y < BandRows; y += warp_size) {
                float sum{};
#pragma unroll
                for (int p = 0; p < parts; ++p) sum += sums[k][p * BandRows + y];
                rows[k * rows_step + y] = sum;
                total += sum;
            }
            total = warp_sum(total);
            if (lane_id() == 0) corners[k * corners_step] = total;
        }
    }
}

/// A block owns the band and strip blockIdx.x, strips along a band first, of plane blockIdx.y, for the 32 bins
/// blockIdx.z of the group: reads the pixels, writes row_counts, col_counts, corners (here: of the band alone), and the
/// first 32 bins' block writes `bins`. BandRows: cut.band_rows.
template <int BandRows, typename Pixel, typename Count, typename Sum>
__global__ void __launch_bounds__(count_threads, sizeof(Pixel) + sizeof(Count) == 2 ? 6 : 3)
    count_bins_kernel(layers<const Pixel> image, bin_finder bin_of, layers<const float> weights,
                      count_task<Count, Sum> task) {
    __shared__ count_shared<Count, BandRows> s;
    let_successor_start();
    const histogram_cut& cut = task.cut;
    const int t = static_cast<int>(threadIdx.x);
    const std::int64_t band = blockIdx.x / static_cast<unsigned>(cut.strips), strip = blockIdx.x - band * cut.strips;
    const std::int64_t plane = task.first_plane + blockIdx.y;
    const std::int64_t row0 = band * BandRows, col0 = strip * strip_cols;
    const int bin0 = static_cast<int>(blockIdx.z) * counted_bins;
    const int bins = task.bins - bin0 < counted_bins ? task.bins - bin0 : counted_bins;

    const auto find = [&](Pixel x) -> std::uint32_t {
        const int bin = bin_of(x);
        const unsigned in_group = static_cast<unsigned>(bin - static_cast<int>(task.first_bin));
        return bin >= 0 && in_group < static_cast<unsigned>(task.bins) ? in_group : 255u;
    };
    const auto entry_of = [&](Pixel x) -> std::uint32_t {
        if constexpr (sizeof(Pixel) == 1)
            return s.entry_of_pixel[x];
        else
            return counter_entry(find(x), bin0);
    };

    // Pixels to bins, 4 a word
    {
        using four = vector_of<Pixel, 4>;
        constexpr int lines = count_threads / warp_size, batch = 4;
        static_assert(BandRows % (lines * batch) == 0);
        const int c = lane_id() * 4;
        const std::int64_t col = col0 + c + cut.image_col, top = row0 + cut.image_row;
        const line<const Pixel> column{image[plane].data, image.row_stride};
        const auto pixels_of_row = [&](int r) {
            return line<const Pixel>{&column[top + r], static_cast<std::int64_t>(sizeof(Pixel))};
        };
        const auto put = [&](int r, const std::uint32_t(&entries)[4], std::uint8_t* to) {
            const std::uint32_t bin = gather_bytes<0>(entries);
            const bool counts = sizeof(Count) == 1;
            *reinterpret_cast<std::uint32_t*>(&s.bins[r][c]) = counts ? gather_bytes<1>(entries) : bin;
            if constexpr (sizeof(Count) == 1) s.counters.count_columns(entries);
            if (blockIdx.z == 0) *reinterpret_cast<std::uint32_t*>(to) = bin;
        };
        std::uint8_t* to =
            task.scratch.bins + (blockIdx.y * cut.padded_rows() + row0 + warp_id()) * cut.padded_cols() + col0 + c;
        const std::int64_t to_step = lines * cut.padded_cols();

        // Where nothing is missing, there is nothing to ask
        const bool whole =
            task.vectors && col >= 0 && col + 4 <= image.cols && top >= 0 && top + BandRows <= image.rows;
        const line<const four> from{whole ? reinterpret_cast<const four*>(&pixels_of_row(warp_id())[col]) : nullptr,
                                    image.row_stride * lines};
        four x[batch];
        if (whole)
#pragma unroll
            for (int k = 0; k < batch; ++k) x[k] = from[k];  // on their way meanwhile
        s.counters.clear();
        if constexpr (sizeof(Pixel) == 1) s.entry_of_pixel[t] = counter_entry(find(static_cast<Pixel>(t)), bin0);
        __syncthreads();
        if (whole) {
#pragma unroll
            for (int i = 0; i < BandRows / lines; i += batch) {
                if (i > 0)
#pragma unroll
                    for (int k = 0; k < batch; ++k) x[k] = from[i + k];
#pragma unroll
                for (int k = 0; k < batch; ++k, to += to_step) {
                    std::uint32_t entries[4];
#pragma unroll
                    for (int e = 0; e < 4; ++e) entries[e] = entry_of(x[k].x[e]);
                    put(warp_id() + (i + k) * lines, entries, to);
                }
            }
        } else {
            for (int r = warp_id(); r < BandRows; r += lines, to += to_step) {
                std::uint32_t entries[4];
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const bool exists = col + e >= 0 && col + e < image.cols && top + r >= 0 && top + r < image.rows;
                    entries[e] = exists ? entry_of(pixels_of_row(r)[col + e]) : counter_entry(255, bin0);
                }
                put(r, entries, to);
            }
        }
    }
    __syncthreads();

    const std::int64_t table0 = std::int64_t{blockIdx.y} * task.bins + bin0;
    Count* const to_cols = task.scratch.col_counts + (table0 * cut.bands + band) * cut.padded_cols() + col0;
    Count* const to_rows = task.scratch.row_counts + (table0 * cut.strips + strip) * cut.padded_rows() + row0;
    Sum* const to_corners = task.scratch.corners + (table0 * cut.bands + band) * cut.strips + strip;
    const std::int64_t cols_step = cut.bands * cut.padded_cols(), rows_step = cut.strips * cut.padded_rows();
    const std::int64_t corners_step = cut.bands * cut.strips;
    if constexpr (sizeof(Count) == 1)
        write_counts(s.counters, s.bins, bins, to_cols, cols_step, to_rows, rows_step, to_corners, corners_step);
    else
        write_sums(
            s.counters.sums, s.bins, bin0, bins,
            [&](int r, int c) { return weights[plane].at(row0 + r + cut.image_row, col0 + c + cut.image_col); },
            to_cols, cols_step, to_rows, rows_step, to_corners, corners_step);
    // Whoever waits for this kernel has the group before this one behind it, whose scratch memory it may write to.
    // Until then that would fill the cache, and go to memory in the end
    wait_for_predecessor();
    const std::int64_t block = blockIdx.x + gridDim.x * (blockIdx.y + std::int64_t{gridDim.y} * blockIdx.z);
    const std::int64_t blocks = std::int64_t{gridDim.x} * gridDim.y * gridDim.z;
    discard_lines(task.of_group_before.first, task.of_group_before.bytes, block * count_threads + t,
                  blocks * count_threads);
}

}  // namespace boxsum::cuda
