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

/// What a scan in place leaves of an element: the sum up to it, or of those before it.
enum class line_sums { inclusive, exclusive };

/// Prefix sums after `carry`, in place; returns the sum of everything. One pointer walks along: addresses of a whole
/// batch would take twice its registers.
template <int Batch, line_sums Sums = line_sums::inclusive, typename Sum>
__device__ Sum scan_line_in_place(line<Sum> x, std::int64_t count, Sum carry = Sum{}) {
    const auto replace = [&](Sum& element, Sum own) {
        if constexpr (Sums == line_sums::exclusive) element = carry;
        carry += own;
        if constexpr (Sums == line_sums::inclusive) element = carry;
    };
    for (; count >= Batch; count -= Batch) {
        Sum own[Batch];
        line<Sum> from = x;
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            own[k] = *from.first;
            from.first = &from[1];
        }
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
            replace(*x.first, own[k]);
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
        if (k < count) replace(*x.first, own[k]);
        x.first = &x[1];
    }
    return carry;
}

template <int Batch, typename Sum>
__device__ Sum scan_line_exclusive(line<Sum> x, std::int64_t count, Sum carry = Sum{}) {
    return scan_line_in_place<Batch, line_sums::exclusive>(x, count, carry);
}

}  // namespace boxsum::cuda
