#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// The policy of the tile pipeline: which kernels there are, and what was tuned for each. Host-only.
namespace boxsum::cuda {

/// How a tile reaches shared memory.
enum class tile_load : std::uint8_t {
    box,   ///< a box of a tensor map: rows of the image are at multiples of 16 bytes
    rows,  ///< from the multiple of 16 bytes below each row's start on: a box for every phase, or 16 bytes a lane
};

/// How a tile learns the table row above it.
enum class tile_columns : std::uint8_t {
    groups,  ///< column sums of the tiles above in its group of rows, and the table row above the group
    chain,   ///< the table row that the tile above has finished
};

/// How sums leave. A kernel for some rows has no code for others, whose registers it would miss.
enum class tile_store : std::uint8_t {
    straight,    ///< one channel, rows of sums are at multiples of 16 bytes
    one_behind,  ///< one channel, they start one sum behind, see tile_plan::one_behind
    anywhere,
    /// As `anywhere`, for one channel of 8-bit pixels: a tile also stores the sums beside it that fill the last sector
    /// of a row, and leaves those before a row's first whole one to the tile on its left.
    whole_sectors,
};

constexpr bool rows_anywhere(tile_store store) {
    return store == tile_store::anywhere || store == tile_store::whole_sectors;
}

/// A kernel of the pipeline, for one type of pixels and one of sums.
struct tile_kernel {
    tile_load load = tile_load::box;
    tile_store store = tile_store::straight;
    int channels = 1;
    int panels = 1;  ///< of a tile, side by side
    tile_columns columns = tile_columns::groups;
    bool outwards = false;  ///< tables from an origin outwards, of pixels less an offset
};

/// Bytes of a pixel and of an entry of the table; of the table of squares, where one kernel computes both.
struct tile_types {
    int pixel_bytes, sum_bytes, squares_bytes = 0;

