#include "cuda/device/neighbours.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_neighbours : public test::gpu_kernel_test {};

/// Thread i doubles the elements 4 i to 4 i + 3 of a row of `count`, whose elements are `step` apart.
template <typename Pixel, typename Sum>
__global__ void double_kernel(const Pixel* from, Sum* to, std::int64_t step, std::int64_t count) {
    const auto first = static_cast<std::int64_t>(threadIdx.x) * 4;
    const line<const Pixel> in{from, step * static_cast<std::int64_t>(sizeof(Pixel))};
    const line<Sum> out{to, step * static_cast<std::int64_t>(sizeof(Sum))};
    Sum x[4];
    load_neighbours(x, line<const Pixel>{&in[first], in.step_bytes}, count - first);
    for (int i = 0; i < 4; ++i) {
        if (first + i >= count && x[i] != Sum{}) to[0] = Sum{99};  // zeros behind the end
        x[i] += x[i];
    }
    store_neighbours(line<Sum>{&out[first], out.step_bytes}, x, count - first);
}

TEST_F(device_neighbours, rows_of_any_start_step_and_length_are_read_and_written_and_nothing_else) {
    const auto check = [&]<typename Pixel, typename Sum>(Pixel, Sum) {
        constexpr std::int64_t size = 200;
        std::vector<Pixel> pixels(size);
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<Pixel>(i + 1);
        const device_buffer in = upload(pixels);
        for (const std::int64_t start : {0, 1, 2, 4, 7})
            for (const std::int64_t step : {1, 2, 3})
                for (const std::int64_t count : {1, 3, 4, 59, 60, 61, 62, 64}) {
                    const device_buffer out = upload(std::vector<Sum>(size, Sum{7}));
                    launch(double_kernel<Pixel, Sum>, {.block = 16}, stream(), as<const Pixel>(in) + start,
                           as<Sum>(out) + start, step, count);
                    std::vector<Sum> expected(size, Sum{7});
                    for (std::int64_t i = 0; i < count; ++i)
                        if (const auto at = static_cast<std::size_t>(start + i * step); at < expected.size())
                            expected[at] = static_cast<Sum>(2 * static_cast<Sum>(pixels[at]));
                    ASSERT_EQ(download<Sum>(out), expected) << start << ", " << step << ", " << count;
                }
    };
    check(std::uint8_t{}, std::uint32_t{});
    check(float{}, float{});
    check(float{}, double{});
    check(std::uint8_t{}, std::uint64_t{});
}

}  // namespace
}  // namespace boxsum::cuda
