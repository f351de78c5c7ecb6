#include "support/complaint.hpp"

#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace boxsum {
namespace {

constexpr std::int64_t image_rows = 9, image_cols = 11;

std::vector<std::int16_t> pixels() {
    std::vector<std::int16_t> p;
    for (int i = 0; i < image_rows * image_cols; ++i) p.push_back(static_cast<std::int16_t>(i * 397 % 2001 - 1000));
    return p;
}

std::int64_t direct_sum(const std::vector<std::int16_t>& p, const box& b) {
    std::int64_t sum = 0;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c) sum += p[static_cast<std::size_t>(r * image_cols + c)];
    return sum;
}

TEST(box, every_box_of_every_layout) {
    const auto p = pixels();
    const image_view<const std::int16_t> image(p.data(), image_rows, image_cols);
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        const auto t = sat<std::int32_t>(image, layout);
        for (std::int64_t r = 0; r < image_rows; ++r)
            for (std::int64_t c = 0; c < image_cols; ++c)
                for (std::int64_t h = 1; r + h <= image_rows; ++h)
                    for (std::int64_t w = 1; c + w <= image_cols; ++w) {
                        const box b{r, c, h, w};
                        if (layout == table_layout::exclusive && (r + h == image_rows || c + w == image_cols))
                            EXPECT_THROW(box_sum(t, b), invalid_argument);
                        else
                            ASSERT_EQ(box_sum(t, b), direct_sum(p, b)) << r << ' ' << c << ' ' << h << ' ' << w;
                    }
    }
}

TEST(box, sums_survive_wrapping_of_the_table) {
    const std::vector<std::uint32_t> p(8, 0xf0000000u);  // the table wraps with the second pixel
    const image_view<const std::uint32_t> image(p.data(), 2, 4);
    const auto t = sat<std::uint32_t>(image);
    EXPECT_EQ(box_sum(t, {1, 3, 1, 1}), 0xf0000000u);
    const std::vector<std::int32_t> n(8, -2000000000);
    const auto s = sat<std::int32_t>(image_view<const std::int32_t>(n.data(), 2, 4));
    EXPECT_EQ(box_sum(s, {1, 2, 1, 1}), -2000000000);
}

TEST(box, wrong_boxes_are_named) {
    const auto p = pixels();
    const auto t = sat<std::int32_t>(image_view<const std::int16_t>(p.data(), image_rows, image_cols));
    for (const box& b : {box{0, 0, 0, 1}, box{0, 0, 1, 0}, box{-1, 0, 1, 1}, box{0, 8, 1, 4}, box{8, 0, 2, 1},
                         box{INT64_MAX, 0, 1, 1}, box{1, 1, INT64_MAX, 1}})
        EXPECT_THROW(box_sum(t, b), invalid_argument);
    try {
        box_sum(t, box{3, 8, 1, 4});
    } catch (const invalid_argument& e) {
        EXPECT_STREQ(e.what(), "box: row 3, col 8, rows 1, cols 4 lies outside the 9 x 11 image");
    }
    EXPECT_THROW(box_sum(t, {0, 0, 1, 1}, 1), invalid_argument);
    EXPECT_THROW(box_sum(t, {0, 0, 1, 1}, 0, -1), invalid_argument);
}

TEST(box, a_table_without_memory_is_named) {
    const table_view<const std::uint32_t> nothing({nullptr, 4, 4});
    const box b{0, 0, 2, 2};
    for (const auto& call : {std::function<void()>([&] { (void)box_sum(nothing, b); }),
                             std::function<void()>([&] { (void)box_mean(nothing, b); }),
                             std::function<void()>([&] { (void)box_sum(table<std::uint32_t>(), b); })})
        try {
            call();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const invalid_argument& e) {
            EXPECT_STREQ(e.what(), "table: data is null");
        }
}

