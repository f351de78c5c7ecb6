// What emulated threads can do: all of it against the definition in CUDA's programming guide.

#include "cuda/device/streaming.cuh"
#include "support/device_check.cuh"
#include "support/emulation/settings.hpp"

#include <set>

namespace boxsum {
namespace {

using cuda::launch;

class emulation_of : public test::gpu_kernel_test {};

__global__ void index_kernel(unsigned* seen) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    atomicAdd(&seen[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

TEST_F(emulation_of, indices_reaches_every_thread_of_every_block_once) {
    const cuda::device_buffer seen = upload(std::vector<unsigned>(5 * 3 * 2 * 7 * 2 * 3));
    launch(index_kernel, {.grid = dim3(5, 3, 2), .block = dim3(7, 2, 3)}, stream(), as<unsigned>(seen));
    EXPECT_EQ(download<unsigned>(seen), std::vector<unsigned>(5 * 3 * 2 * 7 * 2 * 3, 1));
}

__global__ void collectives_kernel(unsigned* out) {
    const unsigned lane = threadIdx.x;
    unsigned* const my = out + 16 * lane;
    my[0] = __shfl_sync(~0u, lane * lane, 5);
    my[1] = __shfl_sync(~0u, lane, 3, 8);
    my[2] = __shfl_up_sync(~0u, lane, 2, 8);
    my[3] = __shfl_down_sync(~0u, lane, 3, 16);
    my[4] = __shfl_xor_sync(~0u, lane, 7);
    my[5] = __ballot_sync(~0u, lane % 3 == 0);
    my[6] = static_cast<unsigned>(__all_sync(~0u, lane < 32)) + 2u * static_cast<unsigned>(__any_sync(~0u, lane == 40));
    my[7] = __match_any_sync(~0u, lane % 4);
    int all = 7;
    my[8] = __match_all_sync(~0u, 9u, &all);
    my[9] = static_cast<unsigned>(all);
    my[10] = __match_all_sync(~0u, lane / 31, &all) + static_cast<unsigned>(all);
    my[11] = __reduce_add_sync(~0u, lane);
    my[12] = static_cast<unsigned>(__reduce_min_sync(~0u, static_cast<int>(lane) - 9));
    my[13] = __reduce_max_sync(~0u, lane * 3);
    // Halves of a warp apart from each other.
    const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    my[14] = lane < 16 ? __reduce_or_sync(half, lane) : __reduce_xor_sync(half, lane);
    my[15] = __ballot_sync(half, 1);
}

TEST_F(emulation_of, collectives_gives_each_lane_its_value) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(16 * 32));
    launch(collectives_kernel, {.block = 32}, stream(), as<unsigned>(out));
    const auto got = download<unsigned>(out);
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
        const std::vector<unsigned> expected{25,
                                             lane / 8 * 8 + 3,
                                             lane % 8 < 2 ? lane : lane - 2,
                                             lane % 16 > 12 ? lane : lane + 3,
                                             lane ^ 7u,
                                             0x49249249u,
                                             1,
                                             0x11111111u << lane % 4,
                                             ~0u,
                                             1,
                                             0,
                                             496,
                                             static_cast<unsigned>(-9),
                                             93,
                                             lane < 16 ? 15u : 0u,
                                             half};
        EXPECT_EQ(std::vector<unsigned>(got.begin() + 16 * lane, got.begin() + 16 * lane + 16), expected)
            << "lane " << lane;
    }
}

__global__ void ended_lanes_kernel(unsigned* out) {
    if (threadIdx.x % 2 == 1) return;
    out[threadIdx.x] = __ballot_sync(~0u, 1);  // waits for nobody who has ended
}

TEST_F(emulation_of, collectives_does_without_lanes_that_have_ended) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(32));
    launch(ended_lanes_kernel, {.block = 32}, stream(), as<unsigned>(out));
    for (std::size_t lane = 0; lane < 32; lane += 2) EXPECT_EQ(download<unsigned>(out)[lane], 0x55555555u);
}

__global__ void votes_kernel(int* out) {
    const int odd = static_cast<int>(threadIdx.x % 2);
    out[3 * threadIdx.x] = __syncthreads_count(odd);
    out[3 * threadIdx.x + 1] = __syncthreads_or(threadIdx.x == 77);
    out[3 * threadIdx.x + 2] = __syncthreads_and(odd);
}

TEST_F(emulation_of, barriers_count_predicates) {
    const cuda::device_buffer out = upload(std::vector<int>(3 * 100, -1));
    launch(votes_kernel, {.block = 100}, stream(), as<int>(out));
    const auto got = download<int>(out);
    for (std::size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(got[3 * i], 50);
        EXPECT_EQ(got[3 * i + 1], 1);
        EXPECT_EQ(got[3 * i + 2], 0);
    }
}

