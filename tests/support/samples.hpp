#pragma once

#include "support/border_samples.hpp"
#include "support/strided_block.hpp"

#include <boxsum/filters.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

/// Images with masks, weights, NaN and nodata, and which of their pixels count, by the words of filter_inputs.
namespace boxsum::test {

using wide = long double;

inline std::int64_t below(std::mt19937_64& random, std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

/// What says which pixels count.
struct sample_setting {
    bool masked = false, weighted = false;
    std::int64_t mask_channels = 1, mask_planes = 1;  ///< of weights, too
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};
};

/// An image in strided memory, and what goes with it. Pixels are multiples of 1/8 and weights of 1/4, so that sums of
/// them are exact; what does not count holds what would be seen anywhere.
template <typename T>
class sampled_pixels {
  public:
    sampled_pixels(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes,
                   const sample_setting& s, std::mt19937_64& random, lying how = lying::anyhow)
        : setting(s),
          image(rows, cols, channels, planes, how, random),
          mask(rows, cols, s.mask_channels, s.mask_planes, how, random),
          weights(rows, cols, s.mask_channels, s.mask_planes, how, random) {
        constexpr float none = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
        mask.for_each([&](auto, auto, auto, auto, std::uint8_t& m) {
            m = random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(1 + random() % 255);
        });
        weights.for_each([&](auto, auto, auto, auto, float& w) {
            const float odd[] = {0, -1, none, inf, -inf};
            w = random() % 4 == 0 ? odd[random() % 5] : static_cast<float>(1 + random() % 12) / 4;
        });
        image.for_each([&](auto, auto, auto, auto, T& x) {
            x = std::is_integral_v<T> ? static_cast<T>(random() >> 9)
                                      : static_cast<T>(static_cast<double>(random() % 2048) / 8);
            if constexpr (std::is_floating_point_v<T>)
                if (s.nan == nan_mode::omit && random() % 5 == 0) x = std::numeric_limits<T>::quiet_NaN();
            if (s.nodata && random() % 5 == 0) x = static_cast<T>(*s.nodata);
        });
        spoil(random);
    }

    /// Other values where pixels do not count whatever they are.
    void spoil(std::mt19937_64& random) {
        image.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, T& x) {
            if (given_weight(r, c, k, plane) > 0) return;
            if constexpr (std::is_integral_v<T>) {
                x = static_cast<T>(random());
            } else {
                const T odd[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                                 static_cast<T>(1e30), static_cast<T>(-1e30), T{7}};
                x = odd[random() % 5];
            }
        });
    }

    /// Of a pixel that is there; 0: does not count.
    wide weight(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t plane) const {
        return counts_by_value(static_cast<double>(image.view()(r, c, k, plane))) ? given_weight(r, c, k, plane) : 0;
    }
    bool counts_by_value(double x) const {
        if (std::isnan(x)) return setting.nan != nan_mode::omit && !(setting.nodata && std::isnan(*setting.nodata));
        return !setting.nodata || x != *setting.nodata;
    }

    const_any_view mask_view() const { return setting.masked ? const_any_view(mask.view()) : const_any_view{}; }
    const_any_view weights_view() const { return setting.weighted ? const_any_view(weights.view()) : const_any_view{}; }

    sample_setting setting;
    block<T> image;
    block<std::uint8_t> mask;
    block<float> weights;

  private:
    wide given_weight(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t plane) const {
        const std::int64_t channel = setting.mask_channels == 1 ? 0 : k, p = setting.mask_planes == 1 ? 0 : plane;
        if (setting.masked && mask.view()(r, c, channel, p) == 0) return 0;
        if (!setting.weighted) return 1;
        const float w = weights.view()(r, c, channel, p);
        return w > 0 && std::isfinite(w) ? static_cast<wide>(w) : wide{0};
    }
};

/// Any of what may be said of an image of type T.
template <typename T>
sample_setting any_samples(std::int64_t channels, std::int64_t planes, std::mt19937_64& random) {
    sample_setting s;
    s.masked = random() % 3 != 0;
    s.weighted = random() % 3 == 0;
    s.mask_channels = random() % 2 == 0 ? 1 : channels;
    s.mask_planes = random() % 2 == 0 ? 1 : planes;
    if (random() % 3 == 0) s.nan = nan_mode::omit;
    if (random() % 3 == 0) s.nodata = 9;
    return s;
}

}  // namespace boxsum::test
