#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/warp_scan.cuh"

/// The register cache of Chen et al. 2018, section IV: a warp holds a matrix of 32 x 32 elements, 32 registers a lane.
/// data[j] of lane l is element (j, l): row j, column l.
namespace boxsum::cuda {

inline constexpr int matrix_size = 32;

/// The first `count` elements of a line into the lane's registers, zeros into the others. One pointer walks along the
/// line: 32 addresses of 64 bits would spill the registers.
template <typename Pixel, typename T>
__device__ void load_registers(T (&data)[matrix_size], line<const Pixel> x, int count) {
    if (count == matrix_size) {
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) {
            data[j] = widen<T>(*x.first);
            x.first = &x[1];
        }
    } else {
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) {
            data[j] = j < count ? widen<T>(*x.first) : T{};
            x.first = &x[1];
        }
    }
}

/// Loads rows r .. r + 31, columns c .. c + 31; zeros outside the image.
template <typename Pixel, typename T>
__device__ void load_matrix(T (&data)[matrix_size], const layer<const Pixel>& in, std::int64_t r, std::int64_t c) {
    const std::int64_t col = c + lane_id(), below = in.rows - r;
    const int rows = col >= in.cols ? 0 : below < matrix_size ? static_cast<int>(below) : matrix_size;
    load_registers(data, line<const Pixel>{rows > 0 ? &in.at(r, col) : in.data, in.row_stride}, rows);
}

/// Stores to rows r .. r + 31, columns c .. c + 31, what of it is in the image.
template <typename T>
__device__ void store_matrix(const T (&data)[matrix_size], const layer<T>& out, std::int64_t r, std::int64_t c) {
    const std::int64_t col = c + lane_id(), below = out.rows - r;
    const int rows = col >= out.cols ? 0 : below < matrix_size ? static_cast<int>(below) : matrix_size;
    if (rows <= 0) return;
    line<T> x{&out.at(r, col), out.row_stride};
#pragma unroll
    for (int j = 0; j < matrix_size; ++j) {
        if (j < rows) __stcs(x.first, data[j]);
        x.first = &x[1];
    }
}

/// Shared memory for one transposition: 33 = 32 + 1, so that a column lies in 32 banks.
template <typename T>
struct matrix_slot {
    T cells[matrix_size][matrix_size + 1];
};

/// The transposition of algorithm 5 (BRLT): through the warp's slot, row by row in, column by column out.
template <typename T>
__device__ void transpose_matrix(T (&data)[matrix_size], matrix_slot<T>& slot) {
#pragma unroll
    for (int j = 0; j < matrix_size; ++j) slot.cells[j][lane_id()] = data[j];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < matrix_size; ++j) data[j] = slot.cells[lane_id()][j];
    __syncwarp();
}

/// The same with fewer slots than warps: groups of `count` warps take turns. All threads of the block call. The paper's
/// barrier is skipped by warps that had their turn, which CUDA forbids: here all threads meet it.
template <int count, typename T>
__device__ void transpose_matrix_in_turn(T (&data)[matrix_size], matrix_slot<T> (&slots)[count]) {
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    for (int first = 0; first < warps; first += count) {
        if (first <= warp_id() && warp_id() < first + count) transpose_matrix(data, slots[warp_id() - first]);
        __syncthreads();
    }
}

/// Most threads of a block whose warps hold a matrix each: the paper's 1024, 512 for 8-byte types, whose 64 registers a
/// lane would not fit the 64 that each of 1024 threads can have.
template <typename T>
inline constexpr int most_matrix_threads = sizeof(T) == 8 ? 512 : 1024;

/// Sums of the warps of a block: of 32 rows or columns, by warp.
template <typename T>
struct warp_partial_sums {
    T of[most_matrix_threads<T> / warp_size][matrix_size];
};

/// What the warps before this one, and `carry`, have of the lane's row or column; `carry` becomes the sum of all.
/// Behind a barrier after the sums were written, before one that lets them be overwritten. The paper scans these sums
/// in shared memory, which takes another barrier; here every lane adds up what it needs, in the same order.
template <typename T>
__device__ T before_this_warp(const warp_partial_sums<T>& sums, T& carry) {
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    T before = carry;
    for (int w = 0; w < warps; ++w) {
        if (w == warp_id()) before = carry;
        carry += sums.of[w][lane_id()];
    }
    return before;
}

/// Serial scan (algorithm 2): prefix sums down the registers of each lane; returns the last.
template <typename T>
__device__ T scan_registers(T (&data)[matrix_size]) {
#pragma unroll
    for (int j = 1; j < matrix_size; ++j) data[j] = data[j - 1] + data[j];
    return data[matrix_size - 1];
}

}  // namespace boxsum::cuda
