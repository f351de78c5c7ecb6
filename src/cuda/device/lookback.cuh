#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>
#include <cstring>

/// How blocks of one launch hand sums to each other. A block may wait only for work with a lower ticket, and tickets
/// are taken in the order in which blocks start: then whatever is waited for is running or done, and nothing deadlocks.
namespace boxsum::cuda {

/// The next ticket, the same in all threads. Has a barrier.
__device__ inline unsigned take_ticket(unsigned* counter) {
    __shared__ unsigned ticket;
    __syncthreads();  // the previous ticket has been read by all
    if (threadIdx.x == 0) ticket = atomicAdd(counter, 1u);
    __syncthreads();
    return ticket;
}

/// A value of 4 or 8 bytes with its status, in words that carry both: the upper half of each 64-bit word is the status,
/// the lower half 32 bits of the value. One trip to memory brings both, and no fence is needed. The words are zero
/// before; a value may be replaced by one of a higher status.
template <typename T>
struct status_words {
    static constexpr int count = static_cast<int>(sizeof(T) / 4);
    unsigned long long words[count];
};

template <typename T>
struct published {
    unsigned status;
    T value;
};

template <typename T>
__device__ void publish(status_words<T>* slot, unsigned status, T value) {
    unsigned bits[status_words<T>::count];
    memcpy(bits, &value, sizeof value);
#pragma unroll
    for (int k = 0; k < status_words<T>::count; ++k)
        store_relaxed(&slot->words[k], static_cast<unsigned long long>(status) << 32 | bits[k]);
}

/// Status 0 while there is nothing, and while one half of a value is there and the other is not.
template <typename T>
__device__ published<T> look_at(const status_words<T>* slot) {
    published<T> found{};
    unsigned bits[status_words<T>::count];
#pragma unroll
    for (int k = 0; k < status_words<T>::count; ++k) {
        const unsigned long long word = load_relaxed(&slot->words[k]);
        const auto status = static_cast<unsigned>(word >> 32);
        found.status = k == 0 || status == found.status ? status : 0;
        bits[k] = static_cast<unsigned>(word);
    }
    memcpy(&found.value, bits, sizeof found.value);
    return found;
}

/// Waits until a value is published with at least this status.
template <typename T>
__device__ T wait_for(const status_words<T>* slot, unsigned status) {
    published<T> found;
    do found = look_at(slot);
    while (found.status < status);
    return found.value;
}

/// Look-back (Merrill and Garland 2016) by one thread: the sum of everything before, where the predecessor at distance
/// d = 1 to `count` publishes its own sum at slot(d), with a status from `own` on, and in its place the sum of
/// everything up to its end, with a status from `inclusive` on. Several predecessors are looked at together. Their own
/// sums are added forwards to the nearest inclusive one, so that the order of additions does not depend on how far the
/// look-back went.
template <typename T, typename Slot>
__device__ T sum_before(std::int64_t count, unsigned own, unsigned inclusive, Slot slot) {
    constexpr int window = 4;
    published<T> seen[window];
    // Waits for all from distance d on, up to the nearest inclusive sum; whether there is one.
    const auto look_from = [&](std::int64_t d) {
        while (true) {
#pragma unroll
            for (int k = 0; k < window; ++k)
                seen[k] = d + k <= count ? look_at(slot(d + k)) : published<T>{inclusive, {}};
            bool all = true, ends = false;
#pragma unroll
            for (int k = 0; k < window; ++k) {
                all = all && (ends || seen[k].status >= own);
                ends = ends || seen[k].status >= inclusive;
            }
            if (all) return ends;
        }
    };
    std::int64_t d = 1;
    while (!look_from(d)) d += window;
    T sum{};
    while (true) {
#pragma unroll
        for (int k = window - 1; k >= 0; --k) sum = seen[k].status >= inclusive ? seen[k].value : sum + seen[k].value;
        if (d == 1) return sum;
        d -= window;
        look_from(d);
    }
}

}  // namespace boxsum::cuda
