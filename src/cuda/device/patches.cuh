#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/neighbours.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

/// Patches of 32 x 32 elements, each in registers of one block: a thread has 4 neighbours, so that 8 threads scan a
/// line and a warp reads 4 rows of 128 bytes at once. All threads of one-dimensional blocks of 256 call.
namespace boxsum::cuda {

inline constexpr int patch_side = 32, patch_threads = 256;
inline constexpr int patch_items = patch_side * patch_side / patch_threads;  ///< 4 a thread
inline constexpr int patch_line_threads = patch_side / patch_items;          ///< 8

/// A thread's elements of a patch: row `line`, or column `line` where columns are scanned, elements `first` to first
/// + 3.
struct patch_share {
    int line = static_cast<int>(threadIdx.x) / patch_line_threads;
    int first = static_cast<int>(threadIdx.x) % patch_line_threads * patch_items;
};

/// Row `row`, columns from `col` on; zeros outside the image.
template <typename Sum, typename Pixel>
__device__ void load_patch(Sum (&x)[patch_items], const layer<const Pixel>& in, std::int64_t row, std::int64_t col) {
    const bool inside = row < in.rows && col < in.cols;
    load_neighbours(x, line<const Pixel>{inside ? &in.at(row, col) : in.data, in.col_stride},
                    inside ? in.cols - col : 0);
}

/// The same of `Patches` patches below each other, where the image has `rows` rows from `row` on, or none; with all
/// loads on their way together where the patches are whole.
template <int Patches, typename Sum, typename Pixel>
__device__ void load_patches(Sum (&x)[Patches][patch_items], const layer<const Pixel>& in, std::int64_t row,
                             std::int64_t col, int rows) {
    line<const Pixel> from{&in.at(row, col), in.col_stride};
    if (rows > (Patches - 1) * patch_side && col + patch_items <= in.cols && lie_together<patch_items>(from) &&
        in.row_stride % (patch_items * static_cast<std::int64_t>(sizeof(Pixel))) == 0) {
        vector_of<Pixel, patch_items> pixels[Patches];
        const line<const Pixel> rows_below{from.first, patch_side * in.row_stride};
#pragma unroll
        for (int u = 0; u < Patches; ++u)
            pixels[u] = reinterpret_cast<const vector_of<Pixel, patch_items>&>(rows_below[u]);
#pragma unroll
        for (int u = 0; u < Patches; ++u)
#pragma unroll
            for (int i = 0; i < patch_items; ++i) x[u][i] = widen<Sum>(pixels[u].x[i]);
    } else {
#pragma unroll
        for (int u = 0; u < Patches; ++u)
#pragma unroll
            for (int i = 0; i < patch_items; ++i)
                x[u][i] = u * patch_side < rows && col + i < in.cols ? widen<Sum>(in.at(row + u * patch_side, col + i))
                                                                     : Sum{};
    }
}

/// Prefix sums of 4 neighbours in each of 8 neighbouring lanes: of 4 lines of a patch at once.
template <typename Sum>
__device__ void scan_patch_lines(Sum (&x)[patch_items]) {
#pragma unroll
    for (int i = 1; i < patch_items; ++i) x[i] += x[i - 1];
    Sum upto = x[patch_items - 1];
#pragma unroll
    for (int step = 1; step < patch_line_threads; step *= 2) {
        const Sum left = __shfl_up_sync(whole_warp, upto, step, patch_line_threads);
        if (lane_id() % patch_line_threads >= step) upto = left + upto;
    }
    const Sum left = __shfl_up_sync(whole_warp, upto, 1, patch_line_threads);
    const Sum before = lane_id() % patch_line_threads > 0 ? left : Sum{};
#pragma unroll
    for (int i = 0; i < patch_items; ++i) x[i] = before + x[i];
}

}  // namespace boxsum::cuda
