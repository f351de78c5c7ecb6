#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/phase_barrier.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/device/staged_rows.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/sum_and_squares.cuh"
#include "cuda/device/tagged_words.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/carries.cuh"
#include "cuda/production/sat/halves.cuh"
#include "cuda/production/sat/pixels.cuh"
#include "cuda/production/sat/plan.hpp"
#include "cuda/production/workspace.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

/// What the roles of the tile pipeline share: words in the workspace, tiles in shared memory, their arithmetic, and the
/// block that a role is a function of.
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
    bool up, left;               // above the origin, left of it: of tables that grow from one
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

// The block

/// A block as its warps see it: types and constants of the kernel, what the kernel was given, and where things are.
/// Each role is a function of it, run_sum() to run_finish(); kernel.cuh has the picture and names the files.
template <typename Pixel, typename Sum, tile_kernel K>
struct tile_block {
    using sum = Sum;
    using pixel = Pixel;
    using tile = tile_shape<Sum>;
    static constexpr tile_store store = K.store;
    static constexpr int channels = K.channels;
    static constexpr bool whole_sectors = store == tile_store::whole_sectors;
    static constexpr bool outwards = K.outwards;
    using pixels = tile_pixels<Pixel, Sum, K.load, outwards>;
    using plan = plan_of<Sum, outwards>;
    using value_words = words_of_value<Sum>;
    using sum_in_tile = tile_sum<Pixel, Sum>;
    using sum_in_group = group_sum<Pixel, Sum>;
    /// What `finish` scans. Carries of channels that share a row are added to it, so it is the table's type there.
    using scanned = std::conditional_t<channels == 1, sum_in_tile, Sum>;
    static constexpr int panels = K.panels;
    using of_panel = std::conditional_t<panels == 1, sum_in_tile, tile_word<Pixel, Sum>>;
    static constexpr tile_policy tuned = policy_of(types_of<Pixel, Sum>, K);
    static constexpr int rows_on_their_way = tuned.rows_on_their_way;
    static constexpr bool one_behind = store == tile_store::one_behind;
    static constexpr int ends_unit = channels == 1 ? 32 : 16;  // see row_ends
    static constexpr int tile_slots = tuned.slots;
    using shared_memory = tile_memory<Sum, sum_in_group, of_panel, scanned, tile_slots, channels, panels,
                                      K.columns == tile_columns::chain, rows_on_their_way, ends_unit, whole_sectors>;
    using tile_counter = cuda::tile_counter<shared_memory::slots>;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr bool chain = K.columns == tile_columns::chain;
    static_assert(!chain || (channels == 1 && store == tile_store::straight && K.load == tile_load::box));
    static_assert(panels == 1 || (!one_behind && K.load == tile_load::box));
    static_assert(!outwards || (channels == 1 && panels == 1 && !chain && !whole_sectors && K.load == tile_load::box));
    using lane_channels = channels_of_lane<channels, lane_cols>;
    /// Of the table of sums; beside it there may be that of squares.
    using table_sum = typename tables_of<Sum>::sum;
    static constexpr bool has_squares = is_sum_and_squares<Sum>;
    static_assert(has_square<Pixel> == has_squares);
    static_assert(!whole_sectors || (channels == 1 && sizeof(Sum) == 4 && std::is_same_v<Pixel, std::uint8_t> &&
                                     !chain && panels == 1 && K.load == tile_load::box));
    static_assert(!has_squares || (channels == 1 && !chain && store != tile_store::anywhere));
    static constexpr int cols_of_tile = panels * tile::cols;
    static constexpr int row_words = channels * tile::row_words;  // of a tile: [channel][row]
    static constexpr int col_words = panels * tile::col_words;    // of a tile: [panel][column]
    /// Panels that `left`, `carry` and `above` have code for, each by itself. One code for both is better where there
    /// is much, see `together`.
    // H200, 13.0: one code for 8u32u with 3 and 4 channels 0.93, 0.98 at 4096; for 8u64u 1.01
    static constexpr int panels_unrolled = channels == 1 && std::is_same_v<Pixel, std::uint8_t> ? panels : 1;
    /// Two rows a lane of one warp, or one row a lane of two: with a chain there is a warp to spare.
    static constexpr int left_warps = chain ? 2 : 1;
    /// What a tile publishes of its rows: a lane's are those at the places `lane` and `lane` + 32 of every channel.
    /// With a chain a row has words of its own, because a lane of `left` has one row.
    using row_values = std::conditional_t<chain, sum_in_tile, tile_word<Pixel, Sum>>;
    using row_sum_words =
        std::conditional_t<chain, words_of_value<row_values>, words_of_lane<row_values, 2 * channels>>;
    using col_sum_words = words_of_lane<tile_word<Pixel, Sum>, lane_cols>;
    using group_sum_words = words_of_lane<sum_in_group, 2 * channels>;
    using group_row_words = words_of_lane<sum_in_group, 1>;  // one row of them
    using table_row_words = words_of_lane<Sum, lane_cols>;
    static_assert(sizeof(row_sum_words) * (chain ? 2 : 1) * 32 <= sizeof(tagged_word) * row_words);
    static_assert(sizeof(col_sum_words) * 32 <= sizeof(tagged_word) * tile::col_words);
    /// Tiles or groups whose words a lane looks at together: 8 words, if one has no more, of at most 4. A lane with one
    /// row of a tile looks at 8. Sums of 4 bytes of three and four channels come from two at a time nevertheless.
    // H200, 13.0: two at a time for 32f32f with 4 channels 0.96 at 4096; three 1.04
    template <typename Words>
    static constexpr int batch_of = std::clamp(static_cast<int>(8 * sizeof(tagged_word) / sizeof(Words)),
                                               channels > 2 && sizeof(Words) <= 16 * channels ? 2 : 1,
                                               std::is_same_v<Words, words_of_value<row_values>> ? 8 : 4);
    using maps_of_image = image_maps<pixels::phases, whole_sectors>;

