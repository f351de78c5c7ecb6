#pragma once

#include "cuda/device/layers.cuh"

namespace boxsum::cuda {

/// Transposes a tile of N x N through shared memory, so that rows are read and columns written coalesced. A block of
/// N x `lines` threads owns tile `number`, counted row by row: a division of 32 bits, as a grid has fewer than 2^31
/// blocks. N + 1 elements a row: columns lie in different banks.
template <int N, int lines, typename T>
__device__ void transpose_tile(const layer<const T>& in, const layer<T>& out, unsigned number) {
    __shared__ T tile[N][N + 1];
    const auto across = static_cast<unsigned>((in.cols + N - 1) / N);
    const std::int64_t row = std::int64_t{number / across} * N, col = std::int64_t{number % across} * N;
    const int x = static_cast<int>(threadIdx.x) % N, y = static_cast<int>(threadIdx.x) / N;
#pragma unroll
    for (int i = y; i < N; i += lines)
        if (row + i < in.rows && col + x < in.cols) tile[i][x] = in.at(row + i, col + x);
    __syncthreads();
#pragma unroll
    for (int i = y; i < N; i += lines)
        if (row + x < in.rows && col + i < in.cols) out.at(col + i, row + x) = tile[x][i];
}

}  // namespace boxsum::cuda
