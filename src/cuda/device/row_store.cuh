#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

/// Streaming stores of rows of 32 N elements, N a lane and 16 bytes together, that start at any element: 16 aligned
/// bytes a lane, and what is left over at a row's ends one element a lane. Nothing outside the row is written.
namespace boxsum::cuda {

/// A lane's 16 aligned bytes of a row of sums that starts anywhere: those of lane 0 begin at the first multiple of 16
/// bytes in the row. What is asked for every row are bits of one number that moves on from row to row, for `finish` of
/// the tile pipeline spends its time here.
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

    /// Turns the row to the left by the elements before the boundary: lane l gets those of its piece, lane 31 the row's
    /// first ones behind its last. `next`: the lane of the next piece. By all lanes of a warp.
    __device__ void turn(Sum (&x)[N], int next) const {
        static_assert(N == 2 || N == 4);
        // Each lane's own elements first, so that no more than N are held.
        if constexpr (N == 4) turn_by<1>(x, (static_cast<unsigned>(at) & unsigned{sizeof(Sum)}) == 0);
        turn_by<N / 2>(x, !starts_late(N / 2));
#pragma unroll
        for (int i = 1; i < N; ++i) {
            const Sum after = __shfl_sync(whole_warp, x[i], next);
            x[i] = starts_late(i) ? x[i] : after;
        }
    }

