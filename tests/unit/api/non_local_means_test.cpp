#include "support/non_local_oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/non_local_means.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum::non_local {
namespace {

using test::every_border;
using test::random_pixels;
using setting = test::non_local_setting;

template <typename P, typename Out>
void check(const setting& s) {
    SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) + ", " +
                 std::string(name_of(s.border)));
    const std::vector<P> pixels = random_pixels<P>(s.planes * s.rows * s.cols * s.channels, 3);
    constexpr std::int64_t gap = 3;
    std::vector<Out> memory(static_cast<std::size_t>(s.planes * s.rows * (s.cols * s.channels + gap)), Out{77});
    const image_view<const P> image(pixels.data(), s.rows, s.cols, 0, s.channels, s.planes);
    const image_view<Out> result(memory.data(), s.rows, s.cols,
                                 (s.cols * s.channels + gap) * static_cast<std::int64_t>(sizeof(Out)), s.channels,
                                 s.planes);
    non_local_means({image}, {result}, {.patch = s.patch, .strength = s.strength, .noise = s.noise},
                    {.window = s.search,
                     .border = s.border,
                     .border_value = s.border_value,
                     .rounding = s.rounding,
                     .threads = s.threads});
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r) {
            for (std::int64_t c = 0; c < s.cols; ++c)
                for (std::int64_t k = 0; k < s.channels; ++k)
                    ASSERT_EQ(test::non_local_complaint<P>(s, image, r, c, k, plane, result(r, c, k, plane)), "");
            for (std::int64_t i = s.cols * s.channels; i < s.cols * s.channels + gap; ++i)
                ASSERT_EQ(result.row(r, plane)[i], Out{77});
        }
}

TEST(non_local_means, follow_the_definition) {
    for (const border_mode border : every_border) {
        check<std::uint8_t, double>({.rows = 11, .cols = 17, .border = border, .border_value = 9});
        check<std::uint8_t, std::uint8_t>(
            {.rows = 9, .cols = 14, .channels = 3, .border = border, .noise = 20, .threads = 3});
        check<float, double>(
            {.rows = 8, .cols = 9, .channels = 2, .planes = 2, .patch = window_radius(2, 1), .border = border});
        check<double, double>(
            {.rows = 7, .cols = 12, .patch = window_radius(0), .border = border, .border_value = 0.5});
        check<std::uint16_t, std::uint16_t>(
            {.rows = 10, .cols = 6, .border = border, .strength = 2e4, .rounding = rounding_mode::floor});
    }
    check<float, float>({.rows = 9, .cols = 9, .channels = 4, .border = border_mode::mirror});
}

/// Extents of every kind, up to larger ones than the image.
TEST(non_local_means, take_windows_and_patches_of_any_extents) {
    for (const border_mode border : every_border) {
        const window lopsided = window_extents{1, 3, 0, 2}, more = window_extents{3, 0, 4, 1};
        check<std::uint8_t, double>({.rows = 9, .cols = 11, .search = lopsided, .patch = more, .border = border});
        check<std::uint8_t, double>({.rows = 9, .cols = 11, .search = more, .patch = lopsided, .border = border});
        check<std::uint8_t, double>(
            {.rows = 3, .cols = 4, .search = window_radius(6), .patch = window_radius(4), .border = border});
        check<std::uint8_t, double>({.rows = 1, .cols = 1, .search = window_radius(2), .border = border});
        check<std::uint8_t, double>(
            {.rows = 7, .cols = 1, .search = window_size(4, 6), .patch = window_size(2, 8), .border = border});
    }
    check<std::uint8_t, double>({.rows = 6, .cols = 7, .search = window_extents{}, .border = border_mode::reflect});
}

/// Sums of patches have the same order whatever tile a pixel is in.
template <typename P>
void expect_no_tiles() {
    const std::int64_t rows = 150, cols = 530;
    const std::vector<P> pixels = random_pixels<P>(rows * cols, 8);
    for (const border_mode border : {border_mode::shrink, border_mode::mirror}) {
        std::vector<double> one(pixels.size()), several(pixels.size()), part(pixels.size());
        const filter_options how{.window = window_radius(2, 5), .border = border, .threads = 1};
        filter_options threaded = how;
        threaded.threads = 3;
        const image_view<const P> image(pixels.data(), rows, cols);
        const image_view<double> result(one.data(), rows, cols);
        const non_local_rule rule{.patch = window_radius(3), .strength = 100};
        non_local_means({image}, {result}, rule, how);
        non_local_means({image}, {image_view<double>(several.data(), rows, cols)}, rule, threaded);
        EXPECT_EQ(one, several);
        // Pixels that see the same in a part of the image.
        const std::int64_t top = 37, left = 101, high = 80, broad = 300;
        const image_view<const P> some(image.row(top) + left, high, broad, cols * static_cast<std::int64_t>(sizeof(P)));
        const image_view<double> of_part(part.data(), high, broad);
        non_local_means({some}, {of_part}, rule, how);
        for (std::int64_t r = 5; r < high - 5; ++r)
            for (std::int64_t c = 8; c < broad - 8; ++c)
                ASSERT_EQ(of_part(r, c), result(top + r, left + c)) << r << ", " << c;
    }
}

