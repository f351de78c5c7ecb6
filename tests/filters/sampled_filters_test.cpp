// Images whose pixels may not count: masks, weights, NaN, nodata; sums, counts, roundings, and outputs of thresholds.
// Everything is compared with the definition of filters.hpp, pixel by pixel in wide types.

#include "filters/oracle.hpp"

#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum::sampled {
namespace {

using oracle::picture;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct sample_case {
    bool masked = false, weighted = false;
    bool one_channel = true;  ///< of the mask and the weights
    filter_options options = {};

    std::string text() const {
        return std::string(masked ? "mask " : "") + (weighted ? "weights " : "") + (one_channel ? "1 channel " : "") +
               (options.nan == nan_mode::omit ? "omit " : "") +
               (options.nodata ? "nodata " + std::to_string(*options.nodata) : "") + " window " +
               std::to_string(options.window.above) + "," + std::to_string(options.window.below) + "," +
               std::to_string(options.window.left) + "," + std::to_string(options.window.right) + " " +
               std::string(name_of(options.border));
    }
};

/// What the definition says of one window, in long double: of integers exact up to 2^64.
struct expectation {
    long double count = 0, sum = 0, magnitude = 0, mean = 0, variance = 0;
    bool given = false;  ///< enough counts
};

template <typename T>
struct images {
    picture<T> image;
    picture<std::uint8_t> mask;
    picture<float> weights;
    std::int64_t channels;

    images(std::int64_t rows, std::int64_t cols, std::int64_t k, bool one_channel, unsigned seed)
        : image(2, rows, cols, k, 3),
          mask(2, rows, cols, one_channel ? 1 : k, 1),
          weights(1, rows, cols, one_channel ? 1 : k, 2),
          channels(k) {
        std::mt19937 random(seed);
        image.fill([&](auto...) {
            const auto r = static_cast<double>(random() % 23);
            if constexpr (std::is_floating_point_v<T>) return random() % 9 == 0 ? nan : (r - 11) * 0.37;
            return std::is_signed_v<T> ? r - 11 : r;
        });
        mask.fill([&](auto...) { return random() % 3 == 0 ? 0 : random() % 255 + 1; });
        const float odd[] = {0, -1, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
        weights.fill(
            [&](auto...) { return random() % 5 == 0 ? odd[random() % 4] : static_cast<float>(random() % 100) / 8; });
    }

    filter_inputs inputs(const sample_case& c) const {
        filter_inputs in{.image = image.view()};
        if (c.masked) in.mask = mask.view();
        if (c.weighted) in.weights = weights.view();
        return in;
    }

    static bool valued(T x, const filter_options& o) {
        if (std::isnan(static_cast<double>(x)))
            return o.nan == nan_mode::propagate && !(o.nodata && std::isnan(*o.nodata));
        return !(o.nodata && static_cast<double>(x) == *o.nodata);
    }

    long double weight(const sample_case& c, std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) const {
        const std::int64_t channel = c.one_channel ? 0 : k;
        if (!valued(image.view()(r, col, k, p), c.options)) return 0;
        if (c.masked && mask.view()(r, col, channel, p) == 0) return 0;
        if (!c.weighted) return 1;
        const float w = weights.view()(r, col, channel, 0);
        return w > 0 && std::isfinite(w) ? static_cast<long double>(w) : 0;
    }
};

template <typename T>
class definition {
  public:
    definition(const images<T>& of, const sample_case& c) : case_(c), channels_(of.channels) {
        const auto& v = of.image.view();
        const window& w = c.options.window;
        for (std::int64_t r = 0; r < v.rows(); ++r)
            rows_.push_back(oracle::along(v.rows(), r, w.above, w.below, c.options.border, oracle::fault::none));
        for (std::int64_t col = 0; col < v.cols(); ++col)
            cols_.push_back(oracle::along(v.cols(), col, w.left, w.right, c.options.border, oracle::fault::none));
        oracle::each(v, [&](std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) {
            pixels_.push_back({of.weight(c, r, col, k, p), static_cast<long double>(v(r, col, k, p))});
        });
    }

    expectation at(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) const {
        expectation e;
        each_sample(r, c, k, p, [&](long double w, long double x) {
            e.count += w;
            e.sum += w * x;
            e.magnitude += w * std::abs(x);
        });
        e.given = case_.weighted ? e.count > 0 && e.count >= static_cast<long double>(case_.options.min_weight)
                                 : e.count >= static_cast<long double>(case_.options.min_count);
        if (!e.given) return e;
        e.mean = e.sum / e.count;
        each_sample(r, c, k, p, [&](long double w, long double x) { e.variance += w * (x - e.mean) * (x - e.mean); });
        e.variance /= e.count;
        return e;
    }

