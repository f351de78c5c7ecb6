#pragma once

#include "core/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace boxsum::cuda {

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

    sat_geometry() = default;

    /// `sums` and `shape` are the table of sums, or that of squares.
    sat_geometry(const problem& p, const void* pixels, const view_shape& shape, void* sums)
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
          origin(p.layout == table_layout::inclusive ? 0 : 1) {}

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

/// Tiles over `extent` sums. A table that is nothing but its border has one, for the border.
constexpr unsigned tiles_along(std::int64_t extent, int of_tile) {
    return static_cast<unsigned>(extent < 1 ? 1 : (extent + of_tile - 1) / of_tile);
}

inline std::int64_t address_of(const void* pointer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace boxsum::cuda
