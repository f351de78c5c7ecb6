#pragma once

#include "cuda/device/ptx.cuh"

#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Pixels of any type and at any strides, one by one.
namespace boxsum::cuda {

/// A view by its strides, with one channel or plane for all where it has but one.
struct samples {
    std::byte* data = nullptr;
    std::int64_t plane_stride = 0, row_stride = 0, pixel_stride = 0, channel_stride = 0;

    samples() = default;
    explicit samples(const const_any_view& v) : data(static_cast<std::byte*>(const_cast<void*>(v.data))) {
        const view_shape& s = v.shape;
        row_stride = s.row_stride;
        pixel_stride = s.pixel_stride();
        if (s.planes > 1) plane_stride = s.plane_stride;
        if (s.channels > 1) channel_stride = static_cast<std::int64_t>(size_of(s.type));
    }

    template <typename T>
    __device__ T& at(std::int64_t plane, std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return *reinterpret_cast<T*>(data + plane * plane_stride + row * row_stride + col * pixel_stride +
                                     channel * channel_stride);
    }
};

template <typename T>
__device__ inline double number_of(T pixel) {
    if constexpr (std::is_same_v<T, float16>)
        return static_cast<double>(half_to_float(pixel));
    else
        return static_cast<double>(pixel);
}

}  // namespace boxsum::cuda
