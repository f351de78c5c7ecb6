#pragma once

#include "support/border_samples.hpp"

#include <boxsum/filters.hpp>
#include <boxsum/non_local_means.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

/// Non-local means as their formula says, in extended precision.
namespace boxsum::test {

using wide = long double;

struct non_local_setting {
    std::int64_t rows, cols, channels = 1, planes = 1;
    window search = window_radius(3), patch = window_radius(1);
    border_mode border = border_mode::shrink;
    double strength = 60, noise = 0;
    rounding_mode rounding = rounding_mode::half_up;
    int threads = 1;
    double border_value = 0;
};

/// The definition, in the order of its formula.
template <typename P>
wide expected_non_local_mean(const non_local_setting& s, const image_view<const P>& image, std::int64_t r,
                             std::int64_t c, std::int64_t channel, std::int64_t plane) {
    const auto is_there = [&](std::int64_t y, std::int64_t x) {
        return sample_at(s.border, y, s.rows) != -1 && sample_at(s.border, x, s.cols) != -1;
    };
    const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t k) {
        const std::int64_t i = sample_at(s.border, y, s.rows), j = sample_at(s.border, x, s.cols);
        return i < 0 || j < 0 ? static_cast<wide>(s.border_value) : static_cast<wide>(image(i, j, k, plane));
    };
    wide weights = 0, values = 0;
    for (std::int64_t y = r - s.search.above; y <= r + s.search.below; ++y)
        for (std::int64_t x = c - s.search.left; x <= c + s.search.right; ++x) {
            if (!is_there(y, x)) continue;
            wide differences = 0, count = 0;
            for (std::int64_t i = -s.patch.above; i <= s.patch.below; ++i)
                for (std::int64_t j = -s.patch.left; j <= s.patch.right; ++j) {
                    if (!is_there(y + i, x + j) || !is_there(r + i, c + j)) continue;
                    for (std::int64_t k = 0; k < s.channels; ++k) {
                        const wide d = at(y + i, x + j, k) - at(r + i, c + j, k);
                        differences += d * d;
                        ++count;
                    }
                }
            const wide beyond = differences / count - 2 * static_cast<wide>(s.noise) * static_cast<wide>(s.noise);
            const bool itself = y == r && x == c;
            const wide w = itself ? 1
                                  : std::exp(-std::max(wide{0}, beyond) /
                                             (static_cast<wide>(s.strength) * static_cast<wide>(s.strength)));
            weights += w;
            values += w * at(y, x, channel);
        }
    return values / weights;
}

template <typename P>
std::vector<P> random_pixels(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<P> pixels(static_cast<std::size_t>(count));
    for (P& x : pixels)
        x = std::is_integral_v<P> ? static_cast<P>(random() >> 7)
                                  : static_cast<P>(255 * static_cast<double>(random()) * 0x1p-32);
    return pixels;
}

/// Whether a result is within its bound of the definition: empty, or what it is and should be.
template <typename P, typename Out>
std::string non_local_complaint(const non_local_setting& s, const image_view<const P>& image, std::int64_t r,
                                std::int64_t c, std::int64_t channel, std::int64_t plane, Out result) {
    const wide exact = expected_non_local_mean(s, image, r, c, channel, plane);
    const double range = std::is_integral_v<P> ? static_cast<double>(std::numeric_limits<P>::max()) : 255;
    const double off = (std::is_floating_point_v<P> ? 0x1p-40 : 0x1p-17) * range, found = static_cast<double>(result),
                 mean = static_cast<double>(exact);
    bool right = false;
    if constexpr (std::is_integral_v<Out>) {
        const double half = s.rounding == rounding_mode::half_up ? 0.5 : 0;
        right = found >= std::floor(mean - off + half) && found <= std::floor(mean + off + half);
    } else {
        right = std::abs(found - mean) <= off + static_cast<double>(std::numeric_limits<Out>::epsilon()) * range;
    }
    if (right) return {};
    return std::to_string(found) + " at plane " + std::to_string(plane) + ", row " + std::to_string(r) + ", column " +
           std::to_string(c) + ", channel " + std::to_string(channel) + ", not " + std::to_string(mean);
}

}  // namespace boxsum::test
