#pragma once

// A table (and the table of squares) to fill, as the schemes see it that share the work out among threads.

#include "cpu/simd/kernels.hpp"

#include <boxsum/view.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace boxsum::cpu {

/// One table to fill: where it is and what fills it. Strides are in bytes.
struct table_pass {
    tile_function run = nullptr;
    column_function add_columns = nullptr;  ///< null: the table is floating
    row_function sum_rows = nullptr;
    bool starts_rows = false;    ///< `run` serves tile::left_elements
    std::byte* table = nullptr;  ///< first entry that is not of the border row or column
    view_shape shape;
    std::int64_t element = 0;  ///< bytes

    // What the pass takes over from a larger table (part_edges.hpp); null where there is nothing.
    const std::byte* above = nullptr;  ///< the row above `table`, from the same column on, and of the other planes
    std::int64_t above_plane_stride = 0;
    const void* left_edge = nullptr;  ///< as gather_left_edge() packs it
    bool sums_in_words = false;       ///< row sums of tile::carry have 32 bits; else the table's type
};

struct table_job {
    const std::byte* image = nullptr;
    view_shape image_shape;
    std::array<table_pass, 2> passes;  ///< squares first: an in-place table overwrites the image
    int pass_count = 0;

    std::int64_t channels = 1;
    std::int64_t rows = 0;      ///< of the table, without its border row
    std::int64_t elements = 0;  ///< of a table row, without its border column
    std::int64_t border = 0;    ///< elements of the border column
    bool streaming = false;     ///< `run` uses tile::row_buffer
    bool fetch_table = false;

    // Of a form with an offset or an origin (sat_simd.cpp).
    const double* offsets = nullptr;  ///< of all channels, twice, of all planes; null: the form has neither
    bool offsets_are_zero = false;
    bool upwards = false;            ///< rows above the origin: strides of rows are negative
    std::int64_t left_elements = 0;  ///< of a row of the image, left of the origin

    bool has_left_edge() const {
        return left_elements > 0 || passes[0].left_edge != nullptr ||
               passes[static_cast<std::size_t>(pass_count - 1)].left_edge != nullptr;
    }
};

/// What the border column holds from `row` on: what lies left of the part, packed, or null for zeros.
inline const std::byte* border_values(const table_job& job, const table_pass& p, std::int64_t plane, std::int64_t row) {
    if (p.left_edge == nullptr) return nullptr;
    const std::int64_t entries = plane * (job.image_shape.rows + 1) + row + 1;  // gather_left_edge() starts a row above
    return static_cast<const std::byte*>(p.left_edge) + entries * job.channels * p.element;
}

/// The rectangle of `rows` x `elements` entries from (row, start) on, for kernels without row buffer and carries;
/// `above` is the table row above it in memory; in the first row what the pass takes over, or null.
inline tile tile_of(const table_job& job, const table_pass& p, std::int64_t plane, std::int64_t row, std::int64_t rows,
                    std::int64_t start, std::int64_t elements) {
    tile t{};
    t.border = start == 0 ? job.border : 0;
    if (t.border > 0) t.border_values = border_values(job, p, plane, row);
    t.image = job.image + plane * job.image_shape.plane_stride + row * job.image_shape.row_stride +
              start * static_cast<std::int64_t>(size_of(job.image_shape.type));
    t.image_stride = job.image_shape.row_stride;
    std::byte* const table = p.table + plane * p.shape.plane_stride + row * p.shape.row_stride + start * p.element;
    t.table = table;
    t.table_stride = p.shape.row_stride;
    if (row > 0)
        t.above = table - p.shape.row_stride;
    else if (p.above != nullptr)
        t.above = p.above + plane * p.above_plane_stride + start * p.element;
    t.rows = rows;
    t.elements = elements;
    t.channels = job.channels;
    t.fetch_table = job.fetch_table;
    if (job.offsets != nullptr) {
        t.offsets = job.offsets + plane * 2 * job.channels + start % job.channels;
        t.negated = job.upwards;
    }
    return t;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// What a thread has done so far, for the others; a cache line each, as they are spun on. Whoever counts up releases.
struct alignas(64) progress_counter {
    std::atomic<std::int64_t> done{0};
};
using progress_counters = std::unique_ptr<progress_counter[]>;

/// Spins for some tens of microseconds, then lets others run: there may be more threads than cores. Acquires.
void wait_until(const progress_counter& counter, std::int64_t least);

/// Tiles in a wavefront (wavefront.cpp): any table, nothing read or written twice.
void compute_in_wavefront(const table_job& job, int threads);
/// Those of `threads` that have a panel to do, 1 at least.
int threads_in_wavefront(const table_job& job, int threads);

/// Bands of rows (bands.cpp): integer tables of one plane, whose image is read up to twice.
bool fits_bands(const table_job& job, int threads);
void compute_in_bands(const table_job& job, int threads);

/// Image and tables up to which bands are used where they fit. Two threads, 8u32u, us, bands against wavefront (Granite
/// Rapids): 512^2 18 and 30, 1024^2 (5 MiB) 94 and 105, 2048^2 (20 MiB) 531 and 500.
inline constexpr std::int64_t most_bytes_in_bands = std::int64_t{8} << 20;

}  // namespace boxsum::cpu
