// Filters on devices whose blocks have 99 KiB of shared memory, as those of compute capability 8.6, 8.9 and 12.0:
// windows that an H200 takes with larger blocks come out of smaller ones.

#include "cuda/filters/real_windows.hpp"
#include "filters/filter_jobs.hpp"
#include "support/emulation/settings.hpp"
#include "support/guided_reference.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using emulation::scoped_settings;
using emulation::settings;
using test::wide;

constexpr settings small_blocks{.compute_capability = 8, .shared_bytes = 99 << 10};

template <typename T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> values(count);
    for (T& x : values) x = static_cast<T>(random() % 1000) / 8;
    return values;
}

/// A weighted mean and variance of what a window sees, in long double.
struct moments {
    wide mean = 0, variance = 0;
};
moments moments_of(const image_view<const float>& image, const image_view<const float>& weights, const window& w,
                   std::int64_t row, std::int64_t col) {
    wide all = 0, sum = 0, squares = 0;
    const auto each = [&](auto&& f) {
        test::for_window(w, border_mode::shrink, image.rows(), image.cols(), row, col,
                         [&](std::int64_t y, std::int64_t x) { f(wide{image(y, x)}, wide{weights(y, x)}); });
    };
    each([&](wide x, wide weight) { all += weight, sum += weight * x; });
    const wide mean = sum / all;
    each([&](wide x, wide weight) { squares += weight * (x - mean) * (x - mean); });
    return {mean, squares / all};
}

TEST(small_blocks, take_wide_windows_of_floats) {
    constexpr std::int64_t rows = 4, cols = 900;
    const window wide_window(window_extents{1, 1, 90, 92});  // 512 threads elsewhere: 131 and 197 KiB
    const std::vector<float> pixels = random_values<float>(rows * cols, 1);
    const image_view<const float> image{pixels.data(), rows, cols};
    const std::vector<float> ones(rows * cols, 1.0f);
    std::vector<float> some = random_values<float>(rows * cols, 2);
    for (float& w : some) w += 0.5f;
    for (const bool weighted : {false, true}) {
        const image_view<const float> weight{weighted ? some.data() : ones.data(), rows, cols};
        filter_inputs inputs{image};
        if (weighted) inputs.weights = weight;
        std::vector<double> mean(rows * cols, -1), variance(rows * cols, -1);
        {
            const scoped_settings device(small_blocks);
            const cuda::stream stream;
            cuda::local_statistics(inputs,
                                   {.mean = image_view<double>(mean.data(), rows, cols),
                                    .variance = image_view<double>(variance.data(), rows, cols)},
                                   stream, {.window = wide_window});
        }
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                const moments expected = moments_of(image, weight, wide_window, r, c);
                const auto at = static_cast<std::size_t>(r * cols + c);
                ASSERT_NEAR(mean[at], static_cast<double>(expected.mean), 1e-10) << r << ", " << c;
                ASSERT_NEAR(variance[at], static_cast<double>(expected.variance), 1e-9) << r << ", " << c;
            }
    }
}

/// Sums of bytes leave nothing to additions, whose blocks do not hold these windows here.
TEST(small_blocks, slide_wide_windows_of_masked_bytes) {
    constexpr std::int64_t rows = 4, cols = 910;
    const std::vector<std::uint8_t> pixels = random_values<std::uint8_t>(rows * cols, 5);
    const image_view<const std::uint8_t> image{pixels.data(), rows, cols};
    const filter_options options{.window = window_extents{1, 2, 450, 450}, .nodata = 7};
    std::vector<float> expected(rows * cols), found(rows * cols, -1);
    local_statistics({image}, {.deviation = image_view<float>(expected.data(), rows, cols)}, options);
    const scoped_settings device(small_blocks);
    const filters::window_job job = filters::windows_of(filters::part_of(filter_inputs{image}), options);
    EXPECT_TRUE(cuda::real_slides(job, true) && !cuda::real_supports(job, true));
    const cuda::stream stream;
    cuda::local_statistics({image}, {.deviation = image_view<float>(found.data(), rows, cols)}, stream, options);
    EXPECT_EQ(found, expected);
}

/// Blocks have fewer rows here.
TEST(small_blocks, hold_tables_of_small_radii) {
    constexpr std::int64_t rows = 150, cols = 500;
    const std::vector<std::uint8_t> pixels = random_values<std::uint8_t>(rows * cols, 6);
    std::vector<std::uint8_t> radii = random_values<std::uint8_t>(rows * cols, 7);
    for (std::uint8_t& r : radii) r %= 32;
    const variable_inputs inputs{.image = image_view<const std::uint8_t>(pixels.data(), rows, cols),
                                 .radius = image_view<const std::uint8_t>(radii.data(), rows, cols)};
    std::vector<std::uint8_t> expected(rows * cols), found(rows * cols);
    variable_box_filter(inputs, {.result = image_view<std::uint8_t>(expected.data(), rows, cols)});
    const scoped_settings device(small_blocks);
    const cuda::stream stream;
    cuda::variable_box_filter(inputs, {.result = image_view<std::uint8_t>(found.data(), rows, cols)}, stream);
    EXPECT_EQ(found, expected);
}

TEST(small_blocks, take_wide_windows_with_a_guide) {
    constexpr std::int64_t rows = 5, cols = 300;
    const window wide_window(window_extents{2, 2, 40, 40});  // 256 threads elsewhere: 129 KiB
    const std::vector<double> pixels = random_values<double>(rows * cols, 3),
                              by = random_values<double>(rows * cols, 4);
    const image_view<const double> image{pixels.data(), rows, cols}, guide{by.data(), rows, cols};
    const std::vector<test::guided_value> expected =
        test::expected_guided<double, double>(image, 0, guide, 0, 1, 0, 0, wide_window, border_mode::shrink, 0.5);
    std::vector<double> result(rows * cols, -1);
    {
        const scoped_settings device(small_blocks);
        const cuda::stream stream;
        cuda::guided_filter({image, guide}, {image_view<double>(result.data(), rows, cols)}, stream, {0.5},
                            {.window = wide_window});
    }
    for (std::size_t i = 0; i < result.size(); ++i)
        ASSERT_NEAR(result[i], static_cast<double>(expected[i].value), 1e-9) << i;
}

}  // namespace
}  // namespace boxsum
