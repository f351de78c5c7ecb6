#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/production/histogram/cut.hpp"

/// Kernel 2 of the record `fast`: exclusive prefix sums of the counts, 1/64 to 1/512 of the table each. Sums of columns
/// and strips go on from those of the slab above, and are left for the one below.
namespace boxsum::cuda {

inline constexpr int carries_threads = 256;

/// Rows or columns of a block.
template <typename Count>
constexpr int carries_of_block = sizeof(Count) == 1 ? 4 * carries_threads : carries_threads;

/// out[i * out_step] becomes `sum` + in[0] + in[in_step] + ... + in[(i * group - 1) * in_step]. Returns the
/// sum of everything.
template <typename Count, typename Sum>
__device__ Sum carry_forwards(const Count* in, std::int64_t in_step, std::int64_t count, int group, Sum* out,
                              std::int64_t out_step, Sum sum) {
    constexpr int batch = 8;  // loads on their way together
    std::int64_t to = 0;
    int left = 0;  // of this group
    for (std::int64_t i = 0; i < count; i += batch) {
        Count x[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k) x[k] = i + k < count ? in[(i + k) * in_step] : Count{};
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            if (i + k < count && left == 0) {
                out[to++ * out_step] = sum;
                left = group;
            }
            --left;
            sum += static_cast<Sum>(x[k]);
        }
    }
    return sum;
}

/// The same of 4 neighbours each: in[i * in_step ...], counts of bytes, and their sums, in 16 bits where T is such.
template <typename T, typename Sum>
__device__ void carry_four_forwards(const std::uint8_t* in, std::int64_t in_step, std::int64_t count, int group, T* out,
                                    std::int64_t out_step, Sum (&sum)[4]) {
    constexpr int batch = 16;
    int left = 0;                     // of this group
    std::uint32_t even = 0, odd = 0;  // of this group; 16 bits each
    const auto flush = [&] {
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[e] += (e % 2 == 0 ? even : odd) >> 16 * (e / 2) & 0xffffu;
        even = odd = 0;
    };
    for (std::int64_t i = 0; i < count; i += batch) {
        std::uint32_t x[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            x[k] = i + k < count ? *reinterpret_cast<const std::uint32_t*>(in + (i + k) * in_step) : 0;
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            if (i + k < count && left == 0) {
                flush();
                vector_of<T, 4> now;
#pragma unroll
                for (int e = 0; e < 4; ++e) now.x[e] = static_cast<T>(sum[e]);
                *reinterpret_cast<vector_of<T, 4>*>(out) = now;
                out += out_step;
                left = group;
            }
            even += x[k] & 0x00ff00ffu;
            odd += x[k] >> 8 & 0x00ff00ffu;
            --left;
        }
    }
    flush();
}

/// Table blockIdx.y of the group. The first `row_blocks` blocks along x own 256 rows each and write row_carries, the
/// next own 256 columns each and write col_carries, the last one turns the tiles' sums in `corners` into those of
/// everything above and to the left. After kernel 1.
template <typename Count, typename Sum>
__global__ void __launch_bounds__(carries_threads)
    carry_counts_kernel(histogram_cut cut, histogram_scratch<Count, Sum> scratch, slab_carries<Sum> above,
                        unsigned row_blocks, unsigned col_blocks) {
    let_successor_start();
    wait_for_predecessor();
    const std::int64_t table = blockIdx.y;
    const int t = static_cast<int>(threadIdx.x);

    constexpr bool fours = sizeof(Count) == 1;
    if (blockIdx.x < row_blocks) {
        if constexpr (fours) {
            const std::int64_t r = 4 * (std::int64_t{blockIdx.x} * carries_threads + t), step = cut.padded_rows();
            const std::int64_t first = table * cut.strips * step + r;
            if (r >= step) return;
            Sum sum[4] = {};
            const auto go = [&](auto* out) {
                carry_four_forwards(scratch.row_counts + first, step, cut.strips, 1, out + first, step, sum);
            };
            if (cut.wave.warps > 0)
                go(reinterpret_cast<std::uint16_t*>(scratch.row_carries));
            else
                go(scratch.row_carries);
            return;
        }
        const std::int64_t r = std::int64_t{blockIdx.x} * carries_threads + t, step = cut.padded_rows();
        const std::int64_t first = table * cut.strips * step + r;
        if (r < step)
            carry_forwards(scratch.row_counts + first, step, cut.strips, 1, scratch.row_carries + first, step, Sum{});
    } else if (blockIdx.x < row_blocks + col_blocks) {
        if constexpr (fours) {
            using four = vector_of<Sum, 4>;
            const std::int64_t c = 4 * (std::int64_t{blockIdx.x - row_blocks} * carries_threads + t);
            const std::int64_t step = cut.padded_cols();
            if (c >= step) return;
            four& above_all = *reinterpret_cast<four*>(&above.cols[table * step + c]);
            const four before = cut.continues ? above_all : four{};
            Sum sum[4];
#pragma unroll
            for (int e = 0; e < 4; ++e) sum[e] = before.x[e];
            carry_four_forwards(scratch.col_counts + table * cut.bands * step + c, step, cut.bands, cut.tile_bands,
                                scratch.col_carries + table * cut.tiles * step + c, step, sum);
            above_all = {sum[0], sum[1], sum[2], sum[3]};
            return;
        }
        const std::int64_t c = std::int64_t{blockIdx.x - row_blocks} * carries_threads + t, step = cut.padded_cols();
        if (c < step) {
            Sum& sum = above.cols[table * step + c];
            sum = carry_forwards(scratch.col_counts + table * cut.bands * step + c, step, cut.bands, cut.tile_bands,
                                 scratch.col_carries + table * cut.tiles * step + c, step, cut.continues ? sum : Sum{});
        }
    } else {
        Sum* const corners = scratch.corners + table * cut.bands * cut.strips;
        constexpr std::int64_t element = sizeof(Sum);
        for (std::int64_t strip = t; strip < cut.strips; strip += carries_threads) {
            Sum& sum = above.strips[table * cut.strips + strip];
            sum = scan_line_exclusive<16>(line<Sum>{corners + strip, cut.strips * element}, cut.bands,
                                          cut.continues ? sum : Sum{});
        }
        __syncthreads();
        for (std::int64_t band = t; band < cut.bands; band += carries_threads)
            scan_line_exclusive<16>(line<Sum>{corners + band * cut.strips, element}, cut.strips);
    }
}

}  // namespace boxsum::cuda
