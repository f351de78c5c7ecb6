#include "filters/oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using oracle::bordered_window;
using oracle::fault;
using oracle::picture;

struct extents {
    std::int64_t planes, rows, cols, channels, gap;
};

const std::vector<extents>& shapes() {
    static const std::vector<extents> list = {{1, 1, 1, 1, 0},   {1, 1, 37, 1, 0}, {1, 29, 1, 1, 5},  {1, 9, 7, 1, 0},
                                              {1, 18, 41, 1, 3}, {2, 7, 11, 3, 2}, {1, 11, 19, 2, 0}, {3, 5, 17, 4, 1}};
    return list;
}

/// Square and not, even, one-sided, beyond the image on some sides or on all.
const std::vector<window>& windows() {
    static const std::vector<window> list = {
        window_radius(0),
        window_radius(1),
        window_radius(2, 0),
        window_radius(0, 3),
        window_radius(3, 5),
        window_radius(8, 2),
        window_radius(12, 20),
        window_radius(70, 55),
        window_radius(140, 163),
        window_radius(1600, 1700),
        window_size(2),
        window_size(6, 4),
        window_extents{.above = 3, .right = 6},
        window_extents{.below = 5, .left = 2},
        window_extents{.above = 1, .below = 13, .left = 17, .right = 4},
        window_extents{.above = 45, .below = 3, .left = 0, .right = 90},
        window_extents{.above = 0, .below = 130, .left = 300, .right = 1},
    };
    return list;
}

constexpr std::array borders = {border_mode::shrink,   border_mode::reflect, border_mode::replicate,
                                border_mode::constant, border_mode::mirror,  border_mode::wrap};

/// Where one border of a kind is as good as another.
constexpr std::array some_borders = {border_mode::shrink, border_mode::constant, border_mode::mirror,
                                     border_mode::wrap};

std::string describe(const extents& e, const bordered_window& w) {
    return std::to_string(e.planes) + "x" + std::to_string(e.rows) + "x" + std::to_string(e.cols) + "x" +
           std::to_string(e.channels) + " window " + std::to_string(w.reach.above) + "," +
           std::to_string(w.reach.below) + "," + std::to_string(w.reach.left) + "," + std::to_string(w.reach.right) +
           " " + std::string(name_of(w.border));
}

template <typename T>
constexpr double constant_of = std::is_signed_v<T> ? -7 : 200;

/// Calls test(image, window) for every shape, radius and border.
template <typename T, typename Test>
void every_window(Test&& test) {
    unsigned seed = 1;
    for (const extents& e : shapes()) {
        picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
        oracle::fill_random(image, seed++);
        for (const window& reach : windows())
            for (const border_mode border : borders) {
                const bordered_window w{reach, border, border == border_mode::constant ? constant_of<T> : 0};
                SCOPED_TRACE(describe(e, w));
                test(image, w, e);
                if (testing::Test::HasFatalFailure()) return;
            }
    }
}

template <typename T>
class integer_filters : public testing::Test {};
using integer_types = testing::Types<std::uint8_t, std::uint16_t, std::int16_t>;
TYPED_TEST_SUITE(integer_filters, integer_types);

template <typename T>
class floating_filters : public testing::Test {};
using floating_types = testing::Types<float, double>;
TYPED_TEST_SUITE(floating_filters, floating_types);

template <typename T>
class all_filters : public testing::Test {};
using all_types = testing::Types<std::uint8_t, std::uint16_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(all_filters, all_types);

TYPED_TEST(integer_filters, box_mean_is_the_definition) {
    using T = TypeParam;
    every_window<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        const filter_options options{.window = w.reach, .border = w.border, .border_value = w.value};
        picture<T> same(e.planes, e.rows, e.cols, e.channels, 4);
        picture<float> f32(e.planes, e.rows, e.cols, e.channels, 0);
        picture<double> f64(e.planes, e.rows, e.cols, e.channels, 1);
        box_filter({image.view()}, {same.view()}, options);
        box_filter({image.view()}, {f32.view()}, options);
        box_filter({image.view()}, {f64.view()}, options);
        const oracle::filter<T> expected(image.view(), w);
        ASSERT_EQ(
            oracle::first_difference(same.view(), [&](auto... at) { return expected.rounded(expected.sums(at...)); }),
            "");
        ASSERT_EQ(oracle::first_difference(f64.view(), [&](auto... at) { return expected.mean(expected.sums(at...)); }),
                  "");
        ASSERT_EQ(oracle::first_difference(
                      f32.view(), [&](auto... at) { return static_cast<float>(expected.mean(expected.sums(at...))); }),
                  "");
        ASSERT_TRUE(same.guards_intact() && f32.guards_intact() && f64.guards_intact());
    });
}