TEST(box, arrays_of_boxes) {
    const auto p = pixels();
    const auto t = sat<std::int64_t>(image_view<const std::int16_t>(p.data(), image_rows, image_cols));
    const std::array<box, 2> boxes{{{0, 0, 3, 3}, {4, 5, 2, 6}}};
    std::array<scalar, 2> sums;
    std::array<double, 2> means{};
    box_sums(t, boxes, sums);
    box_means(t, boxes, means);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        EXPECT_EQ(sums[i].type, dtype::s64);
        EXPECT_EQ(sums[i].s, direct_sum(p, boxes[i]));
        EXPECT_EQ(sums[i].to_string(), std::to_string(direct_sum(p, boxes[i])));
        EXPECT_DOUBLE_EQ(means[i], static_cast<double>(direct_sum(p, boxes[i])) /
                                       static_cast<double>(boxes[i].rows * boxes[i].cols));
    }
    std::array<scalar, 1> few;
    EXPECT_THROW(box_sums(t, boxes, few), invalid_argument);
    const std::array<box, 2> bad{{{0, 0, 3, 3}, {4, 5, 2, 7}}};
    sums[0].s = 123;
    try {
        box_sums(t, bad, sums);
        ADD_FAILURE();
    } catch (const invalid_argument& e) {
        EXPECT_EQ(std::string(e.what()).substr(0, 9), "boxes[1]:");
    }
    EXPECT_EQ(sums[0].s, 123);  // checked before anything is written
}

TEST(box, integer_variance_is_exact_and_never_negative) {
    std::vector<std::uint16_t> p(64 * 64, 65535);
    const image_view<const std::uint16_t> image(p.data(), 64, 64);
    const auto variance = [&] {
        return box_variance(sat_squares<std::uint64_t, std::uint64_t>(image), {0, 0, 64, 64});
    };
    EXPECT_EQ(variance(), 0.0);
    p[77] = 65534;
    const double n = 64 * 64;
    EXPECT_DOUBLE_EQ(variance(), (n - 1) / (n * n));
}

/// What a moment_views puts together must belong together, and a form must exist.
/// Sums of squares cancel where pixels lie far from zero: the variance is within the reported bound all the same, which
/// is small where the variance is good, and larger than the variance where it is worthless.
TEST(box, variance_reports_how_far_off_it_may_be) {
    constexpr std::int64_t n = 256;
    const auto check = [&]<typename T>(T offset, double largest_bound, double smallest_bound) {
        std::vector<T> pixels(n * n);
        std::uint32_t state = 1;
        for (T& p : pixels) {
            state = state * 1664525 + 1013904223;
            p = offset + static_cast<T>(state >> 8) / static_cast<T>(1 << 24);
        }
        auto sums = table<T>(n, n), squares = table<T>(n, n);
        sat({image_view<const T>(pixels.data(), n, n)}, {.sums = sums, .squares = squares});
        for (const box& b : {box{0, 0, 31, 31}, box{100, 50, 31, 31}, box{225, 225, 31, 31}, box{255, 255, 1, 1},
                             box{0, 0, n, n}, box{7, 200, 200, 3}}) {
            long double sum = 0, deviations = 0;
            const auto each = [&](const auto& use) {
                for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
                    for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
                        use(static_cast<long double>(pixels[static_cast<std::size_t>(r * n + c)]));
            };
            each([&](long double x) { sum += x; });
            const auto count = static_cast<long double>(b.rows * b.cols);
            each([&](long double x) { deviations += (x - sum / count) * (x - sum / count); });
            const auto right = static_cast<double>(deviations / count);
            const double bound = box_variance_bound({sums, squares}, b);
            EXPECT_LE(std::abs(box_variance({sums, squares}, b) - right), bound) << offset << ", row " << b.row;
            if (b.rows != 31 || b.row == 0) continue;
            EXPECT_LE(bound, largest_bound) << offset;
            EXPECT_GE(bound, smallest_bound) << offset;
        }
    };
    check(0.0, 1e-9, 0);
    check(1e3, 1e-4, 0);
    check(1e6, 1e3, 0.1);
    check(1e9, 1e9, 1e3);
    check(0.0f, 0.1, 0);
    check(100.0f, 1e3, 0.1);
    // Integer tables are exact.
    const std::vector<std::uint8_t> bytes(64, 255);
    auto sums = table<std::uint32_t>(8, 8);
    auto squares = table<std::uint64_t>(8, 8);
    sat({image_view<const std::uint8_t>(bytes.data(), 8, 8)}, {.sums = sums, .squares = squares});
    EXPECT_EQ(box_variance_bound({sums, squares}, {0, 0, 8, 8}), 0);
    EXPECT_THROW(box_variance_bound({sums, squares}, {0, 0, 9, 8}), invalid_argument);
}

