#pragma once

#include "core/problem.hpp"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/runtime/device_limits.hpp"

#include <algorithm>
#include <cstdint>

/// How the record `fast` of integral histograms cuts its work. Host-only.
///
/// Everything is in coordinates of the table: a padded table is the inclusive table of an image with a row and a column
/// of pixels in no bin before it. The table is cut into strips of 128 columns, which a warp covers with 4 columns a
/// lane, and bands of 32 or 64 rows. A large one goes through the kernels in slabs of some bands, from top to bottom.
namespace boxsum::cuda {

inline constexpr int strip_cols = 128;
inline constexpr int most_band_rows = 64;
inline constexpr int counted_bins = 32;  ///< that a block of the counting kernel has counters for

/// What is worth its while on a device; an emulated one is small, so that small tensors are cut in every way.
struct histogram_limits {
#ifdef BOXSUM_EMULATED
    static constexpr std::int64_t gathered = 6, bytes_of_planes = 24 << 10, bytes_of_slab = 40 << 10;
    static constexpr std::int64_t wave_tiles = 8, wave_bands = 2, narrow_cols = 600, low_bands = 1 << 14;
#else
    static constexpr std::int64_t gathered = 1000;            ///< bands of strips whose counts a tile adds up by itself
    static constexpr std::int64_t bytes_of_planes = 8 << 20;  ///< that go through the kernels together
    static constexpr std::int64_t bytes_of_slab = 16 << 20;
    static constexpr std::int64_t wave_tiles = planned_multiprocessors;
    static constexpr std::int64_t wave_bands = 16;        ///< of a tile, whose bins and carries fill shared memory
    static constexpr std::int64_t narrow_cols = 1 << 16;  ///< counts of fewer fit 16 bits
    static constexpr std::int64_t low_bands = 1 << 19;    ///< entries of a table for each bin
#endif
};

/// How a large tensor is cut where one block finishes all bins of a tile: into groups of planes, or bands of one, whose
/// tiles are one wave of blocks of the same height.
struct histogram_wave {
    int warps = 0;  ///< of a block; 0: a block finishes a tile of 8 tables, and ends early
    std::int64_t planes = 0, bands = 0, tile_bands = 0;

    histogram_wave() = default;

    /// One block of 16 warps on a multiprocessor, or two of 8 with tiles of half the height where that keeps more busy.
    /// None where a block may not have the shared memory.
    histogram_wave(std::int64_t strips, std::int64_t all_bands, std::int64_t all_planes, std::int64_t shared_bytes) {
        const auto parts = [](std::int64_t n, std::int64_t size) { return (n + size - 1) / size; };
        std::int64_t most = 0;
        for (const int blocks : {1, 2}) {
            constexpr std::int64_t tiles = histogram_limits::wave_tiles;
            const std::int64_t high = histogram_limits::wave_bands / blocks;
            if (high * most_band_rows * (strip_cols + 2 * counted_bins) > shared_bytes) continue;
            const std::int64_t rows = std::max<std::int64_t>(1, blocks * tiles / strips);  // of tiles
            const std::int64_t of_plane = parts(all_bands, high);
            const std::int64_t together =
                parts(all_planes, parts(all_planes, std::max<std::int64_t>(1, rows / of_plane)));
            const std::int64_t busy = strips * (of_plane <= rows ? rows / together * together : rows);
            if (busy <= most * blocks) continue;
            most = busy / blocks;
            warps = 16 / blocks;
            planes = together;
            bands = parts(all_bands, of_plane <= rows ? 1 : parts(all_bands, rows * high));
            tile_bands = parts(bands, rows / together);
            if (bands < all_bands) bands = tile_bands * rows;
        }
    }
};

struct histogram_cut {
    std::int64_t rows, cols;            ///< of a table; of a slab, see below
    std::int64_t image_row, image_col;  ///< of the first entry: -1 where it lies before the image
    int band_rows;
    std::int64_t strips, bands;
    int tile_bands;      ///< of a tile of the finishing kernel
    std::int64_t tiles;  ///< along a column
    /// The finishing kernel adds up the counts to the left of a tile and above it by itself. Where these are many, a
    /// kernel in between does it once for all tiles.
    bool gathers;
    bool continues;  ///< a slab below another one
    histogram_wave wave;