  private:
    template <typename F>
    void each_sample(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p, F&& f) const {
        const auto &down = rows_[static_cast<std::size_t>(r)], &across = cols_[static_cast<std::size_t>(c)];
        std::int64_t full_rows = down.beyond, full_cols = across.beyond, inside_rows = 0, inside_cols = 0;
        for (const std::int64_t t : down.times) inside_rows += t;
        for (const std::int64_t t : across.times) inside_cols += t;
        full_rows += inside_rows;
        full_cols += inside_cols;
        for (std::int64_t row = down.first; row < down.end; ++row) {
            const pixel* x = &pixels_[place(row, across.first, k, p)];
            for (std::int64_t col = across.first; col < across.end; ++col, x += channels_) {
                const std::int64_t times =
                    down.times[static_cast<std::size_t>(row)] * across.times[static_cast<std::size_t>(col)];
                if (times > 0 && x->weight > 0) f(static_cast<long double>(times) * x->weight, x->value);
            }
        }
        const std::int64_t beyond = full_rows * full_cols - inside_rows * inside_cols;
        const T value = static_cast<T>(case_.options.border_value);
        if (case_.options.border == border_mode::constant && beyond > 0 && images<T>::valued(value, case_.options))
            f(static_cast<long double>(beyond), static_cast<long double>(value));
    }

    std::size_t place(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) const {
        const auto rows = static_cast<std::int64_t>(rows_.size()), cols = static_cast<std::int64_t>(cols_.size());
        return static_cast<std::size_t>(((p * rows + r) * cols + c) * channels_ + k);
    }

    struct pixel {
        long double weight, value;
    };

