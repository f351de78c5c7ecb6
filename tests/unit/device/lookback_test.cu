#include "cuda/device/lookback.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_lookback : public test::gpu_kernel_test {};

__global__ void ticket_kernel(unsigned* counter, unsigned* seen) {
    for (int i = 0; i < 3; ++i) {
        const unsigned ticket = take_ticket(counter);
        if (threadIdx.x % 32 == 31) atomicAdd(&seen[ticket], 1u);
    }
}

TEST_F(device_lookback, every_ticket_is_drawn_once_and_all_threads_hold_the_same) {
    const device_buffer counter = upload(std::vector<unsigned>(1)), seen = upload(std::vector<unsigned>(300));
    launch(ticket_kernel, {.grid = 100, .block = 128}, stream(), as<unsigned>(counter), as<unsigned>(seen));
    EXPECT_EQ(download<unsigned>(seen),
              std::vector<unsigned>(300, 4));  // four warps, each saw every ticket of its block
}

constexpr unsigned aggregate = 1, inclusive = 2;

/// One-dimensional scans with look-back: each thread has one of 32, block b publishes its own sum, then the inclusive
/// one. Some blocks dawdle, so that look-backs of many lengths happen.
template <typename T>
__global__ void chained_scan_kernel(unsigned* counter, status_words<T>* sums, const T* x, T* out) {
    const auto b = static_cast<std::int64_t>(take_ticket(counter));
    const auto at = [&](std::int64_t back) { return &sums[(b - back) * 32 + threadIdx.x]; };
    const T mine = x[b * 32 + threadIdx.x];
    if (b % 3 == 1 && threadIdx.x % 2 == 0) __nanosleep(3000);
    publish(at(0), aggregate, mine);
    const T before = sum_before<T>(b, aggregate, inclusive, at);
    if (b % 5 == 2 && threadIdx.x % 3 == 0) __nanosleep(8000);
    publish(at(0), inclusive, T(before + mine));
    out[b * 32 + threadIdx.x] = before + mine;
}

TEST_F(device_lookback, chains_of_blocks_sum_serially_bit_for_bit_whatever_the_timing) {
    const auto check = [&]<typename T>(T) {
        constexpr std::size_t blocks = 1000, n = blocks * 32;
        std::vector<T> x(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = T(1.0 / static_cast<double>(i + 3) * 1e9);
        const device_buffer in = upload(x);
        for (int repeat = 0; repeat < 3; ++repeat) {
            const device_buffer counter = upload(std::vector<unsigned>(1)),
                                sums = upload(std::vector<status_words<T>>(n)), out = upload(std::vector<T>(n));
            launch(chained_scan_kernel<T>, {.grid = static_cast<unsigned>(blocks), .block = 32}, stream(),
                   as<unsigned>(counter), as<status_words<T>>(sums), as<const T>(in), as<T>(out));
            const auto got = download<T>(out);
            std::vector<T> expected(32);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], expected[i % 32] += x[i]) << "entry " << i;
        }
    };
    check(float{});
    check(double{});
    check(std::uint64_t{});
}

template <typename T>
__global__ void relay_kernel(status_words<T>* slots, T* out) {
    const T before = blockIdx.x == 0 ? T{} : wait_for(&slots[blockIdx.x - 1], inclusive);
    if (threadIdx.x != 0) return;
    out[blockIdx.x] = before + T(1.25);
    publish(&slots[blockIdx.x], aggregate, T(7));  // not what the next block waits for
    publish(&slots[blockIdx.x], inclusive, T(before + T(1.25)));
}

TEST_F(device_lookback, status_words_carry_values_of_4_and_8_bytes_from_block_to_block) {
    const auto check = [&]<typename T>(T) {
        constexpr unsigned blocks = 64;  // all run at once on any device
        const device_buffer slots = upload(std::vector<status_words<T>>(blocks)), out = upload(std::vector<T>(blocks));
        launch(relay_kernel<T>, {.grid = blocks, .block = 32}, stream(), as<status_words<T>>(slots), as<T>(out));
        const auto got = download<T>(out);
        T expected{};
        for (const T value : got) EXPECT_EQ(value, expected = static_cast<T>(expected + T(1.25)));
    };
    check(float{});
    check(double{});
    check(std::uint32_t{});
    check(std::uint64_t{});
}

}  // namespace
}  // namespace boxsum::cuda
