// Tables of pixels that may not count, and the means and variances of boxes of those that do: every box against its
// definition, over small integers and weights of quarters, so that all sums are exact.

#include "support/strided_block.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/shadow.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum::counted_tables {
namespace {

using test::block;
using test::lying;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
T pixel_of(double x) {
    if constexpr (std::is_same_v<T, float16>)
        return to_float16(static_cast<float>(x));
    else
        return static_cast<T>(x);
}

template <typename T>
double number_of(T x) {
    if constexpr (std::is_same_v<T, float16>)
        return static_cast<double>(to_float(x));
    else
        return static_cast<double>(x);
}

/// What a call says of the pixels, and the images that it is of.
template <typename T>
struct sampled {
    block<T> image;
    block<std::uint8_t> mask;
    block<float> weights;
    sat_inputs inputs;

    sampled(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes, bool weighted,
            std::mt19937_64& random)
        : image(rows, cols, channels, planes, how(random), random),
          mask(rows, cols, random() % 2 == 0 ? 1 : channels, random() % 2 == 0 ? 1 : planes, how(random), random),
          weights(rows, cols, random() % 2 == 0 ? 1 : channels, random() % 2 == 0 ? 1 : planes, how(random), random) {
        constexpr bool floating = std::is_floating_point_v<T> || std::is_same_v<T, float16>;
        const double hidden = floating ? nan : 0;
        image.for_each([&](auto, auto, auto, auto, T& x) {
            x = pixel_of<T>(random() % 5 == 0 ? hidden : static_cast<double>(random() % 50));
        });
        mask.for_each([&](auto, auto, auto, auto, std::uint8_t& x) {
            x = static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : 1 + random() % 255);
        });
        constexpr std::array<float, 8> of_weights{0.25f,
                                                  1.5f,
                                                  2.0f,
                                                  0.0f,
                                                  -1.0f,
                                                  std::numeric_limits<float>::infinity(),
                                                  std::numeric_limits<float>::quiet_NaN(),
                                                  4.0f};
        weights.for_each([&](auto, auto, auto, auto, float& x) { x = of_weights[random() % of_weights.size()]; });
        inputs.image = image.view();
        if (random() % 2 == 0) inputs.mask = mask.view();
        if (weighted) inputs.weights = weights.view();
        if (floating && random() % 2 == 0)
            inputs.nodata = nan;
        else if (floating || random() % 2 == 0)
            inputs.nan = nan_mode::omit;
        if (random() % 2 == 0 && !inputs.nodata) inputs.nodata = 7;
    }

    static lying how(std::mt19937_64& random) { return random() % 2 == 0 ? lying::row_major : lying::anyhow; }

    /// Its weight; 0 where it does not count.
    double weight(std::int64_t r, std::int64_t c, std::int64_t k, std::int64_t plane) const {
        const double x = number_of(image.view()(r, c, k, plane));
        const auto at = [&](const auto& view) {
            return view(r, c, view.channels() == 1 ? 0 : k, view.planes() == 1 ? 0 : plane);
        };
        if (std::isnan(x) || (inputs.nodata && x == *inputs.nodata)) return 0;
        if (inputs.mask.data != nullptr && at(mask.view()) == 0) return 0;
        if (inputs.weights.data == nullptr) return 1;
        const float w = at(weights.view());
        return w > 0 && std::isfinite(w) ? static_cast<double>(w) : 0;
    }
};

struct expectation {
    double count = 0, sum = 0, squares = 0;
};

template <typename T>
expectation expected(const sampled<T>& of, const box& b, std::int64_t k, std::int64_t plane) {
    expectation all;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c) {
            const double w = of.weight(r, c, k, plane);
            if (w == 0) continue;
            const double x = number_of(of.image.view()(r, c, k, plane));
            all.count += w;
            all.sum += w * x;
            all.squares += w * x * x;
        }
    return all;
}