    sample_case case_;
    std::int64_t channels_;
    std::vector<oracle::multiplicities> rows_, cols_;
    std::vector<pixel> pixels_;
};

/// Every kind of sampling, with every border.
template <typename T, typename Test>
void every_case(Test&& test) {
    std::vector<sample_case> kinds = {
        {.masked = true},
        {.masked = true, .one_channel = false, .options = {.min_count = 4}},
        {.weighted = true},
        {.masked = true, .weighted = true, .one_channel = false, .options = {.min_weight = 20, .fill = 7}},
        {.options = {.nodata = 3}},
        {.masked = true, .options = {.nodata = 5, .min_count = 9, .fill = 1}}};
    if constexpr (std::is_floating_point_v<T>) {
        kinds.push_back({.options = {.nan = nan_mode::omit}});
        kinds.push_back({.weighted = true, .options = {.nan = nan_mode::omit, .min_weight = 3}});
        kinds.push_back({.options = {.nodata = nan}});
    }
    for (sample_case c : kinds)
        for (const window& w : {window(4, 3), window(window_extents{.above = 31, .below = 2, .left = 0, .right = 25})})
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror, border_mode::wrap}) {
                c.options.window = w;
                c.options.border = border;
                c.options.border_value = border == border_mode::constant ? (c.masked ? 3 : 5) : 0;
                c.options.threads = 2;
                SCOPED_TRACE(c.text());
                for (const std::int64_t channels : {1, 3}) {
                    const images<T> of(channels == 1 ? 9 : 7, channels == 1 ? 13 : 5, channels, c.one_channel,
                                       static_cast<unsigned>(w.right + channels));
                    test(of, c, definition<T>(of, c));
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
}

template <typename T>
class samples : public testing::Test {};
using types = testing::Types<std::uint8_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(samples, types);

/// Doubles close to what was computed in long double: exactly it, rounded, for integers without weights.
bool close(long double expected, double actual, long double error) {
    if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
    return std::abs(expected - static_cast<long double>(actual)) <= error;
}

TYPED_TEST(samples, statistics_are_the_definition) {
    using T = TypeParam;
    every_case<T>([](const images<T>& of, const sample_case& c, const definition<T>& expected) {
        const auto& v = of.image.view();
        const auto make = [&](auto type) { return picture<decltype(type)>(2, v.rows(), v.cols(), v.channels(), 2); };
        auto mean = make(0.0), variance = make(0.0), deviation = make(0.0), sum = make(0.0), count = make(0.0);
        auto same = make(T{});
        auto narrow = make(0.0f);
        local_statistics(of.inputs(c),
                         {.mean = mean.view(),
                          .variance = variance.view(),
                          .deviation = deviation.view(),
                          .sum = sum.view(),
                          .count = count.view()},
                         c.options);
        box_filter(of.inputs(c), {same.view(), narrow.view()}, c.options);
        const double fill = c.options.fill.value_or(nan);
        const T same_fill = static_cast<T>(c.options.fill.value_or(std::is_integral_v<T> ? 0 : nan));
        const bool exact = std::is_integral_v<T> && !c.weighted;
        oracle::each(v, [&](std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) {
            const expectation e = expected.at(r, col, k, p);
            SCOPED_TRACE(std::to_string(p) + " " + std::to_string(r) + " " + std::to_string(col) + " " +
                         std::to_string(k));
            const long double u = 0x1p-53L * 100, scale = e.given ? e.magnitude / e.count : 0;
            EXPECT_TRUE(close(e.count, count.view()(r, col, k, p), c.weighted ? u * e.count : 0));
            EXPECT_EQ(static_cast<float>(count.view()(r, col, k, p)), narrow.view()(r, col, k, p));
            if (!e.given) {
                for (const double x : {mean.view()(r, col, k, p), variance.view()(r, col, k, p),
                                       deviation.view()(r, col, k, p), sum.view()(r, col, k, p)})
                    EXPECT_TRUE(close(fill, x, 0)) << x;
                EXPECT_TRUE(close(same_fill, same.view()(r, col, k, p), 0));
                return;
            }
            EXPECT_TRUE(close(e.sum, sum.view()(r, col, k, p), exact ? 0 : u * e.magnitude));
            const double m = mean.view()(r, col, k, p);
            if (exact) {
                EXPECT_EQ(static_cast<double>(e.sum) / static_cast<double>(e.count), m);
                EXPECT_EQ(static_cast<long double>(same.view()(r, col, k, p)), std::floor(e.mean + 0.5L));
            } else {
                EXPECT_TRUE(close(e.mean, m, u * scale)) << m;
                if (std::is_floating_point_v<T>)
                    EXPECT_TRUE(close(e.mean, same.view()(r, col, k, p), scale * (sizeof(T) == 4 ? 0x1p-23L : u)));
                else
                    EXPECT_EQ(same.view()(r, col, k, p), static_cast<T>(std::floor(m + 0.5)));
            }
            EXPECT_TRUE(close(e.variance, variance.view()(r, col, k, p),
                              u * (e.variance + std::sqrt(e.variance) * std::abs(e.mean) + 0x1p-50L * e.mean * e.mean)))
                << static_cast<double>(e.variance) << " " << variance.view()(r, col, k, p);
            if (!std::isnan(e.variance)) {
                EXPECT_EQ(deviation.view()(r, col, k, p), std::sqrt(variance.view()(r, col, k, p)));
            }
        });
        ASSERT_FALSE(testing::Test::HasFailure());
        ASSERT_TRUE(mean.guards_intact() && variance.guards_intact() && deviation.guards_intact() &&
                    sum.guards_intact() && count.guards_intact() && same.guards_intact() && narrow.guards_intact());
    });
}

/// Of integers the same bits but for their rounding.
TYPED_TEST(samples, deviations_of_32_bits_are_those_of_64_rounded) {
    using T = TypeParam;
    every_case<T>([](const images<T>& of, const sample_case& c, const definition<T>&) {
        const auto& v = of.image.view();
        const auto make = [&](auto type) { return picture<decltype(type)>(2, v.rows(), v.cols(), v.channels(), 2); };
        auto mean = make(0.0), deviation = make(0.0), count = make(0.0);
        auto narrow_mean = make(0.0f), narrow = make(0.0f), alone = make(0.0f), number = make(0.0f);
        local_statistics(of.inputs(c), {.mean = mean.view(), .deviation = deviation.view(), .count = count.view()},
                         c.options);
        local_statistics(of.inputs(c), {.mean = narrow_mean.view(), .deviation = narrow.view(), .count = number.view()},
                         c.options);
        local_statistics(of.inputs(c), {.deviation = alone.view()}, c.options);
        oracle::each(v, [&](auto... at) {
            const double m = mean.view()(at...), d = deviation.view()(at...);
            const long double error = std::is_integral_v<T> && !c.weighted ? 0 : 0x1p-22L;
            EXPECT_TRUE(close(static_cast<float>(m), narrow_mean.view()(at...), error * std::abs(m)));
            EXPECT_TRUE(close(static_cast<float>(d), narrow.view()(at...), error * std::abs(d)));
            EXPECT_TRUE(close(narrow.view()(at...), alone.view()(at...), 0));
            EXPECT_EQ(static_cast<float>(count.view()(at...)), number.view()(at...));
        });
        EXPECT_TRUE(narrow_mean.guards_intact() && narrow.guards_intact() && alone.guards_intact() &&
                    number.guards_intact());
    });
}

template <typename T>
class real_samples : public testing::Test {};
using real_types = testing::Types<float, double>;
TYPED_TEST_SUITE(real_samples, real_types);

/// Every way in which eight windows are made of groups, in windows that the border cuts and in whole ones; the same
/// results in 32 bits, and some of them alone.
TYPED_TEST(real_samples, statistics_of_every_width) {
    using T = TypeParam;
    constexpr std::int64_t rows = 30, cols = 43;
    for (sample_case c : {sample_case{.masked = true, .one_channel = false, .options = {.nan = nan_mode::omit}},
                          sample_case{.weighted = true, .options = {.nan = nan_mode::omit, .min_weight = 9, .fill = 5}},
                          sample_case{.masked = true, .options = {.nodata = nan, .min_count = 3}}})
        for (std::int64_t width = 1; width <= 41; width += width < 27 ? 1 : 7) {
            c.options.window = window(std::min<std::int64_t>(42 - width, 29), width);
            c.options.border = width % 3 == 0 ? border_mode::mirror : border_mode::shrink;
            const images<T> of(rows, cols, 1, c.one_channel, static_cast<unsigned>(width));
            const definition<T> expected(of, c);
            SCOPED_TRACE(c.text());
            picture<double> mean(2, rows, cols, 1, 3), variance(2, rows, cols, 1, 2), count(2, rows, cols, 1, 1);
            picture<double> sum(2, rows, cols, 1, 2), alone(2, rows, cols, 1);
            picture<float> narrow_mean(2, rows, cols, 1, 3), deviation(2, rows, cols, 1, 1),
                number(2, rows, cols, 1, 2), narrow_alone(2, rows, cols, 1, 1);
            picture<std::uint32_t> whole_number(2, rows, cols, 1, 3);
            local_statistics(
                of.inputs(c),
                {.mean = mean.view(), .variance = variance.view(), .sum = sum.view(), .count = count.view()},
                c.options);
            local_statistics(of.inputs(c), {.mean = alone.view()}, c.options);
            local_statistics(of.inputs(c),
                             {.mean = narrow_alone.view(), .count = c.weighted ? any_view{} : whole_number.view()},
                             c.options);
            local_statistics(of.inputs(c),
                             {.mean = narrow_mean.view(), .deviation = deviation.view(), .count = number.view()},
                             c.options);
            oracle::each(mean.view(), [&](std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) {
                const expectation e = expected.at(r, col, k, p);
                SCOPED_TRACE(std::to_string(r) + " " + std::to_string(col));
                const double m = mean.view()(r, col, k, p), v = variance.view()(r, col, k, p);
                const double fill = c.options.fill.value_or(nan);
                const long double u = 0x1p-53L * 80;
                ASSERT_TRUE(close(e.count, count.view()(r, col, k, p), c.weighted ? u * e.count : 0));
                ASSERT_TRUE(close(e.given ? e.mean : fill, m, e.given ? u * e.magnitude / e.count : 0)) << m;
                ASSERT_TRUE(close(e.given ? e.sum : fill, sum.view()(r, col, k, p), u * e.magnitude));
                ASSERT_TRUE(close(m, alone.view()(r, col, k, p), 0));
                ASSERT_TRUE(close(e.given ? e.mean : fill, narrow_alone.view()(r, col, k, p),
                                  e.given ? u * e.magnitude / e.count + 0x1p-24L * std::abs(e.mean) : 0));
                if (!c.weighted) {
                    ASSERT_EQ(e.count, whole_number.view()(r, col, k, p));
                }
                ASSERT_TRUE(
                    close(e.given ? e.variance : fill, v,
                          u * (e.variance + std::sqrt(e.variance) * std::abs(e.mean) + 0x1p-50L * e.mean * e.mean)))
                    << static_cast<double>(e.variance) << " " << v;
                ASSERT_TRUE(close(static_cast<float>(m), narrow_mean.view()(r, col, k, p), std::abs(m) * 0x1p-22));
                ASSERT_TRUE(close(e.given ? static_cast<float>(std::sqrt(v)) : static_cast<float>(fill),
                                  deviation.view()(r, col, k, p), 0));
                ASSERT_EQ(static_cast<float>(count.view()(r, col, k, p)), number.view()(r, col, k, p));
            });
            ASSERT_FALSE(testing::Test::HasFailure());
            ASSERT_TRUE(mean.guards_intact() && variance.guards_intact() && sum.guards_intact() &&
                        count.guards_intact() && narrow_mean.guards_intact() && deviation.guards_intact() &&
                        number.guards_intact() && narrow_alone.guards_intact() && whole_number.guards_intact());
        }
}

/// Bit for bit, wherever a part begins.
TYPED_TEST(real_samples, parts_have_the_bits_of_the_whole) {
    using T = TypeParam;
    constexpr std::int64_t rows = 61, cols = 37, radius = 17;
    for (sample_case c :
         {sample_case{.masked = true, .options = {.nan = nan_mode::omit}}, sample_case{.weighted = true}}) {
        c.options.window = window_radius(radius, 9);
        const images<T> of(rows, cols, 1, true, 5);
        const auto filtered = [&](std::int64_t first, std::int64_t end) {
            filter_inputs in = of.inputs(c);
            const std::int64_t taken = std::max<std::int64_t>(first - radius, 0);
            const auto cut = [&](const_any_view v) {
                v.data = static_cast<const std::byte*>(v.data) + taken * v.shape.row_stride;
                v.shape.rows = std::min(end + radius, rows) - taken;
                return v;
            };
            in.image = cut(in.image);
            in.mask = c.masked ? cut(in.mask) : in.mask;
            in.weights = c.weighted ? cut(in.weights) : in.weights;
            in.at = {taken, 0};
            in.whole = {rows, cols};
            in.results = {first, end};
            picture<double> mean(2, end - first, cols, 1), variance(2, end - first, cols, 1);
            picture<float> deviation(2, end - first, cols, 1), count(2, end - first, cols, 1);
            local_statistics(in, {.mean = mean.view(), .variance = variance.view()}, c.options);
            local_statistics(in, {.deviation = deviation.view(), .count = count.view()}, c.options);
            std::vector<std::array<double, 4>> all;  // row by row
            for (std::int64_t row = 0; row < end - first; ++row)
                for (std::int64_t p = 0; p < 2; ++p)
                    for (std::int64_t col = 0; col < cols; ++col)
                        all.push_back({mean.view()(row, col, 0, p), variance.view()(row, col, 0, p),
                                       deviation.view()(row, col, 0, p), count.view()(row, col, 0, p)});
            return all;
        };
        const auto whole = filtered(0, rows);
        for (const std::int64_t first : {1, 7, 16, 30, 50}) {
            const auto part = filtered(first, std::min<std::int64_t>(first + 17, rows));
            ASSERT_EQ(std::memcmp(part.data(), whole.data() + first * 2 * cols, part.size() * sizeof part[0]), 0)
                << c.text() << first;
        }
    }
}

/// Weights as far apart as floats are, one huge pixel, and constant windows.
TYPED_TEST(real_samples, weights_and_pixels_of_any_size) {
    using T = TypeParam;
    constexpr std::int64_t rows = 26, cols = 40;
    picture<T> image(1, rows, cols, 1);
    picture<float> weights(1, rows, cols, 1);
    std::mt19937 random(8);
    weights.fill([&](auto...) { return std::ldexp(1.0f, static_cast<int>(random() % 200) - 100); });
    for (const bool constant : {true, false}) {
        image.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) {
            if (constant) return static_cast<T>(0.1);
            return r == 11 && c == 23 ? static_cast<T>(1e30) : static_cast<T>(0.1) * static_cast<T>(1 + (r + c) % 3);
        });
        for (const std::int64_t radius : {2, 4, 9}) {
            picture<double> mean(1, rows, cols, 1), variance(1, rows, cols, 1);
            local_statistics({.image = image.view(), .weights = weights.view()},
                             {.mean = mean.view(), .variance = variance.view()}, {.window = window_radius(radius)});
            oracle::each(mean.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
                const bool huge = !constant && std::abs(r - 11) <= radius && std::abs(c - 23) <= radius;
                const double m = mean.view()(r, c, k, p), v = variance.view()(r, c, k, p);
                EXPECT_GE(v, 0.0);
                if (constant) {
                    EXPECT_EQ(v, 0.0);
                    EXPECT_NEAR(m, static_cast<double>(static_cast<T>(0.1)), 0x1p-50);
                } else if (!huge) {
                    EXPECT_LE(m, 0.3001);
                    EXPECT_LE(v, 0.0101);
                }
            });
            ASSERT_FALSE(testing::Test::HasFailure()) << radius;
        }
    }
}

