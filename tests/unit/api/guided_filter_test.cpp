#include "support/guided_reference.hpp"

#include <boxsum/error.hpp>
#include <boxsum/guided_filter.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace boxsum::guided_filters {
namespace {

using test::random_pixels;
using test::wide;

struct setting {
    std::int64_t rows, cols, channels, planes;
    std::int64_t guides, guide_planes;  ///< 0: the image itself
    boxsum::window window;
    border_mode border = border_mode::shrink;
    double epsilon = 1;
    rounding_mode rounding = rounding_mode::half_up;
    int threads = 1;
    double offset = 0, scale = 1;  ///< of floating pixels
    double tolerance = 1e-11;      ///< of results in double, in units of the pixels' range
};

template <typename P, typename G, typename Out>
void check(const setting& s) {
    SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) + ", " +
                 std::to_string(s.guides) + " guides, " + std::string(name_of(s.border)));
    const auto pixels = random_pixels<P>(s.planes * s.rows * s.cols * s.channels, 5, s.offset, s.scale);
    const auto guide_pixels =
        random_pixels<G>(std::max<std::int64_t>(s.guide_planes * s.rows * s.cols * s.guides, 1), 6, s.offset, s.scale);
    constexpr std::int64_t gap = 3;
    std::vector<Out> memory(static_cast<std::size_t>(s.planes * s.rows * (s.cols * s.channels + gap)), Out{77});
    const image_view<const P> image(pixels.data(), s.rows, s.cols, 0, s.channels, s.planes);
    const image_view<const G> guide(guide_pixels.data(), s.rows, s.cols, 0, s.guides, s.guide_planes);
    const image_view<Out> result(memory.data(), s.rows, s.cols,
                                 (s.cols * s.channels + gap) * static_cast<std::int64_t>(sizeof(Out)), s.channels,
                                 s.planes);
    guided_filter({.image = image, .guide = s.guides > 0 ? guide : const_any_view{}}, {result}, {.epsilon = s.epsilon},
                  {.window = s.window, .border = s.border, .rounding = s.rounding, .threads = s.threads});
    const double range =
        std::is_integral_v<P> ? static_cast<double>(std::numeric_limits<P>::max()) : std::abs(s.offset) + s.scale;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t k = 0; k < s.channels; ++k) {
            const auto q =
                s.guides > 0
                    ? test::expected_guided(image, k, guide, 0, s.guides, plane, s.guide_planes == 1 ? 0 : plane,
                                            s.window, s.border, s.epsilon)
                    : test::expected_guided(image, k, image, k, 1, plane, plane, s.window, s.border, s.epsilon);
            for (std::int64_t r = 0; r < s.rows; ++r) {
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    const wide exact = q[static_cast<std::size_t>(r * s.cols + c)].value;
                    const double found = static_cast<double>(result(r, c, k, plane));
                    if constexpr (std::is_integral_v<Out>) {
                        const wide half = s.rounding == rounding_mode::half_up ? 0.5L : 0;
                        const wide most = std::numeric_limits<Out>::max();
                        ASSERT_EQ(found, static_cast<double>(std::clamp(std::floor(exact + half), wide{0}, most)))
                            << r << ", " << c << ": " << static_cast<double>(exact);
                    } else {
                        const double rounded = std::numeric_limits<Out>::epsilon() * std::abs(found);
                        ASSERT_NEAR(found, static_cast<double>(exact), range * s.tolerance + rounded) << r << ", " << c;
                    }
                }
                for (std::int64_t i = s.cols * s.channels; i < s.cols * s.channels + gap; ++i)
                    ASSERT_EQ(result.row(r, plane)[i], Out{77});
            }
        }
}

constexpr border_mode borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                   border_mode::mirror, border_mode::wrap};

TEST(guided_filter, guides_itself) {
    for (const border_mode border : borders) {
        check<std::uint8_t, std::uint8_t, std::uint8_t>({13, 21, 1, 1, 0, 0, {5, 7}, border, 400});
        check<float, float, float>({9, 12, 3, 2, 0, 0, window_radius(2), border, 0.01, rounding_mode::half_up, 3});
        check<float, float, double>({7, 8, 1, 1, 0, 0, window_extents{1, 3, 2, 0}, border, 1e-6});
    }
    check<std::uint16_t, std::uint16_t, std::uint16_t>(
        {8, 9, 2, 1, 0, 0, 5, border_mode::reflect, 1e5, rounding_mode::floor});
}

