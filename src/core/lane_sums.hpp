#pragma once

#include <array>
#include <cstddef>

/// In which order the pixels of an image are added up on every backend, so that all have the same bits: 32 lanes of a
/// row each take every 32nd pixel, 32 lanes of an image every 32nd row, and lanes are added neighbour by neighbour,
/// then pair by pair, as warp_sum() does.
namespace boxsum {

using sum_lanes = std::array<double, 32>;

inline double sum_of(sum_lanes lanes) {
    for (std::size_t step = 1; step < lanes.size(); step *= 2)
        for (std::size_t i = 0; i < lanes.size(); i += 2 * step) lanes[i] += lanes[i + step];
    return lanes[0];
}

}  // namespace boxsum