    /// The same where it is known how many elements lie before the boundary, a constant: an exchange for each of them.
    __device__ static void turn_known(Sum (&x)[N], int before, int next) {
        Sum turned[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const int from = i + before;
            turned[i] = from < N ? x[from % N] : __shfl_sync(whole_warp, x[from % N], next);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = turned[i];
    }

    /// begin(), known as before.
    __device__ Sum* begin_known(int before) const {
        return reinterpret_cast<Sum*>(at - (N - 1 - before) * sizeof(Sum));
    }

    /// The elements before the first multiple of 16 bytes, less than N.
    __device__ unsigned before() const {
        return (N - 1) - static_cast<unsigned>(at) / unsigned{sizeof(Sum)} % N;
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

/// The elements in the units of `Unit` bytes, 16 or 32, which a row has in common with its neighbours, gathered so that
/// one store of a warp writes those of several rows: the elements of an end are neighbours in it and go to memory
/// together, which stores by one lane would not. Both ends of a row share a unit's place in shared memory, because what
/// one of them has of its unit is what the other one lacks. With 32, a sector, no other store writes to it.
// H200, 13.0: 32 for 16, packed padded tables at 8192, 8u32u 0.96, 32f32f 0.985; with three channels 1.02
template <typename Sum, int N, int Unit>
struct row_ends {
    static_assert(Unit == 16 || Unit == 32);
    static constexpr int elements = Unit / static_cast<int>(sizeof(Sum)), rows = 32 / elements;
    struct alignas(Unit) memory {  ///< of a warp, in shared memory
        Sum of_rows[rows][elements];
    };

    memory& shared;
    unsigned flipped, limit;  // of the lane, see has()

    __device__ row_ends(memory& shared, int lane) : shared(shared) {
        flipped = Unit == 32 && lane == 0 ? 16 : 0;
        limit = lane == 31 ? Unit - sizeof(Sum) : 0;
        if (Unit == 32 && lane == 30) limit = 16 - sizeof(Sum);
        if (Unit == 32 && lane == 0) limit = 16;
    }

    /// Whether the lane's piece of a row goes with the ends. With units of 16 bytes that is lane 31's, which holds them
    /// after row_piece::turn(), if the row is not aligned. With 32 also the piece beside them in their sectors: lane
    /// 0's, if its 16 bytes are the second half of one, else lane 30's.
    __device__ bool has(const row_piece<Sum, N>& piece) const {
        return ((static_cast<unsigned>(piece.at) & (Unit - unsigned{sizeof(Sum)})) ^ flipped) < limit;
    }

    /// By a lane that has them: of row number k.
    __device__ void put(const row_piece<Sum, N>& piece, const Sum (&x)[N], int k) const {
        vector_of<Sum, N> part;
#pragma unroll
        for (int i = 0; i < N; ++i) part.x[i] = x[i];
        reinterpret_cast<vector_of<Sum, N>*>(shared.of_rows[k % rows])[piece.at / 16 % (Unit / 16)] = part;
    }

    /// Those of the row `first` and the rows below it, `stride` bytes apart, of which `count` were put. By all lanes of
    /// a warp.
    __device__ void store(std::byte* first, std::int64_t stride, int count, int lane) const {
        __syncwarp();
        const int row = lane / elements, i = lane % elements;
        const auto at = reinterpret_cast<std::uintptr_t>(first + row * stride);
        const int start = static_cast<int>(at % Unit / sizeof(Sum));  // before, the unit is the left neighbour's
        const bool is_last = i < start;
        Sum* const to = reinterpret_cast<Sum*>(at - at % Unit) + i + (is_last ? 32 * N : 0);
        if (row < count && start > 0) store_streaming(to, shared.of_rows[row][i]);
        __syncwarp();
    }

    /// The same where the sums beside the rows are known, `cols` of them (more than a sector has, less than one, or
    /// none): sectors in which a row ends are stored whole, and those in which it starts are the left neighbour's,
    /// unless the row is the `first` one. beside(row, i): what the i-th sum behind a row has more than the row's last
    /// one.
    template <typename Beside>
    __device__ void store_whole(std::byte* first_row, std::int64_t stride, int count, bool first, int cols,
                                Beside beside, int lane) const {
        static_assert(Unit == 32);
        __syncwarp();
        const int row = lane / elements, i = lane % elements;
        const auto at = reinterpret_cast<std::uintptr_t>(first_row + row * stride);
        const int start = static_cast<int>(at % Unit / sizeof(Sum));
        Sum* const to = reinterpret_cast<Sum*>(at - at % Unit) + i;
        const bool there = row < count && start > 0;
        Sum x = shared.of_rows[row][i];
        if (there && first && i >= start) store_streaming(to, x);
        const int behind = i - start;
        if (behind >= 0) x = shared.of_rows[row][(start + elements - 1) % elements] + beside(row, behind);
        if (there && behind < cols) store_streaming(to + 32 * N, x);
        __syncwarp();
    }
};

/// All of row number k, which x does not hold afterwards, but its ends: these go with the next ends.store(), which must
/// come before row k + ends.rows. Nothing if the row is not `there`; the lanes take part all the same. `next`: the lane
/// of the next piece, of the last one the first lane. By all lanes of a warp.
///
/// `before`: the elements before the first multiple of 16 bytes, where a constant says so, see visit_row_places(). Else
/// negative, and the row is turned with selections and without a branch: a branch for each place where it may start has
/// fewer instructions, but rows no longer overlap.
template <typename Sum, int N, int Unit>
__device__ inline void store_row(const row_piece<Sum, N>& piece, Sum (&x)[N], const row_ends<Sum, N, Unit>& ends, int k,
                                 bool there, int next, int before = -1) {
    if (before < 0)
        piece.turn(x, next);
    else
        piece.turn_known(x, before, next);
    const bool is_end = ends.has(piece);
    if (is_end) ends.put(piece, x, k);
    store_streaming_if(there && !is_end, before < 0 ? piece.begin() : piece.begin_known(before), x);
}

/// f(before_of), before_of(k) of the k-th of rows that are `step` elements apart, see store_row(): constants, if every
/// row starts at another place than the one above, as in packed tables. `before`: of row 0. All lanes have the same.
template <typename F>
__device__ inline void visit_row_places(unsigned before, unsigned step, F f) {
    const auto known = [&]<int Before, int Step>() { f([](int k) { return (Before + (4 - Step) * k) % 4; }); };
    const auto of_step = [&]<int Step>() {
        if (before == 0) return known.template operator()<0, Step>();
        if (before == 1) return known.template operator()<1, Step>();
        if (before == 2) return known.template operator()<2, Step>();
        known.template operator()<3, Step>();
    };
    if (step % 4 == 1) return of_step.template operator()<1>();
    if (step % 4 == 3) return of_step.template operator()<3>();
    f([](int) { return -1; });
}

/// The row one element on: `left` and all but its last. Rows side by side that start one element behind a multiple of
/// 16 bytes are so stored in whole pieces of 512 bytes: a boundary between them within 16 bytes costs two small
/// accesses. By all lanes of a warp.
template <typename Sum, int N>
__device__ inline void move_one_behind(Sum (&x)[N], Sum left, int lane) {
    const Sum before = shuffle_up(x[N - 1], 1);
#pragma unroll
    for (int i = N - 1; i > 0; --i) x[i] = x[i - 1];
    x[0] = lane == 0 ? left : before;
}

/// In the other order.
template <typename Sum, int N>
__device__ inline void turn_if(Sum (&x)[N], bool wanted) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
        const Sum first = x[i], last = x[N - 1 - i];
        x[i] = wanted ? last : first;
        x[N - 1 - i] = wanted ? first : last;
    }
}

/// The row one element on, or the lane's elements in the other order.
template <typename Sum, int N>
__device__ inline void move_one_behind_or_turn(Sum (&x)[N], Sum left, bool behind, int lane) {
    Sum turned[N];
#pragma unroll
    for (int i = 0; i < N; ++i) turned[i] = x[N - 1 - i];
    move_one_behind(x, left, lane);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = behind ? x[i] : turned[i];
}

/// Zeros in the row's first `valid` elements, at most 32 N of them, `step` apart.
template <int N, typename Sum>
__device__ inline void store_zeros(Sum* row, int valid, int lane, int step = 1) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        if (32 * i + lane < valid) store_streaming(row + std::int64_t{32 * i + lane} * step, Sum{});
}

}  // namespace boxsum::cuda