/// Far from 0, where whole areas do not count: windows without a pixel in common, or with few. Constant windows have
/// none.
TYPED_TEST(real_samples, squared_deviations_do_not_cancel) {
    using T = TypeParam;
    constexpr std::int64_t rows = 45, cols = 70;
    picture<T> image(1, rows, cols, 1);
    picture<std::uint8_t> mask(1, rows, cols, 1);
    for (const std::int64_t area : {1, 5, 11, 29})
        for (const bool constant : {false, true}) {
            mask.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) {
                return area == 1 ? (r * 5 + c * 3) % 13 == 0 : (r / area + c / area) % 2;
            });
            image.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) {
                if (mask.view()(r, c) == 0) return static_cast<T>((r + c) % 2 == 0 ? 1e30 : nan);
                return static_cast<T>(4000.1) + static_cast<T>(constant ? 0 : (r * 7 + c * c) % 19) * T{0x1p-9};
            });
            for (const std::int64_t radius : {2, 4, 8, 15}) {
                picture<double> mean(1, rows, cols, 1), variance(1, rows, cols, 1);
                picture<float> deviation(1, rows, cols, 1);
                const filter_inputs in{.image = image.view(), .mask = mask.view()};
                const filter_options options{.window = window_radius(radius)};
                local_statistics(in, {.mean = mean.view(), .variance = variance.view()}, options);
                local_statistics(in, {.deviation = deviation.view()}, options);
                oracle::each(mean.view(), [&](std::int64_t r, std::int64_t c, std::int64_t, std::int64_t) {
                    long double n = 0, sum = 0, squares = 0;
                    const auto each = [&](auto&& f) {
                        for (std::int64_t i = std::max<std::int64_t>(r - radius, 0); i < std::min(r + radius + 1, rows);
                             ++i)
                            for (std::int64_t j = std::max<std::int64_t>(c - radius, 0);
                                 j < std::min(c + radius + 1, cols); ++j)
                                if (mask.view()(i, j) != 0) f(static_cast<long double>(image.view()(i, j)));
                    };
                    each([&](long double x) {
                        ++n;
                        sum += x;
                    });
                    each([&](long double x) { squares += (x - sum / n) * (x - sum / n); });
                    const double v = variance.view()(r, c);
                    if (n == 0) {
                        ASSERT_TRUE(std::isnan(v) && std::isnan(deviation.view()(r, c)));
                        return;
                    }
                    const long double expected = constant ? 0 : squares / n;
                    ASSERT_TRUE(close(sum / n, mean.view()(r, c), 0x1p-48L * sum / n)) << r << ' ' << c;
                    ASSERT_TRUE(close(expected, v, 0x1p-47L * std::sqrt(expected) * 4000)) << r << ' ' << c << ' ' << v;
                    ASSERT_EQ(deviation.view()(r, c), static_cast<float>(std::sqrt(v)));
                });
                ASSERT_FALSE(testing::Test::HasFailure()) << radius << ' ' << area << ' ' << constant;
            }
        }
}