TEST(box, tables_that_do_not_fit_are_named) {
    const auto p = pixels();
    const image_view<const std::int16_t> image(p.data(), image_rows, image_cols);
    const auto sums = sat<std::int64_t>(image), padded = sat<std::int64_t>(image, table_layout::padded);
    const auto fewer = sat<std::int64_t>(image_view<const std::int16_t>(p.data(), image_rows, image_cols - 1));
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const invalid_argument& e) {
            return e.what();
        }
        return "no invalid_argument";
    };
    const box b{0, 0, 2, 2};
    EXPECT_EQ(message([&] {
                  (void)box_variance({sums, padded}, b);
              }),
              "squares: its form is padded, but that of sums is inclusive");
    EXPECT_EQ(message([&] {
                  (void)box_variance({sums, fewer}, b);
              }),
              "squares: extents are 9 x 10, but those of sums are 9 x 11");
    scalar out;
    const const_any_table_view formless{sums.view().entries(), static_cast<table_layout>(9)};
    EXPECT_EQ(message([&] { box_sums(formless, {&b, 1}, {&out, 1}); }), "table: layout is 9, not a table_layout");
}

/// Of eighths of pixels: every product and sum is a double.
TEST(box, boxes_with_fractional_edges_are_integrals) {
    const auto p = pixels();
    const image_view<const std::int16_t> image(p.data(), image_rows, image_cols);
    const auto part_of = [](int pixel, double low, double high) {
        return std::max(0.0, std::min(high, pixel + 1.0) - std::max(low, static_cast<double>(pixel)));
    };
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        table_form form = layout;
        if (layout == table_layout::padded) form = {layout, {4, 5}, 20};
        const auto sums = sat<std::int32_t>(image, form);
        const auto moments = sat_squares<double, double>(image, layout);
        const double rows = image_rows - (layout == table_layout::exclusive ? 1 : 0),
                     cols = image_cols - (image_rows - rows);
        for (int i = 0; i < 500; ++i) {
            const double top = i * 37 % 70 / 8.0, left = i * 53 % 81 / 8.0,
                         bottom = std::min(rows, top + (1 + i * 29 % 60) / 8.0),
                         right = std::min(cols, left + (1 + i * 31 % 75) / 8.0);
            const fractional_box b{top, left, bottom, right};
            if (!(top < bottom && left < right)) {
                EXPECT_THROW(check_box(b, sums.view()), invalid_argument);
                continue;
            }
            double integral = 0, of_squares = 0;
            for (int r = 0; r < image_rows; ++r)
                for (int c = 0; c < image_cols; ++c) {
                    const double pixel = p[static_cast<std::size_t>(r * image_cols + c)],
                                 part = part_of(r, top, bottom) * part_of(c, left, right);
                    integral += part * pixel;
                    of_squares += part * pixel * pixel;
                }
            double sum = 0, mean = 0, variance = 0;
            box_sums(sums.view(), std::span(&b, 1), {&sum, 1});
            box_means(sums.view(), std::span(&b, 1), {&mean, 1});
            box_variances({moments.sums.view(), moments.squares.view()}, std::span(&b, 1), {&variance, 1});
            ASSERT_EQ(sum, integral) << i;
            ASSERT_EQ(mean, integral / b.area()) << i;
            ASSERT_NEAR(variance, of_squares / b.area() - mean * mean, 1e-9) << i;
            ASSERT_GE(variance, 0);
        }
    }
    const auto t = sat<std::int32_t>(image);
    double out[2] = {5, 5};
    const fractional_box one{1, 1, 1, std::nan("")};
    const fractional_box wrong[2] = {{0, 0, 1, 1}, {0, 0, 9.5, 1}};
    EXPECT_COMPLAINT(box_sums(t.view(), wrong, out),
                     "boxes[1]: box: rows 0 to 9.5, columns 0 to 1 lie outside the 9 x 11 pixels");
    EXPECT_EQ(out[0], 5);
    EXPECT_COMPLAINT(check_box(one, t.view()), "box: rows 1 to 1, columns 1 to nan are empty in the 9 x 11 pixels");
    EXPECT_THROW(box_variances({.sums = t.view(), .squares = t.view(), .min_count = 1}, std::span(wrong, 1), {out, 1}),
                 unsupported);
}

