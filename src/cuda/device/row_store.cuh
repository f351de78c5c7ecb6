#pragma once

#include "cuda/device/ptx.cuh"
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

/// A lane's 16 aligned bytes of a row of sums that starts anywhere: those of lane 0 begin at the first multiple of 16
/// bytes in the row. What is asked for every row are bits of one number that moves on from row to row, for `finish` of
/// the aligned kernels spends its time here: prime 8u32u at 4093 and 8191 0.945 of the time.
template <typename Sum, int N>
struct row_piece {
    std::uintptr_t at;  ///< 16 bytes less one element behind the row's start, and 16 more a lane

    __device__ row_piece(const void* row, int lane)
        : at(reinterpret_cast<std::uintptr_t>(row) + (16 - sizeof(Sum)) + static_cast<unsigned>(lane) * 16) {}

    /// The same of a row that many bytes on.
    __device__ void move(std::int64_t stride) { at = opaque(at + static_cast<std::uintptr_t>(stride)); }

    /// Where the row starts.
    __device__ std::byte* row(int lane) const {
        return reinterpret_cast<std::byte*>(at - (16 - sizeof(Sum)) - static_cast<unsigned>(lane) * 16);
    }

    __device__ Sum* begin() const { return reinterpret_cast<Sum*>(at & ~std::uintptr_t{15}); }

    /// Whether less than N - `elements` elements lie before the first multiple of 16 bytes. So none if N - 1.
    __device__ bool starts_late(int elements) const {
        constexpr unsigned bytes = sizeof(Sum);
        return (static_cast<unsigned>(at) & (16 - bytes)) >= static_cast<unsigned>(elements) * bytes;
    }
    __device__ bool aligned() const { return starts_late(N - 1); }

    /// Turns the row to the left by the elements before the boundary: lane l gets those of its piece, lane 31 the row's
    /// first ones behind its last. By all lanes of a warp.
    __device__ void turn(Sum (&x)[N], int lane) const {
        static_assert(N == 2 || N == 4);
        // Each lane's own elements first, so that no more than N are held.
        if constexpr (N == 4) turn_by<1>(x, (static_cast<unsigned>(at) & unsigned{sizeof(Sum)}) == 0);
        turn_by<N / 2>(x, !starts_late(N / 2));
#pragma unroll
        for (int i = 1; i < N; ++i) {
            const Sum next = __shfl_sync(whole_warp, x[i], (lane + 1) % 32);
            x[i] = starts_late(i) ? x[i] : next;
        }
    }

  private:
    template <int Step>
    __device__ static void turn_by(Sum (&x)[N], bool wanted) {
        Sum turned[N];
#pragma unroll
        for (int i = 0; i < N; ++i) turned[i] = wanted ? x[(i + Step) % N] : x[i];
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = turned[i];
    }
};

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

    /// By the lane that has them: of row number k.
    __device__ void put(const Sum (&x)[N], int k) const {
        vector_of<Sum, N> end;
#pragma unroll
        for (int i = 0; i < N; ++i) end.x[i] = x[i];
        of_rows[k % rows] = end;
    }

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
/// ends.store(), which must come before row k + ends.rows. `left`: the sum before the row, where the place has one.
/// Nothing if the row is not `there`; the lanes take part all the same. By all lanes of a warp.
///
/// With selections and without a branch: a branch for each place where a row may start has fewer instructions, but rows
/// no longer overlap, and takes 1.13 of the time (padded 32f32f at 8192).
template <bool TakesLeft, typename Sum, int N>
__device__ inline void store_row(const row_piece<Sum, N>& piece, Sum (&x)[N], Sum left, const row_place& place,
                                 const row_ends<Sum, N>& ends, int k, bool there, int lane) {
    piece.turn(x, lane);
    const bool has_ends = lane == 31 && !piece.aligned();
    if (has_ends) ends.put(x, k);
    if constexpr (TakesLeft) {
        const bool takes_left = has_ends && !piece.starts_late(1) && place.has_left;
        if (takes_left) x[0] = left;
        store_streaming_if(there && (!has_ends || takes_left), piece.begin() - (takes_left ? 32 * N : 0), x);
    } else {
        store_streaming_if(there && !has_ends, piece.begin(), x);
    }
}

/// The row one element on: `left` and all but its last. Rows side by side that start one element behind a multiple of
/// 16 bytes are so stored in whole pieces of 512 bytes: a boundary between them within 16 bytes costs two small
/// accesses. By all lanes of a warp.
template <typename Sum, int N>
__device__ inline void move_one_behind(Sum (&x)[N], Sum left, int lane) {
    const Sum before = __shfl_up_sync(whole_warp, x[N - 1], 1);
#pragma unroll
    for (int i = N - 1; i > 0; --i) x[i] = x[i - 1];
    x[0] = lane == 0 ? left : before;
}

/// Zeros in the row's first `valid` elements, at most 32 N of them, `step` apart.
template <int N, typename Sum>
__device__ inline void store_zeros(Sum* row, int valid, int lane, int step = 1) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (32 * i + lane < valid) store_streaming(row + std::int64_t{32 * i + lane} * step, Sum{});
}

}  // namespace boxsum::cuda
