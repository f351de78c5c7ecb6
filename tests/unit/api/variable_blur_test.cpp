#include <boxsum/error.hpp>
#include <boxsum/variable_blur.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum::smooth_blurs {
namespace {

__extension__ using wide = unsigned __int128;

/// The box of 2 * radius + 1 ones, convolved with itself.
std::vector<std::uint64_t> weights_of(int order, std::int64_t radius) {
    const std::vector<std::uint64_t> box(static_cast<std::size_t>(2 * radius + 1), 1);
    std::vector<std::uint64_t> w = box;
    for (int i = 1; i < order; ++i) {
        std::vector<std::uint64_t> next(w.size() + box.size() - 1);
        for (std::size_t a = 0; a < w.size(); ++a)
            for (std::size_t b = 0; b < box.size(); ++b) next[a + b] += w[a];
        w = next;
    }
    return w;
}

struct exact_mean {
    wide sum = 0, weights = 0;
};

template <typename T>
exact_mean mean_at(const image_view<const T>& image, int order, std::int64_t radius, std::int64_t r, std::int64_t c,
                   std::int64_t k, std::int64_t plane) {
    const auto w = weights_of(order, radius);
    const std::int64_t reach = order * radius;
    exact_mean m;
    for (std::int64_t y = std::max<std::int64_t>(r - reach, 0); y <= std::min(r + reach, image.rows() - 1); ++y)
        for (std::int64_t x = std::max<std::int64_t>(c - reach, 0); x <= std::min(c + reach, image.cols() - 1); ++x) {
            const wide both =
                wide{w[static_cast<std::size_t>(y - r + reach)]} * w[static_cast<std::size_t>(x - c + reach)];
            m.sum += both * image(y, x, k, plane);
            m.weights += both;
        }
    return m;
}

template <typename T, typename Radius, typename Out>
void check(int order, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes, int most,
           rounding_mode rounding, int threads) {
    SCOPED_TRACE("order " + std::to_string(order) + ", " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                 std::to_string(channels) + ", radii up to " + std::to_string(most));
    std::mt19937 random(11);
    std::vector<T> pixels(static_cast<std::size_t>(planes * rows * cols * channels));
    for (T& x : pixels) x = static_cast<T>(random());
    std::vector<Radius> radii(static_cast<std::size_t>(rows * cols));
    for (Radius& x : radii) x = static_cast<Radius>(random() % static_cast<unsigned>(most + 1));
    const std::int64_t pitch = (cols * channels + 3) * static_cast<std::int64_t>(sizeof(Out));
    std::vector<Out> memory(static_cast<std::size_t>(planes * rows * (cols * channels + 3)), Out{77});
    const image_view<const T> image(pixels.data(), rows, cols, 0, channels, planes);
    const image_view<const Radius> radius(radii.data(), rows, cols);
    const image_view<Out> result(memory.data(), rows, cols, pitch, channels, planes);
    variable_blur({.image = image, .radius = radius}, {result}, {order, rounding, threads});
    for (std::int64_t plane = 0; plane < planes; ++plane)
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < cols; ++c)
                for (std::int64_t k = 0; k < channels; ++k) {
                    const exact_mean m = mean_at(image, order, radius(r, c), r, c, k, plane);
                    if constexpr (std::is_integral_v<Out>) {
                        const wide up = rounding == rounding_mode::half_up ? m.weights : 0;
                        ASSERT_EQ(result(r, c, k, plane), static_cast<Out>((2 * m.sum + up) / (2 * m.weights)))
                            << r << ", " << c << ", radius " << +radius(r, c);
                    } else {
                        const auto mean =
                            static_cast<double>(static_cast<long double>(m.sum) / static_cast<long double>(m.weights));
                        ASSERT_NEAR(static_cast<double>(result(r, c, k, plane)), mean,
                                    4 * mean * static_cast<double>(std::numeric_limits<Out>::epsilon()));
                    }
                }
            for (std::int64_t i = cols * channels; i < cols * channels + 3; ++i)
                ASSERT_EQ(result.row(r, plane)[i], Out{77});
        }
}

