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
    for (; count >= Batch; count -= Batch) {
        // One pointer walks along: addresses of a whole batch would take twice its registers.
        Sum own[Batch];
        line<Sum> from = x;
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            own[k] = *from.first;
            from.first = &from[1];
        }
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            *x.first = carry += own[k];
            x.first = &x[1];
        }
    }
    return scan_line<Batch>(line<const Sum>{x.first, x.step_bytes}, x, count, carry);
}

/// Exclusive prefix sums after `carry`, in place; returns the sum of everything.
template <int Batch, typename Sum>
__device__ Sum scan_line_exclusive(line<Sum> x, std::int64_t count, Sum carry = Sum{}) {
    for (; count >= Batch; count -= Batch) {
        // One pointer walks along: addresses of a whole batch would take twice its registers.
        Sum own[Batch];
        line<Sum> from = x;
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            own[k] = *from.first;
            from.first = &from[1];
        }
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            *x.first = carry;
            carry += own[k];
            x.first = &x[1];
        }
    }
    Sum own[Batch];
    line<Sum> from = x;
#pragma unroll
    for (int k = 0; k < Batch; ++k) {
        if (k < count) own[k] = *from.first;
        from.first = &from[1];
    }
#pragma unroll
    for (int k = 0; k < Batch; ++k) {
        if (k < count) {
            *x.first = carry;
            carry += own[k];
        }
        x.first = &x[1];
    }
    return carry;
}

}  // namespace boxsum::cuda