template <typename T, typename Sum, typename Square, typename Count>
void check(std::mt19937_64& random, bool weighted, bool with_squares = true) {
    const auto pick = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const std::int64_t rows = 1 + pick(12), cols = 1 + pick(40), channels = 1 + pick(4), planes = 1 + pick(2);
    const sampled<T> of(rows, cols, channels, planes, weighted, random);
    table_form form{static_cast<table_layout>(pick(3))};
    const bool takes_origin =
        form.layout != table_layout::inclusive && (!with_squares || std::is_same_v<Square, double>);
    if (takes_origin && pick(2) == 0) form.origin = {pick(rows), pick(cols)};
    const auto extent = [&](std::int64_t n) { return form.table_extent(n); };
    const auto how = [&] { return sampled<T>::how(random); };
    const block<Sum> sums(extent(rows), extent(cols), channels, planes, how(), random);
    const block<Square> squares(extent(rows), extent(cols), channels, planes, how(), random);
    const block<Count> counts(extent(rows), extent(cols), channels, planes, how(), random);
    sat_outputs outputs{.sums = {sums.view(), form}, .counts = {counts.view(), form}};
    if (with_squares) outputs.squares = {squares.view(), form};
    sat(of.inputs, outputs, {.threads = static_cast<int>(1 + pick(3))});
    ASSERT_TRUE(sums.is_untouched_between() && squares.is_untouched_between() && counts.is_untouched_between());

    const std::int64_t below = form.answered_extent(extent(rows)), right = form.answered_extent(extent(cols));
    moment_views tables{{sums.view(), form}, {squares.view(), form}, {counts.view(), form}};
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t k = 0; k < channels; ++k)
            for (int n = 0; n < 40 && below > 0 && right > 0; ++n) {
                const std::int64_t row = pick(below), col = pick(right);
                const box b{row, col, 1 + pick(below - row), 1 + pick(right - col)};
                tables.min_count = static_cast<double>(pick(3)) * 2.25;
                tables.fill = -5;
                const expectation e = expected(of, b, k, plane);
                const table_view<const Sum> s{sums.view(), form};
                const table_view<const Count> c{counts.view(), form};
                ASSERT_EQ(number_of(box_sum(s, b, k, plane)), e.sum);
                ASSERT_EQ(number_of(box_sum(c, b, k, plane)), e.count);
                const bool enough = e.count > 0 && e.count >= tables.min_count;
                ASSERT_EQ(box_mean(tables, b, k, plane), enough ? e.sum / e.count : -5) << e.count;
                if (!with_squares) continue;
                const double variance = box_variance(tables, b, k, plane);
                if (!enough) {
                    ASSERT_EQ(variance, -5);
                    continue;
                }
                const double exact = (e.count * e.squares - e.sum * e.sum) / (e.count * e.count);
                ASSERT_NEAR(variance, exact, 1e-12 * (1 + e.squares / e.count));
                if (weighted) continue;
                ASSERT_LE(std::abs(variance - exact), box_variance_bound(tables, b, k, plane) + 1e-13);
            }
}

TEST(counted_tables, equal_the_definition) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 60; ++i) {
        SCOPED_TRACE(i);
        check<std::uint8_t, std::uint32_t, std::uint64_t, std::uint32_t>(random, false);
        check<std::uint16_t, std::uint64_t, std::uint64_t, std::uint64_t>(random, false);
        check<std::int16_t, double, double, std::uint32_t>(random, false);
        check<std::int32_t, std::int64_t, double, std::uint64_t>(random, false, false);
        check<std::uint64_t, std::uint64_t, double, std::uint32_t>(random, false, false);
        check<float16, float, double, std::uint32_t>(random, false, false);
        check<float, double, double, std::uint32_t>(random, false);
        check<float, float, double, std::uint64_t>(random, false);
        check<double, double, double, std::uint32_t>(random, false);
        check<std::uint8_t, double, double, double>(random, true);
        check<float, double, double, double>(random, true);
        check<double, double, double, double>(random, true);
        if (HasFatalFailure()) return;
    }
}

TEST(counted_tables, omitted_numbers_leave_no_trace) {
    const float infinite = std::numeric_limits<float>::infinity();
    const std::vector<float> image{1, infinite, -infinite, std::numeric_limits<float>::quiet_NaN(), 1e30f, 2};
    const std::vector<std::uint8_t> mask{1, 0, 0, 0, 0, 1};
    const image_view<const float> pixels(image.data(), 1, 6);
    const image_view<const std::uint8_t> chosen(mask.data(), 1, 6);
    table<double> sums(1, 6);
    table<std::uint32_t> counts(1, 6);
    sat({.image = pixels, .mask = chosen}, {.sums = sums, .counts = counts});
    EXPECT_EQ(box_mean({.sums = sums, .counts = counts}, {0, 0, 1, 6}), 1.5);
    EXPECT_TRUE(std::isnan(box_mean({.sums = sums, .counts = counts}, {0, 1, 1, 4})));
    // Not omitted, a number that is none takes all that begins with it.
    sat({.image = pixels}, {.sums = sums, .counts = counts});
    EXPECT_TRUE(std::isnan(box_mean({.sums = sums, .counts = counts}, {0, 0, 1, 4})));
    EXPECT_EQ(box_sum(counts, {0, 0, 1, 6}), 6u);
}

