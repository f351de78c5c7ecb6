#pragma once

#include "cuda/device/warp_scan.cuh"

/// The software systolic array of Chen, Wahib, Takizawa, Takano and Matsuoka (SSAM, 2019): lanes hold data in
/// registers, and partial results move from lane to lane, s <- ctrl(r (x) x) (+) s of the lane on the left. A scan is
/// the same with r = 1 and growing distances (warp_scan.cuh); a convolution moves by one lane a column of the kernel.
namespace boxsum::cuda {

/// A step over a column of a kernel: the partial sums come from the lane on the left, and each gets what `Rows`
/// neighbours of the lane's column add, data[first] .. data[first + Rows - 1] times weights[0] .. weights[Rows - 1].
/// The first lanes of a warp have no left neighbour; their sums are not complete and are not used.
template <int Rows, int Outputs, int Data, typename T>
__device__ void add_column(T (&sums)[Outputs], const T (&data)[Data], const T* weights) {
    static_assert(Data >= Outputs + Rows - 1);
#pragma unroll
    for (int n = 0; n < Rows; ++n) {
        const T w = weights[n];
#pragma unroll
        for (int i = 0; i < Outputs; ++i) sums[i] = fma(data[i + n], w, sums[i]);
    }
}

template <int Outputs, typename T>
__device__ void move_right(T (&sums)[Outputs]) {
#pragma unroll
    for (int i = 0; i < Outputs; ++i) sums[i] = shuffle_up(sums[i], 1);
}

}  // namespace boxsum::cuda
