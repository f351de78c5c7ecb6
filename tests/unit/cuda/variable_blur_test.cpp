// Variable blur and circles of confusion on the device: the bits of the host's, and weighted sums over the pixels
// themselves.

#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"

#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/error.hpp>
#include <boxsum/variable_blur.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

__extension__ using wide = unsigned __int128;

class device_blur : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    device_blur() : random_blocks(53) {}

    lying any_strides(bool only_read = false) {
        return pick(3) == 0 ? lying::row_major : only_read && pick(3) == 0 ? lying::repeated : lying::anyhow;
    }

    /// Pixels that lie `distance` apart, of boxes of one radius convolved with each other: by counting the ways.
    static wide weight(int order, std::int64_t radius, std::int64_t distance) {
        if (order == 1) return distance >= -radius && distance <= radius ? 1 : 0;
        wide ways = 0;
        for (std::int64_t step = -radius; step <= radius; ++step) ways += weight(order - 1, radius, distance - step);
        return ways;
    }

    template <typename T, typename Radius, typename Out>
    static void expect_weighted(const image_view<T>& image, const image_view<Radius>& radii, const block<Out>& result,
                                int order, bool half_up) {
        result.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Out& found) {
            const auto radius = static_cast<std::int64_t>(radii(r, c, 0, radii.planes() == 1 ? 0 : plane));
            wide sum = 0, weights = 0;
            for (std::int64_t y = 0; y < image.rows(); ++y)
                for (std::int64_t x = 0; x < image.cols(); ++x) {
                    const wide w = weight(order, radius, y - r) * weight(order, radius, x - c);
                    sum += w * image(y, x, k, plane);
                    weights += w;
                }
            if constexpr (std::is_integral_v<Out>) {
                ASSERT_EQ(found, static_cast<Out>((2 * sum + (half_up ? weights : 0)) / (2 * weights)))
                    << r << ", " << c << ", radius " << radius;
            } else {
                const auto mean =
                    static_cast<double>(static_cast<long double>(sum) / static_cast<long double>(weights));
                ASSERT_NEAR(static_cast<double>(found), mean,
                            4 * mean * static_cast<double>(std::numeric_limits<Out>::epsilon()));
            }
        });
    }

    template <typename T, typename Radius, typename Out>
    void compare(int calls, std::int64_t most_radius, std::int64_t most_rows = 40, std::int64_t most_cols = 80) {
        cuda::workspace workspace;
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(most_rows), cols = 1 + pick(most_cols), channels = 1 + pick(4),
                               planes = 1 + pick(2);
            const variable_blur_options how{1 + i % 3, pick(2) == 0 ? rounding_mode::half_up : rounding_mode::floor};
            const block<T> image(rows, cols, channels, planes, any_strides(true), random_);
            const block<Radius> radii(rows, cols, 1, pick(2) == 0 ? 1 : planes, any_strides(true), random_);
            const block<Out> result(rows, cols, channels, planes, any_strides(), random_);
            image.for_each([&](auto, auto, auto, auto, T& x) {
                x = pick(4) == 0 ? std::numeric_limits<T>::max() : static_cast<T>(random_());
            });
            radii.for_each([&](auto, auto, auto, auto, Radius& x) { x = static_cast<Radius>(pick(most_radius + 1)); });
            const device_block d_image(image, stream());
            const device_block d_radii(radii, stream());
            const device_block d_result(result, stream());
            SCOPED_TRACE("call " + std::to_string(i) + ": order " + std::to_string(how.order) + ", " +
                         std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                         std::to_string(channels) + ", image with " + test::text_of(image.view().shape()));
            if (i % 4 == 0)
                cuda::variable_blur({d_image.view(), d_radii.view()}, {d_result.view()}, stream(), how);
            else
                cuda::variable_blur_async({d_image.view(), d_radii.view(), most_radius + i % 4}, {d_result.view()},
                                          workspace, stream(), how);
            variable_blur({image.view(), radii.view()}, {result.view()}, how);
            EXPECT_TRUE(d_result.equals_host());
            EXPECT_TRUE(d_image.equals_host() && d_radii.equals_host()) << "what is read was written";
            if (rows * cols < 300 && most_radius < 8)
                expect_weighted(image.view(), radii.view(), result, how.order, how.rounding == rounding_mode::half_up);
        }
    }
};