TEST(box, boxes_of_images_need_no_table) {
    check_box({0, 0, 9, 11}, image_rows, image_cols);
    EXPECT_THROW(check_box({0, 0, 9, 12}, image_rows, image_cols), invalid_argument);
    EXPECT_THROW(check_box({0, 0, 0, 1}, image_rows, image_cols), invalid_argument);
}

TEST(box, largest_safe_box) {
    EXPECT_EQ(largest_safe_box(dtype::u8, dtype::u32), 16843009);
    EXPECT_EQ(largest_safe_box(dtype::u8, dtype::s32), 8421504);
    EXPECT_EQ(largest_safe_box(dtype::u16, dtype::u32), 65537);
    EXPECT_EQ(largest_safe_box(dtype::s16, dtype::s32), 65536);
    EXPECT_EQ(largest_safe_box(dtype::s32, dtype::s32), 1);
    EXPECT_EQ(largest_safe_box_of_squares(dtype::u8, dtype::u32), 66051);
    EXPECT_EQ(largest_safe_box(dtype::u8, dtype::f32), 65793);
    EXPECT_EQ(largest_safe_box(dtype::u32, dtype::u32), 1);
    EXPECT_EQ(largest_safe_box(dtype::f32, dtype::f64), 0);
    EXPECT_EQ(largest_safe_box(dtype::u64, dtype::u64), 1);
    EXPECT_EQ(largest_safe_box_of_squares(dtype::u64, dtype::u64), 0);
    EXPECT_EQ(largest_safe_box_of_squares(dtype::s64, dtype::u64), 0);
    EXPECT_GT(largest_safe_box(dtype::u8, dtype::f64), std::int64_t{35} * 1000 * 1000 * 1000 * 1000);
}

/// For every pair of integers: so many of the least and of the greatest value fit, and one more does not.
TEST(box, largest_safe_box_is_the_largest) {
    __extension__ using wide = __int128;
    const auto least = [](dtype t) { return is_signed(t) ? -(wide{1} << (size_of(t) * 8 - 1)) : wide{0}; };
    const auto greatest = [](dtype t) { return (wide{1} << (size_of(t) * 8 - (is_signed(t) ? 1 : 0))) - 1; };
    using enum dtype;
    for (const dtype input : {u8, u16, s16, u32, s32, u64, s64})
        for (const dtype table : {u8, u16, s16, u32, s32, u64, s64}) {
            const auto fits = [&](wide n) {
                return n * least(input) >= least(table) && n * greatest(input) <= greatest(table);
            };
            const wide n = largest_safe_box(input, table);
            EXPECT_TRUE(fits(n)) << name_of(input) << ' ' << name_of(table);
            EXPECT_FALSE(fits(n + 1)) << name_of(input) << ' ' << name_of(table);
        }
    // Floating tables hold all integers up to these, of either sign.
    for (const dtype input : {u8, u16, s16, u32, s32})
        for (const dtype table : {f32, f64}) {
            const wide limit = wide{1} << (table == f32 ? 24 : 53), n = largest_safe_box(input, table);
            const wide magnitude = std::max(greatest(input), -least(input));
            EXPECT_TRUE(n * magnitude <= limit && (n + 1) * magnitude > limit)
                << name_of(input) << ' ' << name_of(table);
        }
}

TEST(box, scalars_print_exactly) {
    scalar s;
    s.type = dtype::u64;
    s.u = UINT64_MAX;
    EXPECT_EQ(s.to_string(), "18446744073709551615");
    s.type = dtype::f32;
    s.f = 0.1f;
    EXPECT_EQ(s.to_string(), "0.1");
}

}  // namespace
}  // namespace boxsum
