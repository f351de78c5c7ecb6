#pragma once

#include <boxsum/convolve.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

/// The definition of convolve(), pixel by pixel in long double, and images to hold against it.
namespace boxsum::test {

/// Elements of a view in memory of its own, with gaps that hold a pattern: rows end a few elements before the next one.
template <typename T>
struct strided {
    std::vector<T> memory;
    image_view<T> view;

    strided(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes, T fill) {
        const std::int64_t row = cols * channels + 3, plane = rows * row + 5;
        memory.assign(static_cast<std::size_t>(planes * plane), fill);
        constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
        view = {memory.data(), rows, cols, row * bytes, channels, planes, plane * bytes};
    }
};

inline double at_border(const image_view<const double>& image, std::int64_t r, std::int64_t c, std::int64_t k,
                        std::int64_t p, border_mode border, double value) {
    const auto inside = [&](std::int64_t i, std::int64_t n) -> std::int64_t {
        while (i < 0 || i >= n) {
            if (border == border_mode::constant) return -1;
            if (border == border_mode::replicate) return i < 0 ? 0 : n - 1;
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
        }
        return i;
    };
    const std::int64_t y = inside(r, image.rows()), x = inside(c, image.cols());
    return y < 0 || x < 0 ? value : image(y, x, k, p);
}

struct exact_sum {
    long double sum = 0, magnitude = 0;
};

/// One element of the result.
inline exact_sum exactly(const image_view<const double>& image, const image_view<const double>& kernel, std::int64_t r,
                         std::int64_t c, std::int64_t k, std::int64_t p, const convolve_options& options) {
    exact_sum s;
    const std::int64_t n = kernel.rows(), m = kernel.cols();
    const bool turned = options.direction == kernel_direction::convolution;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j) {
            const long double w = turned ? kernel(n - 1 - i, m - 1 - j) : kernel(i, j);
            const std::int64_t up = turned ? (n - 1) / 2 : n / 2, left = turned ? (m - 1) / 2 : m / 2;
            const long double x =
                at_border(image, r + i - up, c + j - left, k, p, options.border, options.border_value);
            s.sum += w * x;
            s.magnitude += std::fabs(w * x);
        }
    return s;
}

/// The first element that is not within the bound of the exact one, or any gap that was written; empty: all is right.
template <typename T>
std::string compare(const strided<T>& got, T poison, const image_view<const double>& image,
                    const image_view<const double>& kernel, const convolve_options& options) {
    const auto& v = got.view;
    const auto k = static_cast<long double>(kernel.rows() * kernel.cols() + 1);
    const long double u = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L, gamma = k * u / (1 - k * u);
    std::vector<bool> of_view(got.memory.size());
    for (std::int64_t p = 0; p < v.planes(); ++p)
        for (std::int64_t r = 0; r < v.rows(); ++r)
            for (std::int64_t c = 0; c < v.cols(); ++c)
                for (std::int64_t q = 0; q < v.channels(); ++q) {
                    of_view[static_cast<std::size_t>(&v(r, c, q, p) - got.memory.data())] = true;
                    const exact_sum exact = exactly(image, kernel, r, c, q, p, options);
                    // Weights were rounded once, too; results below the smallest normal number lose digits.
                    const long double bound = gamma * exact.magnitude * 1.01L + (std::is_same_v<T, float> ? 1e-37L : 0);
                    const long double error = std::fabs(static_cast<long double>(v(r, c, q, p)) - exact.sum);
                    if (!(error <= bound))
                        return "plane " + std::to_string(p) + ", row " + std::to_string(r) + ", column " +
                               std::to_string(c) + ", channel " + std::to_string(q) + ": is " +
                               std::to_string(v(r, c, q, p)) + ", must be " +
                               std::to_string(static_cast<double>(exact.sum));
                }
    for (std::size_t i = 0; i < of_view.size(); ++i)
        if (!of_view[i] && std::memcmp(&got.memory[i], &poison, sizeof poison) != 0)
            return "wrote outside of the result, at element " + std::to_string(i);
    return {};
}

/// Whole numbers of the pixel's range for integers, numbers between -1 and 1 for others; and the same as doubles.
template <typename T>
void fill(strided<T>& image, strided<double>& same, std::uint32_t seed) {
    std::minstd_rand random(seed + 1);
    for (std::int64_t p = 0; p < image.view.planes(); ++p)
        for (std::int64_t r = 0; r < image.view.rows(); ++r)
            for (std::int64_t c = 0; c < image.view.cols(); ++c)
                for (std::int64_t k = 0; k < image.view.channels(); ++k) {
                    const auto bits = static_cast<std::uint32_t>(random()) >> 3;
                    if constexpr (std::is_integral_v<T>)
                        image.view(r, c, k, p) = static_cast<T>(bits);
                    else
                        image.view(r, c, k, p) = static_cast<T>(static_cast<double>(bits % 65536) / 32768 - 1);
                    same.view(r, c, k, p) = static_cast<double>(image.view(r, c, k, p));
                }
}

inline std::vector<double> random_weights(std::int64_t count, std::uint32_t seed) {
    std::minstd_rand random(seed + 7);
    std::vector<double> weights;
    for (std::int64_t i = 0; i < count; ++i)
        weights.push_back((static_cast<double>(random() >> 3 & 0xffff) - 30000) / 32768 / static_cast<double>(count));
    return weights;
}

}  // namespace boxsum::test
