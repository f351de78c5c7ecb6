#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/production/histogram_plan.hpp"

/// Kernel 2 of the record `fast`: exclusive prefix sums of the counts, 1/64 to 1/512 of the table each. Sums of columns
/// and strips go on from those of the slab above, and are left for the one below.
namespace boxsum::cuda {

inline constexpr int carries_threads = 256;

/// out[i * out_step] becomes `sum` + in[0] + in[in_step] + ... + in[((i << group_shift) - 1) * in_step]. Returns the
/// sum of everything.
template <typename Count, typename Sum>
__device__ Sum carry_forwards(const Count* in, std::int64_t in_step, std::int64_t count, int group_shift, Sum* out,
                              std::int64_t out_step, Sum sum) {
    constexpr int batch = 8;  // loads on their way together
    for (std::int64_t i = 0; i < count; i += batch) {
        Count x[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k) x[k] = i + k < count ? in[(i + k) * in_step] : Count{};
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            if (i + k < count && ((i + k) & ((1 << group_shift) - 1)) == 0)
                out[((i + k) >> group_shift) * out_step] = sum;
            sum += static_cast<Sum>(x[k]);
        }
    }
    return sum;
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

    if (blockIdx.x < row_blocks) {
        const std::int64_t r = std::int64_t{blockIdx.x} * carries_threads + t, step = cut.padded_rows();
        const std::int64_t first = table * cut.strips * step + r;
        if (r < step)
            carry_forwards(scratch.row_counts + first, step, cut.strips, 0, scratch.row_carries + first, step, Sum{});
    } else if (blockIdx.x < row_blocks + col_blocks) {
        const std::int64_t c = std::int64_t{blockIdx.x - row_blocks} * carries_threads + t, step = cut.padded_cols();
        if (c < step) {
            Sum& sum = above.cols[table * step + c];
            sum = carry_forwards(scratch.col_counts + table * cut.bands * step + c, step, cut.bands, cut.tile_shift,
                                 scratch.col_carries + table * cut.tiles * step + c, step, cut.continues ? sum : Sum{});
        }
    } else {
        Sum* const corners = scratch.corners + table * cut.bands * cut.strips;
        constexpr std::int64_t element = sizeof(Sum);
        for (std::int64_t strip = t; strip < cut.strips; strip += carries_threads) {
            Sum& sum = above.strips[table * cut.strips + strip];
            sum = scan_line_exclusive<8>(line<Sum>{corners + strip, cut.strips * element}, cut.bands,
                                         cut.continues ? sum : Sum{});
        }
        __syncthreads();
        for (std::int64_t band = t; band < cut.bands; band += carries_threads)
            scan_line_exclusive<8>(line<Sum>{corners + band * cut.strips, element}, cut.strips);
    }
}

}  // namespace boxsum::cuda
