#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/zoo/parameters.hpp"

#include <string>
#include <string_view>

/// Choices that the tiled exhibits offer: those of the paper's section 4.2. The first value is the default.
namespace boxsum {

inline constexpr std::string_view histogram_tile_values[] = {"64", "32", "16"};
inline constexpr std::string_view histogram_thread_values[] = {"256", "64", "128", "512", "1024"};
inline constexpr parameter histogram_tile_parameters[] = {
    {"tile", "TILE_SIZE: tile width and height", histogram_tile_values},
    {"threads", "of a block; as many as the tile is wide scan, all load and store", histogram_thread_values}};

inline int histogram_tile_of(const parameter_values& values) {
    return number_of(histogram_tile_parameters, values, 0);
}
inline int histogram_threads_of(const parameter_values& values) {
    return number_of(histogram_tile_parameters, values, 1);
}

inline support supports_histogram_tile(const parameter_values& values) {
    const int tile = histogram_tile_of(values), threads = histogram_threads_of(values);
    return {threads <= tile * tile, "a tile of " + std::to_string(tile) + " x " + std::to_string(tile) +
                                        " has no work for " + std::to_string(threads) + " threads"};
}

/// Calls f.template operator()<W>() for the tile size.
template <typename F>
decltype(auto) visit_histogram_tile(int tile, F&& f) {
    switch (tile) {
        case 16:
            return f.template operator()<16>();
        case 32:
            return f.template operator()<32>();
        default:
            return f.template operator()<64>();
    }
}

}  // namespace boxsum
