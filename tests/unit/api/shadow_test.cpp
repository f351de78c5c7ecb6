#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/shadow.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace boxsum::shadow_maps {
namespace {

constexpr std::int64_t map_rows = 21, map_cols = 34, rows = 17, cols = 23;

struct rectangle {
    double row, col, rows, cols;
};

/// Visibility from the moments of all pixels, each by the part of it that lies in the rectangle.
template <typename T>
double brute_force(const std::vector<T>& map, const rectangle& r, double receiver, const shadow_options& how) {
    long double area = 0, first = 0, second = 0;
    for (std::int64_t y = 0; y < map_rows; ++y)
        for (std::int64_t x = 0; x < map_cols; ++x) {
            const auto covered = [](double from, double extent, std::int64_t pixel) {
                const auto p = static_cast<double>(pixel);
                return std::max(0.0, std::min(from + extent, p + 1) - std::max(from, p));
            };
            const long double w = static_cast<long double>(covered(r.row, r.rows, y)) * covered(r.col, r.cols, x);
            const auto depth = static_cast<long double>(map[static_cast<std::size_t>(y * map_cols + x)]);
            area += w;
            first += w * depth;
            second += w * depth * depth;
        }
    if (!(area > 0)) return 1;
    const long double mean = first / area;
    if (static_cast<long double>(receiver) <= mean) return 1;
    const long double variance = std::max(second / area - mean * mean, static_cast<long double>(how.min_variance)),
                      behind = static_cast<long double>(receiver) - mean;
    const auto lit = static_cast<double>(variance / (variance + behind * behind));
    return std::clamp((lit - how.bleeding) / (1 - how.bleeding), 0.0, 1.0);
}

template <typename T, typename Sum, typename Square>
void check(const table_form& form, const shadow_options& how) {
    SCOPED_TRACE(std::string(name_of(dtype_of<T>)) + std::string(name_of(dtype_of<Sum>)) +
                 std::string(name_of(dtype_of<Square>)) + ", offset " + std::to_string(form.offset));
    std::mt19937 random(5);
    const auto real = [&](double from, double to) {
        return from + (to - from) * static_cast<double>(random()) / 4294967296.0;
    };
    std::vector<T> map(map_rows * map_cols);
    for (T& depth : map) depth = static_cast<T>(100 + random() % 100 + (random() % 4 == 0 ? 300 : 0));
    const image_view<const T> image(map.data(), map_rows, map_cols);
    const auto moments = sat_squares<Sum, Square>({image}, form);

    std::vector<double> receiver(rows * cols), rectangles(rows * cols * 4), result(rows * (cols + 2), -7);
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        receiver[static_cast<std::size_t>(i)] = real(120, 500);
        rectangle r{real(-6, 24), real(-6, 38), real(0, 12), real(0, 12)};
        if (i % 5 == 0) r = {std::floor(r.row), std::floor(r.col), std::ceil(r.rows), std::ceil(r.cols)};
        if (i % 7 == 0) r.rows = real(0, 0.9);
        if (i % 11 == 0) r.cols = 0;
        const std::array<double, 4> all{r.row, r.col, r.rows, r.cols};
        std::copy(all.begin(), all.end(), rectangles.begin() + i * 4);
    }
    variance_shadows({moments, image_view<const double>(receiver.data(), rows, cols),
                      image_view<const double>(rectangles.data(), rows, cols, 0, 4)},
                     {image_view<double>(result.data(), rows, cols, (cols + 2) * 8)}, how);
    for (std::int64_t y = 0; y < rows; ++y) {
        for (std::int64_t x = 0; x < cols; ++x) {
            const auto i = static_cast<std::size_t>(y * cols + x);
            const rectangle r{rectangles[4 * i], rectangles[4 * i + 1], rectangles[4 * i + 2], rectangles[4 * i + 3]};
            // Chebyshev's bound jumps where the receiver is the mean, so that is left out, by 1e-9 of it.
            const double expected = brute_force(map, r, receiver[i], how);
            ASSERT_NEAR(result[static_cast<std::size_t>(y * (cols + 2) + x)], expected, 2e-6)
                << y << ", " << x << ": " << r.row << ", " << r.col << ", " << r.rows << " x " << r.cols;
        }
        for (std::int64_t x = cols; x < cols + 2; ++x)
            ASSERT_EQ(result[static_cast<std::size_t>(y * (cols + 2) + x)], -7);
    }
}

