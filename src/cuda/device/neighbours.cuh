#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/streaming.cuh"

#include <cstdint>

/// N neighbours of a row, in registers of one thread: one access where they lie together on a multiple of their size,
/// which is 16 bytes for 4 floats, else one for each.
namespace boxsum::cuda {

template <int N, typename T>
__device__ bool lie_together(const line<T>& x) {
    return x.step_bytes == static_cast<std::int64_t>(sizeof(T)) &&
           reinterpret_cast<std::uintptr_t>(x.first) % (N * sizeof(T)) == 0;
}

/// The first N of a line of which `count` are in the image; zeros behind them.
template <typename Sum, int N, typename Pixel>
__device__ void load_neighbours(Sum (&x)[N], const line<const Pixel>& from, std::int64_t count) {
    if (count >= N && lie_together<N>(from)) {
        const auto pixels = *reinterpret_cast<const vector_of<Pixel, N>*>(from.first);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = widen<Sum>(pixels.x[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = i < count ? widen<Sum>(from[i]) : Sum{};
    }
}

/// To the first N of a line of which `count` are in the table, past the caches.
template <typename Sum, int N>
__device__ void store_neighbours(const line<Sum>& to, const Sum (&x)[N], std::int64_t count) {
    if (count >= N && lie_together<N>(to)) {
        constexpr int together = N * sizeof(Sum) > 16 ? 16 / static_cast<int>(sizeof(Sum)) : N;
#pragma unroll
        for (int i = 0; i < N; i += together) {
            Sum part[together];
#pragma unroll
            for (int k = 0; k < together; ++k) part[k] = x[i + k];
            store_streaming(to.first + i, part);
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (i < count) __stcs(&to[i], x[i]);
    }
}

}  // namespace boxsum::cuda