TYPED_TEST(integer_filters, statistics_are_the_definition) {
    using T = TypeParam;
    every_window<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        const filter_options options{.window = w.reach, .border = w.border, .border_value = w.value};
        picture<T> rounded(e.planes, e.rows, e.cols, e.channels, 4);
        picture<double> mean(e.planes, e.rows, e.cols, e.channels, 4), variance(e.planes, e.rows, e.cols, e.channels),
            deviation(e.planes, e.rows, e.cols, e.channels, 2);
        local_statistics({image.view()},
                         {.mean = mean.view(), .variance = variance.view(), .deviation = deviation.view()}, options);
        local_statistics({image.view()}, {.mean = rounded.view()}, options);
        const oracle::filter<T> expected(image.view(), w);
        ASSERT_EQ(oracle::first_difference(rounded.view(),
                                           [&](auto... at) { return expected.rounded(expected.sums(at...)); }),
                  "");
        ASSERT_EQ(
            oracle::first_difference(mean.view(), [&](auto... at) { return expected.mean(expected.sums(at...)); }), "");
        ASSERT_EQ(oracle::first_difference(variance.view(),
                                           [&](auto... at) { return expected.variance(expected.sums(at...)); }),
                  "");
        ASSERT_EQ(oracle::first_difference(
                      deviation.view(), [&](auto... at) { return std::sqrt(expected.variance(expected.sums(at...))); }),
                  "");
        ASSERT_TRUE(rounded.guards_intact() && mean.guards_intact() && variance.guards_intact() &&
                    deviation.guards_intact());
    });
}

TYPED_TEST(integer_filters, thresholds_and_contrast_are_the_definition) {
    using T = TypeParam;
    unsigned seed = 77;
    for (const extents& e : shapes()) {
        picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
        oracle::fill_random(image, seed++);
        for (const window& reach : {window(window_radius(0)), window(window_radius(1, 2)), window(window_radius(5, 3)),
                                    window(window_radius(40, 30)), window(4, 8)})
            for (const border_mode border : borders) {
                const bordered_window w{reach, border, border == border_mode::constant ? constant_of<T> : 0};
                SCOPED_TRACE(describe(e, w));
                const oracle::filter<T> expected(image.view(), w);
                std::vector<oracle::extremes> extremes(static_cast<std::size_t>(e.planes * e.channels));
                const auto of = [&](std::int64_t k, std::int64_t p) -> oracle::extremes& {
                    return extremes[static_cast<std::size_t>(p * e.channels + k)];
                };
                oracle::each(image.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                    oracle::extremes& x = of(k, p);
                    const double s = std::sqrt(expected.variance(expected.sums(r, c, k, p)));
                    x.largest_deviation = std::max(x.largest_deviation, s);
                    x.smallest_pixel = std::min(x.smallest_pixel, static_cast<double>(image.view()(r, c, k, p)));
                });
                picture<std::uint8_t> result(e.planes, e.rows, e.cols, e.channels, 2);
                for (const threshold_method method :
                     {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola,
                      threshold_method::wolf, threshold_method::nick, threshold_method::singh,
                      threshold_method::phansalkar})
                    for (const std::optional<double> k : {std::optional<double>{}, std::optional<double>{0.3}}) {
                        adaptive_threshold({image.view()}, {result.view()}, {.method = method, .k = k},
                                           {.window = reach, .border = border, .border_value = w.value});
                        const double used = k.value_or(
                            std::array{0.15, -0.2, 0.2, 0.5, -0.2, 0.2, 0.25}[static_cast<std::size_t>(method)]);
                        const double range = (static_cast<double>(std::numeric_limits<T>::max()) -
                                              static_cast<double>(std::numeric_limits<T>::min())) /
                                             2;
                        ASSERT_EQ(oracle::first_difference(
                                      result.view(),
                                      [&](std::int64_t r, std::int64_t c, std::int64_t channel, std::int64_t p) {
                                          const auto s = expected.sums(r, c, channel, p);
                                          const double x = static_cast<double>(image.view()(r, c, channel, p));
                                          const double limit =
                                              oracle::threshold_of(method, used, range, x, expected.mean(s),
                                                                   std::sqrt(expected.variance(s)), of(channel, p));
                                          return x > limit ? 255 : 0;
                                      }),
                                  "")
                            << name_of(method);
                        ASSERT_TRUE(result.guards_intact());
                    }
                picture<float> normal(e.planes, e.rows, e.cols, e.channels, 2);
                local_contrast({image.view()}, {normal.view()}, {.epsilon = 2},
                               {.window = reach, .border = border, .border_value = w.value});
                ASSERT_EQ(oracle::first_difference(
                              normal.view(),
                              [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                                  const auto s = expected.sums(r, c, k, p);
                                  return static_cast<float>(
                                      (static_cast<double>(image.view()(r, c, k, p)) - expected.mean(s)) /
                                      std::max(std::sqrt(expected.variance(s)), 2.0));
                              }),
                          "");
            }
    }
}

/// gamma_k of filters.hpp for a window's sum (k = w + v), and with factor 3 for its merged means.
long double gamma(const window& w, int factor = 1) {
    const long double ku = static_cast<long double>(factor * (w.above + w.below + w.left + w.right + 2)) * 0x1p-53L;
    return ku / (1 - ku);
}

