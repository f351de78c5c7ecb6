#pragma once

#include "cuda/runtime/launch.cuh"

#include <boxsum/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Kernels in which a thread has a pixel, or pixels of one column, and reads them at any strides.
namespace boxsum::cuda {

using u64 = std::uint64_t;

inline constexpr int pixel_block_cols = 32, pixel_block_rows = 8;

/// Pixels of one plane of any type but half precision, at any strides.
struct pixel_plane {
    std::byte* data;
    std::int64_t row_stride, pixel_stride;
    dtype type;

    pixel_plane(const const_any_view& v, std::int64_t plane)
        : data(static_cast<std::byte*>(const_cast<void*>(v.data)) + plane * v.shape.plane_stride),
          row_stride(v.shape.row_stride),
          pixel_stride(v.shape.pixel_stride()),
          type(v.shape.type) {}

    template <typename T>
    __device__ T& at(std::int64_t r, std::int64_t c, std::int64_t channel = 0) const {
        return reinterpret_cast<T*>(data + r * row_stride + c * pixel_stride)[channel];
    }
    /// Of 8u and 16u as 64u, of any type as 64f.
    template <typename Number>
    __device__ Number number_at(std::int64_t r, std::int64_t c, std::int64_t channel) const {
        if constexpr (std::is_same_v<Number, u64>)
            return type == dtype::u8 ? at<std::uint8_t>(r, c, channel) : at<std::uint16_t>(r, c, channel);
        else
            return real_at(r, c, channel);
    }
    /// 0 to `largest`
    __device__ std::int64_t radius_at(std::int64_t r, std::int64_t c, std::int64_t largest) const {
        std::int64_t radius = 0;
        if (type == dtype::u8)
            radius = at<std::uint8_t>(r, c);
        else if (type == dtype::u16)
            radius = at<std::uint16_t>(r, c);
        else if (type == dtype::u32)
            radius = at<std::uint32_t>(r, c);
        else
            radius = at<std::int32_t>(r, c);
        return radius < 0 ? 0 : radius < largest ? radius : largest;
    }
    __device__ double real_at(std::int64_t r, std::int64_t c, std::int64_t channel = 0) const {
        if (type == dtype::u8) return at<std::uint8_t>(r, c, channel);
        if (type == dtype::u16) return at<std::uint16_t>(r, c, channel);
        if (type == dtype::f32) return static_cast<double>(at<float>(r, c, channel));
        return at<double>(r, c, channel);
    }
};

/// Threads of a grid of blocks of columns by rows: f(row, column).
template <typename F>
__device__ void for_own_pixels(std::int64_t rows, std::int64_t cols, F&& f) {
    const std::int64_t c = std::int64_t{blockIdx.x} * pixel_block_cols + threadIdx.x;
    if (c >= cols) return;
    for (std::int64_t r = std::int64_t{blockIdx.y} * pixel_block_rows + threadIdx.y; r < rows;
         r += std::int64_t{gridDim.y} * pixel_block_rows)
        f(r, c);
}

inline launch_shape for_pixels(const view_shape& s) {
    const auto blocks = [](std::int64_t extent, int block) { return (extent + block - 1) / block; };
    return {.grid = dim3(static_cast<unsigned>(blocks(s.cols, pixel_block_cols)),
                         static_cast<unsigned>(std::min(blocks(s.rows, pixel_block_rows), std::int64_t{65535}))),
            .block = dim3(pixel_block_cols, pixel_block_rows)};
}

}  // namespace boxsum::cuda
