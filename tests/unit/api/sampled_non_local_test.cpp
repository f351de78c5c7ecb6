#include "support/non_local_oracle.hpp"
#include "support/sampled_non_local_reference.hpp"

#include <boxsum/non_local_means.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::below;
using test::block;
using test::lying;
using test::sample_setting;
using test::sampled_pixels;

template <typename T, typename Out, typename Count>
void check_non_local(std::int64_t rows, std::mt19937_64& random) {
    const std::int64_t cols = 1 + below(random, 9), channels = 1 + below(random, 3), planes = 1 + below(random, 2);
    sample_setting s = test::any_samples<T>(channels, planes, random);
    s.mask_channels = 1;
    if (std::is_same_v<Count, std::uint32_t>) s.weighted = false;
    sampled_pixels<T> from(rows, cols, channels, planes, s, random);
    const auto reach = [&](std::int64_t most) {
        return window_extents{below(random, most), below(random, most), below(random, most), below(random, most)};
    };
    filter_options how{.window = reach(5),
                       .border = test::every_border[below(random, std::size(test::every_border))],
                       .rounding = below(random, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                       .nan = s.nan,
                       .nodata = s.nodata,
                       .threads = static_cast<int>(1 + below(random, 3))};
    if (how.border == border_mode::constant) how.border_value = below(random, 3) == 0 ? s.nodata.value_or(3) : 5;
    if (below(random, 2) == 0) how.fill = 17;
    if (s.weighted)
        how.min_weight = static_cast<double>(below(random, 30)) / 4;
    else
        how.min_count = 1 + below(random, 4);
    const double range = std::is_same_v<T, std::uint16_t> ? 65535 : 255;
    // Where the strength is small, pixels that do not count themselves have weights far below 1 only.
    const non_local_rule rule{.patch = reach(3),
                              .strength = range / (below(random, 3) == 0 ? 25 : 3),
                              .noise = below(random, 2) == 0 ? 0 : range / 20};
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", " +
                 std::string(name_of(how.border)) + (s.masked ? ", masked" : "") + (s.weighted ? ", weighted" : ""));
    block<Out> result(rows, cols, channels, planes, lying::anyhow, random);
    block<Count> count(rows, cols, channels, planes, lying::anyhow, random);
    const auto filter = [&] {
        non_local_means({.image = from.image.view(), .mask = from.mask_view(), .weights = from.weights_view()},
                        {.result = result.view(), .count = count.view()}, rule, how);
    };
    filter();
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                const test::non_local_definition wanted = test::sampled_non_local(from, r, c, plane, rule, how);
                for (std::int64_t k = 0; k < channels; ++k) {
                    const auto found = static_cast<double>(result.view()(r, c, k, plane));
                    ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(wanted.count));
                    if (wanted.similar == 0) {
                        const double fill =
                            how.fill.value_or(std::is_integral_v<Out> ? 0 : std::numeric_limits<double>::quiet_NaN());
                        ASSERT_TRUE(found == fill || (std::isnan(found) && std::isnan(fill))) << r << ", " << c;
                        continue;
                    }
                    const auto exact = static_cast<double>(wanted.values[static_cast<std::size_t>(k)]);
                    // Bytes without weights are as accurate as those that all count.
                    const bool in_single = std::is_same_v<T, std::uint8_t> && !s.weighted;
                    const double off = (in_single ? 0x1p-17 : 0x1p-40) * range;
                    if constexpr (std::is_integral_v<Out>) {
                        const double half = how.rounding == rounding_mode::half_up ? 0.5 : 0;
                        ASSERT_GE(found, std::floor(exact + half - off)) << r << ", " << c;
                        ASSERT_LE(found, std::floor(exact + half + off)) << r << ", " << c;
                    } else {
                        ASSERT_NEAR(found, exact, off + std::numeric_limits<Out>::epsilon() * range) << r << ", " << c;
                    }
                }
            }
    ASSERT_TRUE(result.is_untouched_between());
    ASSERT_TRUE(count.is_untouched_between());

    // What does not count might be anything.
    const std::vector<std::byte> before = result.bytes();
    from.spoil(random);
    filter();
    ASSERT_EQ(before, result.bytes());
}