TYPED_TEST(floating_filters, box_mean_is_within_the_stated_bound) {
    using T = TypeParam;
    every_window<T>([](const picture<T>& image, const bordered_window& w, const extents& e) {
        const filter_options options{.window = w.reach, .border = w.border, .border_value = w.value};
        picture<double> result(e.planes, e.rows, e.cols, e.channels, 4);
        picture<T> same(e.planes, e.rows, e.cols, e.channels, 1);
        box_filter({image.view()}, {result.view()}, options);
        box_filter({image.view()}, {same.view()}, options);
        const oracle::filter<T> expected(image.view(), w);
        oracle::each(result.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
            const auto s = expected.sums(r, c, k, p);
            const long double error = std::abs(static_cast<long double>(result.view()(r, c, k, p)) - s.mean());
            EXPECT_LE(error, gamma(w.reach) * s.magnitude / s.n) << r << ' ' << c << ' ' << k << ' ' << p;
            // 32 bits: what a mean within two units in the last place of the 64-bit one rounds to.
            const double mean = result.view()(r, c, k, p), unit = sizeof(T) == 4 ? std::abs(mean) * 0x1p-51 : 0;
            EXPECT_GE(same.view()(r, c, k, p), static_cast<T>(mean - unit));
            EXPECT_LE(same.view()(r, c, k, p), static_cast<T>(mean + unit));
        });
        ASSERT_FALSE(testing::Test::HasFailure());
        ASSERT_TRUE(result.guards_intact() && same.guards_intact());
    });
}

/// A mean alone takes sums, not pairs of means and squares, whose bits are others.
TYPED_TEST(floating_filters, a_mean_alone_is_that_of_box_filter) {
    using T = TypeParam;
    picture<T> image(1, 18, 41, 1, 3);
    oracle::fill_random(image, 77);
    const filter_options options{.window = window_radius(3, 5), .border = border_mode::reflect};
    picture<double> alone(1, 18, 41, 1), beside(1, 18, 41, 1), deviation(1, 18, 41, 1), expected(1, 18, 41, 1);
    box_filter({image.view()}, {expected.view()}, options);
    local_statistics({image.view()}, {.mean = alone.view()}, options);
    local_statistics({image.view()}, {.mean = beside.view(), .deviation = deviation.view()}, options);
    const auto of_box_filter = [&](auto... at) { return expected.view()(at...); };
    EXPECT_EQ(oracle::first_difference(alone.view(), of_box_filter), "");
    EXPECT_NE(oracle::first_difference(beside.view(), of_box_filter), "");
}

TYPED_TEST(floating_filters, statistics_do_not_cancel) {
    using T = TypeParam;
    for (const double base : {0.0, 1e6}) {
        if (oracle::sanitized && base == 0) continue;
        every_window<T>([&](const picture<T>& original, const bordered_window& plain, const extents& e) {
            picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
            image.fill([&](std::int64_t p, std::int64_t r, std::int64_t c, std::int64_t k) {
                return static_cast<double>(original.view()(r, c, k, p)) * 8 + base;
            });
            bordered_window w = plain;
            if (w.border == border_mode::constant) w.value = base + 3;
            picture<double> mean(e.planes, e.rows, e.cols, e.channels, 4),
                variance(e.planes, e.rows, e.cols, e.channels, 2), deviation(e.planes, e.rows, e.cols, e.channels, 1);
            local_statistics({image.view()},
                             {.mean = mean.view(), .variance = variance.view(), .deviation = deviation.view()},
                             {.window = w.reach, .border = w.border, .border_value = w.value});
            const oracle::filter<T> expected(image.view(), w);
            oracle::each(mean.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                const auto s = expected.sums(r, c, k, p);
                const long double v = expected.variance_in_two_passes(r, c, k, p, s);
                const long double m = s.mean();
                // Rounding the running mean by u * |m| moves a deviation by as much; the naive n*S2 - S*S would miss
                // this by a factor of |m| / s, a million here.
                const long double slack = 40 * gamma(w.reach);
                EXPECT_LE(std::abs(static_cast<long double>(mean.view()(r, c, k, p)) - m),
                          gamma(w.reach, 3) * s.magnitude / s.n);
                EXPECT_NEAR(static_cast<double>(v), variance.view()(r, c, k, p),
                            static_cast<double>(slack * (v + std::sqrt(v) * std::abs(m)) + slack * slack * m * m));
                EXPECT_GE(variance.view()(r, c, k, p), 0.0);
                EXPECT_EQ(deviation.view()(r, c, k, p), std::sqrt(variance.view()(r, c, k, p)));
            });
            ASSERT_FALSE(testing::Test::HasFailure());
        });
    }
}