/// What the mean of a window with infinities is, and that nothing of it leaks.
TYPED_TEST(real_samples, what_is_not_finite_stays_in_its_windows) {
    using T = TypeParam;
    constexpr T inf = std::numeric_limits<T>::infinity();
    picture<T> image(1, 40, 50, 1);
    picture<std::uint8_t> mask(1, 40, 50, 1);
    mask.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 7 + c * 3) % 4 != 1; });
    image.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 5 + c) % 11; });
    const auto has = [](std::int64_t r, std::int64_t c, std::int64_t row, std::int64_t col, std::int64_t radius) {
        return std::abs(r - row) <= radius && std::abs(c - col) <= radius;
    };
    image.view()(10, 12) = inf;   // 106 % 4 == 2
    image.view()(30, 34) = -inf;  // 312 % 4 == 0
    image.view()(12, 40) = inf;   // 204 % 4 == 0
    image.view()(20, 43) = -inf;  // 269 % 4 == 1: does not count
    for (const std::int64_t radius : {1, 3, 7, 12}) {
        picture<double> mean(1, 40, 50, 1), variance(1, 40, 50, 1);
        picture<float> narrow(1, 40, 50, 1), deviation(1, 40, 50, 1);
        const filter_inputs in{.image = image.view(), .mask = mask.view()};
        local_statistics(in, {.mean = mean.view(), .variance = variance.view()}, {.window = window_radius(radius)});
        local_statistics(in, {.mean = narrow.view(), .deviation = deviation.view()}, {.window = window_radius(radius)});
        oracle::each(mean.view(), [&](std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t p) {
            const bool plus = has(r, c, 10, 12, radius) || has(r, c, 12, 40, radius), minus = has(r, c, 30, 34, radius);
            for (const double m : {mean.view()(r, c, k, p), static_cast<double>(narrow.view()(r, c, k, p))}) {
                if (plus && minus) {
                    EXPECT_TRUE(std::isnan(m));
                } else if (plus || minus) {
                    EXPECT_EQ(m, plus ? HUGE_VAL : -HUGE_VAL) << r << ' ' << c;
                } else {
                    EXPECT_TRUE(std::isfinite(m)) << r << ' ' << c;
                }
            }
            EXPECT_EQ(std::isnan(variance.view()(r, c, k, p)), plus || minus);
            EXPECT_EQ(std::isnan(deviation.view()(r, c, k, p)), plus || minus);
        });
        ASSERT_FALSE(testing::Test::HasFailure()) << radius;
    }
}

