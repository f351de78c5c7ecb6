// Determinants of Hessians and blobs on the device: of integers the bits of the host's, of floats those of every
// pixel's own boxes, within rounding.

#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/strided_block.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/cuda/blobs.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

class device_blobs : public test::gpu_stream_test {
  protected:
    std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

    /// Noise, and disks in it.
    template <typename T>
    void draw(const block<T>& image) {
        const view_shape& s = image.view().shape();
        image.for_each([&](auto, auto, auto, auto, T& x) { x = value<T>(pick(64)); });
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (int i = 0; i < 4; ++i) {
                const std::int64_t row = pick(s.rows), col = pick(s.cols), radius = 1 + pick(7);
                for (std::int64_t r = std::max<std::int64_t>(0, row - radius); r < std::min(s.rows, row + radius); ++r)
                    for (std::int64_t c = std::max<std::int64_t>(0, col - radius); c < std::min(s.cols, col + radius);
                         ++c)
                        if ((r - row) * (r - row) + (c - col) * (c - col) < radius * radius)
                            image.view()(r, c, 0, plane) = value<T>(192 + pick(64));
            }
    }

    template <typename T>
    static T value(std::int64_t byte) {
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(static_cast<double>(byte) / 255);
        else
            return static_cast<T>(byte * (sizeof(T) == 1 ? 1 : 257));
    }

    template <typename T, typename Out>
    void compare(int calls) {
        cuda::workspace workspace;
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(i % 4 == 0 ? 3 : 60), cols = 1 + pick(i % 4 == 1 ? 3 : 70),
                               planes = 1 + pick(2);
            const double sigma = 1 + static_cast<double>(pick(1000)) / (pick(2) == 0 ? 300 : 30);
            const auto strides = [&] { return pick(3) == 0 ? lying::anyhow : lying::row_major; };
            const block<T> image(rows, cols, 1, planes, strides(), random_);
            const block<Out> result(rows, cols, 1, planes, strides(), random_);
            draw(image);
            const device_block d_image(image, stream());
            const device_block d_result(result, stream());
            SCOPED_TRACE(std::to_string(sigma) + ": " + test::text_of(image.view().shape()));
            if (i % 3 == 0)
                cuda::box_hessian({d_image.view()}, {d_result.view()}, stream(), {.sigma = sigma});
            else
                cuda::box_hessian_async({d_image.view()}, {d_result.view()}, workspace, stream(), {.sigma = sigma});
            box_hessian({image.view()}, {result.view()}, {.sigma = sigma});
            if constexpr (std::is_integral_v<T>)
                EXPECT_TRUE(d_result.equals_host());
            else
                expect_near(d_result, result);
            EXPECT_TRUE(d_image.equals_host()) << "what is read was written";
        }
    }

    /// Sums of a table of up to 4200 pixels, each at most 1: within 4200 * 2^-52 * 32 reads, generously.
    template <typename Out>
    void expect_near(const device_block<Out>& device, const block<Out>& host) {
        const view_shape& s = host.view().shape();
        std::vector<Out> packed(static_cast<std::size_t>(s.planes * s.rows * s.cols));
        const image_view<Out> view(packed.data(), s.rows, s.cols, 0, 1, s.planes);
        cuda::copy(any_view(device.view()), any_view(view), stream());
        constexpr bool single = std::is_same_v<Out, float>;
        host.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, auto, Out& expected) {
            ASSERT_NEAR(view(r, c, 0, plane), expected, single ? 1e-6 : 1e-10) << r << ", " << c;
        });
    }

    template <typename T>
    void compare_blobs(int calls, bool exact) {
        cuda::workspace workspace;
        std::size_t all = 0;
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 20 + pick(60), cols = 20 + pick(60);
            const block<T> image(rows, cols, 1, 1, pick(3) == 0 ? lying::anyhow : lying::row_major, random_);
            draw(image);
            const device_block d_image(image, stream());
            blob_options options{.sigmas = blob_scales(1.5, 9, 1 + static_cast<int>(pick(6)))};
            if (i % 3 == 1) options.threshold = 0.0005;
            if (i % 3 == 2) options = {.sigmas = {2, 4}, .threshold = {}, .relative_threshold = -1.0, .overlap = 1};
            const std::vector<blob> expected = find_blobs({image.view()}, options);
            const std::vector<blob> found = i % 2 == 0
                                                ? cuda::find_blobs({d_image.view()}, workspace, stream(), options)
                                                : cuda::find_blobs({image.view()}, stream(), options);
            all += expected.size();
            if (exact) {
                ASSERT_EQ(found, expected);
            } else {
                ASSERT_EQ(found.size(), expected.size());
                for (std::size_t k = 0; k < found.size(); ++k)
                    ASSERT_NEAR(found[k].determinant, expected[k].determinant, 1e-10);
            }
        }
        EXPECT_GT(all, 0U);
    }

    std::mt19937_64 random_{73};
};