/// Every way in which eight windows are made of groups, cut ones and blocks of groups among them; in 32 bits the same,
/// rounded once.
TYPED_TEST(floating_filters, statistics_of_every_width) {
    using T = TypeParam;
    picture<T> image(1, 37, 53, 2, 3);
    oracle::fill_random(image, 31);
    for (std::int64_t width = 1; width <= 47; width += width < 27 ? 1 : 5)
        for (const border_mode border : {border_mode::shrink, border_mode::replicate}) {
            const bordered_window w{window(width, 28 - width / 2), border, 0};
            const filter_options options{.window = w.reach, .border = border};
            picture<double> mean(1, 37, 53, 2), deviation(1, 37, 53, 2, 5), alone(1, 37, 53, 2);
            picture<float> narrow_mean(1, 37, 53, 2, 1), narrow(1, 37, 53, 2, 4), narrow_alone(1, 37, 53, 2);
            local_statistics({image.view()}, {.mean = mean.view(), .deviation = deviation.view()}, options);
            local_statistics({image.view()}, {.deviation = alone.view()}, options);
            local_statistics({image.view()}, {.mean = narrow_mean.view(), .deviation = narrow.view()}, options);
            local_statistics({image.view()}, {.deviation = narrow_alone.view()}, options);
            const oracle::filter<T> expected(image.view(), w);
            oracle::each(mean.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                const auto s = expected.sums(r, c, k, p);
                const long double wanted = std::sqrt(expected.variance_in_two_passes(r, c, k, p, s));
                const double got = deviation.view()(r, c, k, p);
                ASSERT_LE(std::abs(static_cast<long double>(mean.view()(r, c, k, p)) - s.mean()),
                          gamma(w.reach, 3) * s.magnitude / s.n);
                ASSERT_LE(std::abs(static_cast<long double>(got) - wanted), 40 * gamma(w.reach) * s.magnitude / s.n)
                    << width << ": " << r << ' ' << c << ' ' << k;
                ASSERT_EQ(alone.view()(r, c, k, p), got);
                ASSERT_EQ(narrow.view()(r, c, k, p), static_cast<float>(got));
                ASSERT_EQ(narrow_alone.view()(r, c, k, p), static_cast<float>(got));
                ASSERT_EQ(narrow_mean.view()(r, c, k, p), static_cast<float>(mean.view()(r, c, k, p)));
            });
            ASSERT_FALSE(testing::Test::HasFatalFailure());
            ASSERT_TRUE(mean.guards_intact() && deviation.guards_intact() && narrow.guards_intact() &&
                        narrow_mean.guards_intact());
        }
}

TYPED_TEST(all_filters, a_constant_image_stays_and_has_no_variance) {
    using T = TypeParam;
    const T value = std::is_floating_point_v<T> ? static_cast<T>(0.1) : static_cast<T>(113);
    for (const extents& e : shapes())
        for (const window& reach : windows())
            for (const border_mode border : some_borders) {
                picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
                image.fill([&](auto...) { return value; });
                picture<T> mean(e.planes, e.rows, e.cols, e.channels);
                picture<double> exact(e.planes, e.rows, e.cols, e.channels),
                    variance(e.planes, e.rows, e.cols, e.channels);
                const double outside = static_cast<double>(value);
                box_filter({image.view()}, {mean.view()}, {.window = reach, .border = border, .border_value = outside});
                local_statistics({image.view()}, {.mean = exact.view(), .variance = variance.view()},
                                 {.window = reach, .border = border, .border_value = outside});
                ASSERT_EQ(oracle::first_difference(variance.view(), [](auto...) { return 0.0; }), "");
                ASSERT_EQ(oracle::first_difference(exact.view(), [&](auto...) { return outside; }), "");
                if constexpr (std::is_same_v<T, double>) {
                    ASSERT_EQ(oracle::first_difference(
                                  mean.view(), [&](auto...) { return value; },
                                  [&](T a, T b) { return std::abs(a - b) <= gamma(reach) * a; }),
                              "");
                } else {
                    ASSERT_EQ(oracle::first_difference(mean.view(), [&](auto...) { return value; }), "");
                }
            }
}

TYPED_TEST(all_filters, an_impulse_becomes_its_window) {
    using T = TypeParam;
    picture<T> image(1, 31, 43, 1);
    image.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return r == 12 && c == 20 ? 120 : 0; });
    picture<double> result(1, 31, 43, 1);
    box_filter({image.view()}, {result.view()}, {.window = window_radius(3, 5), .border = border_mode::replicate});
    EXPECT_EQ(oracle::first_difference(result.view(),
                                       [](std::int64_t r, std::int64_t c, std::int64_t, std::int64_t) {
                                           return std::abs(r - 12) <= 3 && std::abs(c - 20) <= 5 ? 120.0 / 77 : 0.0;
                                       }),
              "");
}

