// Images of types without kernels of their own: 32u and 32s, whose integer results are exact, and 16f.

#include "core/rounding.hpp"
#include "filters/oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::wider_types {
namespace {

using oracle::bordered_window;
using oracle::first_difference;
using oracle::picture;

struct extents {
    std::int64_t planes, rows, cols, channels, gap;
};

constexpr extents shapes[] = {{1, 14, 23, 1, 3}, {2, 7, 9, 3, 2}};
const window windows[] = {window_radius(0), window_size(6, 4), window_radius(2, 5), window_radius(31, 40)};

/// Calls test(image, window, shape) for every case, with both roundings in turn.
template <typename T, typename Test>
void every_case(Test&& test) {
    unsigned seed = 11;
    for (const extents& e : shapes) {
        picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
        oracle::fill_random(image, seed++);
        for (const window& reach : windows)
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror, border_mode::wrap}) {
                const bordered_window w{reach, border, border == border_mode::constant ? 123456789.0 : 0,
                                        seed++ % 2 == 0 ? rounding_mode::half_up : rounding_mode::floor};
                SCOPED_TRACE(std::string(name_of(border)) + " " + std::to_string(reach.above) + " of " +
                             std::to_string(e.rows) + " rows");
                test(image, w, e);
            }
    }
}

filter_options options_of(const bordered_window& w) {
    return {.window = w.reach, .border = w.border, .border_value = w.value, .rounding = w.rounding};
}

/// The same values in another type.
template <typename T, typename From>
void copy(const picture<T>& to, const image_view<From>& from) {
    oracle::each(from, [&](auto... at) {
        if constexpr (std::is_same_v<From, float16>)
            to.view()(at...) = to_float(from(at...));
        else
            to.view()(at...) = static_cast<T>(from(at...));
    });
}

template <typename A, typename B>
std::string difference(const picture<A>& actual, const picture<B>& expected) {
    return first_difference(actual.view(), [&](auto... at) { return expected.view()(at...); });
}

template <typename T>
class integers_of_32_bits : public testing::Test {};
using integer_types = testing::Types<std::uint32_t, std::int32_t>;
TYPED_TEST_SUITE(integers_of_32_bits, integer_types);

TYPED_TEST(integers_of_32_bits, have_exact_means_and_sums) {
    using T = TypeParam;
    every_case<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        const oracle::filter<T> expected(image.view(), w);
        picture<T> same(e.planes, e.rows, e.cols, e.channels, 4), mean(e.planes, e.rows, e.cols, e.channels);
        picture<double> f64(e.planes, e.rows, e.cols, e.channels, 1);
        picture<std::int64_t> sum(e.planes, e.rows, e.cols, e.channels, 1);
        box_filter({image.view()}, {same.view()}, options_of(w));
        box_filter({image.view()}, {f64.view()}, options_of(w));
        local_statistics({image.view()}, {.mean = mean.view(), .sum = sum.view()}, options_of(w));
        const auto rounded = [&](auto... at) { return expected.rounded(expected.sums(at...)); };
        EXPECT_EQ(first_difference(same.view(), rounded), "");
        EXPECT_EQ(first_difference(mean.view(), rounded), "");
        EXPECT_EQ(first_difference(f64.view(), [&](auto... at) { return expected.mean(expected.sums(at...)); }), "");
        EXPECT_EQ(first_difference(sum.view(),
                                   [&](auto... at) { return static_cast<std::int64_t>(expected.sums(at...).sum); }),
                  "");
        EXPECT_TRUE(same.guards_intact() && f64.guards_intact() && sum.guards_intact());
    });
}

