#include "cuda/device/lookback.cuh"
#include "support/device_check.cuh"

#include <cmath>

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

/// One-dimensional scan with look-back: a warp has one value, block b publishes its own sum, then the inclusive one.
/// Blocks with an odd ticket dawdle, so that look-backs of many lengths happen.
__global__ void chained_scan_kernel(unsigned* counter, unsigned* status, float* own, float* upto, const float* x,
                                    float* out) {
    const auto b = static_cast<std::int64_t>(take_ticket(counter));
    const float mine = x[b];
    if (threadIdx.x == 0) {
        if (b % 3 == 1) __nanosleep(3000);
        own[b] = mine;
        store_release(&status[b], aggregate);
    }
    __syncwarp();
    const std::int64_t distance = look_back(b, aggregate, inclusive, [&](std::int64_t d) { return &status[b - d]; });
    const float before = sum_forwards<float>(
        distance, b, [&](std::int64_t d) -> float& { return upto[b - d]; },
        [&](std::int64_t d) -> float& { return own[b - d]; });
    if (threadIdx.x == 0) {
        if (b % 5 == 2) __nanosleep(8000);
        upto[b] = before + mine;
        store_release(&status[b], inclusive);
        out[b] = before + mine;
    }
}

TEST_F(device_lookback, a_chain_of_blocks_sums_serially_bit_for_bit_whatever_the_timing) {
    constexpr std::size_t n = 5000;
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = 1.0f / static_cast<float>(i + 3);
    const device_buffer in = upload(x);
    for (int repeat = 0; repeat < 5; ++repeat) {
        const device_buffer counter = upload(std::vector<unsigned>(1)), status = upload(std::vector<unsigned>(n)),
                            own = upload(std::vector<float>(n, NAN)), upto = upload(std::vector<float>(n, NAN)),
                            out = upload(std::vector<float>(n));
        launch(chained_scan_kernel, {.grid = static_cast<unsigned>(n), .block = 32}, stream(), as<unsigned>(counter),
               as<unsigned>(status), as<float>(own), as<float>(upto), as<const float>(in), as<float>(out));
        const auto sums = download<float>(out);
        float expected = 0;
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sums[i], expected += x[i]) << "entry " << i;
    }
}

template <typename T>
__global__ void relay_kernel(flagged_words<T>* slots, T* out) {
    const T before = blockIdx.x == 0 ? T{} : take_over(&slots[blockIdx.x - 1]);
    if (threadIdx.x != 0) return;
    out[blockIdx.x] = before + T(1.25);
    hand_over(&slots[blockIdx.x], T(before + T(1.25)));
}

TEST_F(device_lookback, flagged_words_carry_values_of_4_and_8_bytes_from_block_to_block) {
    const auto check = [&]<typename T>(T) {
        constexpr unsigned blocks = 64;  // all run at once on any device
        const device_buffer slots = upload(std::vector<flagged_words<T>>(blocks)), out = upload(std::vector<T>(blocks));
        launch(relay_kernel<T>, {.grid = blocks, .block = 32}, stream(), as<flagged_words<T>>(slots), as<T>(out));
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