TYPED_TEST(all_filters, the_number_of_threads_changes_no_bit) {
    using T = TypeParam;
    picture<T> image(2, 61, 83, 3, 2);
    oracle::fill_random(image, 5);
    picture<std::uint8_t> radius(1, 61, 83, 1);
    radius.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 7 + c * 3) % 19; });
    const std::array reaches = {window(window_radius(2, 1)), window(window_radius(11, 30)),
                                window(window_radius(100, 170)), window(8, 3)};
    for (std::size_t j = 0; j < some_borders.size(); ++j)
        for (std::size_t i = 0; i < reaches.size(); ++i) {
            if (oracle::sanitized && (i + j) % 2 != 0) continue;
            const border_mode border = some_borders[j];
            const window& r = reaches[i];
            struct results {
                picture<double> blurred{2, 61, 83, 3}, mean{2, 61, 83, 3}, variance{2, 61, 83, 3},
                    variable{2, 61, 83, 3};
                picture<std::uint8_t> wolf{2, 61, 83, 3};
                picture<float> contrast{2, 61, 83, 3};
            };
            const auto run = [&](results& out, int threads) {
                box_filter({image.view()}, {out.blurred.view()}, {.window = r, .border = border, .threads = threads});
                local_statistics({image.view()}, {.mean = out.mean.view(), .variance = out.variance.view()},
                                 {.window = r, .border = border, .threads = threads});
                adaptive_threshold({image.view()}, {out.wolf.view()}, {.method = threshold_method::wolf},
                                   {.window = r, .border = border, .threads = threads});
                local_contrast({image.view()}, {out.contrast.view()}, {},
                               {.window = r, .border = border, .threads = threads});
                variable_box_filter({image.view(), radius.view()}, {out.variable.view()},
                                    {.border = border, .threads = threads});
            };
            results one;
            run(one, 1);
            // As many as the library likes, fewer than rows, more than rows; all of them once for each border and
            // window.
            for (const int threads : i == j ? std::vector{0, 2, 3, 7, 200} : std::vector{7}) {
                results many;
                run(many, threads);
                const auto equal = [](const auto& a, const auto& b) {
                    return oracle::first_difference(a.view(), [&](auto... at) { return b.view()(at...); });
                };
                ASSERT_EQ(equal(many.blurred, one.blurred), "") << threads;
                ASSERT_EQ(equal(many.mean, one.mean), "") << threads;
                ASSERT_EQ(equal(many.variance, one.variance), "") << threads;
                ASSERT_EQ(equal(many.wolf, one.wolf), "") << threads;
                ASSERT_EQ(equal(many.contrast, one.contrast), "") << threads;
                ASSERT_EQ(equal(many.variable, one.variable), "") << threads;
            }
        }
}

/// Windows without the pixel have the bits of an image that never had it; those with it have its class.
TYPED_TEST(floating_filters, a_pixel_acts_on_its_windows_only) {
    using T = TypeParam;
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const T huge = std::numeric_limits<T>::max() / 4;
    for (const border_mode border : {border_mode::shrink, border_mode::reflect})
        for (const window_radius radius : {window_radius(1), {4, 9}, {0, 3}, {5, 0}})
            for (const T bad : {nan, infinity, -infinity, huge}) {
                picture<T> good(1, 33, 47, 1), spoiled(1, 33, 47, 1);
                oracle::fill_random(good, 3);
                spoiled.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) {
                    return r == 14 && c == 23 ? bad : good.view()(r, c);
                });
                const auto within = [&](std::int64_t r, std::int64_t c) {
                    return std::abs(r - 14) <= radius.rows && std::abs(c - 23) <= radius.cols;
                };
                picture<T> blurred(1, 33, 47, 1), expected(1, 33, 47, 1);
                picture<double> variance(1, 33, 47, 1), expected_variance(1, 33, 47, 1);
                box_filter({good.view()}, {expected.view()}, {.window = radius, .border = border});
                box_filter({spoiled.view()}, {blurred.view()}, {.window = radius, .border = border});
                const filter_options options{.window = radius, .border = border};
                local_statistics({good.view()}, {.variance = expected_variance.view()}, options);
                local_statistics({spoiled.view()}, {.variance = variance.view()}, options);
                ASSERT_EQ(oracle::first_difference(blurred.view(),
                                                   [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                                                       return within(r, c)
                                                                  ? (bad == huge ? blurred.view()(r, c, k, p) : bad)
                                                                  : expected.view()(r, c, k, p);
                                                   }),
                          "");
                ASSERT_EQ(oracle::first_difference(variance.view(),
                                                   [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                                                       const double inside =
                                                           bad == huge ? variance.view()(r, c, k, p)
                                                                       : std::numeric_limits<double>::quiet_NaN();
                                                       return within(r, c) ? inside
                                                                           : expected_variance.view()(r, c, k, p);
                                                   }),
                          "");
                picture<double> beside(1, 33, 47, 1), expected_beside(1, 33, 47, 1);
                local_statistics({good.view()}, {.mean = expected_beside.view(), .variance = expected_variance.view()},
                                 options);
                local_statistics({spoiled.view()}, {.mean = beside.view(), .variance = variance.view()}, options);
                ASSERT_EQ(oracle::first_difference(beside.view(),
                                                   [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                                                       return within(r, c) ? (bad == huge ? beside.view()(r, c, k, p)
                                                                                          : static_cast<double>(bad))
                                                                           : expected_beside.view()(r, c, k, p);
                                                   }),
                          "");
                picture<std::uint8_t> black(1, 33, 47, 1);
                adaptive_threshold({spoiled.view()}, {black.view()}, {.method = threshold_method::wolf},
                                   {.window = 3, .border = border});
                if (bad != huge) {
                    EXPECT_EQ(black.view()(14, 23), 0);
                }
            }
}