TEST(non_local_means, tiles_and_threads_do_not_show) {
    expect_no_tiles<std::uint8_t>();
    expect_no_tiles<float>();
    expect_no_tiles<double>();
}

/// Patches of more samples than sums in 32 bits have, and sums that reach into the last of these.
TEST(non_local_means, large_patches_are_summed_exactly) {
    std::vector<std::uint8_t> pixels(140 * 300);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = i / 300 % 2 == 0 ? 0 : 255;
    std::vector<double> result(pixels.size());
    const image_view<std::uint8_t> image(pixels.data(), 140, 100, 300, 3);
    for (const std::int64_t radius : {52, 64}) {
        // Rows and their neighbours differ everywhere by 255: D is 255^2.
        non_local_means({image}, {image_view<double>(result.data(), 140, 100, 0, 3)},
                        {.patch = window_radius(radius), .strength = 255},
                        {.window = {3, 1}, .border = border_mode::wrap});
        const double w = std::exp(-1.0), even = 255 * 2 * w / (1 + 2 * w), odd = 255 / (1 + 2 * w);
        for (std::size_t i = 0; i < result.size(); ++i)
            ASSERT_NEAR(result[i], i / 300 % 2 == 0 ? even : odd, 1e-3) << i;
    }
}

TEST(non_local_means, values_of_any_size_are_averaged) {
    const auto all_equal = []<typename P>(P value, double strength) {
        const std::vector<P> pixels(400, value);
        std::vector<P> result(400);
        non_local_means({image_view<const P>(pixels.data(), 20, 20)}, {image_view<P>(result.data(), 20, 20)},
                        {.strength = strength});
        for (const P x : result) ASSERT_LE(std::abs(x / value - 1), std::numeric_limits<P>::epsilon() * 100) << value;
    };
    all_equal(3e38F, 1);
    all_equal(1e-40F, 1);
    all_equal(1e300, 1);
    all_equal(-1e300, 1e150);
}

/// Lanes behind a row's end, which nobody reads, are sums as well: a sanitizer sees them overflow.
TEST(non_local_means, noise_in_large_patches) {
    const std::vector<std::uint8_t> noise = random_pixels<std::uint8_t>(600 * 520, 2);
    std::vector<std::uint8_t> pixels(noise.size()), result(noise.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = noise[i] < 128 ? 0 : 255;
    const image_view<const std::uint8_t> image(pixels.data(), 600, 520);
    non_local_means({image}, {image_view<std::uint8_t>(result.data(), 600, 520)}, {.patch = window_radius(24)},
                    {.window = 9, .border = border_mode::mirror, .threads = 1});
    EXPECT_EQ(result, pixels);  // no patch is like another
}

TEST(non_local_means, what_is_not_finite_stays_where_it_is_seen) {
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> pixels = random_pixels<float>(30 * 30, 4), clean(900), spoilt(900);
        const image_view<const float> image(pixels.data(), 30, 30);
        const filter_options how{.window = window_radius(2)};
        const non_local_rule rule{.patch = window_radius(1), .strength = 50};
        non_local_means({image}, {image_view<float>(clean.data(), 30, 30)}, rule, how);
        pixels[12 * 30 + 15] = wrong;
        non_local_means({image}, {image_view<float>(spoilt.data(), 30, 30)}, rule, how);
        for (int r = 0; r < 30; ++r)
            for (int c = 0; c < 30; ++c) {
                const auto i = static_cast<std::size_t>(r * 30 + c);
                const int far = std::max(std::abs(r - 12), std::abs(c - 15));
                if (far <= 2) {
                    EXPECT_FALSE(std::isfinite(spoilt[i])) << r << ", " << c;
                } else if (far > 3) {
                    EXPECT_EQ(spoilt[i], clean[i]) << r << ", " << c;
                }
            }
    }
}

