#pragma once

#include "cuda/device/divider.hpp"
#include "cuda/production/sat/geometry.hpp"
#include "cuda/production/sat/policy.hpp"
#include "cuda/production/sat/tensor_map.hpp"
#include "cuda/workspace.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The plan of the tile pipeline: what follows from a geometry and a kernel. Host-only.
namespace boxsum::cuda {

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

/// The same of a table that grows from an origin in all four directions. Left of the origin a row of tiles goes on from
/// right to left, and right of it begins anew, with the tile and the group of tiles behind the last ones on the left.
/// So do rows of tiles above and below it. Each of the four quarters is a table of its own, whose rows and columns
/// count from the origin on, wherever they lie.
template <typename Sum>
struct outward_plan : tile_plan {
    static constexpr int most_offsets = 64;
    std::int64_t up, left;              ///< pixels above and left of the origin
    unsigned up_rows, left_cols;        ///< of tiles
    unsigned up_lined_up, left_groups;  ///< up_rows in whole groups; groups of left_cols
    int last_offset;
    Sum offsets[most_offsets];  ///< of each plane up to the last one, which is that of all behind it

    outward_plan(const tile_plan& plan, const sat_geometry& g)
        : tile_plan(plan), up(g.up), left(g.left), last_offset(static_cast<int>(g.offsets.size()) - 1), offsets{} {
        up_rows = whole_tiles(up, tile_shape<Sum>::rows);
        left_cols = whole_tiles(left, tile_shape<Sum>::cols);
        up_lined_up = whole_tiles(up_rows, static_cast<int>(by_group_rows.divisor())) * by_group_rows.divisor();
        left_groups = whole_tiles(left_cols, static_cast<int>(by_group_cols.divisor()));
        for (std::size_t i = 0; i < g.offsets.size(); ++i)
            if constexpr (std::is_integral_v<Sum>)
                offsets[i] = static_cast<Sum>(static_cast<std::int64_t>(g.offsets[i]));
            else
                offsets[i] = static_cast<Sum>(g.offsets[i]);
    }
};

template <typename Sum, bool Outwards>
using plan_of = std::conditional_t<Outwards, outward_plan<Sum>, tile_plan>;

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

/// For a geometry that is not empty, less than 2^30 tiles. `squares`: the table of squares that one kernel computes
/// along with that of sums.
inline tile_plan make_tile_plan(const sat_geometry& g, tile_types types, tile_kernel k, int tiles_in_flight,
                                const sat_geometry* squares = nullptr) {
    using tile = tile_shape<float>;
    const auto [pixel_bytes, sum_bytes, squares_bytes] = types;
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
    if (squares != nullptr) {
        p.squares = static_cast<std::byte*>(squares->first_sum(squares_bytes));
        p.squares_row_stride = squares->table_row_stride;
        p.squares_plane_stride = squares->table_plane_stride;
        p.rows_aligned = p.rows_aligned && rows_at_16(address_of(p.squares), *squares);
        panel_cols = squares_panel_cols;
    }
    const std::int64_t last_cols = (p.cols - g.left) % panel_cols;  // of the last tile of a row, if not all
    p.one_behind = p.border && g.channels == 1 && (last_cols == 0 || last_cols + 1 >= panel_cols / 32) &&
                   rows_at_16(address_of(p.sums) - sum_bytes, g) &&
                   (squares == nullptr || rows_at_16(address_of(p.squares) - squares_bytes, *squares));
    p.tile_rows = tiles_along(p.rows, tile::rows, g.up);
    p.tile_cols = tiles_along(p.cols, k.panels * panel_cols, g.left);
    p.tiles = static_cast<unsigned>(g.planes) * p.tile_rows * p.tile_cols;

    const unsigned group_cols = group_cols_of(p.tile_cols, g.channels, types);
    const unsigned group_rows = group_rows_of(k, types, p.tile_rows, p.tile_cols);
    p.groups = tiles_along(p.tile_cols, static_cast<int>(group_cols), whole_tiles(g.left, k.panels * panel_cols));
    p.rows_of_plane =
        tiles_along(p.tile_rows, static_cast<int>(group_rows), whole_tiles(g.up, tile::rows)) * group_rows;

    const unsigned all_rows = static_cast<unsigned>(g.planes) * p.rows_of_plane;
    p.ring_rows = ring_rows_of(k, types, tiles_in_flight, p.tile_cols, group_rows);
    if (k.columns == tile_columns::groups) {
        // Both tables' entries side by side, as wide as the wider one each.
        const int value_words = (squares_bytes > 0 ? 2 * std::max(sum_bytes, squares_bytes) : sum_bytes) / 4;
        const unsigned most = rows_of_few_words(p, static_cast<unsigned>(g.planes), k.panels * panel_cols * value_words,
                                                sum_bytes + squares_bytes, value_words, group_rows);
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
    if (squares != nullptr) p.squares_carries = squares->carries;
    p.by_tile_cols = divider(p.tile_cols);
    p.by_tile_rows = divider(p.tile_rows);
    p.by_ring_rows = divider(p.ring_rows);
    p.by_group_cols = divider(group_cols);
    p.by_group_rows = divider(group_rows);
    return p;
}

/// Whether tiles of two panels pay, see panels_pay().
inline bool panels_pay_for(const sat_geometry& g, int sum_bytes, int multiprocessors) {
    const double tiles = static_cast<double>(g.planes) * tiles_along(g.rows, tile_shape<float>::rows) *
                         tiles_along(g.cols * g.channels, 2 * panel_cols_of(sum_bytes));
    return panels_pay(tiles, g.channels, multiprocessors);
}

/// The same where sums and squares are computed at once.
inline bool panels_of_both_pay_for(const sat_geometry& squares, int multiprocessors) {
    return panels_of_both_pay(squares.cols) && panels_pay_for(squares, 8, multiprocessors);
}

}  // namespace boxsum::cuda