    /// Of a tile in shared memory: the pixels of its panels, and of those beside it.
    static constexpr unsigned slot_bytes = panels * pixels::bytes + (whole_sectors ? beside_bytes : 0);
    static constexpr unsigned first_tiles = tuned.first_tiles;

    // Of `finish`

    /// Whether a panel's sums stay in halves of registers until they are stored.
    static constexpr bool in_halves =
        std::is_same_v<Pixel, std::uint8_t> && lane_cols == 4 && (channels > 1 || rows_anywhere(store));
    /// What a lane of `finish` has of a panel: its columns of the warp's rows.
    using panel_sums = std::conditional_t<in_halves, sums_in_halves<channels>, scanned[tile::warp_rows][lane_cols]>;
    /// Whether there is code of its own for each place where rows that start anywhere may start, if it changes from row
    /// to row as in packed tables: half of the instructions of a store, twice the code, of which a table needs a part.
    // H200, 13.0: 8u32u packed 0.965 at 4093, 1.005 padded at 4096; 32f32f 1.12
    static constexpr bool places_are_known = in_halves && channels == 1 && !outwards;
    /// Whether carries stay in shared memory until rows are stored. There are three slots, so that `carry` never waits
    /// for their place.
    static constexpr bool carries_stay = in_halves && channels > 1;
    static_assert(!carries_stay || shared_memory::slots > 2);
    /// The rows' carries, where they are; or that of row l in lane l, see carries_and_left().
    using panel_carries = std::conditional_t<carries_stay, carries_of_rows<Sum>, Sum>;
    /// Rows that are read and scanned together. All where code is short. A multiprocessor has about 40 KB of
    /// instructions at hand: where its roles go through more again and again, warps wait for them, with three and four
    /// channels for a quarter of the time of `finish`. There, half of the rows, twice.
    static constexpr int together = channels == 1 ? tile::warp_rows : tile::warp_rows / 2;

    const plan& p;
    const maps_of_image& maps;
    const exchange_words& words;
    workspace_header* header;
    shared_memory& shared;
    std::byte* slots;  // pixels of the tiles
    const tag_maker tag_of_lap{header};
    const std::uint64_t keep = keep_in_l2();
    const int lane = threadIdx.x % 32;

    /// By one thread, before a block barrier.
    __device__ static void initialize(shared_memory& shared) {
        const auto expect_warps = [](phase_barrier& barrier, int warps) { barrier.initialize(32 * warps); };
        for (int s = 0; s < shared_memory::slots; ++s) {
            // The lane that drew the ticket; where rows start anywhere also every lane, when its copies are done.
            shared.loaded[s].initialize(pixels::shifted ? 1 + 32 : 1);
            expect_warps(shared.read[s], tile::finish_warps + 4);
            expect_warps(shared.left_added[s], left_warps);
            expect_warps(shared.finished[s], tile::finish_warps);
            for (phase_barrier* one : {shared.rows_added, shared.cols_added, shared.carried, shared.topped})
                expect_warps(one[s], 1);
            if constexpr (whole_sectors) expect_warps(shared.beside.there[s], 1);
        }
        announce_barriers();
    }

