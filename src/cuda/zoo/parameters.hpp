#pragma once

#include "core/algorithm_record.hpp"

#include <span>
#include <string_view>

/// Choices that several exhibits offer. The first value is the default.
namespace boxsum {

inline constexpr std::string_view tile_width_values[] = {"64", "32", "128"};
inline constexpr parameter tile_width_parameter{"W", "tile width and height", tile_width_values};

inline constexpr std::string_view scan_values[] = {"kogge-stone", "lf"};
inline constexpr parameter scan_parameter{"scan", "network of the warp scan: Kogge-Stone or Ladner-Fischer (LF)",
                                          scan_values};

/// The value of the parameter at a position, for parameters that are whole numbers.
constexpr int number_of(std::span<const parameter> parameters, const parameter_values& values, std::size_t position) {
    int number = 0;
    for (const char digit : parameters[position].values[values.choice[position]]) number = number * 10 + (digit - '0');
    return number;
}

/// Calls f.template operator()<W>() for the width.
template <typename F>
decltype(auto) visit_tile_width(int width, F&& f) {
    switch (width) {
        case 32:
            return f.template operator()<32>();
        case 64:
            return f.template operator()<64>();
        default:
            return f.template operator()<128>();
    }
}

}  // namespace boxsum
