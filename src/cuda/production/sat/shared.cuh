#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/phase_barrier.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/device/staged_rows.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/sum_and_squares.cuh"
#include "cuda/device/tagged_words.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/plan.hpp"
#include "cuda/production/workspace.cuh"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// What the roles of the aligned pipeline share: words in the workspace, tiles in shared memory, and their arithmetic.
namespace boxsum::cuda {

template <typename Sum, typename Squares>
inline constexpr int lane_cols_of<sum_and_squares<Sum, Squares>> = squares_panel_cols / 32;

/// Types of entries of the tables.
template <typename Sum>
struct tables_of {
    using sum = Sum;
};

template <typename Sum, typename Squares>
struct tables_of<sum_and_squares<Sum, Squares>> {
    using sum = Sum;
    using squares = Squares;
};

/// Of an entry of the table of squares, 0 without one.
template <typename Sum>
inline constexpr int squares_bytes_of = 0;
template <typename Sum, typename Squares>
inline constexpr int squares_bytes_of<sum_and_squares<Sum, Squares>> = sizeof(Squares);

/// Bytes of pixels and of entries of the table, or of both tables.
template <typename Pixel, typename Sum>
inline constexpr tile_types types_of{sizeof(Pixel), sizeof(typename tables_of<Sum>::sum), squares_bytes_of<Sum>};

/// Words of the rows of tiles in the ring. Positions are reused lap by lap; the tag holds the lap. Row and column sums
/// of tiles and groups have room for those of the table's type; narrow ones (tile_word, group_sum) fill the first half
/// or quarter of it.
struct exchange_words {
    exchange_words(workspace_slots& slots, const tile_plan& p, tile_columns columns, int row_words, int col_words)
        : row_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.tile_cols * row_words)),
          group_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.groups * row_words)),
          table_rows(slots.take<tagged_word>(std::int64_t{p.ring_groups} * p.tile_cols * col_words)) {
        if (columns == tile_columns::chain) return;
        col_sums = slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.tile_cols * col_words);
        const int value_words = row_words / p.channels / tile_shape<float>::rows;
        carry_totals = slots.take<tagged_word>(std::int64_t{p.ring_groups} * p.tile_cols * total_words_of(value_words) *
                                               p.channels);
    }

    /// The total of a tile's row carries, of one channel. `place`: tile_position::rows_place.
    __device__ tagged_word* total_of(unsigned place, int channels, int in_group, int channel, int words) const {
        return carry_totals +
               (std::size_t{place} * total_words_of(words) * channels + (in_group * channels + channel) * words);
    }

    tagged_word* row_sums;    ///< [ring row][tile column][channel][row], by `sum`
    tagged_word* group_sums;  ///< [ring row][group][channel][row], by `left`
    /// [ring row / rows of a group][tile column][col], by `above`; with a chain, whose groups have one row, by `finish`
    tagged_word* table_rows;
    tagged_word* col_sums = nullptr;  ///< [ring row][tile column][col], by `left`
    /// [ring row / rows of a group][tile column][total_words_of() a channel: a line of the cache], by `carry`.
    /// Totals of 16 tiles packed in a line, which all of them write and read, cost 4 % at 8192 and 5 % at 16384.
    tagged_word* carry_totals = nullptr;
};

/// Where a ticket's tile and its words lie. `sum` works it out once and leaves it to the other roles in shared memory,
/// who read what they need when they need it.
struct tile_position {
    std::uint32_t tag;           // of this tile's words; 0: behind the last tile
    std::uint32_t tag_above;     // of the table row above its group
    unsigned plane, row, col;    // of tiles
    unsigned lap, ring_row;      // where the words of its row of tiles are
    unsigned in_group;           // row of tiles within its group
    unsigned before;             // tiles to the left within their group
    unsigned group;              // of columns
    unsigned place;              // ring row * tile columns + tile column
    unsigned group_place;        // the same for groups of columns: ring row * groups
    unsigned rows_place;         // the same for groups of rows
    unsigned rows_place_above;   // for the group of rows above, perhaps a lap before
    bool ends_group;             // publishes the sums of its group
    bool ends_rows;              // publishes a table row
    bool has_above;              // there is a table row above its group
    bool last_col;               // of its plane
    int valid_rows, valid_cols;  // from its first one on in the table; perhaps more than it has
    std::byte* to;               // where the first of its sums is stored

    __device__ bool valid() const { return tag != 0; }
};

/// Which phase of which slot a tile is: the number of tiles that the block had before it.
template <int Slots>
struct tile_counter {
    unsigned n = 0;

    __device__ unsigned slot() const { return n % Slots; }
    __device__ std::uint32_t parity() const { return n / Slots % 2; }
    __device__ unsigned position() const { return n % (2 * Slots); }
};

/// Rows of the warps of `finish` on their way to memory: rows_on_their_way_of().
template <typename Sum, int Rows>
struct tile_stage {
    using rows = staged_rows<Sum, tile_shape<Sum>::lane_cols, Rows>;
    alignas(128) typename rows::memory memory[tile_shape<Sum>::finish_warps];
};

