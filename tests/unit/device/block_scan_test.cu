#include "cuda/device/block_scan.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_block_scan : public test::gpu_kernel_test {};

/// Two calls in a row, the second on the first's sums.
template <int Threads>
__global__ void scan_twice_kernel(const unsigned* in, unsigned* once, unsigned* twice, unsigned* totals) {
    unsigned first_total = 0, second_total = 0;
    const unsigned first = block_scan<Threads>(in[threadIdx.x], first_total);
    const unsigned second = block_scan<Threads>(first, second_total);
    once[threadIdx.x] = first;
    twice[threadIdx.x] = second;
    totals[2 * threadIdx.x] = first_total;
    totals[2 * threadIdx.x + 1] = second_total;
}

TEST_F(device_block_scan, sums_and_totals_of_calls_in_a_row) {
    const auto check = [&]<int Threads>(std::integral_constant<int, Threads>) {
        std::vector<unsigned> x(Threads);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<unsigned>(i * i % 97 + 1);
        const device_buffer in = upload(x), a = upload(x), b = upload(x),
                            c = upload(std::vector<unsigned>(2 * Threads));
        launch(scan_twice_kernel<Threads>, {.block = Threads}, stream(), as<const unsigned>(in), as<unsigned>(a),
               as<unsigned>(b), as<unsigned>(c));
        const auto once = download<unsigned>(a), twice = download<unsigned>(b), totals = download<unsigned>(c);
        unsigned sum = 0, sum_of_sums = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_EQ(once[i], sum += x[i]) << Threads << " threads";
            ASSERT_EQ(twice[i], sum_of_sums += sum);
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_EQ(totals[2 * i], sum);
            ASSERT_EQ(totals[2 * i + 1], sum_of_sums);
        }
    };
    check(std::integral_constant<int, 32>{});
    check(std::integral_constant<int, 96>{});
    check(std::integral_constant<int, 256>{});
    check(std::integral_constant<int, 1024>{});
}

}  // namespace
}  // namespace boxsum::cuda