TEST(guided_filter, is_guided_by_grey) {
    for (const border_mode border : borders) {
        check<std::uint8_t, std::uint8_t, std::uint8_t>({11, 18, 1, 1, 1, 1, {7, 5}, border, 30});
        check<std::uint8_t, std::uint8_t, double>({8, 9, 3, 2, 1, 2, 5, border, 1, rounding_mode::half_up, 3});
        check<float, float, double>({10, 7, 2, 2, 1, 1, window_extents{2, 0, 1, 3}, border, 1e-4});
    }
    check<std::uint8_t, float, double>({9, 14, 1, 1, 1, 1, 5, border_mode::shrink, 0.01});
    check<double, std::uint16_t, float>({9, 14, 1, 1, 1, 1, 3, border_mode::mirror, 1e4});
}

/// Bytes by bytes have integers for fits: rows beyond one strip, tiles of a row, channels, windows that reach beyond
/// the image several times, few rows a thread. Where epsilon is tiny, fits are too large for them.
TEST(guided_filter, of_bytes_is_its_definition) {
    for (const border_mode border : borders) {
        for (const std::int64_t guides : {0, 1, 2, 3, 4}) {
            check<std::uint8_t, std::uint8_t, std::uint8_t>(
                {290, 5, 1, 1, guides, 1, {3, 2}, border, 30, rounding_mode::floor, 3});
            if (guides < 2)
                check<std::uint8_t, std::uint8_t, std::uint8_t>({3, 1100, 2, 2, guides, 2, {2, 5}, border, 650});
            check<std::uint8_t, std::uint8_t, std::uint8_t>({4, 6, 3, 1, guides, 1, {9, 31}, border, 4000});
        }
        check<std::uint8_t, std::uint8_t, std::uint8_t>({12, 15, 1, 1, 1, 1, 5, border, 1e-20});
    }
}

/// Exactly halves and integers, made of sixths, which no integer holds: a flat guide leaves the mean of means.
TEST(guided_filter, bytes_at_halves_and_integers_are_rounded_as_such) {
    constexpr std::int64_t cols = 64;
    const std::vector<std::uint8_t> flat(cols, 77);
    for (const int base : {10, 11, 100, 239})
        for (const int step : {-1, 1}) {
            std::vector<std::uint8_t> pixels(cols, static_cast<std::uint8_t>(base)), out(cols), ramp(cols);
            for (std::size_t c = 30; c < 34; ++c) pixels[c] = static_cast<std::uint8_t>(base + step);
            for (std::size_t c = 0; c < ramp.size(); ++c) ramp[c] = static_cast<std::uint8_t>(c * c);
            const image_view<const std::uint8_t> image(pixels.data(), 1, cols), guide(flat.data(), 1, cols),
                other(ramp.data(), 1, cols);
            const image_view<std::uint8_t> result(out.data(), 1, cols);
            const window six = window_extents{0, 0, 2, 3};
            for (const rounding_mode rounding : {rounding_mode::half_up, rounding_mode::floor}) {
                // Of 36 parts the pixels from 30 on have 6 + 5 + 4 + 3.
                guided_filter({.image = image, .guide = guide}, {result}, {}, {.window = six, .rounding = rounding});
                const int above = base + std::max(step, 0);
                EXPECT_EQ(result(0, 30), rounding == rounding_mode::half_up ? above : above - 1) << base << step;
                EXPECT_EQ(result(0, 33), result(0, 30));
                EXPECT_EQ(result(0, 10), base);
                guided_filter({.image = guide, .guide = other}, {result}, {}, {.window = 7, .rounding = rounding});
                for (const std::uint8_t x : out) EXPECT_EQ(x, 77);
            }
        }
}

