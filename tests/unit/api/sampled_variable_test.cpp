#include "support/sampled_radii.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::below;
using test::block;
using test::expected_mean;
using test::lying;
using test::sample_setting;
using test::sampled_pixels;
using test::sums_around;
using test::window_sums;

template <typename T, typename Out, typename Count>
void check_random(std::mt19937_64& random) {
    const std::int64_t rows = 1 + below(random, 12), cols = 1 + below(random, 14), channels = 1 + below(random, 3),
                       planes = 1 + below(random, 2);
    sample_setting s = test::any_samples<T>(channels, planes, random);
    if (std::is_same_v<Count, std::uint32_t>) s.weighted = false;
    sampled_pixels<T> from(rows, cols, channels, planes, s, random);
    block<std::uint8_t> radius(rows, cols, 1, below(random, 2) == 0 ? 1 : planes, lying::anyhow, random);
    radius.for_each([&](auto, auto, auto, auto, std::uint8_t& r) {
        r = static_cast<std::uint8_t>(below(random, below(random, 4) == 0 ? 30 : 4));
    });
    filter_options how{.border = test::every_border[below(random, std::size(test::every_border))],
                       .rounding = below(random, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                       .nan = s.nan,
                       .nodata = s.nodata,
                       .threads = static_cast<int>(1 + below(random, 3))};
    if (how.border == border_mode::constant) how.border_value = below(random, 3) == 0 ? s.nodata.value_or(3) : 5;
    if (below(random, 2) == 0) how.fill = 17;
    if (s.weighted)
        how.min_weight = static_cast<double>(below(random, 12)) / 4;
    else
        how.min_count = 1 + below(random, 6);
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + " x " + std::to_string(channels) + " " +
                 std::string(name_of(how.border)) + (s.masked ? " masked" : "") + (s.weighted ? " weighted" : ""));

    block<Out> result(rows, cols, channels, planes, lying::anyhow, random);
    block<Count> count(rows, cols, channels, planes, lying::anyhow, random);
    const auto filter = [&] {
        variable_box_filter({.image = from.image.view(),
                             .radius = radius.view(),
                             .mask = from.mask_view(),
                             .weights = from.weights_view()},
                            {.result = result.view(), .count = count.view()}, how);
    };
    filter();
    const auto check = [&] {
        result.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Out& found) {
            const std::int64_t around = radius.view()(r, c, 0, radius.view().planes() == 1 ? 0 : plane);
            const window_sums w = sums_around(from, r, c, k, plane, around, how);
            const Out wanted = expected_mean<Out>(w, how, s.weighted);
            const bool both_nan = wanted != wanted && found != found;
            ASSERT_TRUE(both_nan || found == wanted)
                << "plane " << plane << ", row " << r << ", col " << c << ", channel " << k << ", radius " << around
                << ": " << static_cast<double>(found) << ", not " << static_cast<double>(wanted);
            ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(w.weight));
        });
        ASSERT_TRUE(result.is_untouched_between());
        ASSERT_TRUE(count.is_untouched_between());
    };
    check();
    from.spoil(random);
    filter();
    check();
}

TEST(sampled_variable_box_filter, is_its_definition) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 50; ++i) {
        check_random<std::uint8_t, std::uint8_t, std::uint32_t>(random);
        check_random<std::uint8_t, double, double>(random);
        check_random<std::uint8_t, std::uint8_t, double>(random);
        check_random<std::uint16_t, std::uint16_t, float>(random);
        check_random<std::int16_t, std::int16_t, double>(random);
        check_random<std::int16_t, float, std::uint32_t>(random);
        check_random<std::uint32_t, double, std::uint32_t>(random);
        check_random<std::int32_t, double, double>(random);
        check_random<float, float, double>(random);
        check_random<float, double, std::uint32_t>(random);
        check_random<double, double, double>(random);
        if (HasFatalFailure()) return;
    }
}