/// Thresholds and contrast follow from mean and deviation, which the tests above hold to the definition.
TYPED_TEST(samples, thresholds_and_contrast_follow_the_statistics) {
    using T = TypeParam;
    every_case<T>([](const images<T>& of, const sample_case& c, const definition<T>& expected) {
        const auto& v = of.image.view();
        const auto make = [&](auto type) { return picture<decltype(type)>(2, v.rows(), v.cols(), v.channels(), 2); };
        auto mean = make(0.0), deviation = make(0.0), limits = make(0.0);
        auto verdict = make(std::uint8_t{});
        auto contrast = make(0.0f);
        local_statistics(of.inputs(c), {.mean = mean.view(), .deviation = deviation.view()}, c.options);
        local_contrast(of.inputs(c), {contrast.view()}, {.epsilon = 0.5}, c.options);
        const double fill = c.options.fill.value_or(nan);
        // 1: the window has a result, 2: its own pixel counts, too.
        auto state = make(std::uint8_t{});
        state.fill([&](std::int64_t p, std::int64_t r, std::int64_t col, std::int64_t k) {
            return (expected.at(r, col, k, p).given ? 1 : 0) + (of.weight(c, r, col, k, p) > 0 ? 2 : 0);
        });
        const auto has = [&](auto... at) { return state.view()(at...) == 3; };
        ASSERT_EQ(oracle::first_difference(contrast.view(),
                                           [&](auto... at) {
                                               if (!has(at...)) return static_cast<float>(fill);
                                               const double s = deviation.view()(at...);
                                               return static_cast<float>(
                                                   (static_cast<double>(v(at...)) - mean.view()(at...)) /
                                                   (s < 0.5 ? 0.5 : s));
                                           }),
                  "");
        std::vector<oracle::extremes> extremes(static_cast<std::size_t>(2 * v.channels()));
        oracle::each(v, [&](std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) {
            if (state.view()(r, col, k, p) % 2 == 0) return;
            oracle::extremes& e = extremes[static_cast<std::size_t>(p * v.channels() + k)];
            const double s = deviation.view()(r, col, k, p), x = static_cast<double>(v(r, col, k, p));
            if (s > e.largest_deviation) e.largest_deviation = s;
            if (state.view()(r, col, k, p) == 3 && x < e.smallest_pixel) e.smallest_pixel = x;
        });
        for (const threshold_method method :
             {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola, threshold_method::wolf,
              threshold_method::nick, threshold_method::singh, threshold_method::phansalkar}) {
            const auto limit = [&](std::int64_t r, std::int64_t col, std::int64_t k, std::int64_t p) {
                if (!has(r, col, k, p)) return fill;
                return oracle::threshold_of(method, default_k(method), default_range(dtype_of<T>),
                                            static_cast<double>(v(r, col, k, p)), mean.view()(r, col, k, p),
                                            deviation.view()(r, col, k, p),
                                            extremes[static_cast<std::size_t>(p * v.channels() + k)]);
            };
            adaptive_threshold(of.inputs(c), {limits.view()}, {.method = method, .output = threshold_output::threshold},
                               c.options);
            const double slack = method == threshold_method::phansalkar ? 0x1p-49 : 0;
            ASSERT_EQ(oracle::first_difference(limits.view(), limit,
                                               [&](double a, double b) {
                                                   return (a != a && b != b) || a == b ||
                                                          std::abs(a - b) <= slack * std::abs(a);
                                               }),
                      "")
                << name_of(method);
            // Each method has seen both outputs, with every kind of sampling, after two borders.
            const bool even = (static_cast<int>(method) + static_cast<int>(c.options.border)) % 2 == 0;
            const threshold_output output = even ? threshold_output::zero_255 : threshold_output::zero_one;
            adaptive_threshold(of.inputs(c), {verdict.view()}, {.method = method, .output = output}, c.options);
            const int yes = even ? 255 : 1;
            ASSERT_EQ(oracle::first_difference(verdict.view(),
                                               [&](auto... at) -> int {
                                                   if (!has(at...)) return static_cast<int>(c.options.fill.value_or(0));
                                                   return static_cast<double>(v(at...)) > limits.view()(at...) ? yes
                                                                                                               : 0;
                                               }),
                      "")
                << name_of(method);
        }
        ASSERT_TRUE(limits.guards_intact() && verdict.guards_intact() && contrast.guards_intact());
    });
}

