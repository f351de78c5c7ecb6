#include "support/sampled_guided_reference.hpp"

#include <boxsum/guided_filter.hpp>

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
using test::lying;
using test::sample_setting;
using test::sampled_pixels;
using test::wide;

struct shape {
    std::int64_t rows, cols, channels, planes, guides;
    boxsum::window window;
};

template <typename T, typename G, typename Out, typename Count>
void check(const shape& s, std::mt19937_64& random) {
    constexpr border_mode borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                       border_mode::mirror, border_mode::wrap};
    sample_setting samples = test::any_samples<T>(s.channels, s.planes, random);
    if (std::is_same_v<Count, std::uint32_t>) samples.weighted = false;
    sampled_pixels<T> from(s.rows, s.cols, s.channels, s.planes, samples, random);
    block<G> guide(s.rows, s.cols, std::max<std::int64_t>(s.guides, 1), below(random, 2) == 0 ? 1 : s.planes,
                   lying::anyhow, random);
    guide.for_each([&](auto, auto, auto, auto, G& x) {
        x = static_cast<G>(random() % 256);
        if constexpr (std::is_floating_point_v<G>)
            if (samples.nan == nan_mode::omit && below(random, 8) == 0) x = std::numeric_limits<G>::quiet_NaN();
    });
    const double epsilon = 40;
    filter_options how{.window = s.window,
                       .border = borders[below(random, std::size(borders))],
                       .rounding = below(random, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                       .nan = samples.nan,
                       .nodata = samples.nodata,
                       .threads = static_cast<int>(1 + below(random, 3))};
    if (below(random, 2) == 0) how.fill = 17;
    if (samples.weighted)
        how.min_weight = static_cast<double>(below(random, 12)) / 4;
    else
        how.min_count = 1 + below(random, 5);
    SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) + ", " +
                 std::to_string(s.guides) + " guides, " + std::string(name_of(how.border)) +
                 (samples.masked ? ", masked" : "") + (samples.weighted ? ", weighted" : ""));
    block<Out> result(s.rows, s.cols, s.channels, s.planes, lying::anyhow, random);
    block<Count> count(s.rows, s.cols, s.channels, s.planes, lying::anyhow, random);
    const auto filter = [&] {
        guided_filter({.image = from.image.view(),
                       .guide = s.guides > 0 ? const_any_view(guide.view()) : const_any_view{},
                       .mask = from.mask_view(),
                       .weights = from.weights_view()},
                      {.result = result.view(), .count = count.view()}, {.epsilon = epsilon}, how);
    };
    filter();
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t k = 0; k < s.channels; ++k) {
            const bool itself = s.guides == 0;
            const auto guide_at = [&](std::int64_t y, std::int64_t x, std::size_t i) {
                return itself ? static_cast<wide>(from.image.view()(y, x, k, plane))
                              : static_cast<wide>(guide.view()(y, x, static_cast<std::int64_t>(i),
                                                               guide.view().planes() == 1 ? 0 : plane));
            };
            const test::guided_definition wanted =
                test::sampled_guided(from, k, plane, static_cast<std::size_t>(std::max<std::int64_t>(s.guides, 1)),
                                     guide_at, itself, epsilon, how);
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    const auto i = static_cast<std::size_t>(r * s.cols + c);
                    const auto found = static_cast<double>(result.view()(r, c, k, plane));
                    ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(wanted.counts[i]));
                    if (!wanted.values[i]) {
                        const double fill =
                            how.fill.value_or(std::is_integral_v<Out> ? 0 : std::numeric_limits<double>::quiet_NaN());
                        ASSERT_TRUE(found == fill || (std::isnan(found) && std::isnan(fill)))
                            << r << ", " << c << ": " << found << ", not filled";
                        continue;
                    }
                    const auto exact = static_cast<double>(*wanted.values[i]);
                    if constexpr (std::is_integral_v<Out>) {
                        const double half = how.rounding == rounding_mode::half_up ? 0.5 : 0,
                                     most = std::numeric_limits<Out>::max();
                        ASSERT_GE(found, std::clamp(std::floor(exact + half - 1e-7), 0.0, most)) << r << ", " << c;
                        ASSERT_LE(found, std::clamp(std::floor(exact + half + 1e-7), 0.0, most)) << r << ", " << c;
                    } else {
                        const double off = 1e-10 * (std::is_same_v<T, std::uint16_t> ? 65535 : 255) +
                                           std::numeric_limits<Out>::epsilon() * std::abs(exact);
                        ASSERT_NEAR(found, exact, off) << r << ", " << c;
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

shape any_shape(std::mt19937_64& random, std::int64_t guides) {
    const auto reach = [&] { return below(random, below(random, 4) == 0 ? 9 : 3); };
    return {1 + below(random, 9),
            1 + below(random, 9),
            1 + below(random, 3),
            1 + below(random, 2),
            guides,
            window_extents{reach(), reach(), reach(), reach()}};
}

TEST(sampled_guided_filter, is_its_definition) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 15; ++i) {
        check<std::uint8_t, std::uint8_t, std::uint8_t, std::uint32_t>(any_shape(random, 0), random);
        check<float, float, float, double>(any_shape(random, 0), random);
        check<double, double, double, float>(any_shape(random, 0), random);
        check<std::uint16_t, std::uint8_t, double, double>(any_shape(random, 0), random);
        check<std::uint8_t, std::uint8_t, std::uint8_t, double>(any_shape(random, 1), random);
        check<float, float, double, std::uint32_t>(any_shape(random, 1), random);
        check<std::uint8_t, std::uint8_t, double, double>(any_shape(random, 3), random);
        check<std::uint8_t, float, double, double>(any_shape(random, 2), random);
        check<double, std::uint16_t, double, double>(any_shape(random, 4), random);
        if (HasFatalFailure()) return;
    }
}