TEST(guided_filter, is_guided_by_colours) {
    for (const border_mode border : borders)
        check<std::uint8_t, std::uint8_t, std::uint8_t>({9, 13, 1, 1, 3, 1, {5, 7}, border, 20});
    check<std::uint8_t, std::uint8_t, double>({8, 9, 2, 2, 2, 1, 5, border_mode::replicate, 1});
    check<float, float, double>({9, 10, 1, 1, 4, 1, 5, border_mode::shrink, 1e-3});
    // The guide whose variances single precision loses, and one far from zero.
    check<float, float, double>(
        {12, 12, 1, 1, 3, 1, 7, border_mode::reflect, 1e-6, rounding_mode::half_up, 2, 0, 1, 1e-9});
    check<double, double, double>(
        {12, 12, 1, 1, 3, 1, 5, border_mode::reflect, 1e-4, rounding_mode::half_up, 1, 1e5, 1, 1e-9});
}

/// Floats by floats: rows beyond one strip, many columns, channels, windows that reach beyond the image several times,
/// few rows a thread.
TEST(guided_filter, of_floats_is_its_definition) {
    for (const border_mode border : borders)
        for (const std::int64_t guides : {0, 1, 2, 3, 4}) {
            check<float, float, float>(
                {290, 5, 1, 1, guides, 1, {3, 2}, border, 0.01, rounding_mode::half_up, 3, 0, 1, 1e-7});
            if (guides < 3) check<double, float, double>({3, 150, 3, 2, guides, 2, {2, 5}, border, 0.01});
            check<float, double, double>(
                {4, 6, 3, 1, guides, 1, {9, 31}, border, 0.1, rounding_mode::half_up, 2, 0, 1, 1e-10});
            if (guides == 2)  // more channels than are computed at a time
                check<float, double, double>(
                    {4, 6, 4, 1, guides, 1, {9, 31}, border, 0.1, rounding_mode::half_up, 2, 0, 1, 1e-10});
        }
}

/// Images of more rows than are computed at a time.
TEST(guided_filter, strips_have_the_rows_of_the_whole) {
    constexpr std::int64_t rows = 700, cols = 5;
    const auto p = random_pixels<float>(rows * cols, 1, 0, 1), g = random_pixels<float>(rows * cols, 2, 0, 1);
    for (const border_mode border : borders)
        for (const std::int64_t radius : {3, 9}) {
            const image_view<const float> image(p.data(), rows, cols), guide(g.data(), rows, cols);
            std::vector<double> whole(p.size(), -1), part(p.size(), -2);
            const image_view<double> result(whole.data(), rows, cols);
            const filter_options how{.window = window_radius(radius, 1), .border = border};
            guided_filter({.image = image, .guide = guide}, {result}, {1e-3}, how);
            // The same rows as images of other extents have them: the first and the last are not cut there.
            const std::int64_t first = 100, end = radius == 3 ? 520 : 600, reach = 2 * radius;
            const image_view<const float> some_image(image.row(first), end - first, cols);
            const image_view<const float> some_guide(guide.row(first), end - first, cols);
            const image_view<double> some(part.data(), end - first, cols);
            guided_filter({.image = some_image, .guide = some_guide}, {some}, {1e-3}, how);
            for (std::int64_t r = first + reach; r < end - reach; ++r)
                for (std::int64_t c = 0; c < cols; ++c) ASSERT_NEAR(result(r, c), some(r - first, c), 1e-12) << r;
        }
}

TEST(guided_filter, what_is_not_finite_acts_on_windows_that_share_one_with_it) {
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        auto p = random_pixels<float>(20 * 20, 3, 0, 1);
        const auto g = random_pixels<float>(20 * 20, 4, 0, 1);
        std::vector<float> clean(400), spoilt(400);
        const image_view<const float> image(p.data(), 20, 20), guide(g.data(), 20, 20);
        const guided_inputs inputs{.image = image, .guide = guide};
        guided_filter(inputs, {image_view<float>(clean.data(), 20, 20)}, {}, {.window = 5});
        p[8 * 20 + 11] = wrong;
        guided_filter(inputs, {image_view<float>(spoilt.data(), 20, 20)}, {}, {.window = 5});
        for (int r = 0; r < 20; ++r)
            for (int c = 0; c < 20; ++c) {
                const auto i = static_cast<std::size_t>(r * 20 + c);
                if (std::abs(r - 8) <= 4 && std::abs(c - 11) <= 4)
                    EXPECT_TRUE(std::isnan(spoilt[i])) << r << ", " << c;
                else
                    EXPECT_EQ(spoilt[i], clean[i]) << r << ", " << c;
            }
    }
}

