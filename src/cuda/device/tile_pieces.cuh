#pragma once

#include "cuda/device/tile_sat.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstdint>

/// The shared memory algorithms of Emoto et al. 2018, section II, with all threads of a block at work: each scans a
/// piece of m = W x W / Threads neighbours of a row, then of a column, in registers, and what the pieces before it in
/// its row or column add up to is added. Callers put a barrier where a comment says so.
namespace boxsum::cuda {

/// What a thread of a block has of a tile: piece number `piece` of row k, or of column k.
template <int W, int Threads>
struct tile_piece {
    static_assert(Threads % W == 0 && Threads <= W * W && Threads >= 2 * W);
    static constexpr int count = Threads / W;  ///< pieces of a row or column
    static constexpr int m = W * W / Threads;  ///< elements of a piece
    int k = static_cast<int>(threadIdx.x) % W, piece = static_cast<int>(threadIdx.x) / W;
    int first = piece * m;
};

/// Where element (i, j) of a tile lies. Either way neighbours of a row, and of a column, are in different banks. Padded
/// rows leave a piece's elements at constant distances; the paper's diagonal arrangement, offset i W + (i + j) mod W,
/// takes no padding.
enum class tile_arrangement { padded, diagonal };

/// Blocks that shall run on a multiprocessor at once, which bounds the registers: as many as have `threads` threads,
/// fewer where pieces are longer than 16 words. Left alone the compiler keeps the address of each element, which the
/// diagonal arrangement needs: twice the words.
template <typename T, int W, int Threads, tile_arrangement Arrangement = tile_arrangement::padded>
constexpr int resident_blocks(int threads) {
    constexpr int addresses = Arrangement == tile_arrangement::diagonal ? tile_piece<W, Threads>::m : 0;
    constexpr int words = tile_piece<W, Threads>::m * static_cast<int>(sizeof(T)) / 4 + addresses;
    const int fitting = words <= 16 ? threads : words <= 32 ? 1024 : words <= 64 ? threads * 2 / 5 : 256;
    return fitting > Threads ? fitting / Threads : 1;
}

/// A tile between the steps, in shared memory.
template <typename T, int W, int Threads, tile_arrangement Arrangement = tile_arrangement::padded>
struct tile_in_pieces {
    using own_piece = tile_piece<W, Threads>;
    static constexpr int m = own_piece::m;
    static constexpr int pitch = W + (Arrangement == tile_arrangement::padded ? 1 : 0);

    T cells[W * pitch];               // a, then the prefix sums of its rows
    T row_sums[own_piece::count][W];  // of pieces
    T column_sums[own_piece::count][W];
    alignas(16) T left[W];  // what is to be added to whole rows: GRS(I, J-1)
    T above[W];             // GCS(I-1, J); after sum_above the row above the tile, but for what is to the left of it
    T corner;               // what is to be added to everything: GS(I-1, J-1)

    __device__ T& cell(int i, int j) {
        return cells[i * pitch + (Arrangement == tile_arrangement::padded ? j : (i + j) & (W - 1))];
    }

    /// Step 1: the thread's elements, loaded before, to shared memory. Barrier.
    __device__ void put(const own_piece& own, const T (&x)[m]) {
#pragma unroll
        for (int q = 0; q < m; ++q) cell(own.first + q, own.k) = x[q];
    }

    /// Sums of the pieces of columns, for column_sum. Barrier.
    __device__ void sum_columns(const own_piece& own, const T (&x)[m]) {
        T sum{};
#pragma unroll
        for (int q = 0; q < m; ++q) sum += x[q];
        column_sums[own.piece][own.k] = sum;
    }

    /// Step 2, first half: prefix sums of the pieces of rows, in registers. Barrier.
    __device__ void scan_rows(const own_piece& own, T (&x)[m]) {
#pragma unroll
        for (int q = 0; q < m; ++q) x[q] = cell(own.k, own.first + q);
#pragma unroll
        for (int q = 1; q < m; ++q) x[q] += x[q - 1];
        row_sums[own.piece][own.k] = x[m - 1];
    }