TYPED_TEST(integers_of_32_bits, are_else_as_the_same_values_in_double) {
    using T = TypeParam;
    every_case<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        picture<double> wide(e.planes, e.rows, e.cols, e.channels);
        copy(wide, image.view());
        const auto results = [&](const auto& of, auto&& compare) {
            picture<double> variance(e.planes, e.rows, e.cols, e.channels), limit(e.planes, e.rows, e.cols, e.channels);
            picture<float> contrast(e.planes, e.rows, e.cols, e.channels);
            picture<std::uint8_t> ink(e.planes, e.rows, e.cols, e.channels);
            const filter_options options = options_of(w);
            const threshold_rule sauvola{.range = 2147483647.5};
            local_statistics({of.view()}, {.variance = variance.view()}, options);
            adaptive_threshold({of.view()}, {ink.view()}, sauvola, options);
            adaptive_threshold({of.view()}, {limit.view()},
                               {.method = threshold_method::wolf, .output = threshold_output::threshold}, options);
            local_contrast({of.view()}, {contrast.view()}, {}, options);
            compare(variance, limit, contrast, ink);
        };
        results(image, [&](const auto&... found) {
            results(wide, [&](const auto&... expected) {
                for (const std::string& text : {difference(found, expected)...}) EXPECT_EQ(text, "");
            });
        });
    });
    EXPECT_EQ(default_range(dtype_of<T>), 2147483647.5);
}

TYPED_TEST(integers_of_32_bits, that_do_not_count_are_left_out) {
    using T = TypeParam;
    every_case<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        if (w.border != border_mode::shrink) return;
        picture<std::uint8_t> mask(1, e.rows, e.cols, 1);
        mask.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 5 + c * 3) % 4; });
        filter_options options = options_of(w);
        options.nodata = static_cast<double>(image.view()(3, 4));
        options.fill = 7;
        picture<T> mean(e.planes, e.rows, e.cols, e.channels, 1);
        picture<std::int64_t> sum(e.planes, e.rows, e.cols, e.channels, 1);
        local_statistics({.image = image.view(), .mask = mask.view()}, {.mean = mean.view(), .sum = sum.view()},
                         options);
        const auto counted_sums = [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
            oracle::window_sums<T> s;
            for (std::int64_t i = std::max<std::int64_t>(r - w.reach.above, 0);
                 i <= std::min(r + w.reach.below, e.rows - 1); ++i)
                for (std::int64_t j = std::max<std::int64_t>(c - w.reach.left, 0);
                     j <= std::min(c + w.reach.right, e.cols - 1); ++j)
                    if (mask.view()(i, j) != 0 && image.view()(i, j, k, p) != image.view()(3, 4)) {
                        s.n += 1;
                        s.sum += image.view()(i, j, k, p);
                    }
            return s;
        };
        const oracle::filter<T> expected(image.view(), w);
        EXPECT_EQ(first_difference(mean.view(),
                                   [&](auto... at) {
                                       const auto s = counted_sums(at...);
                                       return s.n == 0 ? T{7} : expected.rounded(s);
                                   }),
                  "");
        EXPECT_EQ(first_difference(sum.view(),
                                   [&](auto... at) {
                                       const auto s = counted_sums(at...);
                                       return s.n == 0 ? 7 : static_cast<std::int64_t>(s.sum);
                                   }),
                  "");
    });
}

TYPED_TEST(integers_of_32_bits, have_exact_means_with_a_radius_per_pixel) {
    using T = TypeParam;
    every_case<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        const std::int64_t radius = w.reach.left;
        const bordered_window square{window_radius(radius), w.border, w.value, w.rounding};
        const oracle::filter<T> expected(image.view(), square);
        picture<std::uint8_t> radii(1, e.rows, e.cols, 1);
        radii.fill([&](auto...) { return radius; });
        picture<T> same(e.planes, e.rows, e.cols, e.channels, 4);
        picture<double> f64(e.planes, e.rows, e.cols, e.channels, 1);
        filter_options options = options_of(square);
        options.window = {};
        variable_box_filter({image.view(), radii.view()}, {same.view()}, options);
        variable_box_filter({image.view(), radii.view()}, {f64.view()}, options);
        EXPECT_EQ(first_difference(same.view(), [&](auto... at) { return expected.rounded(expected.sums(at...)); }),
                  "");
        EXPECT_EQ(first_difference(f64.view(), [&](auto... at) { return expected.mean(expected.sums(at...)); }), "");
    });
}