TYPED_TEST(floating_filters, infinities_of_both_signs_make_nan) {
    using T = TypeParam;
    picture<T> image(1, 9, 9, 1);
    image.fill([](auto...) { return 1; });
    image.view()(4, 2) = std::numeric_limits<T>::infinity();
    image.view()(4, 5) = -std::numeric_limits<T>::infinity();
    picture<std::uint8_t> radius(1, 9, 9, 1);
    radius.fill([](auto...) { return 2; });
    enum class way { box_filter, variable, mean_alone, mean_beside_variance };
    for (const way how : {way::box_filter, way::variable, way::mean_alone, way::mean_beside_variance}) {
        SCOPED_TRACE(static_cast<int>(how));
        picture<T> result(1, 9, 9, 1);
        picture<double> variance(1, 9, 9, 1);
        if (how == way::variable) {
            variable_box_filter({image.view(), radius.view()}, {result.view()});
        } else if (how == way::box_filter) {
            box_filter({image.view()}, {result.view()}, {.window = 5});
        } else if (how == way::mean_alone) {
            local_statistics({image.view()}, {.mean = result.view()}, {.window = 5});
        } else {
            local_statistics({image.view()}, {.mean = result.view(), .variance = variance.view()}, {.window = 5});
            EXPECT_TRUE(std::isnan(variance.view()(4, 1)) && std::isnan(variance.view()(4, 3)));
            EXPECT_EQ(variance.view()(0, 0), 0);
        }
        EXPECT_EQ(result.view()(4, 1), std::numeric_limits<T>::infinity());
        EXPECT_TRUE(std::isnan(result.view()(4, 3)));
        EXPECT_EQ(result.view()(4, 6), -std::numeric_limits<T>::infinity());
        EXPECT_EQ(result.view()(0, 0), 1);
        EXPECT_EQ(result.view()(8, 8), 1);
    }
}

/// A threshold made of the mean follows the mean; one made of a deviation is not a number.
TYPED_TEST(floating_filters, thresholds_of_windows_with_an_infinity) {
    using T = TypeParam;
    for (const T infinity : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}) {
        picture<T> image(1, 9, 9, 1);
        image.fill([](auto...) { return 1; });
        image.view()(4, 4) = infinity;
        picture<std::uint8_t> result(1, 9, 9, 1);
        adaptive_threshold({image.view()}, {result.view()}, {.method = threshold_method::bradley}, {.window = 3});
        EXPECT_EQ(result.view()(4, 3), infinity > 0 ? 0 : 255);
        EXPECT_EQ(result.view()(4, 4), 0);  // an infinity does not exceed itself
        EXPECT_EQ(result.view()(0, 0), 255);
        adaptive_threshold({image.view()}, {result.view()}, {.method = threshold_method::sauvola}, {.window = 3});
        EXPECT_EQ(result.view()(4, 3), 0);
        EXPECT_EQ(result.view()(0, 0), 255);
    }
}

TEST(filters, halves_round_up) {
    const std::uint8_t bytes[] = {0, 1, 2, 5};
    std::uint8_t rounded[4];
    box_filter({image_view<const std::uint8_t>(bytes, 2, 2)}, {image_view<std::uint8_t>(rounded, 2, 2)},
               {.window = window_radius(0, 1)});
    EXPECT_EQ(rounded[0], 1);  // 0.5
    EXPECT_EQ(rounded[2], 4);  // 3.5
    const std::int16_t numbers[] = {-1, 0, -2, -1, -4, -3};
    std::int16_t out[6];
    box_filter({image_view<const std::int16_t>(numbers, 3, 2)}, {image_view<std::int16_t>(out, 3, 2)},
               {.window = window_radius(0, 1)});
    EXPECT_EQ(out[0], 0);   // -0.5
    EXPECT_EQ(out[2], -1);  // -1.5
    EXPECT_EQ(out[4], -3);  // -3.5
}

TEST(filters, the_largest_values_do_not_overflow) {
    for (const std::int64_t radius : {90, 91, 128, 1447, 1448, 2047, 2048, 4000, 3000000}) {
        picture<std::uint8_t> bytes(1, 5, 9, 1);
        bytes.fill([](auto...) { return 255; });
        picture<std::uint16_t> words(1, 5, 9, 1);
        words.fill([](auto...) { return 65535; });
        picture<std::uint8_t> a(1, 5, 9, 1);
        picture<std::uint16_t> b(1, 5, 9, 1);
        box_filter({bytes.view()}, {a.view()}, {.window = window_radius(radius), .border = border_mode::reflect});
        box_filter({words.view()}, {b.view()}, {.window = window_radius(radius), .border = border_mode::reflect});
        EXPECT_EQ(oracle::first_difference(a.view(), [](auto...) { return 255; }), "") << radius;
        EXPECT_EQ(oracle::first_difference(b.view(), [](auto...) { return 65535; }), "") << radius;
        if (radius > 32000) continue;
        picture<double> v(1, 5, 9, 1);
        for (const const_any_view& image : {const_any_view(bytes.view()), const_any_view(words.view())}) {
            local_statistics({image}, {.variance = v.view()},
                             {.window = window_radius(radius), .border = border_mode::reflect});
            EXPECT_EQ(oracle::first_difference(v.view(), [](auto...) { return 0.0; }), "") << radius;
        }
    }
}

