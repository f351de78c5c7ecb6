// Kernels with one mistake each: the emulator must refuse them, and say what is wrong where.

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/lookback.cuh"
#include "support/device_check.cuh"
#include "support/emulation/settings.hpp"

#include <numeric>

namespace boxsum {
namespace {

using cuda::launch;

class emulation_refuses : public test::gpu_kernel_test {
  protected:
    /// What run() complains about; empty if nothing.
    template <typename Run>
    static std::string complaint(Run run) {
        try {
            run();
        } catch (const emulation::failure& f) {
            return f.what();
        }
        return {};
    }
    static void expect_in(const std::string& text, std::initializer_list<std::string> parts) {
        for (const std::string& part : parts) EXPECT_NE(text.find(part), text.npos) << part << " in\n" << text;
    }
};

__global__ void divergent_barrier_kernel() {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
}

TEST_F(emulation_refuses, a_divergent_barrier) {
    expect_in(complaint([&] { launch(divergent_barrier_kernel, {.block = 64}, stream()); }),
              {"divergent barrier", "waits at __syncthreads at tests/emulated/refused_kernels_test.cu:"});
}

__global__ void barrier_without_some_kernel() {
    if (threadIdx.x == 40) return;
    __syncthreads();
}

TEST_F(emulation_refuses, a_barrier_that_some_threads_never_reach) {
    expect_in(complaint([&] { launch(barrier_without_some_kernel, {.block = 64}, stream()); }), {"ended", "barrier"});
}

__global__ void divergent_collective_kernel(unsigned* out) {
    out[threadIdx.x] = threadIdx.x < 8 ? __ballot_sync(~0u, 1) : __shfl_sync(~0u, threadIdx.x, 0);
}

TEST_F(emulation_refuses, a_divergent_collective) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(32));
    expect_in(complaint([&] { launch(divergent_collective_kernel, {.block = 32}, stream(), as<unsigned>(out)); }),
              {"divergent collective"});
}

__global__ void half_a_collective_kernel(unsigned* out) {
    if (threadIdx.x < 8) out[threadIdx.x] = __ballot_sync(~0u, 1);
    __syncthreads();
}

TEST_F(emulation_refuses, a_collective_that_waits_for_lanes_at_a_barrier) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(32));
    expect_in(complaint([&] { launch(half_a_collective_kernel, {.block = 32}, stream(), as<unsigned>(out)); }),
              {"deadlock", "lanes 000000ff waits for other lanes in a collective", "lanes ffffff00 waits at __sync"});
}

/// Block b waits for block b - 1 by its index.
template <bool Ticket>
__global__ void chain_kernel(unsigned* counter, unsigned long long* status) {
    const unsigned place = Ticket ? cuda::take_ticket(counter) : blockIdx.x;
    if (threadIdx.x == 0) {
        while (place > 0 && cuda::load_relaxed(&status[place - 1]) == 0) {
        }
        cuda::store_relaxed(&status[place], 1);
    }
}

TEST_F(emulation_refuses, a_block_that_waits_for_one_that_has_not_started) {
    const auto run = [&](auto kernel) {
        return complaint([&] {
            const cuda::device_buffer counter = upload(std::vector<unsigned>(1)),
                                      status = upload(std::vector<unsigned long long>(12));
            const emulation::scoped_settings device({.order = emulation::block_order::backward});
            launch(kernel, {.grid = 12, .block = 32}, stream(), as<unsigned>(counter), as<unsigned long long>(status));
        });
    };
    EXPECT_EQ(run(chain_kernel<true>), "");
    expect_in(run(chain_kernel<false>),
              {"deadlock", "looks with load_relaxed at tests/emulated/refused_kernels_test.cu:",
               "9 of 12 blocks have not started", "block (11, 0, 0)"});
}

enum class barriers { both, first_missing, second_missing };

/// Rotates rows of 256 by one, several rows a block: needs a barrier after writing and one before the next writing.
template <barriers Which>
__global__ void rotate_kernel(unsigned* x, int rows) {
    __shared__ unsigned row[256];
    for (int r = 0; r < rows; ++r) {
        row[threadIdx.x] = x[r * 256 + threadIdx.x];
        if constexpr (Which != barriers::first_missing) __syncthreads();
        x[r * 256 + threadIdx.x] = row[(threadIdx.x + 1) % 256];
        if constexpr (Which != barriers::second_missing) __syncthreads();
    }
}

