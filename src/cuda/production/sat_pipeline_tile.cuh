#pragma once

#include "cuda/device/phase_barrier.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/tagged_words.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_pipeline_plan.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

/// What the roles of the general pipeline share of a tile: its words, its place, its shared memory, its pixels as
/// summands. sat_pipeline.cuh has the picture.
namespace boxsum::cuda {

// Words

/// Words of the rows of tiles in the ring. Positions are reused lap by lap; the tag holds the lap.
struct pipeline_words {
    pipeline_words(workspace_slots& slots, const pipeline_plan& p, int row_words, int col_words)
        : row_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.columns * row_words)),
          group_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.groups * p.g.channels * row_words)),
          col_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.columns * col_words)),
          table_rows(slots.take<tagged_word>(std::int64_t{p.ring_rows} / p.group_rows * p.columns * col_words)),
          carry_totals(slots.take<tagged_word>(std::int64_t{p.ring_rows} / p.group_rows * p.columns * 16)) {}

    tagged_word* row_sums;      ///< [ring row][column][row], by `sum`
    tagged_word* group_sums;    ///< [ring row][group][row], by `left`
    tagged_word* col_sums;      ///< [ring row][column][col], by `sum`
    tagged_word* table_rows;    ///< [ring row / group_rows][column][col], by `above`
    tagged_word* carry_totals;  ///< [ring row / group_rows][column][16 words: a line of the cache], by `carry`
};

// Tiles

/// Where a ticket's tile lies. `sum` works it out and leaves it to the other roles in shared memory: its divisions take
/// as long as a look at the second-level cache.
struct tile_position {
    bool valid;                // false behind the last tile
    unsigned plane, row, col;  // row and column of tiles
    unsigned channel;
    unsigned column;    // among all columns of tiles: channel by channel
    unsigned group;     // of columns
    unsigned ring_row;  // where its words are
    unsigned lap;
    unsigned in_group;  // row within its group of rows

    __device__ tile_position(const pipeline_plan& p, unsigned ticket) {
        valid = ticket < p.tiles;
        const unsigned line = ticket / p.columns;  // a row of tiles of all channels
        const unsigned place = ticket - line * p.columns;
        plane = line < p.tile_rows ? 0 : line / p.tile_rows;
        row = line - plane * p.tile_rows;
        col = p.g.channels == 1 ? place : place / p.g.channels;
        channel = place - col * p.g.channels;
        column = channel * p.tile_cols + col;
        group = col / p.group_cols;
        const unsigned virtual_row = plane * p.rows_of_plane + row;
        lap = virtual_row < p.ring_rows ? 0 : virtual_row / p.ring_rows;
        ring_row = virtual_row - lap * p.ring_rows;
        in_group = row % p.group_rows;
    }
};

// Shared memory

/// At pipeline_shared::loaded: the lane that drew the ticket, when all is in place; with asynchronous copies, all lanes
/// too, when theirs are.
__device__ inline int arrivals_at_loaded(tile_load load) {
    return load == tile_load::chunks_16 || load == tile_load::chunks_4 ? 1 + 32 : 1;
}

template <typename Sum>
struct pipeline_shared {
    using tile = pipeline_tile<Sum>;

    // A tile goes through its slot's barriers once a phase.
    phase_barrier loaded[tile::slots];      // position and pixels are there: `sum`, see arrivals_at_loaded()
    phase_barrier read[tile::slots];        // nobody needs the pixels, nor the ticket: 8 warps
    phase_barrier rows_added[tile::slots];  // own_rows: `sum`
    phase_barrier cols_added[tile::slots];  // own_cols: `sum`
    phase_barrier left_added[tile::slots];  // left: `left`
    phase_barrier carried[tile::slots];     // carry: `carry`
    phase_barrier topped[tile::slots];      // top: `above`
    phase_barrier finished[tile::slots];    // carry and top are in the registers of `finish`: 4 warps

    alignas(tile_position) std::byte position[tile::slots][sizeof(tile_position)];  // see at()
    alignas(16) Sum own_cols[tile::slots][tile::cols];                              // column sums of the tile
    alignas(16) Sum top[tile::slots][tile::cols];                                   // the table row above the tile
    alignas(16) Sum bottom[2][tile::finish_warps - 1][tile::cols];  // last rows of the warps of `finish`, by turns
    alignas(16) Sum own_rows[tile::slots][tile::rows];              // row sums of the tile
    alignas(16) Sum left[tile::slots][tile::rows];                  // those of the tiles to the left in the group
    alignas(16) Sum carry[tile::slots][tile::rows];                 // row carries, summed downwards

    __device__ tile_position& at(int slot) { return *reinterpret_cast<tile_position*>(position[slot]); }
};

// Arithmetic

/// A pixel as a summand of the table, or of the table of squares.
template <typename Sum, bool Square, typename Pixel>
__device__ inline Sum summand(Pixel x) {
    const Sum y = widen<Sum>(x);
    return Square ? y * y : y;
}

/// Adds 16 bytes of pixels to four partial sums.
template <bool Square, typename Pixel, typename Partial>
__device__ inline void add_chunk(uint4 chunk, Partial (&sum)[4]) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
        const auto add = [](std::uint32_t four, std::uint32_t s) {
            return __dp4a(four, Square ? four : 0x01010101u, s);
        };
        sum[0] = add(chunk.x, sum[0]);
        sum[1] = add(chunk.y, sum[1]);
        sum[2] = add(chunk.z, sum[2]);
        sum[3] = add(chunk.w, sum[3]);
    } else {
        constexpr int count = 16 / sizeof(Pixel);
        vector_of<Pixel, count> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i % 4] += summand<Partial, Square>(pixels.x[i]);
    }
}

}  // namespace boxsum::cuda
