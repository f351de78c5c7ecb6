#pragma once

#include "cuda/runtime/launch.cuh"

#include <algorithm>

/// Twins of the sorts that are CUB's on a device: one thread does it.
namespace boxsum::cuda {

template <int Threads, int Items>
struct candidate_block_sort {
    struct storage {
        search_candidate all[Threads * Items];
    };

    static __device__ void sort(storage& shared, search_candidate (&items)[Items]) {
        search_candidate* const own = shared.all + threadIdx.x * Items;
        std::copy_n(items, Items, own);
        __syncthreads();
        if (threadIdx.x == 0) std::sort(shared.all, shared.all + Threads * Items, comes_before{});
        __syncthreads();
        std::copy_n(own, Items, items);
    }
};

inline std::size_t candidate_sort_bytes(std::int64_t) {
    return 1;  // not none, which a caller might take for "no sort"
}

inline __global__ void sort_candidates_kernel(search_candidate* candidates, std::int64_t count) {
    std::sort(candidates, candidates + count, comes_before{});
}

inline void sort_candidates(search_candidate* candidates, std::int64_t count, void*, stream_ref stream) {
    launch(sort_candidates_kernel, {.grid = 1, .block = 1}, stream, candidates, count);
}

}  // namespace boxsum::cuda
