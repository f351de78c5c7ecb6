#pragma once

#include "cuda/device/layers.cuh"

namespace boxsum::cuda {

/// Inclusive prefix sums of a line by one thread, after `carry`; returns the last one. `Batch` loads are issued before
/// the first addition, because one load at a time waits for memory count times over. `in` may be `out`.
template <int Batch, typename Pixel, typename Sum>
__device__ Sum scan_line(line<const Pixel> in, line<Sum> out, std::int64_t count, Sum carry = Sum{}) {
    for (std::int64_t i = 0; i < count; i += Batch) {
        Pixel x[Batch];
#pragma unroll
        for (int k = 0; k < Batch; ++k)
            if (i + k < count) x[k] = in[i + k];
#pragma unroll
        for (int k = 0; k < Batch; ++k)
            if (i + k < count) out[i + k] = carry += widen<Sum>(x[k]);
    }
    return carry;
}

template <int Batch, typename Sum>
__device__ Sum scan_line_in_place(line<Sum> x, std::int64_t count, Sum carry = Sum{}) {
    return scan_line<Batch>(line<const Sum>{x.first, x.step_bytes}, x, count, carry);
}

/// Exclusive prefix sums after `carry`, in place; returns the sum of everything.
template <int Batch, typename Sum>
__device__ Sum scan_line_exclusive(line<Sum> x, std::int64_t count, Sum carry = Sum{}) {
    for (std::int64_t i = 0; i < count; i += Batch) {
        Sum own[Batch];
#pragma unroll
        for (int k = 0; k < Batch; ++k)
            if (i + k < count) own[k] = x[i + k];
#pragma unroll
        for (int k = 0; k < Batch; ++k)
            if (i + k < count) {
                x[i + k] = carry;
                carry += own[k];
            }
    }
    return carry;
}

}  // namespace boxsum::cuda
