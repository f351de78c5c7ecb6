#include "cuda/device/phase_barrier.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_phase_barrier : public test::gpu_kernel_test {};

/// Warp 0 hands numbers to warp 1 through one slot: `full` and `empty` alternate between their parities.
__global__ void hand_over_kernel(int rounds, int* out) {
    __shared__ phase_barrier full, empty;
    __shared__ int slot[32];
    if (threadIdx.x == 0) {
        full.initialize(32);
        empty.initialize(32);
    }
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int i = 0; i < rounds; ++i) {
        const auto parity = static_cast<std::uint32_t>(i) & 1u;
        if (threadIdx.x < 32) {
            if (i > 0) empty.wait(parity ^ 1u);  // the reader has taken the last number
            slot[lane] = 100 * i + lane;
            full.arrive();
        } else {
            full.wait(parity);
            out[32 * i + lane] = slot[lane];
            empty.arrive();
        }
    }
}

TEST_F(device_phase_barrier, hands_every_value_over_once_and_in_order) {
    constexpr int rounds = 300;
    const device_buffer out = upload(std::vector<int>(32 * rounds, -1));
    launch(hand_over_kernel, {.block = 64}, stream(), rounds, as<int>(out));
    const auto got = download<int>(out);
    for (int i = 0; i < rounds; ++i)
        for (int lane = 0; lane < 32; ++lane) ASSERT_EQ(got[static_cast<std::size_t>(32 * i + lane)], 100 * i + lane);
}

__global__ void some_warps_kernel(int* out) {
    __shared__ int value;
    if (threadIdx.x >= 64) return;  // these warps take no part
    if (threadIdx.x == 0) value = 42;
    sync_warps(1, 64);
    out[threadIdx.x] = value;
}

TEST_F(device_phase_barrier, a_barrier_over_some_warps_does_not_wait_for_the_others) {
    const device_buffer out = upload(std::vector<int>(64));
    launch(some_warps_kernel, {.block = 128}, stream(), as<int>(out));
    EXPECT_EQ(download<int>(out), std::vector<int>(64, 42));
}

}  // namespace
}  // namespace boxsum::cuda
