#pragma once

#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>

/// Images of radii, one per pixel, in host memory.
namespace boxsum::filters {

std::int64_t radius_at(const const_any_view& radius, std::int64_t row, std::int64_t col, std::int64_t plane);

/// Throws invalid_argument for a radius that is negative or above `largest`, and names its place.
[[noreturn]] void refuse_radius(std::int64_t value, std::int64_t plane, std::int64_t row, std::int64_t col,
                                std::optional<std::int64_t> largest);

/// The largest radius of a map. Throws as refuse_radius().
std::int64_t check_radii(const const_any_view& radius, std::optional<std::int64_t> largest);

}  // namespace boxsum::filters