TYPED_TEST(integers_of_32_bits, are_exact_up_to_windows_of_two_to_the_21_pixels) {
    using T = TypeParam;
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    picture<T> image(1, 1 << 11, 1 << 10, 1), mean(1, 1 << 11, 1 << 10, 1);
    image.fill(
        [&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return r + c == 0 ? high - 1 : high; });
    const window all = window_radius(2047, 1023);
    const auto everywhere = [&](T value) { return first_difference(mean.view(), [&](auto...) { return value; }); };
    box_filter({image.view()}, {mean.view()}, {.window = all});
    EXPECT_EQ(everywhere(high), "");
    box_filter({image.view()}, {mean.view()}, {.window = all, .rounding = rounding_mode::floor});
    EXPECT_EQ(everywhere(static_cast<T>(high - 1)), "");
    image.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return r + c == 0 ? low + 1 : low; });
    box_filter({image.view()}, {mean.view()}, {.window = all, .rounding = rounding_mode::floor});
    EXPECT_EQ(everywhere(low), "");

    const filter_options larger{.window = 1449, .border = border_mode::reflect};
    const auto refused = [](const char* result, const char* type) {
        return std::string(result) + ": type is " + type +
               ", but the window has 2099601 pixels, and integer results of 32-bit images are supported up to 2^21";
    };
    const auto message = [](auto&& call) {
        try {
            call();
        } catch (const unsupported& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    picture<T> small(1, 3, 3, 1), same(1, 3, 3, 1);
    picture<std::int64_t> sum(1, 3, 3, 1);
    picture<double> f64(1, 3, 3, 1);
    oracle::fill_random(small, 1);
    const char* const type = std::is_signed_v<T> ? "32s" : "32u";
    EXPECT_EQ(message([&] { box_filter({small.view()}, {same.view()}, larger); }), refused("result", type));
    EXPECT_EQ(message([&] { local_statistics({small.view()}, {.mean = same.view()}, larger); }), refused("mean", type));
    EXPECT_EQ(message([&] { local_statistics({small.view()}, {.sum = sum.view()}, larger); }), refused("sum", "64s"));
    EXPECT_EQ(message([&] { box_filter({small.view()}, {f64.view()}, larger); }), "");
}

TEST(float16_filters, are_those_of_the_same_values_in_32_bits) {
    for (const extents& e : shapes) {
        picture<float16> image(e.planes, e.rows, e.cols, e.channels, e.gap);
        picture<float> wide(e.planes, e.rows, e.cols, e.channels);
        oracle::fill_random(wide, 5);
        oracle::each(image.view(), [&](auto... at) { image.view()(at...) = to_float16(wide.view()(at...) * 9); });
        copy(wide, image.view());
        for (const window& reach : windows) {
            // A border of the image's type: 0.1 is rounded to it.
            const filter_options options{.window = reach, .border = border_mode::constant, .border_value = 0.1},
                as_wide{.window = reach,
                        .border = border_mode::constant,
                        .border_value = static_cast<double>(to_float(to_float16(0.1F)))};
            picture<double> mean(e.planes, e.rows, e.cols, e.channels), mean_wide(e.planes, e.rows, e.cols, e.channels),
                variance(e.planes, e.rows, e.cols, e.channels), variance_wide(e.planes, e.rows, e.cols, e.channels);
            picture<float16> half(e.planes, e.rows, e.cols, e.channels, 1),
                merged(e.planes, e.rows, e.cols, e.channels, 1);
            picture<std::uint8_t> ink(e.planes, e.rows, e.cols, e.channels, 1),
                ink_wide(e.planes, e.rows, e.cols, e.channels, 1);
            box_filter({image.view()}, {mean.view()}, options);
            box_filter({wide.view()}, {mean_wide.view()}, as_wide);
            EXPECT_EQ(difference(mean, mean_wide), "");
            const auto nearest_mean = [&](const picture<float16>& result) {
                std::string text;
                oracle::each(result.view(), [&](auto... at) {
                    if (result.view()(at...) != nearest_float16(mean.view()(at...))) text = "a mean is not the nearest";
                });
                return text;
            };
            box_filter({image.view()}, {half.view()}, options);
            EXPECT_EQ(nearest_mean(half), "");
            local_statistics({image.view()}, {.mean = merged.view(), .variance = variance.view()}, options);
            local_statistics({wide.view()}, {.mean = mean_wide.view(), .variance = variance_wide.view()}, as_wide);
            EXPECT_EQ(difference(variance, variance_wide), "");
            copy(mean, mean_wide.view());
            EXPECT_EQ(nearest_mean(merged), "");
            adaptive_threshold({image.view()}, {ink.view()}, {}, options);
            adaptive_threshold({wide.view()}, {ink_wide.view()}, {}, as_wide);
            EXPECT_EQ(difference(ink, ink_wide), "");

            // Holes are filled, and results of windows without a sample are of the result's type, too.
            filter_options holes = options, holes_wide = as_wide;
            holes.border = holes_wide.border = border_mode::shrink;
            holes.nodata = holes_wide.nodata = static_cast<double>(to_float(image.view()(1, 2)));
            holes.fill = holes_wide.fill = -3;
            box_filter({image.view()}, {half.view()}, holes);
            box_filter({wide.view()}, {mean.view()}, holes_wide);
            EXPECT_EQ(nearest_mean(half), "");

            picture<std::uint8_t> radii(1, e.rows, e.cols, 1);
            radii.fill([&](auto...) { return reach.left; });
            variable_box_filter({wide.view(), radii.view()}, {mean.view()});
            variable_box_filter({image.view(), radii.view()}, {half.view()});
            EXPECT_EQ(nearest_mean(half), "");
        }
    }
    picture<float16> one(1, 1, 1, 1);
    picture<float> out(1, 1, 1, 1);
    one.view()(0, 0) = to_float16(1);
    try {
        box_filter({one.view()}, {out.view()}, {.border = border_mode::constant, .border_value = 65520});
        FAIL();
    } catch (const invalid_argument& e) {
        EXPECT_STREQ(e.what(), "border_value: is 65520, must be a number of the image's type 16f");
    }
}

/// The stride of pixels side by side may be said in bytes, which are others in the type that is computed with.
TEST(float16_filters, may_say_how_far_apart_pixels_side_by_side_are) {
    picture<float16> image(1, 7, 9, 2);
    image.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t k) {
        return to_float16(static_cast<float>(5 * r + c * c + k));
    });
    picture<std::uint8_t> radius(1, 7, 9, 1);
    radius.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r + c) % 4; });
    picture<double> expected(1, 7, 9, 2), result(1, 7, 9, 2);
    variable_box_filter({.image = image.view(), .radius = radius.view()}, {expected.view()});
    const_any_view said = image.view();
    said.shape.col_stride = said.shape.pixel_stride();
    variable_box_filter({.image = said, .radius = radius.view()}, {result.view()});
    EXPECT_EQ(first_difference(result.view(), [&](auto... at) { return expected.view()(at...); }), "");
}

TEST(nearest_float16, is_rounded_once) {
    // Between every two neighbours: just beside the middle in double, where a float in between would be the middle.
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
        const auto above = static_cast<std::uint16_t>(bits + 1);
        const double a = static_cast<double>(to_float({bits})), b = static_cast<double>(to_float({above}));
        const double middle = (a + b) / 2, beside = (b - a) * 0x1p-35;
        const std::uint16_t even = bits % 2 == 0 ? bits : above;
        ASSERT_EQ(nearest_float16(middle).bits, even);
        ASSERT_EQ(nearest_float16(middle + beside).bits, above);
        ASSERT_EQ(nearest_float16(middle - beside).bits, bits);
        ASSERT_EQ(nearest_float16(-middle - beside).bits, above | 0x8000);
    }
    EXPECT_EQ(nearest_float16(1e300).bits, 0x7c00);
    EXPECT_EQ(nearest_float16(-1e-300).bits, 0x8000);
}

}  // namespace
}  // namespace boxsum::wider_types