TYPED_TEST(all_filters, variable_radius_is_the_definition) {
    using T = TypeParam;
    for (const extents& e : shapes()) {
        picture<T> image(e.planes, e.rows, e.cols, e.channels, e.gap);
        oracle::fill_random(image, 11);
        for (const int largest : {3, 40, 3000})
            for (const border_mode border : borders) {
                const double value = border == border_mode::constant ? constant_of<T> : 0;
                picture<std::int32_t> radius(e.channels == 4 ? e.planes : 1, e.rows, e.cols, 1, 2);
                radius.fill([&](std::int64_t p, std::int64_t r, std::int64_t c, std::int64_t) {
                    return (r * 5 + c * 11 + p) % 8 == 7 ? largest : (r + 2 * c + p) % 4;
                });
                using exact = std::conditional_t<std::is_integral_v<T>, T, double>;
                picture<exact> result(e.planes, e.rows, e.cols, e.channels, 3);
                variable_box_filter({image.view(), radius.view()}, {result.view()},
                                    {.border = border, .border_value = value});
                std::vector<oracle::filter<T>> filters;
                for (const std::int64_t r : {0, 1, 2, 3, largest})
                    filters.emplace_back(image.view(), bordered_window{window_radius(r), border, value});
                long double total = 0;
                oracle::each(image.view(),
                             [&](auto... at) { total += std::abs(static_cast<long double>(image.view()(at...))); });
                oracle::each(result.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                    const auto chosen = radius.view()(r, c, 0, radius.view().planes() == 1 ? 0 : p);
                    const auto& f = filters[chosen <= 3 ? static_cast<std::size_t>(chosen) : 4];
                    const auto s = f.sums(r, c, k, p);
                    if constexpr (std::is_integral_v<T>) {
                        EXPECT_EQ(result.view()(r, c, k, p), f.rounded(s)) << r << ' ' << c << ' ' << chosen;
                    } else {
                        // Beyond the border the table is taken as often as the image repeats.
                        const long double repeats =
                            border == border_mode::shrink || border == border_mode::constant
                                ? 4
                                : 4 * (2.0L + static_cast<long double>(chosen) / static_cast<long double>(e.rows)) *
                                      (2.0L + static_cast<long double>(chosen) / static_cast<long double>(e.cols));
                        EXPECT_NEAR(static_cast<double>(result.view()(r, c, k, p)), static_cast<double>(s.mean()),
                                    static_cast<double>(gamma(window_radius(e.rows + 8, e.cols + 8)) *
                                                        (repeats * total + s.magnitude) / s.n));
                    }
                });
                ASSERT_FALSE(testing::Test::HasFailure())
                    << e.rows << 'x' << e.cols << 'x' << e.channels << ' ' << name_of(border) << ' ' << largest;
                ASSERT_TRUE(result.guards_intact());
            }
    }
}

TYPED_TEST(floating_filters, variable_radius_keeps_what_is_not_finite_local) {
    using T = TypeParam;
    picture<T> image(1, 33, 47, 2);
    oracle::fill_random(image, 3);
    image.view()(14, 23, 1) = std::numeric_limits<T>::quiet_NaN();
    picture<std::uint16_t> radius(1, 33, 47, 1);
    radius.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r + c) % 6; });
    picture<T> result(1, 33, 47, 2);
    variable_box_filter({image.view(), radius.view()}, {result.view()});
    oracle::each(result.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t) {
        const std::int64_t reach = radius.view()(r, c);
        EXPECT_EQ(std::isnan(result.view()(r, c, k)), k == 1 && std::abs(r - 14) <= reach && std::abs(c - 23) <= reach)
            << r << ' ' << c;
    });
}

/// Few large values among many small ones, where a merge subtracts what it then adds: means that are 1.4 times as far
/// off as gamma_(w+v) allows a sum.
TEST(filters, merged_means_of_sparse_images_are_within_their_bound) {
    const std::vector<std::vector<double>> rows = {
        {0.947, 0.952, 0, 0.606, 0, 0, 0, 0, 0.1, 0, 0, 0, 0, 0},
        {0, 0.967, 0, 0.629, 0.028, 0, 0, 0, 0, 0, 0, 0, 0.02, 0.929},
        {0, 0, 0, 0.59, 0, 0, 0, 0, 0, 0.004, 0, 0, 0, 0},
    };
    const auto check = [](const picture<double>& image, window_radius radius, border_mode border) {
        const image_view<const double> view = image.view();
        const oracle::filter<double> expected(view, {radius, border});
        picture<double> mean(1, view.rows(), view.cols(), 1), variance(1, view.rows(), view.cols(), 1);
        local_statistics({view}, {.mean = mean.view(), .variance = variance.view()},
                         {.window = radius, .border = border});
        oracle::each(mean.view(), [&](auto... at) {
            const auto s = expected.sums(at...);
            ASSERT_LE(std::abs(static_cast<long double>(mean.view()(at...)) - s.mean()),
                      gamma(radius, 3) * s.magnitude / s.n);
        });
    };
    for (const std::vector<double>& row : rows) {
        picture<double> across(1, 1, 14, 1), down(1, 14, 1, 1);
        across.fill([&](std::int64_t, std::int64_t, std::int64_t c, auto) { return row[static_cast<std::size_t>(c)]; });
        down.fill([&](std::int64_t, std::int64_t r, auto...) { return row[static_cast<std::size_t>(r)]; });
        for (const border_mode border : borders) {
            check(across, {0, 3}, border);
            check(down, {3, 0}, border);
        }
    }
    for (unsigned seed = 0; seed < 20; ++seed) {
        picture<double> image(1, 24, 29, 1);
        oracle::fill_random(image, seed);
        const image_view<double> view = image.view();
        oracle::each(view, [&](auto... at) { view(at...) *= view(at...) > 0.3 ? 1 : 1e-3; });
        for (const window_radius radius : {window_radius(0, 1), {0, 3}, {3, 0}, {1, 3}, {3, 3}, {0, 13}, {70, 90}})
            for (const border_mode border : borders) check(image, radius, border);
    }
}

