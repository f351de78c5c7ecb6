#pragma once

#include "image_io/image.hpp"

#include <boxsum/box.hpp>

#include <span>
#include <vector>

namespace boxsum::cli {

/// What `query` says of boxes in one channel.
struct box_statistics {
    std::vector<scalar> sums;
    std::vector<double> means;
    std::vector<double> variances;  ///< empty where they are not known
};

/// How many pixels boxes have together, and the smallest box that holds them all.
struct box_extent {
    double pixels = 0;
    box around = {};
};
box_extent extent_of(std::span<const box> boxes);

/// Sum, mean and variance from the pixels of the boxes themselves: those of integers are exact before the last
/// division, those of floats are made of additions (compensated ones for sums) and merged deviations (Chan, Golub,
/// LeVeque 1979), so that nothing cancels: a constant box has variance 0, whatever its offset, and a NaN acts on the
/// boxes that contain it. Where the boxes have more pixels than the part of the image that they lie in, that is first
/// summed up in tiles of 8 x 8 and 64 x 64 pixels, of which a box then takes those that lie in it and the pixels at its
/// edges. The boxes lie in the image. Sums are 64u, 64s or 64f; an integer sum beyond 64 bits wraps.
box_statistics statistics_of_boxes(const image& source, std::int64_t channel, std::span<const box> boxes);

}  // namespace boxsum::cli
