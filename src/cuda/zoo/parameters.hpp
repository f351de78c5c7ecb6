#pragma once

#include "core/algorithm_record.hpp"

#include <span>
#include <string_view>

/// Choices that several exhibits offer. The first value is the default.
namespace boxsum {

inline constexpr std::string_view tile_width_values[] = {"64", "32", "128"};
inline constexpr parameter tile_width_parameter{"W", "tile width and height", tile_width_values};

inline constexpr std::string_view large_tile_width_values[] = {"128", "64", "32"};
inline constexpr parameter large_tile_width_parameter{"W", "tile width and height", large_tile_width_values};

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

/// Calls f.template operator()<W, Threads>() for the width and the threads of a tile.
template <typename F>
decltype(auto) visit_tile(int width, int threads, F&& f) {
    return visit_tile_width(width, [&]<int W>() {
        switch (threads) {
            case 256:
                return f.template operator()<W, 256>();
            case 512:
                return f.template operator()<W, 512>();
            default:
                return f.template operator()<W, 1024>();
        }
    });
}

/// The same with the threads of the papers' tiles, 256 and 1024.
template <typename F>
decltype(auto) visit_paper_tile(int width, int threads, F&& f) {
    return visit_tile_width(width, [&]<int W>() {
        return threads == 256 ? f.template operator()<W, 256>() : f.template operator()<W, 1024>();
    });
}

}  // namespace boxsum