/// A mask of ones, weights of one and nothing to leave out: the bits without them.
template <typename T>
void check_all_count(std::mt19937_64& random) {
    constexpr std::int64_t rows = 23, cols = 19, channels = 2;
    block<T> image(rows, cols, channels, 1, lying::row_major, random);
    image.for_each([&](auto, auto, auto, auto, T& x) {
        x = std::is_integral_v<T> ? static_cast<T>(random()) : static_cast<T>(static_cast<double>(random()) * 0x1p-60);
    });
    block<std::uint8_t> radius(rows, cols, 1, 1, lying::row_major, random),
        ones(rows, cols, 1, 1, lying::row_major, random);
    block<float> weights(rows, cols, 1, 1, lying::row_major, random);
    radius.for_each([&](auto, auto, auto, auto, std::uint8_t& r) { r = static_cast<std::uint8_t>(random() % 40); });
    ones.for_each([&](auto, auto, auto, auto, std::uint8_t& m) { m = 1; });
    weights.for_each([&](auto, auto, auto, auto, float& w) { w = 1; });
    for (const border_mode border : test::every_border) {
        std::vector<double> plain(rows * cols * channels), masked(plain.size()), weighted(plain.size());
        const auto filter = [&](std::vector<double>& to, const_any_view mask, const_any_view with) {
            variable_box_filter({.image = image.view(), .radius = radius.view(), .mask = mask, .weights = with},
                                {.result = image_view<double>(to.data(), rows, cols, 0, channels)}, {.border = border});
        };
        filter(plain, {}, {});
        filter(masked, ones.view(), {});
        filter(weighted, {}, weights.view());
        EXPECT_EQ(plain, masked);
        EXPECT_EQ(plain, weighted);
    }
}

TEST(sampled_variable_box_filter, is_the_plain_one_where_all_count) {
    std::mt19937_64 random(2);
    check_all_count<std::uint8_t>(random);
    check_all_count<std::int16_t>(random);
    check_all_count<std::uint32_t>(random);
    check_all_count<float>(random);
    check_all_count<double>(random);
}

TEST(sampled_variable_box_filter, strips_have_the_bits_of_the_whole) {
    std::mt19937_64 random(3);
    constexpr std::int64_t rows = 40, cols = 9, most = 4;
    sampled_pixels<std::int16_t> from(rows, cols, 1, 1, {.masked = true, .weighted = true, .nodata = 9}, random,
                                      lying::row_major);
    block<std::uint8_t> radius(rows, cols, 1, 1, lying::row_major, random);
    radius.for_each(
        [&](auto, auto, auto, auto, std::uint8_t& r) { r = static_cast<std::uint8_t>(random() % (most + 1)); });
    const auto some = [](const auto& view, std::int64_t first, std::int64_t end) {
        const_any_view part = view;
        part.data = view.row(first);
        part.shape.rows = end - first;
        return part;
    };
    for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate}) {
        const filter_options how{.border = border, .nodata = 9, .min_weight = 3, .fill = -7};
        std::vector<double> whole(rows * cols, 1), parts(rows * cols, 2);
        variable_box_filter({.image = from.image.view(),
                             .radius = radius.view(),
                             .mask = from.mask_view(),
                             .weights = from.weights_view()},
                            {.result = image_view<double>(whole.data(), rows, cols)}, how);
        for (std::int64_t first = 0; first < rows; first += 15) {
            const std::int64_t end = std::min(first + 15, rows), from_row = std::max<std::int64_t>(first - most, 0),
                               to_row = std::min(end + most, rows);
            variable_box_filter({.image = some(from.image.view(), from_row, to_row),
                                 .radius = some(radius.view(), first, end),
                                 .largest_radius = most,
                                 .at = {from_row, 0},
                                 .whole = {rows, cols},
                                 .mask = some(from.mask.view(), from_row, to_row),
                                 .weights = some(from.weights.view(), from_row, to_row)},
                                {.result = image_view<double>(parts.data() + first * cols, end - first, cols)}, how);
        }
        EXPECT_EQ(whole, parts) << name_of(border);
    }
}

