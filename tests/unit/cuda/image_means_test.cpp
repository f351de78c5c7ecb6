// Means of images on the device: the bits of the host's, which are those of sums in wider numbers.

#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/strided_block.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <cmath>
#include <cstddef>
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

class device_image_means : public test::gpu_stream_test {
  protected:
    std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

    template <typename T>
    T pixel() {
        if constexpr (std::is_same_v<T, float16>)
            return to_float16(static_cast<float>(pick(4001) - 2000) / 64);
        else if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(std::ldexp(static_cast<double>(random_()), static_cast<int>(pick(20)) - 80));
        else if constexpr (sizeof(T) == 8)
            return static_cast<T>(random_() >> 24);
        else
            return static_cast<T>(random_());
    }

    /// By exact sums, as far as 64 bits of mantissa are.
    template <typename T>
    static void expect_means(const block<T>& image, const std::vector<double>& means) {
        const view_shape& s = image.view().shape();
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t k = 0; k < s.channels; ++k) {
                long double sum = 0, size = 0;
                for (std::int64_t r = 0; r < s.rows; ++r)
                    for (std::int64_t c = 0; c < s.cols; ++c) {
                        long double x = 0;
                        if constexpr (std::is_same_v<T, float16>)
                            x = static_cast<long double>(to_float(image.view()(r, c, k, plane)));
                        else
                            x = static_cast<long double>(image.view()(r, c, k, plane));
                        sum += x;
                        size += std::abs(x);
                    }
                const auto n = static_cast<long double>(s.rows * s.cols);
                const auto tolerance = static_cast<double>(size / n) * 16 * std::numeric_limits<double>::epsilon();
                ASSERT_NEAR(means[static_cast<std::size_t>(plane * s.channels + k)], static_cast<double>(sum / n),
                            std::is_integral_v<T> ? 0 : tolerance)
                    << plane << ", " << k;
            }
    }

    template <typename T>
    void compare(int calls) {
        cuda::workspace workspace;
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(i % 3 == 0 ? 3 : 90), cols = 1 + pick(i % 3 == 1 ? 3 : 100),
                               channels = 1 + pick(4), planes = 1 + pick(3);
            const lying how = pick(2) == 0 ? lying::row_major : pick(2) == 0 ? lying::anyhow : lying::repeated;
            const block<T> image(rows, cols, channels, planes, how, random_);
            image.for_each([&](auto, auto, auto, auto, T& x) { x = pixel<T>(); });
            const std::vector<double> means = image_means(image.view());
            SCOPED_TRACE(test::text_of(image.view().shape()));
            expect_means(image, means);
            const device_block d_image(image, stream());
            EXPECT_EQ(cuda::image_means(d_image.view(), stream()), means);
            const block<double> result(1, planes * channels, 1, 1, lying::row_major, random_);
            const device_block d_result(result, stream());
            cuda::image_means_async(d_image.view(), d_result.view().data(), workspace, stream());
            result.for_each(
                [&](auto, auto, std::int64_t c, auto, double& x) { x = means[static_cast<std::size_t>(c)]; });
            EXPECT_TRUE(d_result.equals_host()) << "or what lies around it was written";
            EXPECT_TRUE(d_image.equals_host());
        }
    }

    std::mt19937_64 random_{31};
};

TEST_F(device_image_means, are_the_hosts) {
    compare<std::uint8_t>(12);
    compare<std::uint16_t>(6);
    compare<std::int16_t>(6);
    compare<std::uint32_t>(6);
    compare<std::int32_t>(6);
    compare<std::uint64_t>(6);
    compare<std::int64_t>(6);
    compare<float16>(6);
    compare<float>(12);
    compare<double>(12);
}

TEST_F(device_image_means, refusals) {
    const block<float> image(4, 5, 1, 1, lying::row_major, random_);
    const device_block d_image(image, stream());
    cuda::workspace workspace;
    double host = 0;
    EXPECT_COMPLAINT(cuda::image_means(image.view(), stream()), "image: ");
    EXPECT_COMPLAINT(cuda::image_means_async(d_image.view(), &host, workspace, stream()), "means: ");
    EXPECT_COMPLAINT(cuda::image_means_async(d_image.view(), nullptr, workspace, stream()), "means: ");
}

}  // namespace
}  // namespace boxsum