    /// LRS(I, J)[k] after scan_rows and LCS(I, J)[k] after sum_columns, each after its barrier.
    __device__ T row_sum(int k) const {
        return sum_of_pieces(row_sums, k, own_piece::count);
    }
    __device__ T column_sum(int k) const {
        return sum_of_pieces(column_sums, k, own_piece::count);
    }

    /// Step 2, second half: prefix sums of whole rows, to shared memory. Barrier, behind which `left` is known, too.
    __device__ void put_rows(const own_piece& own, const T (&x)[m]) {
        const T before = sum_of_pieces(row_sums, own.k, own.piece);
#pragma unroll
        for (int q = 0; q < m; ++q) cell(own.k, own.first + q) = before + x[q];
    }

    /// Prefix sums of `above`, in place, by one warp.
    __device__ void sum_above() {
        T x[W / warp_size];
#pragma unroll
        for (int i = 0; i < W / warp_size; ++i) x[i] = above[lane_id() * (W / warp_size) + i];
        warp_scan_row(x);
#pragma unroll
        for (int i = 0; i < W / warp_size; ++i) above[lane_id() * (W / warp_size) + i] = x[i];
    }

    /// Step 3, first half: prefix sums of the pieces of columns, in registers, with `left` from the left. Barrier,
    /// behind which the row above the tile is known, too.
    __device__ void scan_columns(const own_piece& own, T (&x)[m]) {
#pragma unroll
        for (int q = 0; q < m; ++q) x[q] = left[own.first + q] + cell(own.first + q, own.k);
#pragma unroll
        for (int q = 1; q < m; ++q) x[q] += x[q - 1];
        column_sums[own.piece][own.k] = x[m - 1];
    }

    /// What is to be added to the thread's piece of column k where the row above the tile is `top`.
    __device__ T before_columns(const own_piece& own, T top) const {
        return top + sum_of_pieces(column_sums, own.k, own.piece);
    }

  private:
    __device__ static T sum_of_pieces(const T (&sums)[own_piece::count][W], int k, int count) {
        T sum{};
#pragma unroll
        for (int p = 0; p < own_piece::count; ++p)
            if (p < count) sum += sums[p][k];
        return sum;
    }
};

/// Rows of the thread's piece of column k that lie in the image, at most m.
template <int W, int Threads>
__device__ int rows_of_piece(const tile_piece<W, Threads>& own, const tile_box& box) {
    const int rows = own.k < box.cols ? box.rows - own.first : 0;
    return rows < own.m ? rows : own.m;
}

/// The thread's piece of column k from global memory, all loads on their way together; zeros outside the image.
template <int W, int Threads, typename Pixel, typename T>
__device__ void load_piece(T (&x)[tile_piece<W, Threads>::m], const tile_piece<W, Threads>& own,
                           const layer<const Pixel>& a, const tile_box& box) {
    constexpr int m = tile_piece<W, Threads>::m;
    const int rows = rows_of_piece(own, box);
    line<const Pixel> from{rows > 0 ? &a.at(box.row + own.first, box.col + own.k) : a.data, a.row_stride};
    if (rows == m) {
#pragma unroll
        for (int q = 0; q < m; ++q) {
            x[q] = widen<T>(*from.first);
            from.first = &from[1];
        }
    } else {
#pragma unroll
        for (int q = 0; q < m; ++q) {
            x[q] = q < rows ? widen<T>(*from.first) : T{};
            from.first = &from[1];
        }
    }
}

/// Step 4: before + the thread's piece of column k to global memory, past the caches, for nobody reads it again.
template <int W, int Threads, typename T>
__device__ void store_piece(const T (&x)[tile_piece<W, Threads>::m], T before, const tile_piece<W, Threads>& own,
                            const layer<T>& b, const tile_box& box) {
    constexpr int m = tile_piece<W, Threads>::m;
    const int rows = rows_of_piece(own, box);
    if (rows <= 0) return;
    line<T> to{&b.at(box.row + own.first, box.col + own.k), b.row_stride};
    if (rows == m) {
#pragma unroll
        for (int q = 0; q < m; ++q) {
            __stcs(to.first, before + x[q]);
            to.first = &to[1];
        }
    } else {
#pragma unroll
        for (int q = 0; q < m; ++q) {
            if (q < rows) __stcs(to.first, before + x[q]);
            to.first = &to[1];
        }
    }
}

}  // namespace boxsum::cuda