TYPED_TEST(samples, sums_counts_and_roundings_where_all_count) {
    using T = TypeParam;
    picture<T> image(2, 8, 11, 3, 1), rounded(2, 8, 11, 3, 2);
    oracle::fill_random(image, 4);
    picture<std::int64_t> exact(2, 8, 11, 3, 1);
    picture<double> sum(2, 8, 11, 3, 1);
    picture<std::uint32_t> count(2, 8, 11, 3, 2);
    picture<double> limits(2, 8, 11, 3), mean(2, 8, 11, 3), deviation(2, 8, 11, 3);
    for (const window& w : {window(3), window(4, 1), window(window_radius(3, 14))})
        for (const border_mode border : {border_mode::shrink, border_mode::mirror, border_mode::wrap}) {
            const oracle::filter<T> expected(image.view(), {w, border, 0, rounding_mode::floor});
            const filter_options options{.window = w, .border = border, .rounding = rounding_mode::floor, .threads = 3};
            local_statistics(
                {image.view()},
                {.mean = mean.view(), .deviation = deviation.view(), .sum = sum.view(), .count = count.view()},
                options);
            ASSERT_EQ(oracle::first_difference(
                          count.view(), [&](auto... at) { return static_cast<std::uint32_t>(expected.sums(at...).n); }),
                      "");
            if constexpr (std::is_integral_v<T>) {
                box_filter({image.view()}, {rounded.view()}, options);
                local_statistics({image.view()}, {.sum = exact.view()}, options);
                const auto total = [&](auto... at) { return static_cast<std::int64_t>(expected.sums(at...).sum); };
                ASSERT_EQ(oracle::first_difference(exact.view(), total), "");
                ASSERT_EQ(
                    oracle::first_difference(sum.view(), [&](auto... at) { return static_cast<double>(total(at...)); }),
                    "");
                ASSERT_EQ(oracle::first_difference(rounded.view(),
                                                   [&](auto... at) { return expected.rounded(expected.sums(at...)); }),
                          "");
            } else {
                oracle::each(sum.view(), [&](auto... at) {
                    const auto s = expected.sums(at...);
                    EXPECT_NEAR(sum.view()(at...), static_cast<double>(s.sum),
                                static_cast<double>(s.magnitude) * 0x1p-46);
                });
            }
            for (const threshold_method method :
                 {threshold_method::nick, threshold_method::singh, threshold_method::phansalkar}) {
                adaptive_threshold({image.view()}, {limits.view()},
                                   {.method = method, .output = threshold_output::threshold}, options);
                oracle::each(limits.view(), [&](auto... at) {
                    const double m = mean.view()(at...), s = deviation.view()(at...);
                    const double t = oracle::threshold_of(method, default_k(method), default_range(dtype_of<T>),
                                                          static_cast<double>(image.view()(at...)), m, s, {});
                    EXPECT_NEAR(limits.view()(at...), t, std::abs(t) * 0x1p-40) << name_of(method);
                });
            }
            ASSERT_FALSE(testing::Test::HasFailure());
        }
}