TEST_F(device_blobs, determinants_of_every_pixel) {
    compare<std::uint8_t, double>(16);
    compare<std::uint8_t, float>(6);
    compare<std::uint16_t, double>(10);
    compare<float, double>(8);
    compare<double, float>(6);
}

TEST_F(device_blobs, of_integers_are_the_hosts) {
    compare_blobs<std::uint8_t>(12, true);
    compare_blobs<std::uint16_t>(6, true);
    compare_blobs<float>(4, false);
}

/// An image that is one value has maxima everywhere, more than the list has places for, and no blobs.
TEST_F(device_blobs, more_maxima_than_places) {
    const block<std::uint8_t> image(90, 130, 1, 1, lying::row_major, random_);
    image.for_each([](auto, auto, auto, auto, std::uint8_t& x) { x = 0; });
    blob_options options{.sigmas = {2}, .threshold = {}, .overlap = 1};
    EXPECT_TRUE(cuda::find_blobs({image.view()}, stream(), options).empty());
    image.view()(40, 50) = 255;
    options.relative_threshold = -1.0;
    const std::vector<blob> found = cuda::find_blobs({image.view()}, stream(), options);
    EXPECT_GT(found.size(), 1024U);
    EXPECT_EQ(found, find_blobs({image.view()}, options));
}

TEST_F(device_blobs, refusals) {
    const block<std::uint8_t> image(9, 8, 1, 1, lying::row_major, random_);
    const block<double> result(9, 8, 1, 1, lying::row_major, random_);
    const device_block d_image(image, stream());
    const device_block d_result(result, stream());
    cuda::workspace workspace;
    EXPECT_COMPLAINT(cuda::box_hessian({d_image.view()}, {d_result.view()}, stream(), {.sigma = 0.5}), "sigma: ");
    EXPECT_COMPLAINT(cuda::box_hessian({d_image.view()}, {result.view()}, stream()), "determinant: ");
    EXPECT_COMPLAINT(cuda::box_hessian_async({image.view()}, {d_result.view()}, workspace, stream()), "image: ");
    EXPECT_COMPLAINT(cuda::find_blobs({d_image.view()}, stream(), {.sigmas = {}}), "sigmas: ");
    const block<float> small(9, 7, 1, 1, lying::row_major, random_);
    const device_block d_small(small, stream());
    EXPECT_COMPLAINT(cuda::box_hessian_async({d_image.view()}, {d_small.view()}, workspace, stream()), "determinant: ");
    const cuda::box_hessian_plan plan({d_image.view()}, {d_result.view()});
    EXPECT_GE(plan.workspace_bytes(), 9U * 8 * 8);
    EXPECT_COMPLAINT(plan.run_async({d_image.view()}, {d_small.view()}, workspace, stream()), "determinant: ");
}

}  // namespace
}  // namespace boxsum
