#pragma once

#include "cuda/device/inclusive_core.hpp"
#include "cuda/device/tile_order.hpp"
#include "cuda/device/tile_pieces.cuh"
#include "cuda/device/tile_sat.cuh"
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

/// Adds GRS(I, J-1), GCS(I-1, J) and GS(I-1, J-1) to the leftmost column, the topmost row and the corner of T(I, J).
/// Between barriers. Threads below W take the column, the next W the row.
template <typename T, int W>
__device__ void add_carries(sat_tile<T, W>& tile, const tile_sums<T>& global, std::int64_t layer, tile_index t,
                            const tile_box& box) {
    const int k = static_cast<int>(threadIdx.x) % W;
    const bool takes_column = threadIdx.x < W;
    const bool takes_row = !takes_column && threadIdx.x < 2 * W;
    if (takes_column && t.col > 0 && k < box.rows && k > 0)
        tile.at(k, 0) += global.row_sum(layer, box.row + k, t.col - 1);
    if (takes_row && t.row > 0 && k < box.cols && k > 0) tile.at(0, k) += global.col_sum(layer, t.row - 1, box.col + k);
    if (threadIdx.x == 0) {
        T corner{};
        if (t.row > 0 && t.col > 0) corner += global.sum(layer, {t.row - 1, t.col - 1});
        if (t.col > 0) corner += global.row_sum(layer, box.row, t.col - 1);
        if (t.row > 0) corner += global.col_sum(layer, t.row - 1, box.col);
        tile.at(0, 0) += corner;
    }
}

/// The same for a tile in pieces: GRS(I, J-1) and the row above the tile, which is GS(I-1, J-1) and prefix sums of
/// GCS(I-1, J). Before a barrier. Threads below W take the rows, the last warp the row above.
template <typename T, int W, int Threads>
__device__ void load_carries(tile_in_pieces<T, W, Threads>& tile, const tile_sums<T>& global, std::int64_t layer,
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

/// Leaves GRS(I, J) = GRS(I, J-1) + LRS(I, J) and GCS(I, J) = GCS(I-1, J) + LCS(I, J) for the next launch. Between
/// barriers, before the carries are added. W threads take the rows, the next W the columns.
template <typename T, int W>
__device__ void publish_row_and_column_sums(sat_tile<T, W>& tile, const tile_sums<T>& global, std::int64_t layer,
                                            tile_index t, const tile_box& box) {
    const int k = static_cast<int>(threadIdx.x) % W;
    if (threadIdx.x < W) {
        if (k >= box.rows) return;
        const T lrs = sum_cells<W, T>([&](int j) { return tile.at(k, j); });
        global.row_sum(layer, box.row + k, t.col) =
            t.col == 0 ? lrs : global.row_sum(layer, box.row + k, t.col - 1) + lrs;
    } else if (threadIdx.x < 2 * W) {
        if (k >= box.cols) return;
        const T lcs = sum_cells<W, T>([&](int i) { return tile.at(i, k); });
        global.col_sum(layer, t.row, box.col + k) =
            t.row == 0 ? lcs : global.col_sum(layer, t.row - 1, box.col + k) + lcs;
    }
}

}  // namespace boxsum::cuda