TEST_F(emulation_refuses, missing_barriers_by_wrong_results) {
    const auto right = [&](auto kernel) {
        std::vector<unsigned> x(256 * 8), expected(256 * 8);
        std::iota(x.begin(), x.end(), 7u);
        for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i / 256 * 256 + (i + 1) % 256];
        const cuda::device_buffer memory = upload(x);
        launch(kernel, {.block = 256}, stream(), as<unsigned>(memory), 8);
        return download<unsigned>(memory) == expected;
    };
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const emulation::scoped_settings device({.seed = seed});
        EXPECT_TRUE(right(rotate_kernel<barriers::both>));
        EXPECT_FALSE(right(rotate_kernel<barriers::first_missing>));
        EXPECT_FALSE(right(rotate_kernel<barriers::second_missing>));
    }
}

__global__ void warp_rotate_kernel(unsigned* x, bool synchronise) {
    __shared__ unsigned row[32];
    row[threadIdx.x] = x[threadIdx.x];
    if (synchronise) __syncwarp();
    x[threadIdx.x] = row[(threadIdx.x + 1) % 32];
}

TEST_F(emulation_refuses, a_missing_warp_barrier_by_wrong_results) {
    for (const bool synchronise : {true, false}) {
        const cuda::device_buffer x = upload(std::vector<unsigned>(32, 4));
        launch(warp_rotate_kernel, {.block = 32}, stream(), as<unsigned>(x), synchronise);
        EXPECT_EQ(download<unsigned>(x) == std::vector<unsigned>(32, 4), synchronise);
    }
}

__global__ void write_kernel(unsigned* x, int at) {
    x[at] = 5;
}
__global__ void write_shared_kernel(int at) {
    cuda::dynamic_shared<unsigned char>()[at] = 5;
}

TEST_F(emulation_refuses, writes_around_an_allocation) {
    const cuda::device_buffer x = upload(std::vector<unsigned>(10));
    const auto write = [&](int at) { launch(write_kernel, {}, stream(), as<unsigned>(x), at); };
    EXPECT_EQ(complaint([&] { write(9); }), "");
    expect_in(complaint([&] { write(10); }), {"wrote 0 bytes behind the end of an allocation of 40 bytes"});
    expect_in(complaint([&] { write(-1); }), {"wrote 4 bytes before an allocation of 40 bytes"});
}

TEST_F(emulation_refuses, writes_around_dynamic_shared_memory) {
    const auto write = [&](int at) { launch(write_shared_kernel, {.shared_bytes = 100}, stream(), at); };
    EXPECT_EQ(complaint([&] { write(99); }), "");
    expect_in(complaint([&] { write(100); }), {"outside its dynamic shared memory of 100 bytes"});
    expect_in(complaint([&] { write(-1); }), {"outside its dynamic shared memory of 100 bytes"});
}

__global__ void successor_kernel(unsigned waiting_block) {
    if (blockIdx.x == waiting_block && threadIdx.x == 3) cuda::wait_for_predecessor();
}

TEST_F(emulation_refuses, a_block_that_overlaps_and_does_not_wait) {
    const auto start = [&](unsigned blocks, bool overlaps) {
        launch(successor_kernel, {.grid = blocks, .block = 40, .overlaps_predecessor = overlaps}, stream(), 0u);
    };
    EXPECT_EQ(complaint([&] { start(1, true); }), "");
    EXPECT_EQ(complaint([&] { start(2, false); }), "");
    expect_in(complaint([&] { start(2, true); }), {"ends without having waited"});
}

TEST_F(emulation_refuses, launches_that_overlap_where_code_does_not_wait) {
    const auto start = [&] { launch(successor_kernel, {.overlaps_predecessor = true}, stream(), 0u); };
    for (const emulation::settings& older : {emulation::settings{.compute_capability = 8}, {.code = 8}}) {
        const emulation::scoped_settings device(older);
        expect_in(complaint(start), {"code for compute capability 8"});
    }
}

__global__ void assembly_kernel(unsigned* out) {
    unsigned x = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(x));
    *out = x;
}

TEST_F(emulation_refuses, assembly_that_it_does_not_know) {
    const cuda::device_buffer out = upload(std::vector<unsigned>(1));
    expect_in(complaint([&] { launch(assembly_kernel, {}, stream(), as<unsigned>(out)); }), {"not emulated", "%%smid"});
}

}  // namespace
}  // namespace boxsum
