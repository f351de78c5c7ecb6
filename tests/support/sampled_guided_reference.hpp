#pragma once

#include "support/guided_reference.hpp"
#include "support/samples.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

/// The guided filter of an image whose pixels may not count, by its definition.
namespace boxsum::test {

/// What the definition makes of one channel of one plane: results, nothing where it is `fill`, and what counts.
struct guided_definition {
    std::vector<std::optional<wide>> values;
    std::vector<wide> counts;
    std::vector<wide> largest_a, largest_b;  ///< coefficients of the windows that a result is the mean of
};

/// `guide_at(r, c, i)` of n guides; without a guide the image itself.
template <typename T, typename Guide>
guided_definition sampled_guided(const sampled_pixels<T>& from, std::int64_t k, std::int64_t plane, std::size_t n,
                                 Guide&& guide_at, bool itself, double epsilon, const filter_options& how) {
    const auto& image = from.image.view();
    const std::int64_t rows = image.rows(), cols = image.cols();
    const auto guided = [&](std::int64_t y, std::int64_t x) {
        if (itself) return from.weight(y, x, k, plane) > 0;
        for (std::size_t i = 0; i < n; ++i)
            if (how.nan == nan_mode::omit && std::isnan(guide_at(y, x, i))) return false;
        return true;
    };
    const auto weight = [&](std::int64_t y, std::int64_t x) {
        return guided(y, x) ? from.weight(y, x, k, plane) : wide{0};
    };
    const wide least = from.setting.weighted ? static_cast<wide>(how.min_weight) : static_cast<wide>(how.min_count);
    guided_definition result;
    std::vector<std::vector<wide>> fits;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            wide count = 0, mean = 0;
            std::vector<wide> means(n), p(n), one;
            const auto each = [&](auto&& f) {
                for_window(how.window, how.border, rows, cols, r, c, [&](std::int64_t y, std::int64_t x) {
                    if (const wide w = weight(y, x); w > 0) f(w, y, x, static_cast<wide>(image(y, x, k, plane)));
                });
            };
            each([&](wide w, std::int64_t y, std::int64_t x, wide pixel) {
                count += w;
                mean += w * pixel;
                for (std::size_t i = 0; i < n; ++i) means[i] += w * guide_at(y, x, i);
            });
            result.counts.push_back(count);
            if (count > 0 && count >= least) {
                mean /= count;
                for (wide& m : means) m /= count;
                std::vector<std::vector<wide>> m(n, std::vector<wide>(n));
                each([&](wide w, std::int64_t y, std::int64_t x, wide pixel) {
                    for (std::size_t i = 0; i < n; ++i) {
                        const wide d = w * (guide_at(y, x, i) - means[i]) / count;
                        p[i] += d * (pixel - mean);
                        for (std::size_t j = 0; j < n; ++j) m[i][j] += d * (guide_at(y, x, j) - means[j]);
                    }
                });
                for (std::size_t i = 0; i < n; ++i) m[i][i] += static_cast<wide>(epsilon);
                one = solved(m, p);
                for (std::size_t i = 0; i < n; ++i) mean -= one[i] * means[i];
                one.push_back(mean);
            }
            fits.push_back(one);
        }
    const window& w = how.window;
    const window containing = window_extents{w.below, w.above, w.right, w.left};
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            wide number = 0, sum = 0, a = 0, b = 0;
            for_window(containing, how.border, rows, cols, r, c, [&](std::int64_t y, std::int64_t x) {
                const std::vector<wide>& one = fits[static_cast<std::size_t>(y * cols + x)];
                if (one.empty()) return;
                ++number;
                sum += one[n];
                b = std::max(b, std::abs(one[n]));
                for (std::size_t i = 0; i < n; ++i) {
                    sum += one[i] * guide_at(r, c, i);
                    a = std::max(a, std::abs(one[i]));
                }
            });
            result.largest_a.push_back(a);
            result.largest_b.push_back(b);
            result.values.push_back(number > 0 && guided(r, c) ? std::optional(sum / number) : std::nullopt);
        }
    return result;
}

}  // namespace boxsum::test