__global__ void atomics_kernel(unsigned* words, float* sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&words[0], 1u);
    atomicMax(&words[1], i);
    atomicMin(&words[2], i);
    atomicOr(&words[3], 1u << i % 32);
    atomicAnd(&words[4], ~(1u << i % 32));
    atomicXor(&words[5], i);
    for (unsigned seen = words[6]; true;) {  // an addition by comparing and swapping
        const unsigned before = atomicCAS(&words[6], seen, seen + 2);
        if (before == seen) break;
        seen = before;
    }
    atomicAdd(sum, 0.5f);
}

TEST_F(emulation_of, atomics_of_all_blocks_come_together) {
    const cuda::device_buffer words = upload(std::vector<unsigned>{0, 0, ~0u, 0, ~0u, 0, 0}),
                              sum = upload(std::vector<float>(1));
    launch(atomics_kernel, {.grid = 9, .block = 64}, stream(), as<unsigned>(words), as<float>(sum));
    EXPECT_EQ(download<unsigned>(words), (std::vector<unsigned>{576, 575, 0, ~0u, 0, 0, 1152}));
    EXPECT_EQ(download<float>(sum)[0], 288.0f);
}

__global__ void order_kernel(unsigned* counter, unsigned* order) {
    if (threadIdx.x == 0) order[atomicAdd(counter, 1u)] = blockIdx.x;
}

TEST_F(emulation_of, blocks_starts_them_in_the_order_asked_for_and_the_seed_repeats_it) {
    const auto order = [&](emulation::block_order which, std::uint64_t seed) {
        const emulation::scoped_settings device({.seed = seed, .order = which, .resident_blocks = 1});
        const cuda::device_buffer counter = upload(std::vector<unsigned>(1)), out = upload(std::vector<unsigned>(20));
        launch(order_kernel, {.grid = 20, .block = 32}, stream(), as<unsigned>(counter), as<unsigned>(out));
        return download<unsigned>(out);
    };
    std::vector<unsigned> forward(20);
    for (unsigned i = 0; i < 20; ++i) forward[i] = i;
    EXPECT_EQ(order(emulation::block_order::forward, 3), forward);
    EXPECT_EQ(order(emulation::block_order::backward, 3), std::vector<unsigned>(forward.rbegin(), forward.rend()));
    const auto shuffled = order(emulation::block_order::shuffled, 3);
    EXPECT_NE(shuffled, forward);
    EXPECT_EQ(std::set<unsigned>(shuffled.begin(), shuffled.end()).size(), 20u);
    EXPECT_EQ(order(emulation::block_order::shuffled, 3), shuffled);
    EXPECT_NE(order(emulation::block_order::shuffled, 4), shuffled);
}

__global__ void private_shared_kernel(unsigned* out) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = 100 + blockIdx.x;
    __syncthreads();
    __nanosleep(10);  // the other blocks write theirs
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

TEST_F(emulation_of, shared_memory_belongs_to_one_block) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(8 * 64));
    const emulation::scoped_settings device({.resident_blocks = 8});
    launch(private_shared_kernel, {.grid = 8, .block = 64}, stream(), as<unsigned>(out));
    const auto got = download<unsigned>(out);
    for (unsigned i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 100 + i / 64);
}

__global__ void unwritten_shared_kernel(float* out) {
    __shared__ float value[2];
    if (threadIdx.x == 0) value[0] = 1;
    __syncthreads();
    out[threadIdx.x] = value[threadIdx.x];
}

TEST_F(emulation_of, shared_memory_is_no_number_before_it_is_written) {
    const cuda::device_buffer out = upload(std::vector<float>(2));
    for (int repeat = 0; repeat < 2; ++repeat) {
        launch(unwritten_shared_kernel, {.block = 2}, stream(), as<float>(out));
        EXPECT_EQ(download<float>(out)[0], 1.0f);
        EXPECT_TRUE(std::isnan(download<float>(out)[1]));
    }
}

__global__ void discarding_kernel(unsigned* memory) {
    cuda::discard_line(memory);
}

/// A GPU need not do so, and mostly does not: who reads too late is found out here only.
TEST_F(emulation_of, discarded_lines_hold_rubbish) {
    const cuda::device_buffer memory = upload(std::vector<unsigned>(64, 7));
    launch(discarding_kernel, {}, stream(), as<unsigned>(memory));
    const auto got = download<unsigned>(memory);
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(got[i] == 7, i >= 32) << i;
}

TEST_F(emulation_of, launches_that_a_device_refuses_are_refused) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(32));
    const auto refused = [&](const cuda::launch_shape& shape) {
        try {
            launch(ended_lanes_kernel, shape, stream(), as<unsigned>(out));
            return false;
        } catch (const std::exception&) {
            return true;
        }
    };
    EXPECT_TRUE(refused({.block = 1025}));
    EXPECT_TRUE(refused({.grid = dim3(1, 65536), .block = 32}));
    EXPECT_TRUE(refused({.grid = 0, .block = 32}));
    EXPECT_TRUE(refused({.block = 32, .shared_bytes = 228 * 1024}));
    EXPECT_FALSE(refused({.block = 32, .shared_bytes = 227 * 1024}));
}

}  // namespace
}  // namespace boxsum
