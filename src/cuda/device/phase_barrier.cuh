#pragma once

#include <cstdint>

namespace boxsum::cuda {

/// A barrier in shared memory that warps of different roles pass in turn: `expected` arrivals complete a phase, and
/// phases alternate between parity 0 and 1. An arrival releases what the thread wrote to shared memory before, a
/// completed wait acquires it (both at block scope, the default of mbarrier).
///
/// A waiter may never be two phases behind, else it could not tell them apart: every role that waits on a barrier must
/// also count in one that its next phase depends on.
struct phase_barrier {
    std::uint64_t state;

    __device__ std::uint32_t address() const { return static_cast<std::uint32_t>(__cvta_generic_to_shared(&state)); }

    /// By one thread, before a block barrier that all users pass.
    __device__ void initialize(int expected) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(expected) : "memory");
    }

    __device__ void arrive() {
        asm volatile("{\n.reg .b64 token;\nmbarrier.arrive.shared.b64 token, [%0];\n}" ::"r"(address()) : "memory");
    }

    /// Arrives when all asynchronous copies that this thread has started are done.
    __device__ void arrive_after_copies() {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
    }

    /// Whether a wait would return at once. The same for all lanes of a converged warp.
    __device__ bool passed(std::uint32_t parity) {
        std::uint32_t done;
        asm volatile(
            "{\n.reg .pred done;\n"
            "mbarrier.test_wait.parity.shared.b64 done, [%1], %2;\n"
            "selp.u32 %0, 1, 0, done;\n}"
            : "=r"(done)
            : "r"(address()), "r"(parity)
            : "memory");
        return __shfl_sync(~0u, done, 0) != 0;
    }

    __device__ void wait(std::uint32_t parity) {
        asm volatile(
            "{\n.reg .pred done;\n"
            "again_%=:\n"
#if __CUDA_ARCH__ >= 900
            "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"  // may sleep a little
#else
            "mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
#endif
            "@!done bra again_%=;\n}" ::"r"(address()),
            "r"(parity)
            : "memory");
    }
};

/// Barrier over some warps of a block only; `id` from 1 to 15, `threads` a multiple of 32.
__device__ inline void sync_warps(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace boxsum::cuda