    constexpr bool both() const { return squares_bytes > 0; }
    /// Words of two tables are as those of one of 8-byte sums.
    constexpr int policy_bytes() const { return both() ? 8 : sum_bytes; }
};

/// Whether there are kernels for tiles of two panels. A row of such a tile has as many words for twice the pixels, and
/// half as many tiles are to the left. That counts where words are many; larger pixels have no room.
constexpr bool may_have_panels(tile_types types, int channels) {
    return types.pixel_bytes == 1 && (channels == 1 ? types.sum_bytes == 8 : types.sum_bytes == 4 && channels > 2);
}

// Which kernels are compiled. A row that starts anywhere has a kernel for every type and any number of channels. Others
// are there for what they gain, at least 3 % of the time of a table that results/ lists; docs/decisions has the
// figures.

/// Types that results/ lists in every layout.
template <typename Pixel, typename Sum>
inline constexpr bool listed_in_every_layout = (std::is_same_v<Pixel, std::uint8_t> &&
                                                std::is_same_v<Sum, std::uint32_t>) ||
                                               (std::is_same_v<Pixel, float> && std::is_same_v<Sum, float>);

/// Types of tables from an origin outwards: those that their forms are for, sums of 32f and of its squares, and bytes,
/// whose sums lose the offset as numbers modulo 2^32.
template <typename Pixel, typename Sum>
inline constexpr bool has_outwards = std::is_integral_v<Pixel>
                                         ? sizeof(Pixel) == 1 && std::is_same_v<Sum, std::uint32_t>
                                         : sizeof(Pixel) == sizeof(float) && std::is_floating_point_v<Sum>;

/// Sums of pixels; of squares there is what every type has.
template <typename Pixel, typename Sum>
constexpr bool is_compiled(tile_kernel k) {
    using enum tile_store;
    if (k.outwards)
        return has_outwards<Pixel, Sum> && k.load == tile_load::box && k.store != whole_sectors && k.channels == 1 &&
               k.panels == 1 && k.columns == tile_columns::groups;
    constexpr bool listed = listed_in_every_layout<Pixel, Sum>, bytes = std::is_same_v<Pixel, std::uint8_t>;
    if (k.load == tile_load::rows) return k.store == anywhere && k.panels == 1 && k.columns == tile_columns::groups;
    if constexpr (!std::is_arithmetic_v<Pixel>) return false;
    if (k.columns == tile_columns::chain)
        return std::is_floating_point_v<Pixel> && std::is_same_v<Sum, double> && k.store == straight &&
               k.channels == 1 && k.panels == 1;
    if (k.panels > 1 && !may_have_panels({sizeof(Pixel), sizeof(Sum)}, k.channels)) return false;
    if (k.channels > 1) return listed && k.store == anywhere;
    if (k.panels > 1) return std::is_same_v<Sum, std::uint64_t> && k.store == straight;
    if (k.store == whole_sectors) return listed && bytes;
    return k.store != anywhere || listed;
}

/// Two panels where sums and squares are computed at once.
template <typename Pixel, typename Sum, typename Squares>
inline constexpr bool has_panels_of_both =
    std::is_same_v<Pixel, std::uint8_t>&& std::is_same_v<Sum, std::uint32_t>&& std::is_same_v<Squares, std::uint64_t>;

// What was tuned.

struct tile_policy {
    int slots;        ///< tiles of a block in shared memory; one more is in the registers of `finish`
    int first_tiles;  ///< that a block starts before its first one has landed, by boxes; from then on one at a time
    int rows_on_their_way;  ///< of a warp of `finish`, to memory by the copy engine; 0: it stores them itself
    bool looks_at_all;      ///< at the column sums of all tiles above in a group of rows together
    int more_ring_rows;     ///< rows of tiles in the ring beside those in flight and a group, from 49 tiles a row on
};

/// A line of the table below; 0 is any.
struct tuned_kernel {
    int pixel_bytes, sum_bytes, channels, panels;
    bool both;
    int store;  ///< a tile_store, or any_store
    tile_policy policy;
};

inline constexpr int any_store = -1, straight_rows = static_cast<int>(tile_store::straight),
                     rows_one_behind = static_cast<int>(tile_store::one_behind);

/// The first line that fits counts. Times on an H200 with CUDA 13.0, of a setting by what it replaces (n: n x n
/// pixels).
inline constexpr tuned_kernel tuned_kernels[] = {
    // clang-format off
    // bytes
    // pixel sum  ch panels both  rows of sums        slots first way all  ring
    {1, 0, 0, 0, true,  any_store,       {4, 1, 0,  false, 2}},   // 4 slots for 3 0.98 at 4096 to 16384; ring of 6 1.02 at 16384
    {0, 0, 0, 0, true,  any_store,       {3, 1, 0,  false, 2}},   // 2 first tiles 1.01 at 4096
    {1, 8, 1, 2, false, any_store,       {5, 2, 0,  false, 6}},   // 5 slots for 3 0.96 at 4096, 0.99 at 8192
    {1, 4, 2, 0, false, any_store,       {4, 2, 0,  false, 10}},  // 4 slots for 3 0.98 at 4096 and 8192
    {1, 4, 1, 0, false, straight_rows,   {3, 2, 16, true,  14}},  // way 0.96, all 0.99 at 4096; ring of 6 1.02 at 8192
    {1, 4, 1, 0, false, rows_one_behind, {3, 2, 0,  true,  14}},  // way 1.04 at 4096
    {1, 4, 0, 0, false, any_store,       {3, 2, 0,  false, 14}},  // all 1.02 where rows start anywhere
    {2, 4, 1, 0, false, straight_rows,   {3, 2, 8,  false, 14}},  // way 0.98 at 4096
    {2, 4, 0, 0, false, any_store,       {3, 2, 0,  false, 14}},  // 2 first tiles 0.97 at 4096
    {1, 8, 0, 0, false, any_store,       {3, 2, 0,  false, 6}},   // 3 slots for 2 0.98 at 16384
    {2, 8, 0, 0, false, any_store,       {3, 2, 0,  false, 6}},   // as above; not measured
    {4, 8, 1, 0, false, any_store,       {3, 2, 0,  false, 6}},   // 3 slots for 2 0.99 at 8192
    {0, 0, 0, 0, false, any_store,       {2, 1, 0,  false, 6}},   // no room for 3; 2 first tiles 1.035 at 4096
    // clang-format on
};

constexpr tile_policy policy_of(tile_types types, tile_kernel k) {
    for (const tuned_kernel& line : tuned_kernels) {
        const auto fits = [](int of_line, int x) { return of_line == 0 || of_line == x; };
        if (fits(line.pixel_bytes, types.pixel_bytes) && fits(line.sum_bytes, types.sum_bytes) &&
            fits(line.channels, k.channels) && fits(line.panels, k.panels) && line.both == types.both() &&
            (line.store < 0 || line.store == static_cast<int>(k.store))) {
            tile_policy policy = line.policy;
            if (k.load == tile_load::rows) policy.first_tiles = 1;
            return policy;
        }
    }
    return {};
}

// Tiles

/// Sums of a row that a lane has: those that it stores as 16 bytes. See squares_panel_cols for sums and squares.
template <typename Sum>
inline constexpr int lane_cols_of = 16 / static_cast<int>(sizeof(Sum));

/// Columns of a panel where sums and squares are computed at once, 2 a lane, whatever the types: with 4, which two
/// tables of 4 bytes would allow, a lane of `finish` had 128 registers of them.
inline constexpr int squares_panel_cols = 64;

template <typename Sum>
struct tile_shape {
    static constexpr int rows = 64;
    static constexpr int lane_cols = lane_cols_of<Sum>;
    static constexpr int cols = 32 * lane_cols;
    static constexpr int finish_warps = 4;
    static constexpr int warp_rows = rows / finish_warps;
    static constexpr int threads = 32 * (finish_warps + 4);
    static constexpr int blocks_per_multiprocessor = 3;
    static constexpr int row_words = rows * static_cast<int>(sizeof(Sum)) / 4;  // see device/tagged_words.cuh
    static constexpr int col_words = cols * static_cast<int>(sizeof(Sum)) / 4;
};

/// Of one panel.
inline int panel_cols_of(int sum_bytes) {
    return 32 * 16 / sum_bytes;
}

/// Columns to the right of a tile whose sums it needs for whole sectors: 7 of 4-byte sums at most.
inline constexpr int beside_cols = 8;

/// Whether the copy engine loads tiles of rows that start anywhere, where it can. Else, and where it cannot, `sum`
/// does, 16 bytes a lane: with pixels of 1 byte a tile would be 16 boxes of 4 rows.
// H200, 13.0: by lanes 8u32u 0.96 at 4093, 1.01 at 8191; 32f32f 1.05, 1.015
constexpr bool rows_in_boxes(int pixel_bytes) {
    return pixel_bytes > 1;
}

/// Rows of an image of which every row starts at another place between multiples of 16 bytes: every so many rows it is
/// the same place again, whatever the pitch. These, a phase, are a tensor whose rows are at multiples of 16 bytes.
constexpr int phases_of(tile_load load, int pixel_bytes) {
    return load == tile_load::rows && rows_in_boxes(pixel_bytes) ? 16 / pixel_bytes : 1;
}

/// Registers of a thread behind the start, where blocks have 80 for each: 4 warps of `finish`, whose tile takes 64, and
/// 4 others.
struct register_split {
    int finish, helpers;
};

template <tile_columns Columns>
inline constexpr register_split registers_of =
    Columns == tile_columns::chain ? register_split{104, 56} : register_split{96, 64};

/// Pixels of less than 4 bytes: sums of a tile's rows and columns have few bits, so that their words are few, see
/// tile_word. Those of 16f, whose words are as many as those of 32f, go the same way; it was not measured.
constexpr bool is_narrow(int pixel_bytes) {
    return pixel_bytes < 4;
}

// By the size of a table. H200, CUDA 13.0.

/// A chain has a hop per row of tiles, which must fit in the time that memory takes for that row; groups have more sums
/// to add up and to hand on.
// 32f64f and 64f64f at 16384: 0.92 and 0.95 of the time of groups; 32f64f at 8192, with rows of 6 MB, 1.12
inline bool chain_pays(std::int64_t cols, tile_types types) {
    return static_cast<double>(cols) * 64 * (types.pixel_bytes + types.sum_bytes) > 9e6;
}

/// Whether whole sectors pay, of tables whose rows start anywhere. A row of one tile ends in the sector in which a row
/// of the next one starts; where the table is larger than the second-level cache, some of these leave it in between.
// 8u32u padded 0.91 at 8192, 0.88 at 16384, 1.02 at 4096
inline bool whole_sectors_pay(std::int64_t sums, int sum_bytes) {
    return static_cast<double>(sums) * sum_bytes > 100e6;
}

/// Whether two panels pay, of a table with so many tiles of that size: where blocks would have a tile or two, each had
/// better be small.
// 8u32u, four channels: 0.81 at 8192, 1.2 at 1024; three: 0.91 at 8192, 1.04 at 2432 with 3 tiles a block; 8u64u: 0.96
// at 4096, 1.07 at 2560
inline bool panels_pay(double tiles, int channels, int multiprocessors) {
    const double least = channels == 3 ? 5 : 2.5;  // a block
    return tiles >= least * tile_shape<float>::blocks_per_multiprocessor * multiprocessors;
}

/// Whether they pay where sums and squares are computed at once.
// 8u32u64u: 1.01 at 8192, 0.94 at 16384
inline bool panels_of_both_pay(std::int64_t cols) {
    return cols > 128 * squares_panel_cols;
}

/// Tiles of a group along a row: as many words within the group as of whole groups, but at least 8. More where words of
/// groups are wider than those of tiles.
// 7 to 12 alike at 128 tiles a row, 16 best at 256; four channels 8u32u 11 before 8: 0.96; 8u64u 16 before 8: 0.98
inline unsigned group_cols_of(unsigned tile_cols, int channels, tile_types types) {
    const auto root = static_cast<unsigned>(std::ceil(std::sqrt(static_cast<double>(tile_cols))));
    if (channels > 1 || tile_cols > 128) return root;
    if (types.policy_bytes() == 4) return 8;
    if (is_narrow(types.pixel_bytes)) return tile_cols > 96 ? 16 : 11;
    return tile_cols > 96 ? 11 : 8;
}

inline constexpr int most_group_rows = 8;

/// Words of the totals of a group's rows of tiles in the ring, of a channel: at least a line of the cache.
constexpr int total_words_of(int value_words) {
    return std::max(16, most_group_rows * value_words);
}

/// Rows of tiles of a group, a hop of the chain between groups each. 8 fill a line of carry totals; several channels
/// have 4, for shorter rings.
// 32f32f with 4 and 8 rows, x: 1.225, 1.240 at 4096; 1.107, 1.111 at 8192; 1.090, 1.084 at 16384. 8u32u, where column
// sums are looked at together: 8 before 4 0.95 at 3072, 0.99 at 4096
constexpr unsigned group_rows_of(tile_kernel k, tile_types types, unsigned tile_rows, unsigned tile_cols) {
    if (k.columns == tile_columns::chain) return 1;
    const bool all = policy_of(types, k).looks_at_all;
    const bool most = all ? tile_cols <= 32 || tile_cols > 95 : tile_cols > (types.pixel_bytes > 1 ? 64 : 128);
    if (tile_rows >= 5 && most && k.channels == 1) return most_group_rows;
    return tile_rows >= 3 ? 4 : std::max(1u, tile_rows);
}

/// Tiles under way at once on this many multiprocessors.
constexpr int tiles_in_flight_of(int multiprocessors, tile_types types, tile_kernel k) {
    return multiprocessors * tile_shape<float>::blocks_per_multiprocessor * (policy_of(types, k).slots + 1);
}

/// Rows of tiles whose words exist at a time: those in flight, the group above them, and more, so that readers have
/// long finished where their words are replaced. Shorter rings wait, much longer ones leave the second-level cache.
// 32f32f at 4096 and 16384: 24 rows, x 1.36 for 1.21; 64 rows, 1.166 for 1.105. 8u64u in panels: 8 rows less 0.99 at
// 4096, 16 from 96 tiles a row on 0.99 at 16384
constexpr unsigned ring_rows_of(tile_kernel k, tile_types types, int tiles_in_flight, unsigned tile_cols,
                                unsigned group_rows) {
    const bool chain = k.columns == tile_columns::chain;
    const unsigned unit = chain ? 4 : group_rows, above = chain ? 0 : group_rows;
    const unsigned in_flight = (static_cast<unsigned>(tiles_in_flight) + tile_cols - 1) / tile_cols;
    const auto in_units = [&](unsigned rows) { return (rows + unit - 1) / unit * unit; };
    const tile_policy policy = policy_of(types, k);
    if (policy.slots == 5) return in_units(tile_cols < 96 ? std::max(in_flight + above - 2, 2 * unit) : 16);
    const int more = tile_cols > 48 ? policy.more_ring_rows : std::min(policy.more_ring_rows, 6);
    return in_units(in_flight + above + static_cast<unsigned>(more));
}

}  // namespace boxsum::cuda
