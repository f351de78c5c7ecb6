#pragma once

#include "cuda/queries/histogram_kernels.hpp"

#ifndef BOXSUM_EMULATED
#include "cuda/runtime/cuda_try.hpp"

#include <cub/block/block_merge_sort.cuh>
#include <cub/device/device_merge_sort.cuh>
#endif

/// Sorting of candidates, by CUB; the emulated device has a twin.
namespace boxsum::cuda {

struct comes_before {
    __host__ __device__ bool operator()(const search_candidate& a, const search_candidate& b) const {
        return a.key != b.key ? a.key < b.key : a.number < b.number;
    }
};

}  // namespace boxsum::cuda

#ifdef BOXSUM_EMULATED
#include "emulated/candidate_sort.hpp"
#else
namespace boxsum::cuda {

/// Sorts the candidates of a block; thread t has those of places t * Items to t * Items + Items - 1, before and after.
template <int Threads, int Items>
struct candidate_block_sort {
    using sorter = cub::BlockMergeSort<search_candidate, Threads, Items>;
    using storage = typename sorter::TempStorage;  ///< shared memory

    static __device__ void sort(storage& shared, search_candidate (&items)[Items]) {
        sorter(shared).Sort(items, comes_before{});
    }
};

inline std::size_t candidate_sort_bytes(std::int64_t count) {
    std::size_t bytes = 0;
    BOXSUM_CUDA_TRY(
        cub::DeviceMergeSort::SortKeys(nullptr, bytes, static_cast<search_candidate*>(nullptr), count, comes_before{}));
    return bytes;
}

inline void sort_candidates(search_candidate* candidates, std::int64_t count, void* scratch, stream_ref stream) {
    std::size_t bytes = candidate_sort_bytes(count);
    BOXSUM_CUDA_TRY(cub::DeviceMergeSort::SortKeys(scratch, bytes, candidates, count, comes_before{}, stream.get()));
}

}  // namespace boxsum::cuda
#endif