TEST(variance_shadows, every_pixel_from_moments_of_all_pixels_of_the_map) {
    for (const shadow_options& how :
         {shadow_options{}, shadow_options{.min_variance = 40, .bleeding = 0.3}, shadow_options{.threads = 3}}) {
        check<std::uint16_t, std::uint32_t, std::uint64_t>(table_layout::padded, how);
        check<std::uint8_t, std::int32_t, std::int32_t>(table_layout::inclusive, how);
        check<double, double, double>({table_layout::padded, {9, 20}, 250}, how);
        check<float, float, double>({table_layout::padded, {10, 17}, 200}, how);
    }
}

/// One occluder over one receiver: Chebyshev's inequality is an equality.
TEST(variance_shadows, are_exact_for_two_planes) {
    std::vector<std::uint16_t> map(map_rows * map_cols, 900);
    for (std::int64_t y = 0; y < map_rows; ++y) std::fill_n(map.begin() + y * map_cols, 10, std::uint16_t{300});
    const auto moments =
        sat_squares<std::uint32_t, std::uint64_t>({image_view<const std::uint16_t>(map.data(), map_rows, map_cols)});
    for (int shadowed = 0; shadowed <= 8; ++shadowed) {
        const float receiver = 900;
        const std::array<float, 4> r{4, static_cast<float>(10 - shadowed), 5, 8};
        float visible = -1;
        variance_shadows(
            {moments, image_view<const float>(&receiver, 1, 1), image_view<const float>(r.data(), 1, 1, 0, 4)},
            {image_view<float>(&visible, 1, 1)});
        EXPECT_NEAR(visible, 1 - static_cast<float>(shadowed) / 8, 1e-6F) << shadowed;
    }
}

TEST(variance_shadows, refusals) {
    std::vector<double> map(12), out(4), receiver(4), rectangles(16);
    const image_view<const double> image(map.data(), 3, 4);
    const auto moments = sat_squares<double, double>({image});
    const auto exclusive = sat_squares<double, double>({image}, table_layout::exclusive);
    const image_view<const double> depth(receiver.data(), 2, 2), r(rectangles.data(), 2, 2, 0, 4);
    const image_view<double> result(out.data(), 2, 2);
    const auto message = [&](const shadow_inputs& in, const shadow_outputs& to, const shadow_options& how = {}) {
        try {
            variance_shadows(in, to, how);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    EXPECT_EQ(message({exclusive, depth, r}, {result}),
              "moments.sums: an exclusive table lacks the sums up to the last row and column");
    EXPECT_EQ(message({moments, depth, depth}, {result}), "rectangle: channels is 1, must be 4");
    EXPECT_EQ(message({moments, depth, r}, {result}, {.bleeding = 1}), "bleeding: is 1, must be 0 or more, below 1");
    EXPECT_EQ(message({moments, depth, r}, {result}, {.min_variance = -1e-9}),
              "min_variance: is -1e-09, must be finite, not negative");
    EXPECT_EQ(message({moments, depth, r}, {image_view<double>(receiver.data(), 2, 2)}),
              "visibility: overlaps receiver");
    EXPECT_EQ(message({{moments.sums, exclusive.squares}, depth, r}, {result}),
              "moments.squares: an exclusive table lacks the sums up to the last row and column");
    EXPECT_EQ(message({moments, image_view<const double>(receiver.data(), 1, 2), r}, {result}),
              "rectangle: rows is 2, must be 1");
}

}  // namespace
}  // namespace boxsum::shadow_maps
