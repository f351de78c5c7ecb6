#pragma once

#include "cuda/workspace.hpp"

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>

/// What all production kernels do with the workspace between them: tags, and the way they leave it.
namespace boxsum::cuda {

/// A tag is 20 bits of epoch and 12 of lap: a word is overwritten in every lap or never read, so a lap that comes again
/// after 4096 others cannot be taken for the first.
inline constexpr std::uint32_t tag_epochs = (1u << 20) - 1;
inline constexpr int tag_lap_bits = 12;

struct tag_maker {
    std::uint32_t epoch;  // 1 to tag_epochs, so that no tag is that of a cleared word

    __device__ explicit tag_maker(const workspace_header* header)
        : epoch(*static_cast<const volatile std::uint32_t*>(&header->epoch) % tag_epochs + 1) {}
    __device__ std::uint32_t operator()(unsigned lap) const {
        return epoch << tag_lap_bits | (lap & ((1u << tag_lap_bits) - 1));
    }
};

/// By one thread of each block, when all threads of the block have seen all words that they wait for: whether it is the
/// last block of the launch.
__device__ inline bool is_last_block(workspace_header* header, ::cuda::memory_order order) {
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> finished(header->finished);
    return finished.fetch_add(1, order) == gridDim.x - 1;
}

/// By all threads of a block when it has nothing left to do: the last block of the launch leaves the workspace to the
/// next call, and zeroes it where epochs start over. `last`: what is_last_block() said to one of the threads. `settle`
/// is called by all threads of the last block before it touches anything.
template <typename Settle>
__device__ inline void leave_workspace_as(bool last, workspace_header* header, std::byte* workspace, std::size_t bytes,
                                          Settle settle) {
    if (__syncthreads_or(last) == 0) return;
    settle();
    const std::uint32_t epoch = *static_cast<const volatile std::uint32_t*>(&header->epoch);
    const bool run_out = epoch % tag_epochs + 1 == tag_epochs || epoch == ~0u;
    __syncthreads();
    if (threadIdx.x == 0) {
        header->ticket = 0;
        header->finished = 0;
        header->epoch = run_out ? 0 : epoch + 1;
    }
    for (unsigned i = threadIdx.x; i < sizeof header->reserved / sizeof(std::uint32_t); i += blockDim.x)
        header->reserved[i] = 0;
    if (run_out)
        for (std::size_t i = threadIdx.x; i < bytes / sizeof(std::uint64_t); i += blockDim.x)
            reinterpret_cast<std::uint64_t*>(workspace)[i] = 0;
}

__device__ inline void leave_workspace_as(bool last, workspace_header* header, std::byte* workspace,
                                          std::size_t bytes) {
    leave_workspace_as(last, header, workspace, bytes, [] {});
}

/// Both together. Where blocks added to the header's counters without waiting for the result, those additions must be
/// there before the last block resets them: then `order` is acq_rel, which costs every block a wait for its stores, or
/// `settle()` waits for what the counters come to. Tickets need neither: blocks that get here have them.
template <typename Settle>
__device__ inline void leave_workspace(workspace_header* header, std::byte* workspace, std::size_t bytes,
                                       ::cuda::memory_order order, Settle settle) {
    __syncthreads();
    const bool last = threadIdx.x == 0 && is_last_block(header, order);
    leave_workspace_as(last, header, workspace, bytes, settle);
}

__device__ inline void leave_workspace(workspace_header* header, std::byte* workspace, std::size_t bytes,
                                       ::cuda::memory_order order) {
    leave_workspace(header, workspace, bytes, order, [] {});
}

}  // namespace boxsum::cuda
