#pragma once

#include "core/host_device.hpp"
#include "core/weighted_sums.hpp"

#include <cstdint>

/// A pixel of variance_shadows(). Host and device run the same statements in double, and kernels are compiled without
/// contraction, so that both find the same bits.
namespace boxsum {

/// A side of a rectangle of which a map of so many pixels may have a part. Nothing of it: length 0.
BOXSUM_HOST_DEVICE inline weighted_side shadow_side(double first, double extent, std::int64_t pixels) {
    const double last = static_cast<double>(pixels), end = first + extent;
    return {first < 0 ? 0 : first, last < end ? last : end};  // NaN stays, and is nothing
}

/// Chebyshev's bound, its two remedies applied; `receiver` less what the table's pixels are less.
BOXSUM_HOST_DEVICE inline double lit_part(double mean, double mean_square, double receiver, double min_variance,
                                          double bleeding) {
    const double behind = receiver - mean;
    if (behind <= 0) return 1;
    const double seen = mean_square - mean * mean, variance = seen < min_variance ? min_variance : seen;
    const double lit = variance > 0 ? variance / (variance + behind * behind) : 0;
    const double stretched = (lit - bleeding) / (1 - bleeding);
    return stretched < 0 ? 0 : stretched > 1 ? 1 : stretched;
}

}  // namespace boxsum
