#pragma once

#include <boxsum/filters.hpp>

#include <algorithm>
#include <cstdint>

namespace boxsum::filters {

/// One axis of a sliding window over `extent` samples. A radius beyond the image is reduced to one that reaches a
/// bounded number of samples, plus whole repetitions that every window contains (`repeats`, `edge_repeats`).
struct window_axis {
    std::int64_t extent = 1;
    std::int64_t radius = 0;  ///< reduced: below 2 * extent
    border_mode border = border_mode::shrink;
    std::int64_t full = 1;          ///< samples of an uncut window of the original radius
    std::int64_t repeats = 0;       ///< times that each sample comes on top of the reduced window (reflect)
    std::int64_t edge_repeats = 0;  ///< times that the sample beyond each of the two edges does (replicate, constant)

    window_axis() = default;

    constexpr window_axis(std::int64_t samples, std::int64_t original_radius, border_mode mode)
        : extent(samples), radius(original_radius), border(mode), full(2 * original_radius + 1) {
        switch (border) {
            case border_mode::shrink:
                radius = std::min(radius, extent - 1);
                break;
            case border_mode::reflect:
                // The extended image has period 2 * extent and holds every sample twice in it.
                repeats = radius / (2 * extent) * 4;
                radius %= 2 * extent;
                break;
            case border_mode::replicate:
            case border_mode::constant:
                edge_repeats = std::max<std::int64_t>(radius - extent, 0);
                radius = std::min(radius, extent);
                break;
        }
    }

    /// Samples of an uncut window of the reduced radius.
    constexpr std::int64_t width() const noexcept { return 2 * radius + 1; }

    /// Samples of the image, extended by the reduced radius on both sides.
    std::int64_t extended() const noexcept { return extent + 2 * radius; }

    /// The image's sample at position i of the extended image, -radius <= i < extent + radius; -1 where it has none
    /// (shrink, constant).
    std::int64_t source(std::int64_t i) const noexcept {
        if (i >= 0 && i < extent) return i;
        switch (border) {
            case border_mode::shrink:
            case border_mode::constant:
                return -1;
            case border_mode::replicate:
                return i < 0 ? 0 : extent - 1;
            case border_mode::reflect:
                break;
        }
        const std::int64_t period = 2 * extent;
        const std::int64_t phase = ((i % period) + period) % period;
        return phase < extent ? phase : period - 1 - phase;
    }

    /// Samples of the image's own range in the window around i, each counted once.
    std::int64_t inside(std::int64_t i) const noexcept {
        return std::min(i + radius, extent - 1) - std::max<std::int64_t>(i - radius, 0) + 1;
    }

    /// What the mean of the window around i divides by, along this axis.
    std::int64_t count(std::int64_t i) const noexcept { return border == border_mode::shrink ? inside(i) : full; }

    /// Windows around first_uncut() <= i < end_uncut() all have the same count.
    std::int64_t first_uncut() const noexcept {
        return border == border_mode::shrink ? std::min(radius, extent) : std::int64_t{0};
    }
    std::int64_t end_uncut() const noexcept {
        return border == border_mode::shrink ? std::max(extent - radius, first_uncut()) : extent;
    }
};

}  // namespace boxsum::filters