template <typename Sum>
struct tile_stage<Sum, 0> {};

// What a tile stores beside itself with tile_store::whole_sectors: sums of the first columns of the tile to its right,
// which fill the last sector of a row. A sum there is the row's last one, and what the columns between have down to the
// row: within the tile (`left` adds that up), and above it (`above` does).

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
/// which each has two rows, has four times the instructions.
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

/// Sums beside the tiles, with tile_store::whole_sectors. One more than slots: `finish` reads them when it has
/// arrived at `read` for their tile, see tile_memory::kept.
template <int Slots, bool HasBeside>
struct tile_beside {
    phase_barrier there[Slots];  // sums are the tile's: `above`
    beside_sums sums[Slots + 1];
};

template <int Slots>
struct tile_beside<Slots, false> {};

/// SumInGroup: of rows of a group of tiles, OfPanel: of its panels; Scanned: of `finish`. Chain:
/// tile_columns::chain.
template <typename Sum, typename SumInGroup, typename OfPanel, typename Scanned, int Slots, int Channels, int Panels,
          bool Chain, int RowsOnTheirWay, int EndsUnit, bool HasBeside>
struct tile_memory {
    using tile = tile_shape<Sum>;
    static constexpr int slots = Slots;
    [[no_unique_address]] tile_stage<Sum, RowsOnTheirWay> stage;
    [[no_unique_address]] tile_beside<Slots, HasBeside> beside;

    // A tile goes through its slot's barriers once a phase.
    phase_barrier loaded[slots];      // position and pixels are there: `sum`, whose lanes may have copied rows
    phase_barrier read[slots];        // nobody needs the pixels: 8 warps
    phase_barrier rows_added[slots];  // own_rows are the tile's: `sum`
    phase_barrier cols_added[slots];  // own_cols: `left`
    phase_barrier left_added[slots];  // own_rows are those of the tiles to the left: `left`
    phase_barrier carried[slots];     // carry: `carry`
    phase_barrier topped[slots];      // top: `above`
    phase_barrier finished[slots];    // carry and top are in the registers of `finish`: 4 warps

    /// Twice as many as slots. The position of tile n is replaced by that of tile n + 2 * slots when all 8 warps have
    /// arrived at `read` for tile n + slots, which is when they have left tile n altogether: so each may look at it
    /// until then.
    tile_position position[2 * slots];
    // Last rows of the warps of `finish`, by turns; a chain needs the tile's last row, too, and no column sums.
    alignas(16) Scanned bottom[2][tile::finish_warps - (Chain ? 0 : 1)][tile::cols];
    /// Of several panels, what a role still reads when it has arrived at `read` for the tile. It arrives there for the
    /// next tile when it has done so, and a tile is not loaded before that has happened for the one `slots` before it.
    /// With one panel `left` writes own_cols before it waits for rows_added, too; `above` has read the place before it
    /// arrives at `read`.
    static constexpr int kept = Panels > 1 ? slots + 1 : slots;
    alignas(16) OfPanel own_cols[Chain ? 1 : kept][Panels][tile::cols];  // column sums of the tile
    alignas(16) Sum top[slots][Panels][tile::cols];                      // the table row above the tile
    Sum corner[slots];                                                   // what that row has left of the tile
    using row_ends = cuda::row_ends<Sum, tile::lane_cols, EndsUnit>;
    typename row_ends::memory ends[tile::finish_warps];  // of rows of the table that start anywhere
    /// Row sums of the tile, by channel; then those of the tiles to the left in the group, which `left` leaves in their
    /// place: with both, 4 channels of 32f32f would have two blocks a multiprocessor instead of three.
    alignas(16) SumInGroup own_rows[slots][Channels * tile::rows];
    /// Row sums of all panels but the last.
    alignas(16) OfPanel
        panel_rows[Panels > 1 ? kept : 1][Panels > 1 ? Panels - 1 : 1][Panels > 1 ? Channels* tile::rows : 1];
    alignas(16) Sum carry[slots][Panels][tile::rows * Channels];  // carries, summed downwards; a row's side by side
};

// Arithmetic

/// The N neighbours that a lane owns of a row in shared memory.
template <typename Sum, int N>
__device__ inline void load_neighbours(Sum (&x)[N], const Sum* row, int lane) {
    const auto chunk = reinterpret_cast<const vector_of<Sum, N>*>(row)[lane];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = chunk.x[i];
}

template <typename Sum, typename More, int N>
__device__ inline void add_neighbours(Sum (&x)[N], const More* row, int lane) {
    More more[N];
    load_neighbours(more, row, lane);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] += static_cast<Sum>(more[i]);
}

template <typename Sum, int N>
__device__ inline void store_neighbours(Sum* row, const Sum (&x)[N], int lane) {
    vector_of<Sum, N> chunk;
#pragma unroll
    for (int i = 0; i < N; ++i) chunk.x[i] = x[i];
    reinterpret_cast<vector_of<Sum, N>*>(row)[lane] = chunk;
}

}  // namespace boxsum::cuda