TEST_F(device_blur, every_pixel_as_on_the_host) {
    compare<std::uint8_t, std::uint8_t, std::uint8_t>(12, 6, 12, 24);
    compare<std::uint16_t, std::int32_t, float>(9, 4, 9, 30);
    compare<std::uint8_t, std::uint16_t, double>(9, 40);
    compare<std::uint8_t, std::uint32_t, std::uint8_t>(6, 300);
    compare<std::uint16_t, std::uint8_t, std::uint16_t>(6, 120);
}

/// The largest windows whose sums are exact: the table has wrapped many times.
TEST_F(device_blur, sums_are_exact_up_to_the_largest_radius) {
    const block<std::uint8_t> image(4, 5, 1, 1, lying::row_major, random_);
    const block<std::uint16_t> radii(4, 5, 1, 1, lying::row_major, random_);
    const block<std::uint8_t> result(4, 5, 1, 1, lying::row_major, random_);
    image.for_each([](auto, auto, auto, auto, std::uint8_t& x) { x = 255; });
    radii.for_each([](auto, std::int64_t r, auto, auto, std::uint16_t& x) { x = r == 1 ? 322 : 0; });
    const device_block d_image(image, stream()), d_result(result, stream());
    const device_block d_radii(radii, stream());
    cuda::variable_blur({d_image.view(), d_radii.view()}, {d_result.view()}, stream(), {.order = 3});
    result.for_each([](auto, auto, auto, auto, std::uint8_t& x) { x = 255; });
    EXPECT_TRUE(d_result.equals_host());
}

/// Radii that the host does not see act as the nearest that are allowed; a workspace serves other calls behind it.
TEST_F(device_blur, radii_out_of_range_are_the_nearest) {
    const block<std::uint8_t> image(20, 33, 1, 1, lying::row_major, random_);
    const block<std::int32_t> radii(20, 33, 1, 1, lying::row_major, random_);
    const block<float> result(20, 33, 1, 1, lying::row_major, random_);
    image.for_each([&](auto, auto, auto, auto, std::uint8_t& x) { x = static_cast<std::uint8_t>(pick(256)); });
    radii.for_each([&](auto, auto, auto, auto, std::int32_t& x) { x = static_cast<std::int32_t>(pick(40) - 10); });
    const device_block d_image(image, stream());
    const device_block d_radii(radii, stream());
    const device_block d_result(result, stream());
    cuda::workspace workspace(std::size_t{1} << 20, stream());
    for (int i = 0; i < 2; ++i)
        cuda::variable_blur_async({d_image.view(), d_radii.view(), 12}, {d_result.view()}, workspace, stream());
    stream().synchronize();
    radii.for_each([&](auto, auto, auto, auto, std::int32_t& x) { x = x < 0 ? 0 : x < 12 ? x : 12; });
    variable_blur({image.view(), radii.view()}, {result.view()});
    EXPECT_TRUE(d_result.equals_host());
}

TEST_F(device_blur, of_host_memory) {
    const block<std::uint8_t> image(17, 20, 3, 2, lying::anyhow, random_);
    const block<std::uint8_t> radii(17, 20, 1, 1, lying::row_major, random_);
    const block<std::uint8_t> result(17, 20, 3, 2, lying::anyhow, random_);
    image.for_each([&](auto, auto, auto, auto, std::uint8_t& x) { x = static_cast<std::uint8_t>(pick(256)); });
    radii.for_each([&](auto, auto, auto, auto, std::uint8_t& x) { x = static_cast<std::uint8_t>(pick(9)); });
    cuda::variable_blur({image.view(), radii.view()}, {result.view()}, stream(), {.order = 3});
    const std::vector<std::byte> found = result.bytes();
    variable_blur({image.view(), radii.view()}, {result.view()}, {.order = 3});
    EXPECT_EQ(found, result.bytes());
}