/// What does not count might as well not be there: nothing that it holds changes a bit.
TYPED_TEST(samples, what_does_not_count_acts_on_nothing) {
    using T = TypeParam;
    picture<T> image(1, 19, 23, 1), other(1, 19, 23, 1);
    picture<std::uint8_t> mask(1, 19, 23, 1);
    oracle::fill_random(image, 6);
    mask.fill(
        [](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 3 + c * 5) % 4 == 0 ? 0 : 1; });
    unsigned turn = 0;
    other.fill([&](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) -> T {
        if (mask.view()(r, c) != 0) return image.view()(r, c);
        if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
        const T bad[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::max()};
        return bad[turn++ % 3];
    });
    for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::mirror})
        for (const window& w : {window(5), window(40, 3)}) {
            picture<double> a(1, 19, 23, 1), b(1, 19, 23, 1), va(1, 19, 23, 1), vb(1, 19, 23, 1);
            const filter_options options{.window = w, .border = border};
            local_statistics({.image = image.view(), .mask = mask.view()}, {.mean = a.view(), .variance = va.view()},
                             options);
            local_statistics({.image = other.view(), .mask = mask.view()}, {.mean = b.view(), .variance = vb.view()},
                             options);
            EXPECT_EQ(oracle::first_difference(a.view(), [&](auto... at) { return b.view()(at...); }), "");
            EXPECT_EQ(oracle::first_difference(va.view(), [&](auto... at) { return vb.view()(at...); }), "");
        }
}

/// The formulas as doxapy's sources have them.
TEST(thresholds, are_as_in_doxapy) {
    const std::uint8_t pixels[] = {10, 20, 30, 40, 90, 60, 70, 80, 250};
    double limits[9];
    const auto middle = [&](threshold_method method, const threshold_rule& given) {
        threshold_rule rule = given;
        rule.method = method;
        rule.output = threshold_output::threshold;
        adaptive_threshold({image_view<const std::uint8_t>(pixels, 3, 3)}, {image_view<double>(limits, 3, 3)}, rule,
                           {.window = 3});
        return limits[4];
    };
    const double m = 650.0 / 9, s = std::sqrt(88500.0 / 9 - m * m), d = 90 - m;
    EXPECT_NEAR(middle(threshold_method::nick, {}), m - 0.2 * std::sqrt(88500.0 / 9), 1e-12);
    EXPECT_NEAR(middle(threshold_method::singh, {}), m * (1 + 0.2 * (d / (255 - d) - 1)), 1e-12);
    EXPECT_NEAR(middle(threshold_method::phansalkar, {.k = 0.2, .range = 128, .p = 3, .q = 10 * 256 / 255.0}),
                m * (1 + 3 * std::exp(-10 * m / 255) + 0.2 * (s / 128 - 1)), 1e-12);
}

}  // namespace
}  // namespace boxsum::sampled
