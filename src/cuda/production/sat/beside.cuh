#pragma once

#include "cuda/device/warp_scan.cuh"
#include "cuda/production/sat/plan.hpp"

#include <cstddef>
#include <cstdint>

/// What a tile stores beside itself with tile_store::whole_sectors: sums of the first columns of the tile to its
/// right, which fill the last sector of a row. A sum there is the row's last one, and what the columns between have
/// down to the row: within the tile (`left` adds that up), and above it (`above` does).
namespace boxsum::cuda {

/// In shared memory; a column's sum has those of the columns to its left.
struct beside_sums {
    using tile = tile_shape<std::uint32_t>;
    /// Down to each row, from the first row of its warp of `finish` on. A row more for each warp, so that lanes of
    /// different ones do not meet in a bank.
    alignas(16) std::uint32_t of_rows[tile::finish_warps][tile::warp_rows + 1][beside_cols];
    /// Of all rows above each warp's: first those of the tile; `above` adds those above the tile.
    alignas(16) std::uint32_t above[tile::finish_warps][beside_cols];
};

/// Bytes of a tile's pixels of 8 bits beside it, 16 a row, of which those of beside_cols count.
inline constexpr int beside_bytes = tile_shape<std::uint32_t>::rows * 16;

/// Within the tile. By a warp: a lane has one of the columns and the rows of one warp of `finish`. A scan by lanes, of
/// which each has two rows, has four times the instructions (8u32u in packed padded tables at 8192 1.03 of the time).
__device__ inline void add_beside(beside_sums& sums, const std::byte* pixels, int lane) {
    using tile = beside_sums::tile;
    static_assert(beside_cols == 8 && tile::finish_warps == 4);
    const int col = lane % 8, warp = lane / 8;
    // Ones at the bytes of this column and of those to its left.
    const std::uint32_t in_first_four = 0x01010101u >> 8 * (col < 3 ? 3 - col : 0);
    const std::uint32_t in_last_four = col < 4 ? 0 : 0x01010101u >> 8 * (7 - col);
    pixels += warp * tile::warp_rows * 16;
    std::uint32_t sum = 0;
#pragma unroll 8
    for (int k = 0; k < tile::warp_rows; ++k) {
        const uint2 eight = *reinterpret_cast<const uint2*>(pixels + k * 16);
        sum = __dp4a(eight.x, in_first_four, sum);
        sum = __dp4a(eight.y, in_last_four, sum);
        sums.of_rows[warp][k][col] = sum;
    }
    std::uint32_t above = 0;
#pragma unroll
    for (int w = 1; w < tile::finish_warps; ++w) {
        const std::uint32_t of_warp = __shfl_up_sync(whole_warp, sum, 8 * w);
        above += warp >= w ? of_warp : 0;
    }
    sums.above[warp][col] = above;
}

}  // namespace boxsum::cuda