    /// Low bands keep all multiprocessors busy with one small image, tall tiles have few counts above them. By the
    /// image alone where weights are summed, so that their sums have the same bits in whatever groups planes and bins
    /// are computed.
    /// shared_bytes: that a block of the device may have at most.
    explicit histogram_cut(const problem& p, std::int64_t shared_bytes = std::int64_t{227} << 10)
        : rows(p.table.rows),
          cols(p.table.cols),
          image_row(p.image.rows - p.table.rows),
          image_col(p.image.cols - p.table.cols),
          continues(false) {
        const double entries = static_cast<double>(rows) * static_cast<double>(cols);
        const double together = p.histogram->weights ? entries : entries * static_cast<double>(p.table.planes);
        band_rows = together <= static_cast<double>(histogram_limits::low_bands) ? 32 : 64;
        tile_bands = entries <= 1 << 22 ? 1 : 2;
        strips = (cols + strip_cols - 1) / strip_cols;
        count_bands();
        static_assert(histogram_limits::gathered * most_band_rows < 1 << 16 && strip_cols == 128);
        gathers = strips * bands <= histogram_limits::gathered && strips < 512;  // sums of counts fit 16 bits
        if (!gathers && !p.histogram->weights && p.table.type != dtype::f32 && band_rows == most_band_rows &&
            cols < histogram_limits::narrow_cols) {
            wave = histogram_wave(strips, bands, p.table.planes, shared_bytes);
            if (wave.warps > 0) tile_bands = static_cast<int>(wave.tile_bands);
            count_bands();
        }
    }

    /// Some bands of the table, as a table of its own.
    histogram_cut slab(std::int64_t first_band, std::int64_t most_bands) const {
        histogram_cut part = *this;
        const std::int64_t row = first_band * band_rows;
        part.rows = std::min(most_bands * band_rows, rows - row);
        part.image_row += row;
        part.continues = first_band > 0;
        part.count_bands();
        if (wave.warps > 0) {  // a last slab has as many tiles as the others, lower ones
            const std::int64_t most_tiles = (most_bands + tile_bands - 1) / tile_bands;
            part.tile_bands = static_cast<int>((part.bands + most_tiles - 1) / most_tiles);
            part.count_bands();
        }
        return part;
    }

    constexpr std::int64_t padded_rows() const { return bands * band_rows; }
    constexpr std::int64_t padded_cols() const { return strips * strip_cols; }
    constexpr int tile_rows() const { return band_rows * tile_bands; }

    /// What the counts and carries of one table take.
    std::int64_t carry_bytes(std::int64_t count_bytes) const {
        return count_bytes * (strips * padded_rows() + bands * padded_cols()) + 4 * bands * strips +
               (gathers ? 0 : 4 * (row_carries() + tiles * padded_cols()));
    }

    /// Of a table, in 4 bytes; in 2 where `wave` is used.
    constexpr std::int64_t row_carries() const { return strips * padded_rows() / (wave.warps > 0 ? 2 : 1); }

  private:
    void count_bands() {
        bands = (rows + band_rows - 1) / band_rows;
        tiles = (bands + tile_bands - 1) / tile_bands;
    }
};

/// Planes, bins and bands that go through the kernels together: so few that what one kernel writes for the next one is
/// still in L2 when that reads it. A read of memory amidst the stores costs six to ten times its bytes. Bin numbers fit
/// a byte, with 255 for "in no bin of this group".
struct histogram_group {
    std::int64_t planes, bins, bands;

    histogram_group(const problem& p, const histogram_cut& cut, std::int64_t count_bytes) {
        constexpr std::int64_t most_bins = 224, most_bytes = std::int64_t{96} << 20;
        const auto evenly = [](std::int64_t all, std::int64_t most) {  // a last group of few would be a slow one
            const std::int64_t groups = (all + most - 1) / most;
            return (all + groups - 1) / groups;
        };
        const auto at_most = [](std::int64_t n, std::int64_t most) { return std::clamp<std::int64_t>(n, 1, most); };

        if (cut.wave.warps > 0) {
            planes = cut.wave.planes;
            bands = cut.wave.bands;
            bins = evenly(p.histogram->bins, counted_bins);
            count_groups(p, cut);
            return;
        }

        // Bands: down to a tile
        bands = cut.bands;
        const std::int64_t all_bins = p.histogram->bins, few_bins = std::min<std::int64_t>(all_bins, counted_bins);
        const auto plane_bytes = [&](const histogram_cut& c) {
            return few_bins * c.carry_bytes(count_bytes) + c.padded_rows() * c.padded_cols();
        };
        if (!cut.gathers) {
            const std::int64_t tile_bytes = plane_bytes(cut.slab(0, cut.tile_bands));
            bands =
                evenly(cut.tiles, at_most(histogram_limits::bytes_of_slab / tile_bytes, cut.tiles)) * cut.tile_bands;
        }
        const histogram_cut slab = cut.slab(0, bands);

        const std::int64_t affordable = most_bytes / slab.carry_bytes(count_bytes) / counted_bins * counted_bins;
        const std::int64_t even = evenly(all_bins, std::clamp<std::int64_t>(affordable, counted_bins, most_bins));
        bins = std::min(all_bins, (even + counted_bins - 1) / counted_bins * counted_bins);
        const std::int64_t together = bins * slab.carry_bytes(count_bytes) + slab.padded_rows() * slab.padded_cols();
        planes = evenly(p.table.planes, at_most(histogram_limits::bytes_of_planes / together,
                                                std::min<std::int64_t>(p.table.planes, 65535 / bins)));
        count_groups(p, cut);
    }