TEST(sampled_non_local_means, are_their_definition) {
    std::mt19937_64 random(6);
    for (int i = 0; i < 25; ++i) {
        check_non_local<std::uint8_t, std::uint8_t, std::uint32_t>(1 + below(random, 9), random);
        check_non_local<std::uint8_t, double, double>(1 + below(random, 9), random);
        check_non_local<std::uint16_t, std::uint16_t, float>(1 + below(random, 9), random);
        check_non_local<float, float, double>(1 + below(random, 9), random);
        check_non_local<double, double, std::uint32_t>(1 + below(random, 9), random);
        if (HasFatalFailure()) return;
    }
    // More rows than are computed at a time.
    check_non_local<std::uint8_t, double, double>(75, random);
    check_non_local<float, double, double>(70, random);
}

TEST(sampled_non_local_means, are_the_plain_ones_where_all_count) {
    constexpr std::int64_t rows = 15, cols = 19;
    const auto x = test::random_pixels<double>(rows * cols, 7);
    const std::vector<std::uint8_t> ones(rows * cols, 1);
    const std::vector<float> weights(rows * cols, 1);
    const image_view<const double> image(x.data(), rows, cols);
    for (const border_mode border : test::every_border) {
        std::vector<double> plain(rows * cols), masked(plain.size()), weighted(plain.size());
        const auto filter = [&](const non_local_inputs& in, std::vector<double>& to) {
            non_local_means(in, {image_view<double>(to.data(), rows, cols)},
                            {.patch = window_radius(1), .strength = 90}, {.window = 7, .border = border});
        };
        filter({image}, plain);
        filter({.image = image, .mask = image_view<const std::uint8_t>(ones.data(), rows, cols)}, masked);
        filter({.image = image, .weights = image_view<const float>(weights.data(), rows, cols)}, weighted);
        for (std::size_t i = 0; i < plain.size(); ++i) {
            EXPECT_NEAR(masked[i], plain[i], 255 * 0x1p-39);
            EXPECT_NEAR(weighted[i], plain[i], 255 * 0x1p-39);
        }
    }
}

/// Masks beside weights of 0 and 1, which another kernel takes, on several tiles.
template <typename T>
void check_masks(const window& search, const window& patch, std::int64_t channels, double bound) {
    constexpr std::int64_t rows = 67, cols = 521;
    const auto x = test::random_pixels<T>(rows * cols * channels, 3);
    std::mt19937 random(4);
    std::vector<std::uint8_t> mask(rows * cols);
    for (std::uint8_t& m : mask) m = random() % 3 == 0 ? 0 : 9;
    std::vector<float> weights(mask.size());
    for (std::size_t i = 0; i < mask.size(); ++i) weights[i] = mask[i] != 0 ? 1 : 0;
    const auto n = static_cast<std::size_t>(rows * cols * channels);
    const image_view<const T> image(x.data(), rows, cols, 0, channels);
    for (const border_mode border : {border_mode::shrink, border_mode::reflect}) {
        std::vector<double> masked(n, -1), weighted(n, -2);
        std::vector<float> counts(n, -1), sums(n, -2);
        const auto filter = [&](const non_local_inputs& in, const filter_options& how, std::vector<double>& to,
                                std::vector<float>& count) {
            non_local_means(in,
                            {.result = image_view<double>(to.data(), rows, cols, 0, channels),
                             .count = image_view<float>(count.data(), rows, cols, 0, channels)},
                            {.patch = patch, .strength = sizeof(T) == 2 ? 9000.0 : 35.0}, how);
        };
        filter({.image = image, .mask = image_view<const std::uint8_t>(mask.data(), rows, cols)},
               {.window = search, .border = border, .min_count = 3}, masked, counts);
        filter({.image = image, .weights = image_view<const float>(weights.data(), rows, cols)},
               {.window = search, .border = border, .min_weight = 3}, weighted, sums);
        ASSERT_EQ(counts, sums);
        for (std::size_t i = 0; i < n; ++i)
            if (!std::isnan(weighted[i]) || !std::isnan(masked[i])) {
                ASSERT_NEAR(masked[i], weighted[i], bound) << i;
            }
    }
}

