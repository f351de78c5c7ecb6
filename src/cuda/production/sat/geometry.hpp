#pragma once

#include "core/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace boxsum::cuda {

/// What the whole table holds around the part that is computed (boxsum::table_carries). Null stands for zeros.
struct sat_carries {
    const std::byte* above = nullptr;     ///< the entry above the part's first column
    const std::byte* left = nullptr;      ///< beside its first row
    std::int64_t above_plane_stride = 0;  ///< bytes, as the others
    std::int64_t left_row_stride = 0, left_plane_stride = 0;
    bool has_corner = false;  ///< `above` has the corner, in front of that entry

    sat_carries() = default;
    /// Without pointers.
    sat_carries(const carry_shapes& shapes, const view_shape& image) {
        if (shapes.above && image.planes > 1) above_plane_stride = shapes.above->plane_stride;
        if (shapes.left) left_row_stride = shapes.left->row_stride;
        if (shapes.left && image.planes > 1) left_plane_stride = shapes.left->plane_stride;
        has_corner = shapes.corners(image.cols) > 0;
    }

    /// `pixel_sum_bytes`: of the entries of all channels of a pixel.
    void place_at(const carry_data& memory, std::int64_t pixel_sum_bytes) {
        above = static_cast<const std::byte*>(memory.above);
        if (above != nullptr && has_corner) above += pixel_sum_bytes;
        left = static_cast<const std::byte*>(memory.left);
    }

    bool adds_to_rows() const { return left != nullptr || (above != nullptr && has_corner); }
};

/// A problem as the production kernels see it: every layout is the inclusive table of an image that is shifted down and
/// right by `origin` and has zeros there. All layers (planes x channels) are independent tables.
struct sat_geometry {
    const void* image = nullptr;
    void* table = nullptr;
    std::int64_t image_row_stride = 0, image_plane_stride = 0;  ///< bytes
    std::int64_t table_row_stride = 0, table_plane_stride = 0;  ///< bytes
    std::int64_t rows = 0, cols = 0;                            ///< of the table
    std::int64_t planes = 1;
    int channels = 1;
    int origin = 0;  ///< 0: inclusive; 1: exclusive and padded
    sat_carries carries;
    // Of tables from an origin outwards.
    std::int64_t up = 0, left = 0;    ///< pixels above and left of the origin (table_form::origin)
    std::span<const double> offsets;  ///< taken from pixels, of each plane, or one of all; not owned

    sat_geometry() = default;

    /// `sums` and `shape` are the table of sums, or that of squares.
    sat_geometry(const problem& p, const void* pixels, const view_shape& shape, void* sums,
                 const carry_shapes& around = {})
        : image(pixels),
          table(sums),
          image_row_stride(p.image.row_stride),
          image_plane_stride(p.image.planes > 1 ? p.image.plane_stride : 0),
          table_row_stride(shape.row_stride),
          table_plane_stride(shape.planes > 1 ? shape.plane_stride : 0),
          rows(shape.rows),
          cols(shape.cols),
          planes(shape.planes),
          channels(static_cast<int>(shape.channels)),
          origin(p.form.border()),
          carries(around, p.image) {}

    /// The first entry that is not of the border; `sum_bytes`: of an entry. Null for an unknown table.
    void* first_sum(int sum_bytes) const {
        if (table == nullptr) return nullptr;
        return static_cast<std::byte*>(table) + origin * (table_row_stride + std::int64_t{channels} * sum_bytes);
    }

    bool empty() const { return rows == 0 || cols == 0 || planes == 0; }
};

/// Largest power of two up to 16 that divides every offset, in bytes.
constexpr int common_alignment(std::initializer_list<std::int64_t> offsets) {
    std::int64_t all = 16;
    for (const std::int64_t offset : offsets) all |= offset;
    return static_cast<int>(all & -all);
}

constexpr unsigned whole_tiles(std::int64_t extent, int of_tile) {
    return static_cast<unsigned>((extent + of_tile - 1) / of_tile);
}

/// Tiles over `extent` sums, of which `before` grow backwards. A table that is nothing but its border has one, for the
/// border.
constexpr unsigned tiles_along(std::int64_t extent, int of_tile, std::int64_t before = 0) {
    return extent < 1 ? 1 : whole_tiles(before, of_tile) + whole_tiles(extent - before, of_tile);
}

inline std::int64_t address_of(const void* pointer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace boxsum::cuda