    std::int64_t tables() const { return planes * bins; }
    std::int64_t bin_groups() const { return bin_groups_; }
    std::int64_t count() const { return plane_groups_ * bin_groups_ * slabs_; }  ///< of groups

  private:
    std::int64_t slabs_, plane_groups_, bin_groups_;

    void count_groups(const problem& p, const histogram_cut& cut) {
        slabs_ = (cut.bands + bands - 1) / bands;
        plane_groups_ = (p.table.planes + planes - 1) / planes;
        bin_groups_ = (p.histogram->bins + bins - 1) / bins;
    }
};

/// Whole lines of scratch memory that nobody reads any more.
struct dead_memory {
    void* first = nullptr;
    std::int64_t bytes = 0;
};

/// Scratch memory of a group. Tables are numbered plane by plane, bin by bin. Count is std::uint8_t or float.
template <typename Count, typename Sum>
struct histogram_scratch {
    std::uint8_t* bins;  ///< [plane][padded_rows][padded_cols]: bin in the group, or 255
    Count* row_counts;   ///< [table][strip][padded_rows]: of the 128 entries of a row
    Count* col_counts;   ///< [table][band][padded_cols]: of a column's entries
    Sum* corners;        ///< [table][band][strip]: of the band's entries; else of all above and to the left of them

    // Not where the finishing kernel gathers
    Sum*
        row_carries;  ///< [table][strip][padded_rows]: of the row, left of the strip; 16 bits each for a histogram_wave
    Sum* col_carries;  ///< [table][tile][padded_cols]: of the column, above the tile

    dead_memory counts, all;  ///< row_counts and col_counts; everything

    /// c: of a slab.
    histogram_scratch(workspace_slots& slots, const histogram_cut& c, const histogram_group& g)
        : bins(slots.take<std::uint8_t>(g.planes * c.padded_rows() * c.padded_cols())),
          row_counts(slots.take<Count>(g.tables() * c.strips * c.padded_rows())),
          col_counts(slots.take<Count>(g.tables() * c.bands * c.padded_cols())),
          corners(slots.take<Sum>(g.tables() * c.bands * c.strips)),
          row_carries(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.row_carries())),
          col_carries(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.tiles * c.padded_cols())),
          counts{row_counts, between(row_counts, corners)},
          all{bins, between(bins, slots.take<std::uint8_t>(0))} {}

  private:
    static std::int64_t between(const void* first, const void* last) {
        return static_cast<const std::byte*>(last) - static_cast<const std::byte*>(first);
    }
};

/// What a slab hands to the one below.
template <typename Sum>
struct slab_carries {
    Sum* cols;    ///< [table][padded_cols]: of the column, above the slab
    Sum* strips;  ///< [table][strip]: of the strip, above the slab

    slab_carries(workspace_slots& slots, const histogram_cut& c, const histogram_group& g)
        : cols(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.padded_cols())),
          strips(c.gathers ? nullptr : slots.take<Sum>(g.tables() * c.strips)) {}
};

/// All of a workspace. Groups take turns in two sets of scratch memory, so that one may begin while the kernel of the
/// one before still reads its own.
template <typename Count, typename Sum>
struct histogram_workspace {
    histogram_scratch<Count, Sum> even, odd;
    slab_carries<Sum> carries;

    histogram_workspace(workspace_slots& slots, const histogram_cut& c, const histogram_group& g)
        : even(slots, c.slab(0, g.bands), g),
          odd(g.count() > 1 ? histogram_scratch<Count, Sum>(slots, c.slab(0, g.bands), g) : even),
          carries(slots, c, g) {}
};

}  // namespace boxsum::cuda
