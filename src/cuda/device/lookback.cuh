#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

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

/// Look-back (Merrill and Garland 2016): how far back the nearest predecessor is that has published its inclusive sums,
/// when all nearer ones have published their own. `status(d)` points to the status of the predecessor at distance d = 1
/// to `count`; a status of at least `aggregate` or `inclusive` says what is published. count + 1 stands for the nothing
/// before the first. The 32 lanes, all of which call, look at 32 predecessors at once. Afterwards all lanes may read
/// what these have published: each status was acquired by a lane, and the warp barrier passes that on.
template <typename Status>
__device__ std::int64_t look_back(std::int64_t count, unsigned aggregate, unsigned inclusive, Status status) {
    for (std::int64_t seen = 0;; seen += warp_size) {
        const std::int64_t d = seen + lane_id() + 1;
        while (true) {
            const unsigned s = d <= count ? load_acquire(status(d)) : inclusive;
            const unsigned own = __ballot_sync(whole_warp, s >= aggregate);
            const unsigned all = __ballot_sync(whole_warp, s >= inclusive);
            const int nearest = all == 0 ? warp_size : __ffs(static_cast<int>(all)) - 1;
            const unsigned needed = nearest == warp_size ? whole_warp : (1u << nearest) - 1;
            if ((own & needed) != needed) continue;
            __syncwarp();
            if (nearest < warp_size) return seen + nearest + 1;
            break;
        }
    }
}

/// The sum of everything before: the inclusive sum at `distance`, and the aggregates of the nearer predecessors added
/// forwards. So the order of additions does not depend on how far the look-back went, and floats are reproducible.
/// `inclusive_at(d)` and `aggregate_at(d)` refer to memory; it is read past the first-level cache, which is not
/// coherent.
template <typename T, typename Inclusive, typename Aggregate>
__device__ T sum_forwards(std::int64_t distance, std::int64_t count, Inclusive inclusive_at, Aggregate aggregate_at) {
    T sum = distance <= count ? T(__ldcg(&inclusive_at(distance))) : T{};
    constexpr int batch = 8;
    for (std::int64_t d = distance - 1; d > 0; d -= batch) {
        T x[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            if (d - k > 0) x[k] = __ldcg(&aggregate_at(d - k));
#pragma unroll
        for (int k = 0; k < batch; ++k)
            if (d - k > 0) sum += x[k];
    }
    return sum;
}

/// A value of 4 or 8 bytes in words that carry their own flag: the upper half of each 64-bit word is 1 once it is
/// written, the lower half holds 32 bits of the value. One trip to memory brings both, and no fence is needed. The
/// words are zero before.
template <typename T>
struct flagged_words {
    static constexpr int count = static_cast<int>(sizeof(T) / 4);
    unsigned long long words[count];
};

template <typename T>
__device__ void hand_over(flagged_words<T>* slot, T value) {
    unsigned bits[flagged_words<T>::count];
    memcpy(bits, &value, sizeof value);
#pragma unroll
    for (int k = 0; k < flagged_words<T>::count; ++k) store_relaxed(&slot->words[k], 1ull << 32 | bits[k]);
}

/// Waits for hand_over.
template <typename T>
__device__ T take_over(const flagged_words<T>* slot) {
    unsigned bits[flagged_words<T>::count];
#pragma unroll
    for (int k = 0; k < flagged_words<T>::count; ++k) {
        unsigned long long word;
        do word = load_relaxed(&slot->words[k]);
        while (word >> 32 == 0);
        bits[k] = static_cast<unsigned>(word);
    }
    T value;
    memcpy(&value, bits, sizeof value);
    return value;
}

}  // namespace boxsum::cuda
