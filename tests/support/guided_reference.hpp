#pragma once

#include "support/border_samples.hpp"

#include <boxsum/filters.hpp>
#include <boxsum/view.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

/// The guided filter by its definition, in long double and window by window.
namespace boxsum::test {

using wide = long double;

/// Calls sample(y, x) for what the window around (r, c) sees.
template <typename F>
void for_window(const window& w, border_mode border, std::int64_t rows, std::int64_t cols, std::int64_t r,
                std::int64_t c, F&& sample) {
    for (std::int64_t i = r - w.above; i <= r + w.below; ++i)
        for (std::int64_t j = c - w.left; j <= c + w.right; ++j) {
            const std::int64_t y = sample_at(border, i, rows), x = sample_at(border, j, cols);
            if (y >= 0 && x >= 0) sample(y, x);
        }
}

/// Gauss-Jordan with pivots.
inline std::vector<wide> solved(std::vector<std::vector<wide>> m, std::vector<wide> b) {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t best = i;
        for (std::size_t k = i + 1; k < n; ++k)
            if (std::abs(m[k][i]) > std::abs(m[best][i])) best = k;
        std::swap(m[i], m[best]);
        std::swap(b[i], b[best]);
        for (std::size_t k = 0; k < n; ++k) {
            if (k == i) continue;
            const wide f = m[k][i] / m[i][i];
            for (std::size_t j = 0; j < n; ++j) m[k][j] -= f * m[i][j];
            b[k] -= f * b[i];
        }
    }
    for (std::size_t i = 0; i < n; ++i) b[i] /= m[i][i];
    return b;
}

/// A result, and the largest coefficients of the windows that it is the mean of.
struct guided_value {
    wide value = 0, largest_a = 0, largest_b = 0;
};

/// The definition, by centred sums, of one channel of one plane.
template <typename P, typename G>
std::vector<guided_value> expected_guided(const image_view<const P>& image, std::int64_t channel,
                                          const image_view<const G>& guide, std::int64_t first_guide,
                                          std::int64_t guides, std::int64_t plane, std::int64_t guide_plane,
                                          const window& w, border_mode border, double epsilon) {
    const std::int64_t rows = image.rows(), cols = image.cols();
    const auto n = static_cast<std::size_t>(guides);
    std::vector<std::vector<wide>> fits(static_cast<std::size_t>(rows * cols));
    const auto guide_at = [&](std::int64_t y, std::int64_t x, std::size_t g) {
        return static_cast<wide>(guide(y, x, first_guide + static_cast<std::int64_t>(g), guide_plane));
    };
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            wide count = 0, mean = 0;
            std::vector<wide> means(n);
            for_window(w, border, rows, cols, r, c, [&](std::int64_t y, std::int64_t x) {
                count += 1;
                mean += static_cast<wide>(image(y, x, channel, plane));
                for (std::size_t i = 0; i < n; ++i) means[i] += guide_at(y, x, i);
            });
            mean /= count;
            for (wide& m : means) m /= count;
            std::vector<std::vector<wide>> m(n, std::vector<wide>(n));
            std::vector<wide> p(n);
            for_window(w, border, rows, cols, r, c, [&](std::int64_t y, std::int64_t x) {
                for (std::size_t i = 0; i < n; ++i) {
                    const wide d = guide_at(y, x, i) - means[i];
                    p[i] += d * (static_cast<wide>(image(y, x, channel, plane)) - mean) / count;
                    for (std::size_t j = 0; j < n; ++j) m[i][j] += d * (guide_at(y, x, j) - means[j]) / count;
                }
            });
            for (std::size_t i = 0; i < n; ++i) m[i][i] += static_cast<wide>(epsilon);
            std::vector<wide> a = solved(m, p);
            for (std::size_t i = 0; i < n; ++i) mean -= a[i] * means[i];
            a.push_back(mean);
            fits[static_cast<std::size_t>(r * cols + c)] = a;
        }
    std::vector<guided_value> result;
    const window containing = window_extents{w.below, w.above, w.right, w.left};
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            wide count = 0;
            std::vector<wide> sums(n + 1);
            guided_value q;
            for_window(containing, border, rows, cols, r, c, [&](std::int64_t y, std::int64_t x) {
                count += 1;
                const std::vector<wide>& one = fits[static_cast<std::size_t>(y * cols + x)];
                for (std::size_t i = 0; i <= n; ++i) {
                    sums[i] += one[i];
                    wide& largest = i < n ? q.largest_a : q.largest_b;
                    largest = std::max(largest, std::abs(one[i]));
                }
            });
            q.value = sums[n];
            for (std::size_t i = 0; i < n; ++i) q.value += sums[i] * guide_at(r, c, i);
            q.value /= count;
            result.push_back(q);
        }
    return result;
}

template <typename T>
std::vector<T> random_pixels(std::int64_t count, unsigned seed, double offset, double scale) {
    std::mt19937 random(seed);
    std::vector<T> pixels(static_cast<std::size_t>(count));
    for (T& x : pixels)
        x = std::is_integral_v<T> ? static_cast<T>(random() >> 7)
                                  : static_cast<T>(offset + scale * static_cast<double>(random()) * 0x1p-32);
    return pixels;
}

}  // namespace boxsum::test
