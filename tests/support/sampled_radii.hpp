#pragma once

#include "support/samples.hpp"

#include <boxsum/filters.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Means with a radius for every pixel by their definition.
namespace boxsum::test {

/// What counts in a window, by a walk over it.
struct window_sums {
    wide sum = 0, weight = 0;
};

template <typename T>
window_sums sums_around(const sampled_pixels<T>& from, std::int64_t r, std::int64_t c, std::int64_t k,
                        std::int64_t plane, std::int64_t radius, const filter_options& how) {
    const auto& image = from.image.view();
    window_sums s;
    for (std::int64_t i = r - radius; i <= r + radius; ++i)
        for (std::int64_t j = c - radius; j <= c + radius; ++j) {
            const std::int64_t y = sample_at(how.border, i, image.rows()), x = sample_at(how.border, j, image.cols());
            if (y == -1 || x == -1) continue;
            const bool beyond = y < 0 || x < 0;
            const wide v = beyond ? static_cast<wide>(how.border_value) : static_cast<wide>(image(y, x, k, plane));
            const wide w = beyond ? wide(from.counts_by_value(how.border_value) ? 1 : 0) : from.weight(y, x, k, plane);
            if (w == 0) continue;
            s.sum += w * v;
            s.weight += w;
        }
    return s;
}

template <typename Out>
Out expected_mean(const window_sums& s, const filter_options& how, bool weighted) {
    const wide least = weighted ? static_cast<wide>(how.min_weight) : static_cast<wide>(how.min_count);
    if (s.weight == 0 || s.weight < least)
        return static_cast<Out>(
            how.fill.value_or(std::is_integral_v<Out> ? 0 : std::numeric_limits<double>::quiet_NaN()));
    const double mean = static_cast<double>(s.sum) / static_cast<double>(s.weight);
    if constexpr (std::is_integral_v<Out>)
        return static_cast<Out>(std::floor(mean + (how.rounding == rounding_mode::half_up ? 0.5 : 0)));
    else
        return static_cast<Out>(mean);
}

}  // namespace boxsum::test
