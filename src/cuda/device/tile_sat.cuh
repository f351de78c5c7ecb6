#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/tile_order.hpp"

#include <cstdint>

/// The tile algorithms of Emoto et al. 2018, section II: tiles of W x W in shared memory, in the diagonal arrangement.
/// A block of any multiple of W threads, at least 2 W and at most W x W, works on one tile; its threads form groups of
/// W that copy m = W x W / threads consecutive rows each. Callers put barriers between the steps.
namespace boxsum::cuda {

/// Element (i, j) lies at offset i W + (i + j) mod W: 32 neighbours of a row, and 32 neighbours of a column, are in
/// different banks.
template <typename T, int W>
struct sat_tile {
    static constexpr int width = W;
    T cells[W * W];

    __device__ T& at(int i, int j) { return cells[i * W + ((i + j) & (W - 1))]; }
};

/// The part of a tile T(I, J) that lies in the image.
struct tile_box {
    std::int64_t row, col;  ///< of its first element
    int rows, cols;
};

template <int W>
__host__ __device__ inline tile_box box_of(tile_index t, std::int64_t rows, std::int64_t cols) {
    const std::int64_t row = t.row * W, col = t.col * W;
    return {row, col, static_cast<int>(rows - row < W ? rows - row : W),
            static_cast<int>(cols - col < W ? cols - col : W)};
}

/// Elements per thread whose loads are issued together.
inline constexpr int tile_batch = 8;

/// Step 1 of the shared memory algorithms: the tile from global memory; zeros outside the image.
template <typename Pixel, typename T, int W>
__device__ void load_tile(sat_tile<T, W>& tile, const layer<const Pixel>& a, const tile_box& box) {
    const int j = static_cast<int>(threadIdx.x) % W;
    const int m = W * W / static_cast<int>(blockDim.x);
    const int first = static_cast<int>(threadIdx.x) / W * m;
    const line<const Pixel> column = a.column(box.col + j);
    for (int i = first; i < first + m; i += tile_batch) {
        Pixel x[tile_batch];
#pragma unroll
        for (int k = 0; k < tile_batch; ++k)
            if (i + k < first + m && i + k < box.rows && j < box.cols) x[k] = column[box.row + i + k];
#pragma unroll
        for (int k = 0; k < tile_batch; ++k)
            if (i + k < first + m) tile.at(i + k, j) = i + k < box.rows && j < box.cols ? widen<T>(x[k]) : T{};
    }
}

/// Step 4: the tile to global memory, past the caches, for nobody reads it again.
template <typename T, int W>
__device__ void store_tile(sat_tile<T, W>& tile, const layer<T>& b, const tile_box& box) {
    const int j = static_cast<int>(threadIdx.x) % W;
    const int m = W * W / static_cast<int>(blockDim.x);
    const int first = static_cast<int>(threadIdx.x) / W * m;
    if (j >= box.cols) return;
    const line<T> column = b.column(box.col + j);
#pragma unroll 4
    for (int i = first; i < first + m; ++i)
        if (i < box.rows) __stcs(&column[box.row + i], tile.at(i, j));
}

/// Prefix sums of cell(0), cell(1), ... in place, by one thread; returns the last. Loads go ahead of the additions.
template <int W, typename T, typename Cell>
__device__ T scan_cells(Cell cell, T carry = T{}) {
    for (int k = 0; k < W; k += tile_batch) {
        T x[tile_batch];
#pragma unroll
        for (int q = 0; q < tile_batch; ++q) x[q] = cell(k + q);
#pragma unroll
        for (int q = 0; q < tile_batch; ++q) cell(k + q) = carry += x[q];
    }
    return carry;
}

/// Steps 2 and 3 of the shared memory SAT algorithm, with barriers around and between: W threads scan a row each, then
/// a column each. What was added to the leftmost column, the topmost row and the corner before reaches every entry.
template <typename T, int W>
__device__ void scan_tile(sat_tile<T, W>& tile) {
    const int t = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (t < W) scan_cells<W, T>([&](int j) -> T& { return tile.at(t, j); });
    __syncthreads();
    if (t < W) scan_cells<W, T>([&](int i) -> T& { return tile.at(i, t); });
    __syncthreads();
}

}  // namespace boxsum::cuda
