#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/role_registers.cuh"
#include "cuda/production/sat/finish.cuh"

#include <cstdint>

/// The single-pass summed area table: one read, one write per element. A row of interleaved channels is a row of
/// elements of which every C-th are summed along the row (device/channels.cuh), so that a tile's row has C sums and C
/// carries; everything downwards is by element anyway. Rows of the image and of the table start at any element; pixels
/// and sums of a tile move 16 aligned bytes at a time all the same.
///
/// The table is cut into tiles of 64 rows and one or two panels of columns, which each role works on one after another
/// (may_have_panels() says why). Persistent blocks draw tiles by ticket, row by row of tiles. Roles, each a
/// warp, work on a block's tiles one after another, so that a tile is loaded while others wait for their neighbours and
/// one is stored:
///
///     sum      draws the ticket, lets the copy engine load the tile, publishes its row sums as soon as it has landed;
///              rows of an image that start anywhere are then where everybody else expects them
///     left     publishes its column sums; adds the row sums of the tiles to the left within a group of tiles; the last
///              of a group publishes the group's
///     carry    adds those of whole groups to the left: now the row carries are known; publishes their total
///     above    adds column sums and carry totals of the tiles above within a group of tile rows to the finished table
///              row above the group; the last tile row of a group publishes the table row below itself
///     finish   (4 warps) scans the tile, adds carries and the table row above, stores
///
///     sums of a tile ---> left ---> carry ---> finish        so a carry is two hops away from the loads,
///          |                          |          ^           whatever the width; the only chain runs downwards and
///          +-------> above <----------+          |           has one hop per group of tile rows
///                      +-------------------------+
///
/// With tile_columns::chain there is no role `above`, nobody needs column sums, and `left` has two warps: `finish`
/// takes the table row above from the tile above and publishes its own last row, a hop per row of tiles but less to add
/// up.
///
/// Sums and squares are computed at once where a value is a sum_and_squares: every role adds up and hands on both, and
/// `finish` stores to two tables.
///
/// A part of a larger table is seeded where tiles learn of others: `carry` adds what is left of the part, `above` takes
/// what is above it for the table row above the first group.
///
/// A table that grows from an origin in all four directions (outward_plan) has tiles whose rows go up, or from right to
/// left. Only those who read pixels or store sums see that: pixels are turned where they come from shared memory, sums
/// where they leave, and all between has rows and columns as they count from the origin on. A pixel's offset is taken
/// from it there, too; integers lose it where they leave, as often as there are pixels in them.
///
/// No block needs another to be resident: every wait is for lower tickets, which are drawn in the order in which blocks
/// run, or for an earlier role on the same tile.
///
/// Each role is a function of a tile_block, which has all state (block.cuh). Files, in the order of the data: sum.cuh;
/// exchange.cuh for `left`, `carry` and `above`; finish.cuh, and store.cuh for what it stores.
namespace boxsum::cuda {

/// Computes all tiles of the plan. The header's ticket, finished count and counters are zero before, as every call on
/// the workspace leaves them; tags of this call's epoch are nowhere in the workspace. Empty where boxes are loaded and
/// there is no copy engine: there, nobody launches it.
template <typename Pixel, typename Sum, tile_load Load, tile_store Store, int Channels, int Panels,
          tile_columns Columns, bool Outwards>
__global__ void __launch_bounds__(tile_shape<Sum>::threads,
                                  registers_move ? tile_shape<Sum>::blocks_per_multiprocessor : 2)
    sat_tile_kernel(
        const __grid_constant__ plan_of<Sum, Outwards> plan,
        const __grid_constant__ image_maps<phases_of(Load, sizeof(Pixel)), Store == tile_store::whole_sectors> maps,
        const __grid_constant__ exchange_words words, workspace_header* header, std::byte* workspace,
        std::size_t workspace_bytes) {
    constexpr tile_kernel K{Load, Store, Channels, Panels, Columns, Outwards};
    if constexpr (K.load == tile_load::rows || has_copy_engine) {
        using tile = tile_shape<Sum>;
        using block_of_roles = tile_block<Pixel, Sum, K>;
        __shared__ typename block_of_roles::shared_memory shared;
        let_successor_start();
        if (threadIdx.x == 0) block_of_roles::initialize(shared);
        wait_for_predecessor();  // which may have used the same workspace
        __syncthreads();
        // The copy engine writes to multiples of 128 bytes; the launch asks for 112 bytes more.
        std::byte* const memory = dynamic_shared<std::byte>();
        const block_of_roles block{
            plan, maps, words, header, shared, memory + (128 - reinterpret_cast<std::uintptr_t>(memory) % 128) % 128};
        const int warp = threadIdx.x / 32;
        if (warp < tile::finish_warps) {
            take_registers<registers_of<K.columns>.finish>();
            run_finish(block);
        } else {
            give_registers<registers_of<K.columns>.helpers>();
            if (warp == tile::finish_warps)
                run_sum(block);
            else if (warp == tile::finish_warps + 1)
                run_left(block, 0);
            else if (warp == tile::finish_warps + 2)
                run_carry(block);
            else if constexpr (block_of_roles::chain)
                run_left(block, 1);
            else
                run_above(block);
        }
        leave_workspace(header, workspace, workspace_bytes, ::cuda::memory_order_relaxed,
                        [&] { settle_counters(block); });
    }
}

/// The stubs that nvcc 13 writes for kernels cannot name an aggregate.
template <typename Pixel, typename Sum, tile_kernel K>
constexpr auto* sat_tile_kernel_of() {
    return sat_tile_kernel<Pixel, Sum, K.load, K.store, K.channels, K.panels, K.columns, K.outwards>;
}

}  // namespace boxsum::cuda
