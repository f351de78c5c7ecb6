#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/sum_and_squares.cuh"

#include <cstdint>
#include <type_traits>

/// Kernels of sums become kernels of sums of squares, or of both, by the types of the pixel and of the sum.
namespace boxsum::cuda {

/// A pixel of which the square is summed.
template <typename Pixel>
struct squared {
    Pixel x;
};

template <typename Sum, typename Pixel>
__device__ inline Sum widen(squared<Pixel> x) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t> && std::is_integral_v<Sum>) {
        // Not `value * value`: of such products of neighbouring bytes nvcc 13.0 makes a dp2a whose first operand has
        // all four bytes where it should have every other one (docs/decisions/compiler.md).
        return static_cast<Sum>(__dp4a(std::uint32_t{x.x}, std::uint32_t{x.x}, 0u));
    } else {
        const Sum value = widen<Sum>(x.x);
        return value * value;
    }
}

/// A pixel of which both the value and the square are summed; the sums are sum_and_squares.
template <typename Pixel>
struct with_square {
    Pixel x;
};

template <typename Both, typename Pixel>
__device__ inline Both widen(with_square<Pixel> x) {
    return {widen<decltype(Both::sum)>(x.x), widen<decltype(Both::squares)>(squared<Pixel>{x.x})};
}

template <typename Pixel>
inline constexpr bool has_square = false;
template <typename Pixel>
inline constexpr bool has_square<with_square<Pixel>> = true;

}  // namespace boxsum::cuda
