#pragma once

#include "cuda/device/warp_scan.cuh"

namespace boxsum::cuda {

/// Inclusive prefix sums of one value per thread of a block of `threads`, by Kogge-Stone within the warps and across
/// them; `total` is the sum of all. All threads call; one barrier at the start allows calls in a row.
template <int threads, typename T>
__device__ T block_scan(T x, T& total) {
    static_assert(threads % warp_size == 0 && threads <= warp_size * warp_size);
    constexpr int warps = threads / warp_size;
    __shared__ T warp_sums[warps];
    x = warp_scan(x);
    __syncthreads();  // the sums of the last call have been read
    if (lane_id() == warp_size - 1) warp_sums[warp_id()] = x;
    __syncthreads();
    const T upto = warp_scan(lane_id() < warps ? warp_sums[lane_id()] : T{});  // every warp, each for itself
    total = last_lane(upto);
    const T before = __shfl_sync(whole_warp, upto, warp_id() > 0 ? warp_id() - 1 : 0);
    return warp_id() > 0 ? before + x : x;
}

}  // namespace boxsum::cuda
