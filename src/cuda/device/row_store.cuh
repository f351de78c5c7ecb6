#pragma once

#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

/// Streaming stores of rows of 32 N elements, N a lane and 16 bytes together, that start at any element: 16 aligned
/// bytes a lane, and what is left over at a row's ends one element a lane. Nothing outside the row is written.
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

/// What lies beside a row of sums, which is a piece of a longer one. Where a row starts one element before a multiple
/// of 16 bytes, whoever knows the sum to its left stores that and leaves its own last one to the neighbour on the
/// right: so pieces meet at a multiple of 16 bytes, and no 16 bytes are stored in parts.
struct row_place {
    bool has_left;  ///< another piece is there, and its last sum is known
    bool ends;      ///< no other piece is to the right
};

/// The N elements at the ends of up to `rows` rows, gathered so that one store of a warp writes them all: the elements
/// of an end are neighbours in it and go to memory together, which four stores by one lane would not.
template <typename Sum, int N>
struct row_ends {
    static constexpr int rows = 32 / N;
    using memory = vector_of<Sum, N>[rows];  ///< of a warp, in shared memory

    memory& of_rows;

    /// Those of the row `first` and the rows below it, `stride` bytes apart, of which `count` were put. By all lanes of
    /// a warp.
    __device__ void store(std::byte* first, std::int64_t stride, int count, const row_place& place, int lane) const {
        __syncwarp();
        const int row = lane / N, i = lane % N;
        Sum* const to = reinterpret_cast<Sum*>(first + row * stride);
        const int skip = static_cast<int>(elements_to_boundary(to));
        const bool is_last = i + skip < N;  // one of the last of its row, else of the first
        const bool wanted = skip < N - 1 || (is_last ? place.ends : !place.has_left);
        if (row < count && skip != 0 && wanted)
            store_streaming(to + (is_last ? 31 * N : -N) + i + skip, of_rows[row].x[i]);
        __syncwarp();
    }
};

/// All of row number k, which x does not hold afterwards, but its ends, if it is not aligned: these go with the next
/// ends.store(), which must come before row k + ends.rows. `left`: the sum before the row, where the place has one. By
/// all lanes of a warp.
///
/// With selections and without a branch: a branch for each `skip` has fewer instructions, but rows no longer overlap,
/// and takes 1.13 of the time (padded 32f32f at 8192).
template <typename Sum, int N>
__device__ inline void store_row(Sum* row, Sum (&x)[N], Sum left, const row_place& place, const row_ends<Sum, N>& ends,
                                 int k, int lane) {
    const int skip = static_cast<int>(elements_to_boundary(row));
    const bool takes_left = skip == N - 1 && place.has_left;
    turn_row(x, static_cast<unsigned>(skip), lane);
    if (lane == 31 && skip != 0) {
        vector_of<Sum, N> end;
#pragma unroll
        for (int i = 0; i < N; ++i) end.x[i] = x[i];
        ends.of_rows[k % ends.rows] = end;
        x[0] = left;
    }
    if (lane < 31 || skip == 0 || takes_left)
        store_streaming(row + (lane == 31 && takes_left ? -1 : lane * N + skip), x);
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

/// All of a row but its last element, which is stored only if the row `ends` here, and `left`, which belongs before the
/// row, where a multiple of 16 bytes is. So rows side by side are stored in whole pieces of 512 bytes: a boundary
/// between them within 16 bytes costs two small accesses. By all lanes of a warp.
template <typename Sum, int N>
__device__ inline void store_row_one_behind(Sum* row, const Sum (&x)[N], Sum left, bool ends, int lane) {
    Sum* const to = row + lane * N;
    if (ends && lane == 31) store_streaming(to + N - 1, x[N - 1]);
    const Sum before = __shfl_up_sync(whole_warp, x[N - 1], 1);
    Sum y[N];
    y[0] = lane == 0 ? left : before;
#pragma unroll
    for (int i = 1; i < N; ++i) y[i] = x[i - 1];
    store_streaming(to - 1, y);
}

/// Zeros in the row's first `valid` elements, at most 32 N of them, `step` apart.
template <int N, typename Sum>
__device__ inline void store_zeros(Sum* row, int valid, int lane, int step = 1) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (32 * i + lane < valid) store_streaming(row + std::int64_t{32 * i + lane} * step, Sum{});
}

}  // namespace boxsum::cuda
