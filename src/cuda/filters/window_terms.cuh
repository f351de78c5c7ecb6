#pragma once

#include "filters/window_axis.hpp"

#include <cstdint>

/// Windows in terms of a padded table. Entry i of an axis holds the sum of the samples before i.
namespace boxsum::cuda {

/// One axis of a window: the sum of weight * entry over at most five entries, those at its two ends and, beyond a
/// border, some at the image's edges. Named members, not arrays, so that they stay in registers.
struct axis_terms {
    std::int64_t high = 0, low = 0;  ///< entries
    std::int64_t high_weight = 1, low_weight = -1;
    std::int64_t first_weight = 0;        ///< of entry 1
    std::int64_t before_last_weight = 0;  ///< of entry extent - 1
    std::int64_t last_weight = 0;         ///< of entry extent
    std::int64_t extent = 1;
    std::int64_t inside = 0;   ///< samples of the image's own range, each counted once
    std::int64_t samples = 0;  ///< what a mean divides by

    /// Just the entry at the end less that at the start.
    __device__ bool plain() const {
        return high_weight == 1 && low_weight == -1 && first_weight == 0 && before_last_weight == 0 && last_weight == 0;
    }

    /// f(entry, weight) for every entry that counts.
    template <typename F>
    __device__ void for_each(F f) const {
        f(high, high_weight);
        f(low, low_weight);
        if (first_weight != 0) f(std::int64_t{1}, first_weight);
        if (before_last_weight != 0) f(extent - 1, before_last_weight);
        if (last_weight != 0) f(extent, last_weight);
    }
};

/// The sum of the mirrored image's samples before x, -2 n <= x <= 3 n: `whole` whole images, and an entry with a weight
/// of 1, or of -1 where the image that x lies in is mirrored.
__device__ inline void reflect(std::int64_t x, std::int64_t n, std::int64_t& entry, std::int64_t& weight,
                               std::int64_t& whole) {
    const int image = static_cast<int>(x >= n) + static_cast<int>(x >= 2 * n) + static_cast<int>(x >= 3 * n) -
                      static_cast<int>(x < 0) - static_cast<int>(x < -n);
    const std::int64_t within = x - image * n;
    const bool mirrored = image % 2 != 0;
    entry = mirrored ? n - within : within;
    weight = mirrored ? -1 : 1;
    whole = mirrored ? image + 1 : image;
}

/// The window around sample i.
__device__ inline axis_terms terms_of(const filters::window_axis& axis, std::int64_t i) {
    axis_terms terms;
    const std::int64_t n = axis.extent, low = i - axis.before, high = i + axis.after + 1;
    terms.extent = n;
    terms.high = high < n ? high : n;
    terms.low = low > 0 ? low : 0;
    terms.inside = terms.high - terms.low;
    terms.samples = axis.border == border_mode::shrink ? terms.inside : axis.full;
    if (axis.border == border_mode::reflect) {
        std::int64_t whole_high, whole_low;
        reflect(high, n, terms.high, terms.high_weight, whole_high);
        reflect(low, n, terms.low, terms.low_weight, whole_low);
        terms.low_weight = -terms.low_weight;
        terms.last_weight = axis.repeats + whole_high - whole_low;
    } else if (axis.border == border_mode::replicate) {
        const std::int64_t after = axis.edge_after + (high > n ? high - n : 0);
        terms.first_weight = axis.edge_before + (low < 0 ? -low : 0);
        terms.before_last_weight = -after;
        terms.last_weight = after;
    }
    return terms;
}

}  // namespace boxsum::cuda