/// More rows than are computed at a time.
TEST(sampled_guided_filter, is_its_definition_in_strips) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 4; ++i) {
        check<std::uint8_t, std::uint8_t, std::uint8_t, std::uint32_t>({300, 3, 1, 1, 0, window_radius(2)}, random);
        check<float, float, double, double>({290, 2, 2, 1, 1, window_extents{3, 1, 0, 2}}, random);
        if (HasFatalFailure()) return;
    }
}

TEST(sampled_guided_filter, is_the_plain_one_where_all_count) {
    constexpr std::int64_t rows = 17, cols = 23;
    const auto x = test::random_pixels<float>(rows * cols, 1, 0, 1),
               g = test::random_pixels<float>(3 * rows * cols, 2, 0, 1);
    const std::vector<std::uint8_t> ones(rows * cols, 1);
    const std::vector<float> weights(rows * cols, 1);
    const image_view<const float> image(x.data(), rows, cols), colours(g.data(), rows, cols, 0, 3),
        one(weights.data(), rows, cols);
    const image_view<const std::uint8_t> mask(ones.data(), rows, cols);
    for (const bool guided : {false, true}) {
        const const_any_view guide = guided ? const_any_view(colours) : const_any_view{};
        std::vector<double> plain(rows * cols), masked(plain.size()), weighted(plain.size()), counted(plain.size()),
            count(plain.size());
        const auto filter = [&](const guided_inputs& in, std::vector<double>& to, any_view counts) {
            guided_filter(in, {image_view<double>(to.data(), rows, cols), counts}, {1e-4},
                          {.window = 5, .border = border_mode::reflect});
        };
        filter({.image = image, .guide = guide}, plain, {});
        filter({.image = image, .guide = guide}, counted, image_view<double>(count.data(), rows, cols));
        filter({.image = image, .guide = guide, .mask = mask}, masked, {});
        filter({.image = image, .guide = guide, .weights = one}, weighted, {});
        EXPECT_EQ(plain, counted);
        EXPECT_EQ(count, std::vector<double>(rows * cols, 25));
        for (std::size_t i = 0; i < plain.size(); ++i) {
            EXPECT_NEAR(masked[i], plain[i], 1e-11);
            EXPECT_NEAR(weighted[i], plain[i], 1e-11);
        }
    }
}

/// A NaN that counts acts on the pixels that share a window with it, and on no other.
TEST(sampled_guided_filter, keeps_what_is_not_finite_to_its_windows) {
    constexpr std::int64_t n = 21;
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> x(n, 3);
        const std::vector<float> g(n, 2);
        std::vector<std::uint8_t> mask(n, 1);
        mask[4] = 0;
        x[10] = odd;
        std::vector<double> out(n);
        guided_filter({.image = image_view<const float>(x.data(), 1, n),
                       .guide = image_view<const float>(g.data(), 1, n),
                       .mask = image_view<const std::uint8_t>(mask.data(), 1, n)},
                      {image_view<double>(out.data(), 1, n)}, {}, {.window = window_radius(0, 2)});
        for (std::size_t i = 0; i < n; ++i)
            if (i < 6 || i > 14) {
                EXPECT_NEAR(out[i], 3, 1e-12) << i;
            } else {
                EXPECT_TRUE(std::isnan(out[i])) << i;
            }
    }
}

TEST(sampled_guided_filter, names_what_is_wrong) {
    const std::vector<std::uint8_t> x(12);
    std::vector<std::uint8_t> out(12, 5);
    const image_view<const std::uint8_t> image(x.data(), 3, 4), low(x.data(), 2, 4);
    const image_view<std::uint8_t> result(out.data(), 3, 4);
    const auto message = [&](const guided_inputs& in, const filter_outputs& to,
                             const filter_options& how) -> std::string {
        try {
            guided_filter(in, to, {}, how);
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message({.image = image, .mask = low}, {result}, {}),
              "mask: rows x cols are 2 x 4, must be the image's 3 x 4");
    EXPECT_EQ(message({.image = image, .weights = image}, {result}, {}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(message({.image = image, .mask = result}, {result}, {}), "result: overlaps mask");
    EXPECT_EQ(message({.image = image}, {result, result}, {}), "count: type is 8u, must be one of 32u, 32f, 64f");
    EXPECT_EQ(message({.image = image}, {result}, {.nodata = 0.5}),
              "nodata: is 0.5, must be an integer of the image's type 8u");
    EXPECT_EQ(message({.image = image}, {result}, {.fill = 300}),
              "fill: is 300, must be an integer of the result's type 8u");
    EXPECT_EQ(message({.image = image}, {result}, {.min_weight = 1}),
              "min_weight: is 1, but without weights min_count says how much must count");
    EXPECT_EQ(out, std::vector<std::uint8_t>(12, 5));
}

}  // namespace
}  // namespace boxsum
