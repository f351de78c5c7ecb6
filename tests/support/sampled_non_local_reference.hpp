#pragma once

#include "support/border_samples.hpp"
#include "support/samples.hpp"

#include <boxsum/non_local_means.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Non-local means of an image whose pixels may not count, by their definition.
namespace boxsum::test {

/// The definition of one pixel, in the order of its formula: nothing where it is `fill`.
struct non_local_definition {
    std::vector<wide> values;  ///< of the channels
    wide similar = 0, count = 0;
};

template <typename T>
non_local_definition sampled_non_local(const sampled_pixels<T>& from, std::int64_t r, std::int64_t c,
                                       std::int64_t plane, const non_local_rule& rule, const filter_options& how) {
    const auto& image = from.image.view();
    const std::int64_t channels = image.channels();
    const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t k) {
        const std::int64_t i = sample_at(how.border, y, image.rows()), j = sample_at(how.border, x, image.cols());
        return i < 0 || j < 0 ? static_cast<wide>(how.border_value) : static_cast<wide>(image(i, j, k, plane));
    };
    const auto weight = [&](std::int64_t y, std::int64_t x) -> wide {
        const std::int64_t i = sample_at(how.border, y, image.rows()), j = sample_at(how.border, x, image.cols());
        if (i == -1 || j == -1) return 0;
        if (i < 0 || j < 0) return from.counts_by_value(how.border_value) ? 1 : 0;
        wide w = from.weight(i, j, 0, plane);
        for (std::int64_t k = 1; k < channels; ++k)
            if (from.weight(i, j, k, plane) == 0) w = 0;
        return w;
    };
    const wide least = from.setting.weighted ? static_cast<wide>(how.min_weight) : static_cast<wide>(how.min_count);
    const auto strength = static_cast<wide>(*rule.strength), noise = static_cast<wide>(rule.noise);
    non_local_definition result{std::vector<wide>(static_cast<std::size_t>(channels))};
    for (std::int64_t y = r - how.window.above; y <= r + how.window.below; ++y)
        for (std::int64_t x = c - how.window.left; x <= c + how.window.right; ++x) {
            const wide v = weight(y, x);
            if (v == 0) continue;
            wide differences = 0, pairs = 0;
            for (std::int64_t i = -rule.patch.above; i <= rule.patch.below; ++i)
                for (std::int64_t j = -rule.patch.left; j <= rule.patch.right; ++j) {
                    const wide both = weight(y + i, x + j) * weight(r + i, c + j);
                    if (both == 0) continue;
                    pairs += both;
                    for (std::int64_t k = 0; k < channels; ++k) {
                        const wide d = at(y + i, x + j, k) - at(r + i, c + j, k);
                        differences += both * d * d;
                    }
                }
            if (pairs == 0 || pairs < least) continue;
            const wide beyond = differences / (static_cast<wide>(channels) * pairs) - 2 * noise * noise;
            const wide w = v * std::exp(-std::max(wide{0}, beyond) / (strength * strength));
            result.count += v;
            result.similar += w;
            for (std::int64_t k = 0; k < channels; ++k) result.values[static_cast<std::size_t>(k)] += w * at(y, x, k);
        }
    for (wide& x : result.values) x /= result.similar;
    return result;
}

}  // namespace boxsum::test