TEST(counted_tables, weights_that_rounding_leaves_are_nothing) {
    constexpr std::int64_t side = 64;
    std::vector<float> image(side * side, 3.0f), weights(side * side);
    std::mt19937 random(1);
    for (std::int64_t i = 0; i < side * side; ++i)
        weights[static_cast<std::size_t>(i)] =
            i % side >= side / 2 && i / side >= side / 2
                ? 0.0f
                : static_cast<float>(random() % 1000) * (random() % 2 == 0 ? 0.7e7f : 0.7e-7f) + 1e-9f;
    table<double> sums(side, side), counts(side, side);
    sat({.image = image_view<const float>(image.data(), side, side),
         .weights = image_view<const float>(weights.data(), side, side)},
        {.sums = sums, .counts = counts});
    const moment_views tables{.sums = sums, .counts = counts, .fill = -1};
    int left = 0;
    for (std::int64_t r = side / 2; r < side; ++r)
        for (std::int64_t c = side / 2; c < side; ++c) {
            const box b{r, c, side - r, side - c};
            if (box_sum(counts, b) != 0) ++left;
            ASSERT_EQ(box_mean(tables, b), -1);
        }
    EXPECT_GT(left, 0);  // or this shows nothing
    EXPECT_NEAR(box_mean(tables, {0, 0, 4, 4}), 3, 1e-9);
}

TEST(counted_tables, in_place_and_alone) {
    std::vector<std::uint32_t> image{1, 2, 3, 4, 5, 6};
    const image_view<std::uint32_t> view(image.data(), 2, 3);
    table<std::uint32_t> counts(2, 3);
    sat({.image = view, .nodata = 5}, {.sums = {view}, .counts = counts});
    EXPECT_EQ(image, (std::vector<std::uint32_t>{1, 3, 6, 5, 7, 16}));
    EXPECT_EQ(counts(1, 2), 5u);
    image = {1, 2, 3, 4, 5, 6};
    sat({.image = view}, {.sums = {view}, .counts = counts});
    EXPECT_EQ(image.back(), 21u);
    EXPECT_EQ(counts(1, 2), 6u);
}

// ---- what is wrong --------------------------------------------------------------------------------------------------

/// The message of the error that `call` throws.
template <typename Error, typename Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const error& e) {
        const bool right = std::is_same_v<Error, error> || dynamic_cast<const Error*>(&e) != nullptr;
        return (right ? "" : "another error: ") + std::string(dynamic_cast<const std::exception&>(e).what());
    }
    return "nothing thrown";
}

class wrong_arguments : public testing::Test {
  protected:
    std::vector<float> pixels = std::vector<float>(12, 1.0f);
    std::vector<std::uint8_t> chosen = std::vector<std::uint8_t>(12, 1);
    image_view<float> image{pixels.data(), 3, 4};
    image_view<std::uint8_t> mask{chosen.data(), 3, 4};
    table<double> sums{3, 4}, squares{3, 4}, weights_of{3, 4};
    table<std::uint32_t> counts{3, 4};

    void SetUp() override {
        for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t c = 0; c < 4; ++c) sums(r, c) = squares(r, c) = -77;
    }
    void TearDown() override {
        for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t c = 0; c < 4; ++c) ASSERT_TRUE(sums(r, c) == -77 && squares(r, c) == -77);
    }
    template <typename Error>
    void expect(const std::string& text, const sat_inputs& in, const sat_outputs& out, const sat_options& how = {}) {
        EXPECT_EQ(refusal<Error>([&] { sat(in, out, how); }).substr(0, text.size()), text);
    }
};