/// What counts and is not finite acts on the windows that have it.
TEST(sampled_variable_box_filter, keeps_what_is_not_finite_to_its_windows) {
    constexpr float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x{1, 2, none, 4, 5, inf, 7, 8, -inf, 10};
    const std::vector<float> w{1, 1, 1, 2, 2, 1, 1, 0, 1, 1};
    const std::vector<std::uint8_t> radius(10, 1);
    std::vector<double> out(10);
    variable_box_filter({.image = image_view<const float>(x.data(), 1, 10),
                         .radius = image_view<const std::uint8_t>(radius.data(), 1, 10),
                         .weights = image_view<const float>(w.data(), 1, 10)},
                        {.result = image_view<double>(out.data(), 1, 10)});
    EXPECT_EQ(out[0], 1.5);
    for (const std::size_t i : {1U, 2U, 3U}) EXPECT_TRUE(std::isnan(out[i])) << i;
    for (const std::size_t i : {4U, 5U, 6U}) EXPECT_EQ(out[i], static_cast<double>(inf)) << i;
    for (const std::size_t i : {7U, 8U, 9U}) EXPECT_EQ(out[i], -static_cast<double>(inf)) << i;
}

/// Where nothing counts the differences of a table are not 0, but the count is.
TEST(sampled_variable_box_filter, weights_of_all_sizes_leave_no_count_behind) {
    constexpr std::int64_t n = 48;
    const auto is_hole = [](std::int64_t r, std::int64_t c) { return r >= 10 && r < 30 && c >= 12 && c < 40; };
    std::mt19937_64 random(8);
    std::vector<float> w(n * n), x(n * n, 3);
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c)
            w[static_cast<std::size_t>(r * n + c)] =
                is_hole(r, c) ? 0 : std::ldexp(0.1F, static_cast<int>(below(random, 40)) - 20);
    const std::vector<std::uint8_t> radius(n * n, 1);
    std::vector<double> out(n * n), count(n * n);
    variable_box_filter(
        {.image = image_view<const float>(x.data(), n, n),
         .radius = image_view<const std::uint8_t>(radius.data(), n, n),
         .weights = image_view<const float>(w.data(), n, n)},
        {.result = image_view<double>(out.data(), n, n), .count = image_view<double>(count.data(), n, n)},
        {.fill = -1});
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            const auto i = static_cast<std::size_t>(r * n + c);
            if (is_hole(r - 1, c - 1) && is_hole(r + 1, c + 1)) {
                EXPECT_EQ(count[i], 0) << r << ", " << c;
                EXPECT_EQ(out[i], -1) << r << ", " << c;
            }
        }
}

TEST(sampled_variable_box_filter, names_what_is_wrong) {
    const std::vector<std::uint8_t> x(12), radius(12);
    std::vector<std::uint8_t> out(12, 5);
    const image_view<const std::uint8_t> image(x.data(), 3, 4), radii(radius.data(), 3, 4), low(x.data(), 2, 4);
    const image_view<std::uint8_t> result(out.data(), 3, 4);
    const auto message = [&](const variable_inputs& in, const filter_options& how) -> std::string {
        try {
            variable_box_filter(in, {.result = result}, how);
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message({.image = image, .radius = radii, .mask = low}, {}),
              "mask: rows x cols are 2 x 4, must be the image's 3 x 4");
    EXPECT_EQ(message({.image = image, .radius = radii, .weights = radii}, {}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(message({.image = image, .radius = radii, .mask = result}, {}), "result: overlaps mask");
    EXPECT_EQ(message({.image = image, .radius = radii}, {.nodata = 256}),
              "nodata: is 256, must be an integer of the image's type 8u");
    EXPECT_EQ(message({.image = image, .radius = radii}, {.fill = -1}),
              "fill: is -1, must be an integer of the result's type 8u");
    EXPECT_EQ(message({.image = image, .radius = radii}, {.min_weight = 1}),
              "min_weight: is 1, but without weights min_count says how much must count");
    EXPECT_EQ(out, std::vector<std::uint8_t>(12, 5));
}

}  // namespace
}  // namespace boxsum
