#include "cuda/device/line_scan.cuh"
#include "support/device_check.cuh"

#include <numeric>

namespace boxsum::cuda {
namespace {

class device_line_scan : public test::gpu_kernel_test {};

template <int Batch>
__global__ void scan_line_kernel(const std::uint8_t* in, std::uint32_t* out, std::int64_t count, std::uint32_t carry,
                                 std::uint32_t* last) {
    *last = scan_line<Batch>(line<const std::uint8_t>{in, 2}, line<std::uint32_t>{out, 8}, count, carry);
}

TEST_F(device_line_scan, sums_follow_the_carry_for_every_length_around_a_batch) {
    std::vector<std::uint8_t> pixels(80);
    std::iota(pixels.begin(), pixels.end(), std::uint8_t{200});  // wraps: 200 .. 255, 0 ..
    const device_buffer in = upload(pixels);
    for (std::int64_t count = 0; count <= 40; ++count) {
        const device_buffer out = upload(std::vector<std::uint32_t>(80, 7)),
                            last = upload(std::vector<std::uint32_t>(1));
        launch(scan_line_kernel<8>, {}, stream(), as<const std::uint8_t>(in), as<std::uint32_t>(out), count, 1000u,
               as<std::uint32_t>(last));
        const auto sums = download<std::uint32_t>(out);
        std::uint32_t expected = 1000;
        for (std::int64_t i = 0; i < 40; ++i) {
            const auto at = static_cast<std::size_t>(2 * i);
            if (i < count) expected += pixels[at];
            EXPECT_EQ(sums[at], i < count ? expected : 7u) << "count " << count << ", element " << i;
            EXPECT_EQ(sums[at + 1], 7u);
        }
        EXPECT_EQ(download<std::uint32_t>(last)[0], expected);
    }
}

__global__ void scan_in_place_kernel(float* x, std::int64_t count) {
    scan_line<4>(line<const float>{x, 4}, line<float>{x, 4}, count);
}

TEST_F(device_line_scan, works_in_place_and_adds_from_the_front) {
    std::vector<float> x(1001);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
    const device_buffer memory = upload(x);
    launch(scan_in_place_kernel, {}, stream(), as<float>(memory), std::int64_t{1001});
    const auto sums = download<float>(memory);
    float expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(sums[i], expected += x[i]) << i;  // bit for bit
}

template <line_sums Sums>
__global__ void replace_kernel(std::uint32_t* x, std::int64_t count, std::uint32_t carry, std::uint32_t* last) {
    *last = scan_line_in_place<8, Sums>(line<std::uint32_t>{x, 8}, count, carry);
}

TEST_F(device_line_scan, every_element_is_replaced_by_the_sum_up_to_it_or_of_those_before_it) {
    std::vector<std::uint32_t> x(80);
    std::iota(x.begin(), x.end(), 0xffffff00u);  // wraps
    const auto check = [&](auto* kernel, bool exclusive) {
        for (std::int64_t count = 0; count <= 40; ++count) {
            const device_buffer memory = upload(x), last = upload(std::vector<std::uint32_t>(1));
            launch(kernel, {}, stream(), as<std::uint32_t>(memory), count, 1000u, as<std::uint32_t>(last));
            std::vector<std::uint32_t> expected = x;
            std::uint32_t sum = 1000;
            for (std::int64_t i = 0; i < count; ++i) {
                std::uint32_t& own = expected[static_cast<std::size_t>(2 * i)];
                const std::uint32_t before = sum;
                sum += own;
                own = exclusive ? before : sum;
            }
            EXPECT_EQ(download<std::uint32_t>(memory), expected) << "count " << count;
            EXPECT_EQ(download<std::uint32_t>(last)[0], sum) << "count " << count;
        }
    };
    check(replace_kernel<line_sums::inclusive>, false);
    check(replace_kernel<line_sums::exclusive>, true);
}

}  // namespace
}  // namespace boxsum::cuda