TEST_F(wrong_arguments, of_tables_are_named_and_nothing_is_written) {
    const sat_outputs out{.sums = sums, .squares = squares, .counts = counts};
    const image_view<std::uint8_t> narrow(chosen.data(), 3, 3), colours(chosen.data(), 3, 2, 4, 2);
    expect<unsupported>("mask: type is 32f, must be 8u", {.image = image, .mask = image}, out);
    expect<invalid_argument>("mask: rows x cols are 3 x 3, must be the image's 3 x 4", {.image = image, .mask = narrow},
                             out);
    expect<invalid_argument>("mask: rows x cols are 3 x 2", {.image = image, .mask = colours}, out);
    expect<invalid_argument>("mask: data is null", {.image = image, .mask = {nullptr, mask.shape()}}, out);
    expect<unsupported>("weights: type is 8u, must be 32f", {.image = image, .weights = mask}, out);
    expect<invalid_argument>("nodata: is 1e+300", {.image = image, .nodata = 1e300}, out);
    expect<invalid_argument>("nan: is 9, not a nan_mode", {.image = image, .nan = static_cast<nan_mode>(9)}, out);
    expect<unsupported>("counts: type is 32u, but weights add up in 64f", {.image = image, .weights = image}, out);
    expect<unsupported>("counts: type is 64f, but without weights they are 32u or 64u", {.image = image},
                        {.sums = sums, .counts = weights_of});
    table<float> narrow_sums(3, 4), other_counts(3, 4);
    expect<unsupported>("counts: type is 32f", {.image = image}, {.sums = sums, .counts = other_counts});
    expect<unsupported>("sums: type is 32f, but weighted pixels add up in 64f", {.image = image, .weights = image},
                        {.sums = narrow_sums, .counts = weights_of});
    table<std::uint32_t> padded(3, 4, table_layout::padded), small(3, 3);
    expect<invalid_argument>("counts: its form is padded, but that of sums is inclusive", {.image = image},
                             {.sums = sums, .counts = padded});
    expect<invalid_argument>("counts: planes x rows x cols x channels are 1 x 3 x 3 x 1", {.image = image},
                             {.sums = sums, .counts = small});
    expect<invalid_argument>("counts: overlaps sums", {.image = image},
                             {.sums = sums, .counts = any_table_view{{&sums(0, 0), counts.view().entries().shape()}}});
    expect<invalid_argument>(
        "counts: overlaps image", {.image = image},
        {.sums = sums, .counts = any_table_view{{pixels.data(), image_view<std::uint32_t>(nullptr, 3, 4).shape()}}});
    expect<unsupported>(
        "carries: given",
        {.image = image, .carries = {.left = image_view<double>(&squares(0, 0), 3, 1, 8)}, .nan = nan_mode::omit},
        {.sums = sums});
    expect<unsupported>("sums: form is inclusive, offset 2", {.image = image, .nan = nan_mode::omit},
                        {.sums = {sums.view().entries(), {table_layout::inclusive, {}, 2}}});
    expect<unsupported>("algorithm: no sat algorithm", {.image = image, .nan = nan_mode::omit}, out,
                        {.algorithm = "nonsense"});
    EXPECT_EQ(refusal<unsupported>([&] { decide_sat({.image = image, .mask = mask}, out); }),
              "mask: given, but decide_sat() counts every pixel");
}

TEST_F(wrong_arguments, of_queries_are_named_and_nothing_is_written) {
    const box b{0, 0, 3, 4};
    table<std::uint32_t> small(3, 3), padded(3, 4, table_layout::padded);
    table<std::int32_t> signed_counts(3, 4);
    const auto mean = [&](const moment_views& tables) {
        double result = -77;
        const std::string text = refusal<error>([&] { box_means(tables, {&b, 1}, {&result, 1}); });
        EXPECT_EQ(result, -77);
        return text;
    };
    EXPECT_EQ(mean({.sums = sums, .counts = small}), "counts: extents are 3 x 3, but those of sums are 3 x 4");
    EXPECT_EQ(mean({.sums = sums, .counts = padded}), "counts: its form is padded, but that of sums is inclusive");
    EXPECT_EQ(mean({.sums = sums, .counts = signed_counts}),
              "counts: type is 32s, must be 32u or 64u, or 64f where weights count");
    EXPECT_EQ(mean({.sums = sums, .counts = counts, .min_count = -1}),
              "min_count: is -1, must be finite and not negative");
    EXPECT_EQ(mean({.sums = sums, .min_count = nan}), "min_count: is nan, must be finite and not negative");
    const table_form shifted{table_layout::inclusive, {}, 2};
    EXPECT_EQ(mean({{sums.view().entries(), shifted}, {}, {counts.view().entries(), shifted}}),
              "sums: form is inclusive, offset 2, tables with counts are taken without an offset");
    EXPECT_EQ(
        refusal<unsupported>([&] { box_variance_bound({.sums = sums, .squares = squares, .counts = weights_of}, b); }),
        "counts: type is 64f, bounds of variances are of pixels without weights");
    table<float> out(3, 4);
    EXPECT_EQ(refusal<unsupported>([&] {
                  window_variances({.sums = sums, .squares = squares, .counts = counts}, out.view().entries());
              }),
              "counts: given, but a window of a table counts every pixel");
    EXPECT_EQ(refusal<unsupported>([&] {
                  const moment_views moments{.sums = sums, .squares = squares, .counts = counts};
                  variance_shadows({moments, image, image}, {image});
              }),
              "moments.counts: given, but a shadow counts every pixel");
}

TEST(counted_tables, boxes_without_counts_may_be_too_small) {
    const std::vector<std::uint8_t> pixels{1, 2, 3, 6};
    const auto made = sat_squares<std::uint32_t, std::uint64_t>(image_view<const std::uint8_t>(pixels.data(), 2, 2));
    const moment_views tables{.sums = made.sums, .squares = made.squares, .min_count = 3, .fill = -1};
    EXPECT_EQ(box_mean(tables, {0, 0, 2, 2}), 3);
    EXPECT_EQ(box_mean(tables, {0, 0, 1, 2}), -1);
    EXPECT_EQ(box_variance(tables, {0, 0, 2, 2}), 3.5);
    EXPECT_EQ(box_variance(tables, {0, 0, 1, 2}), -1);
}

}  // namespace
}  // namespace boxsum::counted_tables