    __device__ static unsigned offset_of(unsigned slot, int panel) {
        return slot * slot_bytes + static_cast<unsigned>(panel) * pixels::bytes;
    }
    __device__ pixels pixels_of(unsigned slot, int panel, const tile_position& at) const {
        std::byte* const first = slots + offset_of(slot, panel);
        if constexpr (outwards) {
            const auto [up, left] = std::pair(at.up, at.left);
            return {up ? first + (tile::rows - 1) * pixels::pitch : first, {up, left, offset_of_plane(at.plane)}};
        } else {
            return {first};
        }
    }
    __device__ Sum offset_of_plane(unsigned plane) const {
        return p.offsets[static_cast<int>(plane) < p.last_offset ? static_cast<int>(plane) : p.last_offset];
    }
    __device__ std::byte* pixels_beside(unsigned slot) const { return slots + offset_of(slot, panels); }

    /// From a sum of a tile to the next one in its row, in entries of the table.
    __device__ static int step_of(const tile_position& at) {
        if constexpr (outwards)
            return at.left ? -1 : 1;
        else
            return 1;
    }
    /// From a row of a tile to the next one, of that many bytes in the table.
    __device__ static std::int64_t stride_of(const tile_position& at, std::int64_t stride) {
        if constexpr (outwards)
            return at.up ? -stride : stride;
        else
            return stride;
    }

    /// Modulo 16 it does not matter which tile of the plane it is: they are 64 rows and multiples of 64 bytes apart.
    __device__ row_shifts shifts_of(unsigned plane) const {
        if constexpr (!pixels::shifted) return {};
        return {static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p.image)) +
                    plane * static_cast<std::uint32_t>(p.image_plane_stride),
                static_cast<std::uint32_t>(p.image_row_stride)};
    }

    /// Where what a panel leaves to others lies.
    __device__ static unsigned place_of(const tile_counter& now) { return now.n % shared_memory::kept; }

    /// The sums beside the tile.
    __device__ beside_sums* beside_of(const tile_counter& now) const {
        if constexpr (whole_sectors)
            return &shared.beside.sums[now.n % (shared_memory::slots + 1)];
        else
            return nullptr;
    }

    /// The channel of the first of the lane's elements in a panel of a tile.
    __device__ static unsigned first_channel(unsigned tile_col, int panel, int lane) {
        const auto element = static_cast<unsigned>(lane * lane_cols);
        if constexpr (tile::cols % channels == 0)
            return lane_channels::first(element);
        else
            return lane_channels::first((tile_col * panels + static_cast<unsigned>(panel)) * (tile::cols % channels) +
                                        element);
    }

    /// Before pixels are read: `sum` moves rows that start anywhere.
    __device__ void wait_for_moved_rows(const tile_counter& now) const {
        if constexpr (pixels::shifted) shared.rows_added[now.slot()].wait(now.parity());
    }

    /// By all lanes: an arrival releases what its own thread did. One lane's, behind a __syncwarp(), says the same and
    /// is no faster, but racecheck does not take it for that.
    __device__ static void arrive(phase_barrier& barrier) { barrier.arrive(); }

    // What the whole table holds around the part that this launch computes. It enters where tiles learn of others: what
    // is left of the part with the row carries of `carry`, which go to the tiles below with its totals, and what is
    // above it in place of the table row above the first group of tiles.

    __device__ carry_reader<Sum> part_carries() const { return {p.carries, p.squares_carries, channels}; }

    /// In a row of the tile, less in the row above the tile. Rows below the last one count for nothing.
    __device__ Sum left_of_part(const tile_position& at, int row, int channel) const {
        const std::int64_t first = std::int64_t{at.row} * tile::rows;
        return part_carries().step(at.plane, min(first + row, p.rows - 1), min(first, p.rows) - 1, channel);
    }

    /// Above neighbours of the part's row of elements, as far as it goes.
    template <int N>
    __device__ void above_part(Sum (&x)[N], const tile_position& at, std::int64_t first) const {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = first + i < p.cols ? part_carries().above(at.plane, first + i) : Sum{};
    }

    /// Whether a tile's group of rows starts at the part's first row, above which there are carries.
    __device__ bool is_below_carries(const tile_position& at) const {
        return p.has_above && !at.has_above;
    }

    /// The element of the part's rows that is the first of a panel.
    __device__ static std::int64_t first_element(const tile_position& at, int panel) {
        return std::int64_t{at.col} * cols_of_tile + panel * tile::cols;
    }
};

}  // namespace boxsum::cuda
