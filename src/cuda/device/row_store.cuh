#pragma once

#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

/// Streaming stores of a row of 32 N elements, N a lane and 16 bytes together, that starts at any element: 16 aligned
/// bytes a lane, and what is left over at both ends element by element. Nothing outside the row is written.
namespace boxsum::cuda {

/// Elements from the row's start to the next multiple of 16 bytes.
template <typename Sum>
__device__ inline unsigned elements_to_boundary(const Sum* row) {
    constexpr unsigned lane_cols = 16 / sizeof(Sum);
    return (0u - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) / sizeof(Sum))) % lane_cols;
}

/// The row turned `skip` elements to the left: lane l gets N l + skip and those behind it, lane 31 the row's first ones
/// behind its last. By all lanes of a warp.
template <typename Sum, int N>
__device__ inline void turn_row(Sum (&x)[N], unsigned skip, int lane) {
    // Each lane's own elements first, so that no more than N are held.
#pragma unroll
    for (int step = 1; step < N; step *= 2) {
        Sum turned[N];
#pragma unroll
        for (int i = 0; i < N; ++i) turned[i] = (skip & step) != 0 ? x[(i + step) % N] : x[i];
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = turned[i];
    }
#pragma unroll
    for (int i = 1; i < N; ++i) {
        const Sum next = __shfl_sync(whole_warp, x[i], (lane + 1) % 32);
        x[i] = i + static_cast<int>(skip) < N ? x[i] : next;
    }
}

/// All of the row, which x does not hold afterwards.
template <typename Sum, int N>
__device__ inline void store_whole_row(Sum* row, Sum (&x)[N], int lane) {
    const unsigned skip = elements_to_boundary(row);
    turn_row(x, skip, lane);
    Sum* const to = row + lane * N + skip;
    if (lane < 31 || skip == 0) {
        store_streaming(to, x);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (i + static_cast<int>(skip) < N)
                store_streaming(to + i, x[i]);
            else
                store_streaming(to + i - 32 * N, x[i]);
        }
    }
}

/// The row's first `valid` elements; any number, none for a negative one. In a row that starts between multiples of 16
/// bytes they go element by element: what takes fewer registers, for the right edge of a table.
template <typename Sum, int N>
__device__ inline void store_part_of_row(Sum* row, const Sum (&x)[N], int valid, int lane) {
    if (elements_to_boundary(row) == 0 && lane * N + N <= valid) {
        store_streaming(row + lane * N, x);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (lane * N + i < valid) store_streaming(row + lane * N + i, x[i]);
    }
}

/// Zeros in the row's first `valid` elements, at most 32 N of them, `step` apart.
template <int N, typename Sum>
__device__ inline void store_zeros(Sum* row, int valid, int lane, int step = 1) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (32 * i + lane < valid) store_streaming(row + std::int64_t{32 * i + lane} * step, Sum{});
}

}  // namespace boxsum::cuda
