#pragma once

#include <cstdint>
#include <cstring>

#ifdef BOXSUM_EMULATED  // on a CPU, for tests: what is assembly here (tests/support/emulation)
#include "emulated/streaming.hpp"
#endif

/// Accesses to images and tables, which pass the caches once and shall not displace what stays there. With plain stores
/// instead of streaming ones, a kernel that only moves tiles takes 1.28 of the time (f32 -> f32) and 2.3 (u8 -> u32).
namespace boxsum::cuda {

/// N elements with the alignment of their size, moved as one access where hardware has it.
template <typename T, int N>
struct alignas(sizeof(T) * N) vector_of {
    T x[N];
};

#ifndef BOXSUM_EMULATED

__device__ inline std::uint64_t drop_from_l2() {
    std::uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/// Ranks what is read with what was there before, and so behind streaming stores, which leave first.
__device__ inline std::uint64_t unranked_in_l2() {
    std::uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/// Gives the 128 bytes at `line`, a multiple of 128, up: nobody reads what they hold, and what a cache holds of them
/// need not be written to memory. Whoever writes them next must be ordered behind this, as behind a store.
__device__ inline void discard_line(void* line) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(line) : "memory");
#endif
}

/// Starts a copy of Bytes (4, 8 or 16) to shared memory, both sides aligned to Bytes. Only the first `valid` bytes are
/// read; the rest becomes zero. WithLine: the second-level cache is asked for all 128 bytes. Without a policy for the
/// second-level cache: where the policy and the base of the shared address are both uniform registers, ptxas 13.0 makes
/// an instruction of it that an H200 refuses as illegal.
template <int Bytes, bool WithLine = false>
__device__ inline void copy_async(void* to_shared, const void* from, int valid) {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    static_assert(Bytes == 16 || !WithLine);
    if constexpr (WithLine)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid)
                     : "memory");
    else if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(valid), "n"(Bytes)
                     : "memory");
}

/// The same of all of them.
template <int Bytes>
__device__ inline void copy_async(void* to_shared, const void* from) {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(Bytes) : "memory");
}

/// The copies that the thread started since it last said so are a group.
__device__ inline void group_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for the thread's groups of copies but the last `Open`: it may then read what they wrote.
template <int Open>
__device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory");
}

#endif

inline constexpr std::int64_t line_bytes = 128;  ///< of the second-level cache

/// discard_line() of the `bytes` bytes from `first` on, both multiples of 128, shared out among `threads` threads, of
/// which this is number `thread`.
__device__ inline void discard_lines(void* first, std::int64_t bytes, std::int64_t thread, std::int64_t threads) {
    for (std::int64_t i = thread * line_bytes; i + line_bytes <= bytes; i += threads * line_bytes)
        discard_line(static_cast<char*>(first) + i);
}

/// Streaming store of 4, 8 or 16 bytes.
template <typename T, int N>
__device__ inline void store_streaming(T* to, const T (&x)[N]) {
    static_assert(sizeof x == 4 || sizeof x == 8 || sizeof x == 16);
    if constexpr (sizeof x == 16) {
        uint4 bits;
        memcpy(&bits, x, 16);
        __stcs(reinterpret_cast<uint4*>(to), bits);
    } else if constexpr (sizeof x == 8) {
        uint2 bits;
        memcpy(&bits, x, 8);
        __stcs(reinterpret_cast<uint2*>(to), bits);
    } else {
        std::uint32_t bits;
        memcpy(&bits, x, 4);
        __stcs(reinterpret_cast<std::uint32_t*>(to), bits);
    }
}

template <typename T>
__device__ inline void store_streaming(T* to, T x) {
    const T one[1] = {x};
    store_streaming(to, one);
}

/// The same of 8 or 16 bytes where it is `wanted`, without a branch: of one store after another behind a condition the
/// compiler makes branches, across which nothing overlaps.
template <typename T, int N>
__device__ inline void store_streaming_if(bool wanted, T* to, const T (&x)[N]) {
    static_assert(sizeof x == 8 || sizeof x == 16);
#ifdef BOXSUM_EMULATED
    if (wanted) store_streaming(to, x);
#else
    if constexpr (sizeof x == 8) {
        uint2 bits;
        memcpy(&bits, x, 8);
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.cs.v2.u32 [%1], {%2, %3}; }" ::"r"(
                         static_cast<int>(wanted)),
                     "l"(to), "r"(bits.x), "r"(bits.y)
                     : "memory");
    } else {
        uint4 bits;
        memcpy(&bits, x, 16);
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.cs.v4.u32 [%1], {%2, %3, %4, %5}; }" ::"r"(
                         static_cast<int>(wanted)),
                     "l"(to), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
                     : "memory");
    }
#endif
}

}  // namespace boxsum::cuda
