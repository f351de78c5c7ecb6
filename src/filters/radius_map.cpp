#include "filters/radius_map.hpp"

#include "core/visit_types.hpp"
#include "filters/window_job.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <string>

namespace boxsum::filters {

std::int64_t radius_at(const const_any_view& radius, std::int64_t row, std::int64_t col, std::int64_t plane) {
    switch (radius.shape.type) {
        case dtype::u8:
            return row_of<u8>(radius, row, plane)[col];
        case dtype::u16:
            return row_of<u16>(radius, row, plane)[col];
        case dtype::u32:
            return row_of<u32>(radius, row, plane)[col];
        default:
            return row_of<s32>(radius, row, plane)[col];
    }
}

void refuse_radius(std::int64_t value, std::int64_t plane, std::int64_t row, std::int64_t col,
                   std::optional<std::int64_t> largest) {
    throw invalid_argument(
        "radius: is " + std::to_string(value) + " at plane " + std::to_string(plane) + ", row " + std::to_string(row) +
        ", col " + std::to_string(col) +
        (value < 0 ? ", must not be negative" : ", but largest_radius is " + std::to_string(largest.value_or(0))));
}

std::int64_t check_radii(const const_any_view& radius, std::optional<std::int64_t> largest) {
    const view_shape& s = radius.shape;
    std::int64_t found = 0;
    for (std::int64_t p = 0; p < s.planes; ++p)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c) {
                const std::int64_t value = radius_at(radius, r, c, p);
                if (value < 0 || (largest && value > *largest)) refuse_radius(value, p, r, c, largest);
                found = std::max(found, value);
            }
    return found;
}

}  // namespace boxsum::filters
