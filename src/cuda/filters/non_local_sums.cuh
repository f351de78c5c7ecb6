#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/filters/non_local_kernels.hpp"

#include <cstdint>

/// Weights of non-local means and what becomes of their sums.
namespace boxsum::cuda {

/// The weight of patches of integers, in single precision: 2^(noise - share * sum), at most 1. A sum's share has it in
/// units of strength^2 / log2(e). Limits keep differences of products finite; what is beyond them weighs nothing.
struct byte_weights {
    float scale, noise;

    explicit byte_weights(const non_local_task& task) {
        const double log2_of_e = 1.4426950408889634;
        const double bounded = task.scale * log2_of_e < 0x1p60 ? task.scale * log2_of_e : 0x1p60;
        scale = static_cast<float>(bounded);
        noise = static_cast<float>(bounded * (task.noise < 0x1p34 ? task.noise : 0x1p34));
    }

    __host__ __device__ float share(int samples) const { return scale / static_cast<float>(samples); }
};

__device__ inline float weight_of_power(float exponent) {
    return power_of_two_approximately(exponent < 0 ? exponent : 0.f);
}

/// Whether the sum of a column's first `taken` of `all` weights goes on in double; `multiple`: taken is one of
/// together.
__device__ inline bool is_whole(int taken, int all, int together, bool multiple) {
    return taken == all || (multiple && all - taken > together);
}

/// A mean to its place, rounded if it is to be.
template <typename T>
__device__ void store_mean(const any_view& result, std::int64_t row, std::int64_t col, int channel, double mean,
                           double half) {
    const view_shape& s = result.shape;
    auto* const to =
        reinterpret_cast<T*>(static_cast<char*>(result.data) + row * s.row_stride + col * s.col_stride) + channel;
    if constexpr (sizeof(T) >= 4) {
        *to = static_cast<T>(mean);
    } else {  // NaN: 0
        const double most = sizeof(T) == 1 ? 255 : 65535, value = mean + half;
        *to = static_cast<T>(static_cast<int>(value > 0 ? (value < most ? value : most) : 0));
    }
}

__device__ inline void store_mean(const non_local_task& t, std::int64_t row, std::int64_t col, int channel,
                                  double mean) {
    switch (t.result.shape.type) {
        case dtype::u8:
            return store_mean<u8>(t.result, row, col, channel, mean, t.half);
        case dtype::u16:
            return store_mean<u16>(t.result, row, col, channel, mean, t.half);
        case dtype::f32:
            return store_mean<f32>(t.result, row, col, channel, mean, t.half);
        default:
            return store_mean<f64>(t.result, row, col, channel, mean, t.half);
    }
}

/// How much counts, for a channel.
__device__ inline void store_count(const any_view& to, std::int64_t row, std::int64_t col, int channel, double count) {
    const view_shape& s = to.shape;
    char* const at = static_cast<char*>(to.data) + row * s.row_stride + col * s.col_stride;
    if (s.type == dtype::u32)
        reinterpret_cast<u32*>(at)[channel] = static_cast<u32>(count);
    else if (s.type == dtype::f32)
        reinterpret_cast<f32*>(at)[channel] = static_cast<f32>(count);
    else
        reinterpret_cast<f64*>(at)[channel] = count;
}

}  // namespace boxsum::cuda