/// The value beyond a constant border is a pixel: rounded to the image's type, whichever way a window reaches it.
TEST(filters, a_constant_border_is_of_the_images_type) {
    picture<float> image(1, 2, 2, 1);
    picture<std::uint8_t> radius(1, 2, 2, 1);
    image.fill([](auto...) { return 0.1F; });
    radius.fill([](auto...) { return 3; });
    picture<double> result(1, 2, 2, 1);
    const auto expect_all = [&](double expected) {
        EXPECT_EQ(oracle::first_difference(result.view(), [&](auto...) { return expected; }), "");
    };
    for (const window_radius r : {window_radius(0, 1), {1, 0}, {1, 1}, {0, 5}, {5, 0}}) {
        SCOPED_TRACE(std::to_string(r.rows) + ", " + std::to_string(r.cols));
        local_statistics({image.view()}, {.variance = result.view()},
                         {.window = r, .border = border_mode::constant, .border_value = 0.1});
        expect_all(0);
        // Sums of few equal floats are exact in double.
        box_filter({image.view()}, {result.view()},
                   {.window = r, .border = border_mode::constant, .border_value = 0.1});
        expect_all(static_cast<double>(0.1F));
    }
    variable_box_filter({image.view(), radius.view()}, {result.view()},
                        {.border = border_mode::constant, .border_value = 0.1});
    expect_all(static_cast<double>(0.1F));
}

/// The comparison of these tests finds every way to be wrong that it should find.
TEST(filters, wrong_results_are_rejected) {
    picture<std::uint8_t> image(1, 12, 17, 2);
    oracle::fill_random(image, 9);
    image.view()(5, 5, 0) = 0;
    struct wrong_case {
        fault wrong;
        border_mode border;
    };
    for (const auto [wrong, border] : {wrong_case{fault::one_column_more, border_mode::shrink},
                                       {fault::one_column_more, border_mode::reflect},
                                       {fault::one_row_less, border_mode::replicate},
                                       {fault::axes_swapped, border_mode::shrink},
                                       {fault::sides_swapped, border_mode::shrink},
                                       {fault::edge_not_repeated, border_mode::reflect},
                                       {fault::full_count, border_mode::shrink},
                                       {fault::value_forgotten, border_mode::constant},
                                       {fault::truncated, border_mode::shrink},
                                       {fault::half_to_even, border_mode::shrink},
                                       {fault::channels_mixed, border_mode::shrink}}) {
        const bordered_window w{window_extents{.above = 1, .below = 1, .left = 3, .right = 2}, border, 91};
        picture<std::uint8_t> result(1, 12, 17, 2);
        const oracle::filter<std::uint8_t> broken(image.view(), w, wrong), right(image.view(), w);
        oracle::each(result.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
            result.view()(r, c, k, p) = broken.rounded(broken.sums(r, c, k, p));
        });
        const auto expected = [&](auto... at) { return right.rounded(right.sums(at...)); };
        EXPECT_NE(oracle::first_difference(result.view(), expected), "") << static_cast<int>(wrong);
        box_filter({image.view()}, {result.view()}, {.window = w.reach, .border = border, .border_value = w.value});
        EXPECT_EQ(oracle::first_difference(result.view(), expected), "");
    }
    const bordered_window w{window_radius(1, 3)};
    const oracle::filter<std::uint8_t> broken(image.view(), w, fault::sample_variance), right(image.view(), w);
    picture<double> variance(1, 12, 17, 2);
    oracle::each(variance.view(), [&](auto... at) { variance.view()(at...) = broken.variance(broken.sums(at...)); });
    EXPECT_NE(oracle::first_difference(variance.view(), [&](auto... at) { return right.variance(right.sums(at...)); }),
              "");
}

/// T equals the pixel where the window is one pixel and k is 0: not above it, so 0.
TEST(filters, a_pixel_at_the_threshold_is_not_above_it) {
    picture<std::uint8_t> image(1, 4, 4, 1), result(1, 4, 4, 1);
    oracle::fill_random(image, 1);
    for (const threshold_method method :
         {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola, threshold_method::wolf}) {
        adaptive_threshold({image.view()}, {result.view()}, {.method = method, .k = 0}, {.window = 1});
        EXPECT_EQ(oracle::first_difference(result.view(), [](auto...) { return 0; }), "") << name_of(method);
    }
}

}  // namespace
}  // namespace boxsum
