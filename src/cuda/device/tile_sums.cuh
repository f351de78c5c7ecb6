#pragma once

#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/tile_order.hpp"
#include "cuda/device/tile_pieces.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"

#include <cstdint>

namespace boxsum::cuda {

/// The sums of all tiles that lie in global memory between launches (Emoto et al. 2018, table II): for tile T(I, J) of
/// a layer, W sums of rows, W sums of columns and one of all, local (LRS, LCS, LS) or global (GRS, GCS, GS).
template <typename T>
struct tile_sums {
    T* row_sums;  ///< [layer][J][row]
    T* col_sums;  ///< [layer][I][column]
    T* sums;      ///< [layer][I][J]
    std::int64_t rows, cols;
    diagonal_order tiles;

    tile_sums(workspace_slots& slots, const inclusive_core& core, std::int64_t w)
        : rows(core.rows), cols(core.cols), tiles{ceil_div(core.rows, w), ceil_div(core.cols, w)} {
        row_sums = slots.take<T>(core.layers * tiles.cols * rows);
        col_sums = slots.take<T>(core.layers * tiles.rows * cols);
        sums = slots.take<T>(core.layers * tiles.count());
    }

    /// Of row r (of the image) in tile column J.
    __device__ T& row_sum(std::int64_t layer, std::int64_t r, std::int64_t tile_col) const {
        return row_sums[(layer * tiles.cols + tile_col) * rows + r];
    }
    /// Of column c (of the image) in tile row I.
    __device__ T& col_sum(std::int64_t layer, std::int64_t tile_row, std::int64_t c) const {
        return col_sums[(layer * tiles.rows + tile_row) * cols + c];
    }
    __device__ T& sum(std::int64_t layer, tile_index t) const {
        return sums[layer * tiles.count() + t.row * tiles.cols + t.col];
    }
};

/// What T(I, J) needs of its neighbours: GRS(I, J-1) and the row above the tile, which is GS(I-1, J-1) and prefix sums
/// of GCS(I-1, J). Before a barrier. Threads below W take the rows, the last warp the row above.
template <typename T, int W, int Threads, tile_arrangement A>
__device__ void load_carries(tile_in_pieces<T, W, Threads, A>& tile, const tile_sums<T>& global, std::int64_t layer,
                             tile_index t, const tile_box& box) {
    const int k = static_cast<int>(threadIdx.x);
    if (k < W) tile.left[k] = t.col > 0 && k < box.rows ? global.row_sum(layer, box.row + k, t.col - 1) : T{};
    if (k >= Threads - warp_size) {
        for (int j = lane_id(); j < W; j += warp_size)
            tile.above[j] = t.row > 0 && j < box.cols ? global.col_sum(layer, t.row - 1, box.col + j) : T{};
        if (lane_id() == 0) tile.corner = t.row > 0 && t.col > 0 ? global.sum(layer, {t.row - 1, t.col - 1}) : T{};
        __syncwarp();
        tile.sum_above();
    }
}

/// The shared memory column-wise/row-wise sum algorithm for T(I, J): reads a, writes LRS(I, J), LCS(I, J) and, by a
/// warp, LS(I, J). All threads of the block call; `lcs` is shared memory.
template <typename Pixel, typename T, int W, int Threads>
__device__ void sum_tile(tile_in_pieces<T, W, Threads>& tile, T (&lcs)[W], const layer<const Pixel>& a,
                         const tile_sums<T>& local, std::int64_t layer, tile_index t) {
    const tile_piece<W, Threads> own;
    const tile_box box = box_of<W>(t, local.rows, local.cols);
    const int thread = static_cast<int>(threadIdx.x);

    // Step 1: tile to shared memory, sums of columns on the way
    T x[own.m];
    load_piece(x, own, a, box);
    tile.put(own, x);
    tile.sum_columns(own, x);
    __syncthreads();

    // Step 2: rows and columns, first the pieces, then these by W threads each
    tile.scan_rows(own, x);
    __syncthreads();
    if (thread < W) {
        if (own.k < box.rows) local.row_sum(layer, box.row + own.k, t.col) = tile.row_sum(own.k);
    } else if (thread < 2 * W) {
        const T sum = lcs[own.k] = tile.column_sum(own.k);
        if (own.k < box.cols) local.col_sum(layer, t.row, box.col + own.k) = sum;
    }
    __syncthreads();

    if (thread < warp_size) {
        T ls{};
        for (int j = thread; j < W; j += warp_size) ls += lcs[j];
        ls = warp_sum(ls);
        if (thread == 0) local.sum(layer, t) = ls;
    }
}

/// Leaves GRS(I, J) = GRS(I, J-1) + LRS(I, J) and GCS(I, J) = GCS(I-1, J) + LCS(I, J) for the next launch. After
/// load_carries, sum_columns and scan_rows, and a barrier. W threads take the rows, the next W the columns.
template <typename T, int W, int Threads, tile_arrangement A>
__device__ void publish_row_and_column_sums(const tile_in_pieces<T, W, Threads, A>& tile, const tile_sums<T>& global,
                                            std::int64_t layer, tile_index t, const tile_box& box) {
    const int k = static_cast<int>(threadIdx.x) % W;
    if (threadIdx.x < W) {
        if (k < box.rows) global.row_sum(layer, box.row + k, t.col) = tile.left[k] + tile.row_sum(k);
    } else if (threadIdx.x < 2 * W && k < box.cols) {
        const T lcs = tile.column_sum(k);
        global.col_sum(layer, t.row, box.col + k) =
            t.row == 0 ? lcs : global.col_sum(layer, t.row - 1, box.col + k) + lcs;
    }
}

/// Whether a tile that is finished leaves its global sums for the next launch, as 1R1W does, or they are known already.
enum class sums_for_neighbours { known, published };

/// The shared memory SAT algorithm for T(I, J) with GRS(I, J-1), GCS(I-1, J) and GS(I-1, J-1): reads a, writes
/// GSAT(I, J), and where they are published GRS(I, J), GCS(I, J) and GS(I, J). All threads of the block call.
template <sums_for_neighbours Sums, typename Pixel, typename T, int W, int Threads, tile_arrangement A>
__device__ void finish_tile(tile_in_pieces<T, W, Threads, A>& tile, const layer<const Pixel>& a,
                            const tile_sums<T>& global, const layer<T>& b, std::int64_t layer, tile_index t) {
    constexpr bool publishes = Sums == sums_for_neighbours::published;
    const tile_piece<W, Threads> own;
    const tile_box box = box_of<W>(t, global.rows, global.cols);

    // Step 1, and what comes from the neighbours
    T x[own.m];
    load_piece(x, own, a, box);
    load_carries(tile, global, layer, t, box);
    tile.put(own, x);
    if constexpr (publishes) tile.sum_columns(own, x);
    __syncthreads();

    // Step 2: prefix sums of rows
    tile.scan_rows(own, x);
    __syncthreads();
    if constexpr (publishes) publish_row_and_column_sums(tile, global, layer, t, box);
    tile.put_rows(own, x);
    __syncthreads();

    // Step 3: prefix sums of columns; step 4
    tile.scan_columns(own, x);
    __syncthreads();
    const T before = tile.before_columns(own, tile.corner + tile.above[own.k]);
    store_piece(x, before, own, b, box);
    if constexpr (publishes) {  // GS(I, J) is the corner of GSAT(I, J)
        if (own.k != box.cols - 1) return;
#pragma unroll
        for (int q = 0; q < own.m; ++q)
            if (own.first + q == box.rows - 1) global.sum(layer, t) = before + x[q];
    }
}

}  // namespace boxsum::cuda
