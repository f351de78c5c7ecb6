#include "cuda/runtime/launch.cuh"
#include "support/competing_kernel.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace boxsum::test {
namespace {

struct shared_words {
    volatile unsigned int started;
    volatile unsigned int released;
};

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__global__ void hold_kernel(shared_words* words, unsigned long long limit) {
    const unsigned long long start = nanoseconds();
    atomicAdd_system(const_cast<unsigned int*>(&words->started), 1u);
    while (words->released == 0 && nanoseconds() - start < limit) __nanosleep(1000);
}

}  // namespace

struct competing_kernel::state {
    cuda::pinned_buffer memory{sizeof(shared_words)};
    cuda::stream stream;

    shared_words& words() { return *static_cast<shared_words*>(memory.data()); }
};

competing_kernel::competing_kernel(int free_multiprocessors, double seconds) : state_(new state) {
    const int device = cuda::current_device();
    int shared = 0;
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const int held = cuda::describe_device(device).multiprocessors - free_multiprocessors;
    state_->words().started = 0;
    state_->words().released = 0;
    cuda::launch(hold_kernel,
                 {.grid = static_cast<unsigned>(held), .block = 32, .shared_bytes = static_cast<std::size_t>(shared)},
                 state_->stream, &state_->words(), static_cast<unsigned long long>(seconds * 1e9));
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (state_->words().started < static_cast<unsigned>(held)) {
        if (std::chrono::steady_clock::now() > give_up) {
            release();
            throw std::runtime_error("the competing kernel did not get its multiprocessors");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

competing_kernel::~competing_kernel() {
    release();
    (void)cudaStreamSynchronize(state_->stream.get());
}

void competing_kernel::release() {
    state_->words().released = 1;
}

bool finishes_within(cuda::stream_ref stream, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        const cudaError_t code = cudaStreamQuery(stream.get());
        if (code == cudaSuccess) return true;
        if (code != cudaErrorNotReady) BOXSUM_CUDA_TRY(code);
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

}  // namespace boxsum::test