TEST(sampled_non_local_means, of_masks_are_those_of_weights_of_one) {
    check_masks<std::uint8_t>(window_extents{2, 3, 1, 0}, window_radius(3), 1, 255 * 0x1p-17);
    check_masks<std::uint8_t>(window_radius(1), window_extents{4, 6, 5, 5}, 1, 255 * 0x1p-17);
    check_masks<std::uint8_t>(window_extents{0, 2, 3, 0}, window_extents{3, 2, 1, 2}, 3, 255 * 0x1p-17);
    check_masks<std::uint8_t>(window_radius(1), window_extents{8, 8, 3, 4}, 1, 255 * 0x1p-40);  // more pairs than 127
    check_masks<std::uint16_t>(window_extents{3, 1, 0, 2}, window_extents{2, 3, 4, 3}, 1, 65535 * 0x1p-40);
    check_masks<float>(window_radius(2), window_extents{1, 2, 2, 1}, 2, 255 * 0x1p-40);
}

/// Whatever counts and is not finite acts where windows or patches reach it, and nowhere else.
TEST(sampled_non_local_means, keep_what_is_not_finite_to_its_surroundings) {
    constexpr std::int64_t n = 31;
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    for (const float odd : {none, std::numeric_limits<float>::infinity(), 1e30F}) {
        std::vector<float> x(n, 3);
        std::vector<std::uint8_t> mask(n, 1);
        mask[4] = 0;
        x[4] = none;
        x[15] = odd;
        std::vector<double> out(n);
        non_local_means({.image = image_view<const float>(x.data(), 1, n),
                         .mask = image_view<const std::uint8_t>(mask.data(), 1, n)},
                        {image_view<double>(out.data(), 1, n)}, {.patch = window_radius(0, 1), .strength = 1},
                        {.window = window_radius(0, 3)});
        for (std::size_t i = 0; i < n; ++i)
            if (i < 11 || i > 19) {
                EXPECT_EQ(out[i], 3) << i;
            }
        EXPECT_EQ(std::isnan(out[14]), std::isnan(odd) || std::isinf(odd));
    }
}

TEST(sampled_non_local_means, name_what_is_wrong) {
    const std::vector<std::uint8_t> x(24);
    std::vector<std::uint8_t> out(24, 5);
    const image_view<const std::uint8_t> image(x.data(), 3, 4, 0, 2), low(x.data(), 2, 4), grey(x.data(), 3, 4);
    const image_view<std::uint8_t> result(out.data(), 3, 4, 0, 2), ones(out.data(), 3, 4);
    const auto message = [&](const non_local_inputs& in, const filter_options& how) -> std::string {
        try {
            non_local_means(in, {result}, {}, how);
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message({.image = image, .mask = image}, {}),
              "mask: channels is 2, must be 1: the channels of a pixel count together");
    EXPECT_EQ(message({.image = image, .mask = low}, {}), "mask: rows x cols are 2 x 4, must be the image's 3 x 4");
    EXPECT_EQ(message({.image = image, .weights = grey}, {}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(message({.image = image, .mask = ones}, {}), "result: overlaps mask");
    EXPECT_EQ(message({.image = image}, {.nodata = 0.5}), "nodata: is 0.5, must be an integer of the image's type 8u");
    EXPECT_EQ(message({.image = image}, {.fill = 300}), "fill: is 300, must be an integer of the result's type 8u");
    EXPECT_EQ(message({.image = image}, {.min_count = 0}), "min_count: is 0, must be at least 1");
    EXPECT_EQ(out, std::vector<std::uint8_t>(24, 5));
}

}  // namespace
}  // namespace boxsum