TEST_F(device_blur, circles_as_on_the_host) {
    const auto check = [&]<typename In, typename Out>(In, Out) {
        for (int i = 0; i < 6; ++i) {
            const std::int64_t rows = 1 + pick(40), cols = 1 + pick(80), planes = 1 + pick(2);
            const block<In> depth(rows, cols, 1, planes, any_strides(true), random_);
            const block<Out> radii(rows, cols, 1, planes, any_strides(), random_);
            depth.for_each([&](auto, auto, auto, auto, In& x) {
                x = static_cast<In>(pick(200));
                if constexpr (std::is_floating_point_v<In>) {
                    x /= 30;
                    const In special[] = {-x, std::numeric_limits<In>::quiet_NaN(), std::numeric_limits<In>::infinity(),
                                          std::numeric_limits<In>::denorm_min()};
                    if (pick(4) == 0) x = special[pick(4)];
                }
            });
            const device_block d_depth(depth, stream());
            const device_block d_radii(radii, stream());
            const thin_lens lens{.focus = 2.5 + i, .aperture = i == 3 ? 0 : 17.3, .largest_radius = 9 * i};
            cuda::circles_of_confusion(d_depth.view(), d_radii.view(), stream(), lens);
            circles_of_confusion(depth.view(), radii.view(), lens);
            EXPECT_TRUE(d_radii.equals_host()) << name_of(dtype_of<In>) << ", " << name_of(dtype_of<Out>);
        }
    };
    check(std::uint8_t{}, std::uint8_t{});
    check(std::uint16_t{}, std::uint32_t{});
    check(float{}, std::uint8_t{});
    check(double{}, std::uint16_t{});
}

TEST_F(device_blur, wrong_arguments_are_named_and_nothing_is_written) {
    const block<std::uint8_t> image(9, 11, 1, 1, lying::row_major, random_);
    const block<std::int32_t> radii(9, 11, 1, 1, lying::row_major, random_);
    const block<float> depth(9, 11, 1, 1, lying::row_major, random_);
    radii.for_each([](auto, std::int64_t r, std::int64_t c, auto, std::int32_t& x) { x = r == 3 && c == 7 ? -2 : 5; });
    const device_block d_image(image, stream()), d_result(image, stream());
    const device_block d_radii(radii, stream());
    const device_block d_depth(depth, stream());
    cuda::workspace workspace;
    const auto blurred = [&](const variable_inputs& in, const filter_outputs& out,
                             const variable_blur_options& how = {}) {
        cuda::variable_blur_async(in, out, workspace, stream(), how);
    };
    const variable_inputs good{d_image.view(), d_radii.view(), 5};
    EXPECT_COMPLAINT(blurred({d_image.view(), d_radii.view()}, {d_result.view()}), "largest_radius: is not given");
    EXPECT_COMPLAINT(blurred({d_image.view(), d_radii.view(), -1}, {d_result.view()}), "largest_radius: is -1");
    EXPECT_COMPLAINT(blurred(good, {image.view()}), "result: is host memory");
    EXPECT_COMPLAINT(blurred({d_image.view(), radii.view(), 5}, {d_result.view()}), "radius: is host memory");
    EXPECT_COMPLAINT(blurred(good, {d_image.view()}), "result: overlaps image");
    EXPECT_COMPLAINT(blurred(good, {d_result.view()}, {.order = 0}), "order: is 0, must be 1 to 3");
    EXPECT_THROW(blurred({d_image.view(), d_radii.view(), 323}, {d_result.view()}, {.order = 3}), unsupported);
    EXPECT_THROW(blurred({d_depth.view(), d_radii.view(), 5}, {d_depth.view()}), unsupported);
    EXPECT_COMPLAINT(cuda::variable_blur({d_image.view(), d_radii.view()}, {d_result.view()}, stream()),
                     "radius: is -2 at plane 0, row 3, col 7, must not be negative");
    const cuda::variable_blur_plan plan(good, {d_result.view()});
    workspace.reserve(plan.workspace_bytes(), stream());
    EXPECT_COMPLAINT(plan.run_async({d_image.view(), d_radii.view(), 6}, {d_result.view()}, workspace, stream()),
                     "largest_radius: is 6, but the plan was made for 5");
    const auto circles = [&](const const_any_view& from, const any_view& to, const thin_lens& lens = {}) {
        cuda::circles_of_confusion_async(from, to, stream(), lens);
    };
    EXPECT_COMPLAINT(circles(depth.view(), d_result.view()), "depth: is host memory");
    EXPECT_COMPLAINT(circles(d_depth.view(), image.view()), "radii: is host memory");
    EXPECT_COMPLAINT(circles(d_depth.view(), d_result.view(), {.focus = 0}), "focus: is 0");
    EXPECT_COMPLAINT(circles(d_depth.view(), d_depth.view()), "radii: type is 32f");
    EXPECT_TRUE(d_result.equals_host() && d_image.equals_host());
}

}  // namespace
}  // namespace boxsum
