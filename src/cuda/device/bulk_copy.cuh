#pragma once

#include "cuda/device/phase_barrier.cuh"

#include <cuda.h>

#include <cstdint>

/// Copies by the copy engine of a multiprocessor (compute capability 9.0 and later): one thread starts them. A barrier
/// counts the bytes of those to shared memory; those from shared memory are waited for in groups by the thread that
/// started them. Empty on older devices, where no plan asks for them.
namespace boxsum::cuda {

/// Whether this code, of one architecture, has it.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool has_copy_engine = false;
#else
inline constexpr bool has_copy_engine = true;
#endif
/// Whether this code may run where there is none.
inline constexpr bool may_lack_copy_engine = !has_copy_engine;

/// Makes barriers that this thread has initialized known to the copy engine, and orders its accesses to shared memory
/// before copies to the same place; before the barrier behind which they are used, or started.
__device__ inline void announce_barriers() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// `bytes` that the barrier's phase waits for besides its arrivals, of which one must still be to come.
__device__ inline void expect(phase_barrier& barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier.address()), "r"(bytes)
                 : "memory");
#endif
}

/// A box of a tensor map, from element (col, row, plane); what lies outside the tensor becomes zero. `to_shared` is
/// aligned to 128 bytes and `col` to 16 bytes: a copy from a column in between ends in an illegal instruction.
__device__ inline void copy_box(void* to_shared, const CUtensorMap& map, int col, int row, int plane,
                                phase_barrier& barrier, std::uint64_t policy) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared))),
        "l"(&map), "r"(barrier.address()), "r"(col), "r"(row), "r"(plane), "l"(policy)
        : "memory");
#endif
}

/// Asks the second-level cache for a box. Nothing waits for it.
__device__ inline void prefetch_box(const CUtensorMap& map, int col, int row, int plane) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map), "r"(col), "r"(row),
                 "r"(plane)
                 : "memory");
#endif
}

/// Orders what this thread wrote to shared memory before copies from there; before the barrier behind which they are
/// started.
__device__ inline void announce_writes() {
    announce_barriers();  // the same fence
}

/// `bytes` in a row from shared memory; these and both addresses are multiples of 16. Belongs to the thread's group
/// that close_store_group() closes next.
__device__ inline void store_bytes(void* to, const void* from_shared, int bytes, std::uint64_t policy) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(to),
                 "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from_shared))), "r"(bytes), "l"(policy)
                 : "memory");
#endif
}

__device__ inline void close_store_group() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/// Waits until shared memory has been read by all groups of this thread but the last `Open`: it may be written again.
template <int Open>
__device__ inline void wait_until_read() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Open) : "memory");
#endif
}

/// Waits until all groups of this thread are in memory. A kernel may not end before.
__device__ inline void wait_until_stored() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

}  // namespace boxsum::cuda
