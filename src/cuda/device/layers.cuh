#pragma once

#include "core/problem.hpp"
#include "cuda/device/ptx.cuh"

#include <boxsum/types.hpp>

#include <cstdint>
#include <type_traits>

/// The vocabulary of the kernels: images as a kernel sees them.
namespace boxsum::cuda {

/// The type that sums are computed in: integer tables wrap, so they are added as unsigned integers of the same width.
template <typename Table>
using sum_type =
    typename std::conditional_t<std::is_integral_v<Table>, std::make_unsigned<Table>, std::type_identity<Table>>::type;

/// A pixel as a summand: sign-extended to the width of the sum, whatever that is.
template <typename Sum, typename Pixel>
__device__ inline Sum widen(Pixel x) {
    if constexpr (std::is_same_v<Pixel, float16>) {
        return static_cast<Sum>(half_to_float(x));
    } else {
        return static_cast<Sum>(x);
    }
}

/// Elements at a constant distance: a row or a column of one channel of one plane.
template <typename T>
struct line {
    T* first;
    std::int64_t step_bytes;

    __device__ T& operator[](std::int64_t i) const {
        using byte = std::conditional_t<std::is_const_v<T>, const char, char>;
        return *reinterpret_cast<T*>(reinterpret_cast<byte*>(first) + i * step_bytes);
    }
};

/// One channel of one plane: what one summed area table is computed of.
template <typename T>
struct layer {
    T* data;
    std::int64_t rows, cols;
    std::int64_t row_stride;  ///< bytes
    std::int64_t col_stride;  ///< bytes: the element size times the channels

    __device__ T& at(std::int64_t r, std::int64_t c) const { return row(r)[c]; }
    __device__ line<T> row(std::int64_t r) const { return {&line<T>{data, row_stride}[r], col_stride}; }
    __device__ line<T> column(std::int64_t c) const { return {&line<T>{data, col_stride}[c], row_stride}; }
};

/// All channels of all planes. Layers are numbered plane by plane, channel by channel.
template <typename T>
struct layers {
    T* data;
    std::int64_t rows, cols;
    std::int64_t row_stride, plane_stride;  ///< bytes
    std::int64_t planes, channels;

    __host__ __device__ std::int64_t count() const { return planes * channels; }

    __device__ layer<T> operator[](std::int64_t k) const {
        const std::int64_t plane = k / channels;
        return {&line<T>{data, plane_stride}[plane] + (k - plane * channels), rows, cols, row_stride,
                channels * static_cast<std::int64_t>(sizeof(T))};
    }
};

/// Packed scratch memory with the extents of an image: rows x cols of every layer, one layer after the other.
template <typename T>
layers<T> packed_layers(T* data, std::int64_t count, std::int64_t rows, std::int64_t cols) {
    const std::int64_t row_stride = cols * static_cast<std::int64_t>(sizeof(T));
    return {data, rows, cols, row_stride, rows * row_stride, count, 1};
}

}  // namespace boxsum::cuda
