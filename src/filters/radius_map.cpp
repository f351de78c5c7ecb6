#include "filters/radius_map.hpp"

#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "filters/window_job.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <string>

namespace boxsum::filters {

void check_radius_map(const const_any_view& radius, const view_shape& image) {
    check_view("radius", radius);
    const view_shape& s = radius.shape;
    if (s.type != dtype::u8 && s.type != dtype::u16 && s.type != dtype::u32 && s.type != dtype::s32)
        throw unsupported("radius: type is " + std::string(name_of(s.type)) + ", must be one of 8u, 16u, 32u, 32s");
    if (s.channels != 1) throw invalid_argument("radius: channels is " + std::to_string(s.channels) + ", must be 1");
    if (s.rows != image.rows || s.cols != image.cols)
        throw invalid_argument("radius: rows x cols are " + std::to_string(s.rows) + " x " + std::to_string(s.cols) +
                               ", must be the image's " + std::to_string(image.rows) + " x " +
                               std::to_string(image.cols));
    if (s.planes != 1 && s.planes != image.planes)
        throw invalid_argument("radius: planes is " + std::to_string(s.planes) + ", must be 1 or the image's " +
                               std::to_string(image.planes));
}

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

void refuse_negative_radius(std::int64_t value, std::int64_t plane, std::int64_t row, std::int64_t col) {
    throw invalid_argument("radius: is " + std::to_string(value) + " at plane " + std::to_string(plane) + ", row " +
                           std::to_string(row) + ", col " + std::to_string(col) + ", must not be negative");
}

std::int64_t check_radii(const const_any_view& radius) {
    const view_shape& s = radius.shape;
    std::int64_t largest = 0;
    for (std::int64_t p = 0; p < s.planes; ++p)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c) {
                const std::int64_t value = radius_at(radius, r, c, p);
                if (value < 0) refuse_negative_radius(value, p, r, c);
                largest = std::max(largest, value);
            }
    return largest;
}

}  // namespace boxsum::filters