TEST(variable_blur, every_pixel_by_weights) {
    for (int order = 1; order <= 3; ++order) {
        check<std::uint8_t, std::uint8_t, std::uint8_t>(order, 13, 19, 1, 1, 4, rounding_mode::half_up, 1);
        check<std::uint8_t, std::uint16_t, std::uint8_t>(order, 9, 14, 3, 2, 20, rounding_mode::floor, 3);
        check<std::uint16_t, std::int32_t, float>(order, 8, 11, 2, 1, 9, rounding_mode::half_up, 2);
        check<std::uint16_t, std::uint32_t, double>(order, 1, 23, 1, 1, 6, rounding_mode::half_up, 1);
    }
}

/// The largest windows whose sums are exact: the table has wrapped many times.
TEST(variable_blur, sums_are_exact_up_to_the_largest_radius) {
    std::vector<std::uint8_t> pixels(4 * 4, 255);
    std::vector<std::uint16_t> radii(4 * 4);
    std::vector<std::uint8_t> blurred(4 * 4);
    const image_view<const std::uint8_t> image(pixels.data(), 4, 4);
    const image_view<const std::uint16_t> radius(radii.data(), 4, 4);
    const image_view<std::uint8_t> result(blurred.data(), 4, 4);
    radii[5] = 322;
    variable_blur({.image = image, .radius = radius}, {result}, {.order = 3});
    for (const std::uint8_t x : blurred) EXPECT_EQ(x, 255);
    radii[5] = 323;
    try {
        variable_blur({.image = image, .radius = radius}, {result}, {.order = 3});
        ADD_FAILURE() << "nothing thrown";
    } catch (const unsupported& e) {
        EXPECT_STREQ(e.what(), "radius: the largest is 323; sums of order 3 are exact up to 322");
    }
}

TEST(variable_blur, refusals) {
    std::vector<std::uint8_t> bytes(64);
    const image_view<std::uint8_t> image(bytes.data(), 4, 8);
    std::vector<float> floats(32);
    std::vector<std::uint8_t> radii(32), out(32);
    const image_view<std::uint8_t> radius(radii.data(), 4, 8), result(out.data(), 4, 8);
    const auto message = [&](const variable_inputs& in, const filter_outputs& to, const variable_blur_options& how) {
        try {
            variable_blur(in, to, how);
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    EXPECT_EQ(message({.image = image, .radius = radius}, {result}, {.order = 4}), "order: is 4, must be 1 to 3");
    EXPECT_EQ(message({.image = image, .radius = radius}, {image}, {}), "result: overlaps image");
    EXPECT_EQ(message({.image = image_view<float>(floats.data(), 4, 8), .radius = radius}, {result}, {}),
              "image: type is 32f, must be 8u or 16u");
    EXPECT_EQ(message({.image = image, .radius = image_view<std::uint8_t>(radii.data(), 4, 7)}, {result}, {}),
              "radius: cols is 7, but that of the image is 8");
    radii[9] = 5;
    EXPECT_EQ(message({.image = image, .radius = radius, .largest_radius = 4}, {result}, {}),
              "radius: is 5 at plane 0, row 1, col 1, but largest_radius is 4");
    for (const std::uint8_t x : out) EXPECT_EQ(x, 0);
}

TEST(circles_of_confusion, of_a_thin_lens) {
    const std::array<float, 8> depth{2, 4, 1, 1e30F, 0, -3, std::nanf(""), 1.9F};
    std::array<std::uint16_t, 8> radii{};
    const image_view<const float> from(depth.data(), 1, 8);
    const image_view<std::uint16_t> to(radii.data(), 1, 8);
    circles_of_confusion(from, to, {.focus = 2, .aperture = 10, .largest_radius = 300});
    const std::array<std::uint16_t, 8> expected{0, 5, 10, 10, 300, 300, 0, 1};
    EXPECT_EQ(radii, expected);
    circles_of_confusion(from, to, {.focus = 2, .aperture = 10, .largest_radius = 7});
    EXPECT_EQ(radii[2], 7);
    const auto message = [&](const thin_lens& lens) {
        try {
            circles_of_confusion(from, to, lens);
        } catch (const invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    EXPECT_EQ(message({.focus = -1e-9}), "focus: is -1e-09, must be above 0 and finite");
    EXPECT_EQ(message({.aperture = -1e-9}), "aperture: is -1e-09, must be finite, not negative");
    EXPECT_THROW(circles_of_confusion(from, to, {.largest_radius = 65536}), invalid_argument);
}

}  // namespace
}  // namespace boxsum::smooth_blurs