TEST(guided_filter, strides) {
    const auto p = random_pixels<std::uint8_t>(12 * 10 * 3, 8, 0, 1);
    std::vector<float> straight(12 * 10), turned(12 * 10);
    const image_view<const std::uint8_t> green(p.data() + 1, 12, 10, {.row = 30, .col = 3});
    const image_view<const std::uint8_t> colours(p.data(), 12, 10, 0, 3);
    guided_filter({.image = green, .guide = colours}, {image_view<float>(straight.data(), 12, 10)}, {}, {.window = 3});
    const image_view<const std::uint8_t> green_t(p.data() + 1, 10, 12, {.row = 3, .col = 30});
    const image_view<const std::uint8_t> colours_t(p.data(), 10, 12, {.row = 3, .col = 30}, 3);
    guided_filter({.image = green_t, .guide = colours_t},
                  {image_view<float>(turned.data(), 10, 12, {.row = 4, .col = 40})}, {}, {.window = 3});
    for (std::size_t i = 0; i < straight.size(); ++i) ASSERT_NEAR(straight[i], turned[i], 1e-4);
}

TEST(guided_filter, integers_are_zero_where_there_is_no_number) {
    std::vector<std::uint8_t> bytes(40 * 40, 7), out(bytes.size(), 9);
    std::vector<float> other(bytes.size(), 1);
    other[20 * 40 + 20] = std::numeric_limits<float>::quiet_NaN();
    guided_filter(
        {.image = image_view<std::uint8_t>(bytes.data(), 40, 40), .guide = image_view<float>(other.data(), 40, 40)},
        {image_view<std::uint8_t>(out.data(), 40, 40)}, {}, {.window = window_radius(2)});
    const image_view<const std::uint8_t> result(out.data(), 40, 40);
    for (int r = 0; r < 40; ++r)
        for (int c = 0; c < 40; ++c)  // two windows apart
            ASSERT_EQ(result(r, c), std::abs(r - 20) <= 4 && std::abs(c - 20) <= 4 ? 0 : 7) << r << ", " << c;
}

TEST(guided_filter, refusals) {
    std::vector<std::uint8_t> bytes(32), other(96), out(32, 9);
    const image_view<std::uint8_t> image(bytes.data(), 4, 8), guide(other.data(), 4, 8, 0, 3), result(out.data(), 4, 8);
    const auto message = [&](const guided_inputs& in, const filter_outputs& to, const guided_rule& rule,
                             const filter_options& how) {
        try {
            guided_filter(in, to, rule, how);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    const guided_inputs good{.image = image, .guide = guide};
    EXPECT_EQ(message(good, {result}, {0.0}, {}), "epsilon: is 0, must be finite and above 0");
    EXPECT_EQ(message(good, {result}, {-1e-9}, {}), "epsilon: is -1e-09, must be finite and above 0");
    EXPECT_EQ(message(good, {image}, {}, {}), "result: overlaps image");
    EXPECT_EQ(message({.image = image, .guide = image_view<std::uint8_t>(other.data(), 4, 7)}, {result}, {}, {}),
              "guide: cols is 7, but that of the image is 8");
    EXPECT_EQ(message({.image = image, .guide = image_view<std::uint8_t>(other.data(), 0, 8)}, {result}, {}, {}),
              "guide: rows is 0, must be at least 1");
    std::vector<std::int16_t> words(32);
    EXPECT_EQ(message({.image = image, .guide = image_view<std::int16_t>(words.data(), 4, 8)}, {result}, {}, {}),
              "guide: type is 16s, must be 8u, 16u, 32f or 64f");
    EXPECT_EQ(message(good, {image_view<std::uint8_t>(out.data(), 3, 8)}, {}, {}),
              "result: rows is 3, but that of the image is 4");
    EXPECT_EQ(message(good, {result}, {}, {.border = border_mode::constant}),
              "border: is constant, but what a guided filter has beyond the image are its fits there");
    EXPECT_EQ(message(good, {result}, {}, {.window = window_radius(-1)}).substr(0, 7), "window:");
    for (const std::uint8_t x : out) EXPECT_EQ(x, 9);
}

}  // namespace
}  // namespace boxsum::guided_filters
