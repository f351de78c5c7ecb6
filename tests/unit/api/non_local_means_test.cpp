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

using wide = long double;

/// Index of a sample beyond the border; -1 where there is none, -2 where it is given.
std::int64_t sample_at(border_mode border, std::int64_t i, std::int64_t n) {
    while (i < 0 || i >= n) {
        if (border == border_mode::shrink) return -1;
        if (border == border_mode::constant) return -2;
        if (border == border_mode::replicate || (border == border_mode::mirror && n == 1)) return i < 0 ? 0 : n - 1;
        if (border == border_mode::reflect) i = i < 0 ? -i - 1 : 2 * n - 1 - i;
        if (border == border_mode::mirror) i = i < 0 ? -i : 2 * n - 2 - i;
        if (border == border_mode::wrap) i = i < 0 ? i + n : i - n;
    }
    return i;
}

struct setting {
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
wide expected(const setting& s, const image_view<const P>& image, std::int64_t r, std::int64_t c, std::int64_t channel,
              std::int64_t plane) {
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
    const double range = std::is_integral_v<P> ? static_cast<double>(std::numeric_limits<P>::max()) : 255;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r) {
            for (std::int64_t c = 0; c < s.cols; ++c)
                for (std::int64_t k = 0; k < s.channels; ++k) {
                    const wide exact = expected(s, image, r, c, k, plane);
                    const double off = (std::is_floating_point_v<P> ? 0x1p-40 : 0x1p-17) * range;
                    const double found = static_cast<double>(result(r, c, k, plane));
                    if constexpr (std::is_integral_v<Out>) {
                        const double half = s.rounding == rounding_mode::half_up ? 0.5 : 0;
                        ASSERT_GE(found, std::floor(static_cast<double>(exact) - off + half)) << r << ", " << c;
                        ASSERT_LE(found, std::floor(static_cast<double>(exact) + off + half)) << r << ", " << c;
                    } else {
                        const double rounded = static_cast<double>(std::numeric_limits<Out>::epsilon()) * range;
                        ASSERT_NEAR(found, static_cast<double>(exact), off + rounded)
                            << r << ", " << c << ", channel " << k;
                    }
                }
            for (std::int64_t i = s.cols * s.channels; i < s.cols * s.channels + gap; ++i)
                ASSERT_EQ(result.row(r, plane)[i], Out{77});
        }
}

constexpr border_mode borders[] = {border_mode::shrink,   border_mode::reflect, border_mode::replicate,
                                   border_mode::constant, border_mode::mirror,  border_mode::wrap};

TEST(non_local_means, follow_the_definition) {
    for (const border_mode border : borders) {
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
    for (const border_mode border : borders) {
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
    EXPECT_EQ(message({image}, {result}, {}, {.nodata = 3}), "nodata: every pixel counts in non-local means");
    EXPECT_EQ(message({image}, {result}, {}, {.threads = -1}), "threads: is -1, must be 0 (automatic) or more");
    EXPECT_EQ(message({image}, {result, image_view<double>(nullptr, 8, 8)}), "nothing thrown");
    std::fill(out.begin(), out.end(), 9);
    message({image}, {result}, {.noise = -1});
    EXPECT_EQ(out, std::vector<std::uint8_t>(64, 9));
}

}  // namespace
}  // namespace boxsum::non_local