TEST(non_local_means, remove_noise_and_keep_an_edge) {
    std::mt19937 random(11);
    std::normal_distribution<double> noise(0, 10);
    std::vector<std::uint8_t> pixels(64 * 64), smooth(pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(std::clamp((i % 64 < 32 ? 60 : 190) + noise(random), 0.0, 255.0));
    non_local_means({image_view<std::uint8_t>(pixels.data(), 64, 64)},
                    {image_view<std::uint8_t>(smooth.data(), 64, 64)}, {.strength = 8, .noise = 10}, {.window = 21});
    double squares = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        const double off = smooth[i] - (i % 64 < 32 ? 60 : 190);
        squares += off * off;
    }
    EXPECT_LT(std::sqrt(squares / static_cast<double>(pixels.size())), 2);  // of 10
}

TEST(non_local_means, take_any_strides) {
    const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(20 * 30 * 3, 6);
    std::vector<double> plain(12 * 10), turned(12 * 10);
    std::vector<std::uint8_t> copy;
    for (int r = 0; r < 12; ++r)
        for (int c = 0; c < 10; ++c) copy.push_back(pixels[static_cast<std::size_t>((19 - r) * 90 + c * 6 + 1)]);
    const filter_options how{.window = 5, .border = border_mode::mirror};
    non_local_means({image_view<std::uint8_t>(copy.data(), 12, 10)}, {image_view<double>(plain.data(), 12, 10)}, {},
                    how);
    const image_view<const std::uint8_t> sliced(pixels.data() + 19 * 90 + 1, 12, 10, {.row = -90, .col = 6});
    non_local_means({sliced}, {image_view<double>(turned.data(), 12, 10, {.row = 8, .col = 96})}, {}, how);
    for (std::size_t r = 0; r < 12; ++r)
        for (std::size_t c = 0; c < 10; ++c) ASSERT_EQ(plain[r * 10 + c], turned[c * 12 + r]);
}

TEST(non_local_means, refusals) {
    std::vector<std::uint8_t> bytes(64), out(64, 9);
    std::vector<std::int16_t> shorts(64);
    const image_view<std::uint8_t> image(bytes.data(), 8, 8), result(out.data(), 8, 8);
    const auto message = [&](const non_local_inputs& in, const filter_outputs& to, const non_local_rule& rule = {},
                             const filter_options& how = {}) {
        try {
            non_local_means(in, to, rule, how);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    const image_view<std::int16_t> of_shorts(shorts.data(), 8, 8);
    EXPECT_EQ(message({of_shorts}, {result}), "image: type is 16s, must be 8u, 16u, 32f or 64f");
    EXPECT_EQ(message({image}, {of_shorts}), "result: type is 16s, must be the image's, 32f or 64f");
    EXPECT_EQ(message({image}, {image_view<std::uint8_t>(out.data(), 7, 8)}),
              "result: rows is 7, but that of the image is 8");
    EXPECT_NE(message({image}, {image}).find("overlaps"), std::string::npos) << message({image}, {image});
    EXPECT_EQ(message({image}, {result}, {.strength = 0}),
              "strength: is 0, must be finite and above 0, and so must its square and the inverse of that");
    EXPECT_EQ(message({image}, {result}, {.noise = -1}), "noise: is -1, must be finite and not negative");
    EXPECT_EQ(message({image}, {result}, {.patch = window_radius(65)}), "patch: above is 65, at most 64 is supported");
    EXPECT_EQ(message({image}, {result}, {.patch = window_extents{.left = -1}}),
              "patch: left is -1, must not be negative");
    EXPECT_EQ(message({image}, {result}, {}, {.window = window_radius(513), .border = border_mode::wrap}),
              "window: above is 513, at most 512 is supported");
    EXPECT_EQ(message({image}, {result}, {}, {.window = -3}), "window: rows is -3, must be at least 1");
    EXPECT_EQ(message({image}, {result}, {}, {.threads = -1}), "threads: is -1, must be 0 (automatic) or more");
    EXPECT_EQ(message({image}, {result, image_view<double>(nullptr, 8, 8)}), "nothing thrown");
    std::fill(out.begin(), out.end(), 9);
    message({image}, {result}, {.noise = -1});
    EXPECT_EQ(out, std::vector<std::uint8_t>(64, 9));
}

}  // namespace
}  // namespace boxsum::non_local
