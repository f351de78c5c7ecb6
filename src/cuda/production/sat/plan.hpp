#pragma once

#include "cuda/device/divider.hpp"
#include "cuda/production/sat/geometry.hpp"
#include "cuda/production/sat/tensor_map.hpp"
#include "cuda/workspace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The policy of the aligned kernels: which kernel, tile shapes, and what follows from a problem. Host-only.
namespace boxsum::cuda {

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

/// Tiles of a block in shared memory; one more is in the registers of `finish`. There is room for two where pixels are
/// as wide as sums. Time with 3 instead of 2: 8u32u at 16384 0.98, 32f64f at 8192 0.99 and, with a chain, at 12288 and
/// 24576 0.99 and 0.975; with 4 instead of 3, 8u32u 1.00. With several channels of 4-byte pixels it was not measured.
/// More, where they are narrow beside what they have to wait for: 8u64u in two panels with 5 instead of 3 at 4096, 6144
/// and 8192 0.96, 0.975 and 0.99 (in rows that start anywhere, one panel, 1.01 and 1.075), two channels of it 0.97
/// (three and four 1.00 and 1.055); two channels of 8u32u with 4 at 4096 and 8192 0.98, with 5 0.975 and 0.995.
/// With `squares` along with the sums, of 8-bit pixels: 4 instead of 3 take 0.98 at 4096 to 16384, 5 the same.
constexpr int slots_of(int pixel_bytes, int sum_bytes, int channels, int panels, bool squares = false) {
    if (squares) return pixel_bytes == 1 ? 4 : 3;
    if (pixel_bytes == 1 && sum_bytes == 8 && channels <= 2 && panels == 2) return 5;
    if (pixel_bytes == 1 && sum_bytes == 4 && channels == 2) return 4;
    return pixel_bytes < 4 || (channels == 1 && pixel_bytes < sum_bytes) ? 3 : 2;
}

/// Of one panel.
inline int panel_cols_of(int sum_bytes) {
    return 32 * 16 / sum_bytes;
}

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

/// Whether there are kernels for tiles of two panels, each of the columns of tile_shape, side by side. A row of such
/// a tile has as many words for twice the pixels, and half as many tiles are to the left. That counts where words are
/// many: with three and four channels, or with 8-byte sums, of which a panel has 64 in a row. 8u32u with four channels
/// at 2048, 4096 and 8192 takes 0.88, 0.90 and 0.81 of the time, with three at 4096 and 8192 0.98 and 0.91; 8u64u with
/// four, three and two at 4096 0.73, 0.75 and 0.88, with one at 3072, 8192 and 16384 0.97, 0.98 and 0.98. 8u32u with
/// one and two channels 1.00; with four in rows that start anywhere 1.12, for there is room for two slots only. Larger
/// pixels have no room at all.
constexpr bool may_have_panels(int pixel_bytes, int sum_bytes, int channels) {
    return pixel_bytes == 1 && (sum_bytes == 8 || channels >= 3);
}

/// How sums leave. The kernels for some rows have no code for others, whose registers they would miss: at 8192 8u32u
/// in straight rows 0.97 of the time, 32f32f 0.99.
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

/// Columns to the right of a tile whose sums it needs for whole sectors: 7 of 4-byte sums at most.
inline constexpr int beside_cols = 8;

/// Whether there are kernels for whole sectors. Where rows of the image start anywhere, too, what is to be loaded more
/// takes as much time as sectors give: prime 8u32u at 4093, 8191 and 12289 1.04, 1.01 and 1.01.
template <typename Pixel, typename Sum, int Channels>
inline constexpr bool has_whole_sectors =
    Channels == 1 && sizeof(Sum) == 4 && std::is_integral_v<Sum>&& std::is_same_v<Pixel, std::uint8_t>;

/// Whether whole sectors pay, of tables whose rows start anywhere. A row of one tile ends in the sector in which a row
/// of the next one starts; where the table is larger than the second-level cache, some of these leave it in between.
/// 8u32u in packed padded tables of 2304, 3072, 4096, 4608, 5120, 6144, 8192 and 16384: 1.03, 1.035, 1.02, 1.00, 0.98,
/// 0.955, 0.91 and 0.88 of the time.
inline bool whole_sectors_pay(const sat_geometry& g, int sum_bytes) {
    return static_cast<double>(g.planes) * static_cast<double>(g.rows) * static_cast<double>(g.cols) * sum_bytes >
           100e6;
}

/// Whether rows that are not aligned start one sum behind, because 16 bytes have two, and tiles in the kernels for rows
/// that start anywhere know the sum to their left: padded 8u64u at 8192 0.93 of the time. With four sums it would be
/// every fourth row (32f32f 0.99, 8u32u 1.01), and beside tile_load::rows, whose roles have more to do, it costs
/// more than it gains (1.04). There, rows of which all start one behind have kernels of their own.
constexpr bool pairs_take_left_sum(tile_load load, int sum_bytes) {
    return load == tile_load::box && sum_bytes == 8;
}

/// Rows of sums that a warp of `finish` has on their way to memory by the copy engine, see device/staged_rows.cuh; with
/// 0 it stores them itself. Only where shared memory has room beside three blocks' slots, in the kernels for straight
/// rows. 8u32u at 2560, 4096 and from 5120 on takes 0.97, 0.96 and 1.00 of the time, 16u32u at 4096 0.98; two channels
/// of 8u32u 1.02, 8u64u 1.005; 8u32u in rows one behind 1.04 at 4096 and 1.015 at 8192. Rows that are not at multiples
/// of 32 bytes take 1.1 to 1.25.
constexpr int rows_on_their_way_of(tile_store store, int pixel_bytes, int sum_bytes) {
    if (store != tile_store::straight || sum_bytes > 4 || pixel_bytes > 2) return 0;
    return pixel_bytes == 1 ? 16 : 8;
}

/// Whether the copy engine loads tiles of rows that start anywhere, where it can. Else, and where it cannot, `sum`
/// does, 16 bytes a lane. With pixels of 1 byte a tile would be 16 boxes of 4 rows: 8u32u in prime rows at 2503, 4093,
/// 8191 and 12289 takes 0.90, 0.96, 1.01 and 1.02 of the time by lanes, into rows that are aligned or one behind at
/// 4096 and 8192 0.945 and 0.98, 8u64u 0.95 and 0.98; 32f32f 1.05 and 1.015 at 4093 and 8191.
constexpr bool rows_in_boxes(int pixel_bytes) {
    return pixel_bytes > 1;
}

/// Rows of an image of which every row starts at another place between multiples of 16 bytes: every so many rows it is
/// the same place again, whatever the pitch. These, a phase, are a tensor whose rows are at multiples of 16 bytes.
constexpr int phases_of(tile_load load, int pixel_bytes) {
    return load == tile_load::rows && rows_in_boxes(pixel_bytes) ? 16 / pixel_bytes : 1;
}

/// Tensor maps of the image: of all its rows or of those of each phase.
template <int Phases, bool Beside = false>
struct image_maps {
    CUtensorMap of_phase[Phases];
    bool valid;  ///< else `sum` copies rows itself
};

/// The same with boxes of the 16 bytes beside a tile's rows.
template <int Phases>
struct image_maps<Phases, true> : image_maps<Phases> {
    CUtensorMap beside;
};

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

/// A chain has a hop per row of tiles, which must fit in the time that memory takes for that row; groups have more sums
/// to add up and to hand on. Measured on one H200 with these kernels, us (MB: bytes that a row of tiles reads and
/// writes):
///
///              32f64f 8192  32f32f 16384  64f64f 8192  32f64f 16384  64f64f 16384  32f32f 32768
///     MB               6.3           8.4          8.4          12.6          16.8          16.8
///     groups           229           544          282           960          1148          2200
///     chain            256           574          281           883          1094          2167
///
/// With few words groups win at every size: 8u32u at 32768 1391 and 1433, 8u64u at 16384 649 and 669.
constexpr tile_columns columns_of(std::int64_t cols, int pixel_bytes, int sum_bytes) {
    return !is_narrow(pixel_bytes) && static_cast<double>(cols) * 64 * (pixel_bytes + sum_bytes) > 9e6
               ? tile_columns::chain
               : tile_columns::groups;
}

/// Several channels have fewer pixels a tile, so a chain would have more hops for the same pixels: always groups.
inline tile_columns columns_of(const sat_geometry& g, int pixel_bytes, int sum_bytes) {
    return g.channels > 1 ? tile_columns::groups : columns_of(g.cols, pixel_bytes, sum_bytes);
}

/// Tiles of a group along a row: 7 to 12 are alike at 128 tiles a row; at 256, 16 was best. As many words within the
/// group as of whole groups. Several channels look at as many words of a tile as they are, and those of whole groups
/// set the pace: 11 instead of 8 at 128 tiles a row take 0.96 of the time with 4 channels of 8u32u, 0.99 of 32f32f. So
/// they do where words of groups have two words a sum and those of tiles half of one: 8u64u with 16 instead of 8 at 128
/// tiles a row 0.98. Wide sums of wide pixels with 11 instead of 8: 64f64f at 128 tiles a row 0.99, 32f64f 1.00.
inline unsigned group_cols_of(unsigned tile_cols, int channels, int pixel_bytes, int sum_bytes) {
    const auto root = static_cast<unsigned>(std::ceil(std::sqrt(static_cast<double>(tile_cols))));
    if (channels > 1 || tile_cols > 128) return root;
    if (sum_bytes == 4) return 8;
    if (is_narrow(pixel_bytes)) return tile_cols > 96 ? 16 : 11;
    return tile_cols > 96 ? 11 : 8;
}

inline constexpr int most_group_rows = 8;

/// Words of the totals of a group's rows of tiles in the ring, of a channel: at least a line of the cache.
constexpr int total_words_of(int value_words) {
    return std::max(16, most_group_rows * value_words);
}

/// Whether the column sums of all tiles above in a group of rows are looked at together, which takes two words of each
/// a lane. Not where rows start anywhere, whose kernels have too much code without (1.02).
constexpr bool looks_at_all(tile_store store, int pixel_bytes, int sum_bytes) {
    return !rows_anywhere(store) && pixel_bytes == 1 && sum_bytes == 4;
}

/// Rows of tiles of a group, a hop of the chain between groups each. 32f32f with 2, 4, 8 rows: 1.327, 1.225, 1.240 at
/// 4096; 1.114, 1.107, 1.111 at 8192; 1.096, 1.090, 1.084 at 16384. 8u32u: 1.555, 1.386, 1.432 at 4096 and 4 before 8
/// by 0.97 at 8192, too; 8 before 4 by 0.99 at 32768. 8 fill a line of carry totals. Where the column sums of all tiles
/// above are looked at together, `all`, 8 before 4 by 0.94, 0.95, 0.99 and 0.996 at 2560, 3072, 4096 and 16384, and 4
/// before 8 by 0.995 at 5120 and 6144.
constexpr unsigned group_rows_of(tile_columns columns, unsigned tile_rows, unsigned tile_cols, int pixel_bytes,
                                 bool all) {
    if (columns == tile_columns::chain) return 1;
    const bool most = all ? tile_cols <= 32 || tile_cols > 95 : tile_cols > (pixel_bytes > 1 ? 64 : 128);
    if (tile_rows >= 5 && most) return most_group_rows;
    return tile_rows >= 3 ? 4 : std::max(1u, tile_rows);
}

/// Tiles of one panel, or those of sums and squares, under way at once on this many multiprocessors.
constexpr int tiles_in_flight_of(int multiprocessors, int pixel_bytes, int sum_bytes, int channels,
                                 bool squares = false) {
    return multiprocessors * tile_shape<float>::blocks_per_multiprocessor *
           (slots_of(pixel_bytes, sum_bytes, channels, 1, squares) + 1);
}

/// Rows of tiles whose words exist at a time: those in flight and the group above them, and 6 more, so that readers
/// have long finished where their words are replaced. Shorter rings wait (probes with 24 at 4096: 1.36 instead of 1.21,
/// 8u32u at 16384 with 3 slots and 12 instead of 20: 1.04 of the time), much longer ones leave the second-level cache
/// (probes with 64 at 16384: 1.166 instead of 1.105); between 12 and 24 at 16384 nothing changes. Words of narrow
/// pixels are half as many, and 8 rows more pay: 8u32u 0.98 at 8192, 0.994 at 16384; but 1.00 at 4096, and with 8-byte
/// sums. With `squares` words are so many that 4 rows less pay: 1.00 at 8192, 0.98 at 16384.
/// Of one channel with five slots, 8 rows less: 8u64u in two panels 0.99 at 4096, 1.00 at 6144 and 8192; and 16 rows
/// from 96 tiles a row on, although fewer tiles are under way then: 0.99 at 16384, 0.98 at 24576, where three slots
/// take 1.006 and 1.01 of that. Of two channels with four, 4 rows less than else, for the workspace's sake.
constexpr unsigned ring_rows_of(int tiles_in_flight, unsigned tile_cols, tile_columns columns, unsigned group_rows,
                                int pixel_bytes, int sum_bytes, bool squares = false, int slots = 3, int channels = 1) {
    const unsigned unit = columns == tile_columns::chain ? 4 : group_rows;
    const unsigned in_flight = (static_cast<unsigned>(tiles_in_flight) + tile_cols - 1) / tile_cols;
    const unsigned above = columns == tile_columns::chain ? 0 : group_rows;
    const auto in_units = [&](unsigned rows) { return (rows + unit - 1) / unit * unit; };
    if (slots == 5 && channels == 1) return in_units(tile_cols < 96 ? std::max(in_flight + above - 2, 2 * unit) : 16);
    unsigned more = 6;
    if (squares)
        more = 2;
    else if (is_narrow(pixel_bytes) && sum_bytes == 4 && tile_cols > 48)
        more = slots == 4 ? 10 : 14;
    return in_units(in_flight + above + more);
}

/// A table of sums with rows of tiles that follow each other plane by plane. Rows of sums start at any element, which
/// is one further down and right where the layout has a border.
struct tile_plan {
    const std::byte* image;
    std::int64_t image_row_stride, image_plane_stride;  ///< bytes
    const std::byte* image_end;                         ///< behind the last pixel
    std::byte* sums;                                    ///< the first sum, right of and below a border
    std::int64_t row_stride, plane_stride;              ///< bytes, of the table
    /// The same of the table of squares, where one kernel computes both; else null. All else is true of both tables.
    std::byte* squares;
    std::int64_t squares_row_stride, squares_plane_stride;
    std::int64_t rows, cols;  ///< of sums, without a border; every channel's is a column
    int channels;             ///< of sums side by side
    bool border;              ///< whether zeros are above and left of the sums
    bool rows_aligned;        ///< whether all rows of sums start at multiples of 16 bytes
    /// Whether the zeros left of the rows of sums are at multiples of 16 bytes, as in padded tables with an aligned
    /// pitch and in exclusive ones. Then a tile stores the last sum of the tile to its left instead of its own. For one
    /// channel, and where every tile has 16 bytes to store with that sum: tables with a column or two more than their
    /// other tiles have are stored as if their rows started anywhere.
    bool one_behind;
    unsigned tile_rows, tile_cols;  ///< of a plane
    unsigned tiles;                 ///< of all planes
    unsigned rows_of_plane;         ///< tile_rows, rounded up to whole groups
    unsigned groups;                ///< of tiles along a row
    unsigned ring_rows;             ///< rows of tiles whose words exist, a multiple of the rows of a group
    unsigned ring_groups;           ///< of rows of tiles in the ring
    unsigned counter_shift;         ///< 2^this rows of tiles share a counter of finished readers
    bool ring_reused;               ///< whether there are more rows of tiles than the ring has
    divider by_tile_cols, by_tile_rows, by_ring_rows, by_group_cols, by_group_rows;
    sat_carries carries, squares_carries;
    bool is_part;              ///< whether there are any carries
    bool has_above, has_left;  ///< whether they add to the first row of tiles, or to rows of all tiles
};

/// Words of the header that count, for the rows of tiles that share one, tiles whose words nobody needs any more. They
/// fill the header's second line of 128 bytes: they are looked at all the time, and the ticket is in the first.
inline constexpr unsigned reader_counters = 32, first_reader_counter = 28;
static_assert(offsetof(workspace_header, reserved) + first_reader_counter * sizeof(std::uint32_t) == 128);
static_assert(first_reader_counter + reader_counters <= sizeof(workspace_header::reserved) / sizeof(std::uint32_t));

/// Rows of a ring whose words take at most 7 % of a table of 64 MiB or more, in whole groups; any number for others.
/// Several channels have several times the row sums: 32 rows are 11 % of 2048 x 2048 x 4 sums. And all rows of a table
/// of 8-byte sums just that large are 8 %. `table_bytes`: of an entry, of both tables where there are two;
/// `value_words`: of a value on its way to other tiles.
inline unsigned rows_of_few_words(const tile_plan& p, unsigned planes, int panel_words, int table_bytes,
                                  int value_words, unsigned group_rows) {
    const double table = static_cast<double>(p.rows) * static_cast<double>(p.cols) * planes * table_bytes;
    if (table < 64 * 1048576.0) return ~0u;
    const double rows = static_cast<double>(tile_shape<float>::rows) * value_words * p.channels;
    const double cols = panel_words;
    const double tile_words = rows + cols + (cols + total_words_of(value_words) * p.channels) / group_rows;
    const double row_of_tiles = 8 * (p.tile_cols * tile_words + p.groups * rows);
    return static_cast<unsigned>(0.07 * table / row_of_tiles) / group_rows * group_rows;
}

/// Panels of a tile, if boxes load them. Where blocks would have a tile or two, each had better be small: four channels
/// of 8u32u at 1024 take 1.2 of the time with two panels, one of 8u64u at 2560, where there are 2 tiles a block, 1.07;
/// three of 8u32u at 2432 with 3 tiles a block 1.04.
inline int panels_of(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    if (!may_have_panels(pixel_bytes, sum_bytes, g.channels)) return 1;
    const double tiles = static_cast<double>(g.planes) * tiles_along(g.rows, tile_shape<float>::rows) *
                         tiles_along(g.cols * g.channels, 2 * panel_cols_of(sum_bytes));
    const double least = g.channels == 3 && sum_bytes == 4 ? 5 : 2.5;  // a block
    return tiles >= least * tile_shape<float>::blocks_per_multiprocessor * multiprocessors ? 2 : 1;
}

/// The same where sums and squares are computed at once. 8u32u64u with two panels instead of one: 1.01 of the time at
/// 8192, 0.94 at 16384.
inline int panels_of_both(const sat_geometry& squares, int pixel_bytes, int multiprocessors) {
    return squares.cols > 128 * squares_panel_cols ? panels_of(squares, pixel_bytes, 8, multiprocessors) : 1;
}

/// The table of squares that one kernel computes along with that of sums.
struct squares_table {
    const sat_geometry* table = nullptr;
    int bytes = 0;  ///< of an entry
};

/// For a geometry that is not empty, less than 2^30 tiles; `tiles_in_flight`: as tiles_in_flight_of() has them,
/// `store`: of the kernel.
inline tile_plan make_tile_plan(const sat_geometry& g, int pixel_bytes, int sum_bytes, tile_columns columns,
                                int tiles_in_flight, int panels = 1, tile_store store = tile_store::anywhere,
                                squares_table squares = {}) {
    using tile = tile_shape<float>;
    tile_plan p{};
    p.image = static_cast<const std::byte*>(g.image);
    p.image_row_stride = g.image_row_stride;
    p.image_plane_stride = g.image_plane_stride;
    p.sums = static_cast<std::byte*>(g.first_sum(sum_bytes));
    p.row_stride = g.table_row_stride;
    p.plane_stride = g.table_plane_stride;
    p.rows = g.rows - g.origin;
    p.cols = (g.cols - g.origin) * g.channels;
    p.channels = g.channels;
    p.border = g.origin != 0;
    if (p.rows > 0 && p.cols > 0)
        p.image_end =
            p.image + (g.planes - 1) * p.image_plane_stride + (p.rows - 1) * p.image_row_stride + p.cols * pixel_bytes;
    const auto rows_at_16 = [](std::int64_t first, const sat_geometry& table) {
        return common_alignment({first, table.table_row_stride, table.table_plane_stride}) == 16;
    };
    p.rows_aligned = rows_at_16(address_of(p.sums), g);
    int panel_cols = panel_cols_of(sum_bytes);
    if (squares.table != nullptr) {
        p.squares = static_cast<std::byte*>(squares.table->first_sum(squares.bytes));
        p.squares_row_stride = squares.table->table_row_stride;
        p.squares_plane_stride = squares.table->table_plane_stride;
        p.rows_aligned = p.rows_aligned && rows_at_16(address_of(p.squares), *squares.table);
        panel_cols = squares_panel_cols;
    }
    const std::int64_t last_cols = p.cols % panel_cols;  // of the last tile of a row, if not all
    p.one_behind = p.border && g.channels == 1 && (last_cols == 0 || last_cols + 1 >= panel_cols / 32) &&
                   rows_at_16(address_of(p.sums) - sum_bytes, g) &&
                   (squares.table == nullptr || rows_at_16(address_of(p.squares) - squares.bytes, *squares.table));
    p.tile_rows = tiles_along(p.rows, tile::rows);
    p.tile_cols = tiles_along(p.cols, panels * panel_cols);
    p.tiles = static_cast<unsigned>(g.planes) * p.tile_rows * p.tile_cols;

    // Words of two tables are as those of one of 8-byte sums.
    const int policy_bytes = squares.bytes > 0 ? 8 : sum_bytes;
    const unsigned group_cols = group_cols_of(p.tile_cols, g.channels, pixel_bytes, policy_bytes);
    unsigned group_rows =
        group_rows_of(columns, p.tile_rows, p.tile_cols, pixel_bytes, looks_at_all(store, pixel_bytes, policy_bytes));
    if (g.channels > 1) group_rows = std::min(group_rows, 4u);  // for shorter rings, see below
    p.groups = (p.tile_cols + group_cols - 1) / group_cols;
    p.rows_of_plane = (p.tile_rows + group_rows - 1) / group_rows * group_rows;

    const unsigned all_rows = static_cast<unsigned>(g.planes) * p.rows_of_plane;
    const auto slots = [&](int of_panels) {
        return slots_of(pixel_bytes, sum_bytes, g.channels, of_panels, squares.bytes > 0);
    };
    const int in_flight = tiles_in_flight * (slots(panels) + 1) / (slots(1) + 1);
    p.ring_rows = ring_rows_of(in_flight, p.tile_cols, columns, group_rows, pixel_bytes, policy_bytes,
                               squares.bytes > 0, slots(panels), g.channels);
    if (columns == tile_columns::groups) {
        // Both tables' entries side by side, as wide as the wider one each.
        const int value_words = (squares.bytes > 0 ? 2 * std::max(sum_bytes, squares.bytes) : sum_bytes) / 4;
        const unsigned most = rows_of_few_words(p, static_cast<unsigned>(g.planes), panels * panel_cols * value_words,
                                                sum_bytes + squares.bytes, value_words, group_rows);
        p.ring_rows = std::min(p.ring_rows, std::max(most, 2 * group_rows));
    }
    if (p.ring_rows > reader_counters) {
        // A counter is waited for as a whole, so two more of them than the rows need.
        const unsigned shared = std::bit_ceil((p.ring_rows + reader_counters - 9) / (reader_counters - 8));
        p.counter_shift = static_cast<unsigned>(std::countr_zero(shared));
        if (shared > 2) p.ring_rows += 2 * shared;
        const unsigned unit = std::max(shared, group_rows);
        p.ring_rows = (p.ring_rows + unit - 1) / unit * unit;
    }
    p.ring_reused = p.ring_rows < all_rows;
    if (!p.ring_reused) {
        p.ring_rows = all_rows;
        p.counter_shift = 0;
    }
    p.ring_groups = p.ring_rows / group_rows;
    p.carries = g.carries;
    if (squares.table != nullptr) p.squares_carries = squares.table->carries;
    p.by_tile_cols = divider(p.tile_cols);
    p.by_tile_rows = divider(p.tile_rows);
    p.by_ring_rows = divider(p.ring_rows);
    p.by_group_cols = divider(group_cols);
    p.by_group_rows = divider(group_rows);
    return p;
}

}  // namespace boxsum::cuda
