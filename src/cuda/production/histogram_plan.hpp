#pragma once

#include "core/problem.hpp"
#include "cuda/device/workspace_slots.hpp"

#include <algorithm>
#include <cstdint>

/// How the record `fast` of integral histograms cuts its work. Host-only.
///
/// Everything is in coordinates of the table: a padded table is the inclusive table of an image with a row and a column
/// of pixels in no bin before it. The table is cut into strips of 128 columns, which a warp covers with 4 columns a
/// lane, and bands of 32 or 64 rows.
namespace boxsum::cuda {

inline constexpr int strip_cols = 128;
inline constexpr int most_band_rows = 64;
inline constexpr int count_bins = 32;  ///< that a block of the counting kernel has counters for

struct histogram_cut {
    std::int64_t rows, cols;  ///< of a table
    int band_rows;
    std::int64_t strips, bands;
    int tile_shift;      ///< a tile of the finishing kernel has 1 << tile_shift bands
    std::int64_t tiles;  ///< along a column
    /// The finishing kernel adds up the counts to the left of a tile and above it by itself. Where these are many, a
    /// kernel in between does it once for all tiles.
    bool gathers;

    /// Low bands keep all multiprocessors busy with one small image, tall tiles have few counts above them. By the
    /// image alone where weights are summed, so that their sums have the same bits in whatever groups planes and bins
    /// are computed.
    explicit histogram_cut(const problem& p) : rows(p.table.rows), cols(p.table.cols) {
        const double entries = static_cast<double>(rows) * static_cast<double>(cols);
        const double together = p.histogram->weights ? entries : entries * static_cast<double>(p.table.planes);
        cut(together <= 1 << 19 ? 32 : 64, entries <= 1 << 22 ? 0 : entries <= 1 << 23 ? 1 : 2);
    }

    void cut(int rows_of_band, int shift) {
        band_rows = rows_of_band;
        strips = (cols + strip_cols - 1) / strip_cols;
        bands = (rows + band_rows - 1) / band_rows;
        tile_shift = shift;
        tiles = (bands + (1 << tile_shift) - 1) >> tile_shift;
        gathers = strips * bands <= 1024;
    }

    constexpr std::int64_t padded_rows() const { return bands * band_rows; }
    constexpr std::int64_t padded_cols() const { return strips * strip_cols; }
    constexpr int tile_rows() const { return band_rows << tile_shift; }

    /// What the counts and carries of one table take.
    std::int64_t carry_bytes(std::int64_t count_bytes) const {
        return count_bytes * (strips * padded_rows() + bands * padded_cols()) + 4 * bands * strips +
               (gathers ? 0 : 4 * (strips * padded_rows() + tiles * padded_cols()));
    }
};

/// Planes and bins that go through the kernels together: few enough that what one kernel writes for the next one stays
/// in L2; bin numbers fit a byte, with 255 for "in no bin of this group".
struct histogram_group {
    std::int64_t planes, bins;

    histogram_group(const problem& p, const histogram_cut& cut, std::int64_t count_bytes) {
        constexpr std::int64_t most_bins = 224, carries_in_l2 = std::int64_t{24} << 20,
                               most_carries = 4 * carries_in_l2;
        const std::int64_t all_bins = p.histogram->bins, table_bytes = cut.carry_bytes(count_bytes);
        const std::int64_t affordable = most_carries / table_bytes / count_bins * count_bins;
        const std::int64_t limit = std::clamp<std::int64_t>(affordable, count_bins, most_bins);
        const std::int64_t groups = (all_bins + limit - 1) / limit;
        const std::int64_t even = (all_bins + groups - 1) / groups;
        bins = std::min(all_bins, (even + count_bins - 1) / count_bins * count_bins);
        const std::int64_t plane_bytes = bins * table_bytes + cut.padded_rows() * cut.padded_cols();
        planes = std::clamp<std::int64_t>(carries_in_l2 / plane_bytes, 1,
                                          std::min<std::int64_t>(p.table.planes, 65535 / bins));
        const std::int64_t plane_groups = (p.table.planes + planes - 1) / planes;
        planes = (p.table.planes + plane_groups - 1) / plane_groups;  // of even size: a last one of few is a slow one
    }

    std::int64_t tables() const { return planes * bins; }
};

/// Scratch memory of a group. Tables are numbered plane by plane, bin by bin. Count is std::uint8_t or float.
template <typename Count, typename Sum>
struct histogram_scratch {
    std::uint8_t* bins;  ///< [plane][padded_rows][padded_cols]: bin in the group, or 255
    Count* row_counts;   ///< [table][strip][padded_rows]: of the 128 entries of a row
    Count* col_counts;   ///< [table][band][padded_cols]: of a column's entries
    Sum* corners;        ///< [table][band][strip]: of the band's entries; else of all above and to the left of them

    // Not where the finishing kernel gathers
    Sum* row_carries;  ///< [table][strip][padded_rows]: of the row, left of the strip
    Sum* col_carries;  ///< [table][tile][padded_cols]: of the column, above the tile

    histogram_scratch(workspace_slots& slots, const histogram_cut& c, const histogram_group& g)
        : bins(slots.take<std::uint8_t>(g.planes * c.padded_rows() * c.padded_cols())),
          row_counts(slots.take<Count>(g.tables() * c.strips * c.padded_rows())),
          col_counts(slots.take<Count>(g.tables() * c.bands * c.padded_cols())),
          corners(slots.take<Sum>(g.tables() * c.bands * c.strips)),
          row_carries(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.strips * c.padded_rows())),
          col_carries(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.tiles * c.padded_cols())) {}
};

}  // namespace boxsum::cuda
