#pragma once

#include "core/problem.hpp"
#include "cuda/device/workspace_slots.hpp"

#include <algorithm>
#include <cstdint>

/// How the record `fast` of integral histograms cuts its work. Host-only.
///
/// Everything is in coordinates of the table: a padded table is the inclusive table of an image with a row and a column
/// of pixels in no bin before it. The table is cut into strips of 128 columns, which a warp covers with 4 columns a
/// lane, and bands of 64 rows.
namespace boxsum::cuda {

inline constexpr int strip_cols = 128;
inline constexpr int band_rows = 64;
inline constexpr int count_bins = 32;  ///< that a block of the counting kernel has counters for

struct histogram_cut {
    std::int64_t rows, cols;  ///< of a table
    std::int64_t strips, bands;
    int tile_shift;      ///< a tile of the finishing kernel has 1 << tile_shift bands
    std::int64_t tiles;  ///< along a column

    explicit histogram_cut(const problem& p)
        : rows(p.table.rows),
          cols(p.table.cols),
          strips((cols + strip_cols - 1) / strip_cols),
          bands((rows + band_rows - 1) / band_rows) {
        // By the image alone, so that sums of weights have the same bits in whatever groups bins are computed: tall
        // tiles hand fewer carries over, low ones keep all multiprocessors busy with one small image.
        const double entries = static_cast<double>(rows) * static_cast<double>(cols);
        tile_shift = entries <= 1 << 20 ? 0 : entries <= 1 << 23 ? 1 : 2;
        tiles = (bands + (1 << tile_shift) - 1) >> tile_shift;
    }

    constexpr std::int64_t padded_rows() const { return bands * band_rows; }
    constexpr std::int64_t padded_cols() const { return strips * strip_cols; }

    /// What the carries of one table take.
    std::int64_t carry_bytes() const { return 4 * (strips * padded_rows() + tiles * padded_cols() + bands * strips); }
};

/// Planes and bins that go through the three kernels together: few enough that the carries, which one kernel writes and
/// the next one reads, stay in L2; bin numbers fit a byte, with 255 for "in no bin of this group".
struct histogram_group {
    std::int64_t planes, bins;

    histogram_group(const problem& p, const histogram_cut& cut) {
        constexpr std::int64_t most_bins = 224, carries_in_l2 = std::int64_t{24} << 20,
                               most_carries = 4 * carries_in_l2;
        const std::int64_t all_bins = p.histogram->bins;
        const std::int64_t affordable = most_carries / cut.carry_bytes() / count_bins * count_bins;
        const std::int64_t limit = std::clamp<std::int64_t>(affordable, count_bins, most_bins);
        const std::int64_t groups = (all_bins + limit - 1) / limit;
        const std::int64_t even = (all_bins + groups - 1) / groups;
        bins = std::min(all_bins, (even + count_bins - 1) / count_bins * count_bins);
        planes = std::clamp<std::int64_t>(carries_in_l2 / (bins * cut.carry_bytes()), 1,
                                          std::min<std::int64_t>(p.table.planes, 65535 / bins));
    }

    std::int64_t tables() const { return planes * bins; }
};

/// Scratch memory of a group. Tables are numbered plane by plane, bin by bin. Count is std::uint8_t or float.
template <typename Count, typename Sum>
struct histogram_scratch {
    std::uint8_t* bins;  ///< [plane][padded_rows][padded_cols]: bin in the group, or 255
    Count* row_counts;   ///< [table][strip][padded_rows]: of the 128 entries of a row
    Count* col_counts;   ///< [table][band][padded_cols]: of the 64 entries of a column
    Sum* row_carries;    ///< [table][strip][padded_rows]: of the row, left of the strip
    Sum* col_carries;    ///< [table][tile][padded_cols]: of the column, above the tile
    Sum* corners;        ///< [table][band][strip]: of the tile; then of all above and to the left of it

    histogram_scratch(workspace_slots& slots, const histogram_cut& c, const histogram_group& g)
        : bins(slots.take<std::uint8_t>(g.planes * c.padded_rows() * c.padded_cols())),
          row_counts(slots.take<Count>(g.tables() * c.strips * c.padded_rows())),
          col_counts(slots.take<Count>(g.tables() * c.bands * c.padded_cols())),
          row_carries(slots.take<Sum>(g.tables() * c.strips * c.padded_rows())),
          col_carries(slots.take<Sum>(g.tables() * c.tiles * c.padded_cols())),
          corners(slots.take<Sum>(g.tables() * c.bands * c.strips)) {}
};

}  // namespace boxsum::cuda
