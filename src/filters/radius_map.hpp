#pragma once

#include <boxsum/view.hpp>

#include <cstdint>

/// Images of radii, one per pixel.
namespace boxsum::filters {

/// A well-formed view of 8u, 16u, 32u or 32s, 1 channel, rows and cols of the image, 1 plane or the image's.
void check_radius_map(const const_any_view& radius, const view_shape& image);

/// Of a checked map in host memory.
std::int64_t radius_at(const const_any_view& radius, std::int64_t row, std::int64_t col, std::int64_t plane);

[[noreturn]] void refuse_negative_radius(std::int64_t value, std::int64_t plane, std::int64_t row, std::int64_t col);

/// The largest radius of a checked map in host memory. Throws invalid_argument for a negative one.
std::int64_t check_radii(const const_any_view& radius);

}  // namespace boxsum::filters
