#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/layers.cuh"
#include "cuda/device/sum_and_squares.cuh"

#include <cstdint>
#include <type_traits>

/// From types of elements to those that kernels are compiled for.
namespace boxsum::cuda {

// Kernels of sums become kernels of sums of squares, or of both, by the types of the pixel and of the sum.

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

/// Pixels as wide as the sum become sums: then 32s32s and 32u32u are the same kernel.
template <typename Input, typename Table>
using pixel_of =
    std::conditional_t<std::is_integral_v<Input> && sizeof(Input) == sizeof(Table), sum_type<Table>, Input>;

/// f<Sum>() for the pair of these pixels and this type of table; nothing where it was not compiled.
template <typename Pixel, typename... Pairs, typename F>
void visit_sums_of(type_list<Pairs...>, dtype sum, F&& f) {
    const auto visit = [&]<typename Pair>() {
        if constexpr (std::is_same_v<pixel_of<typename Pair::input, typename Pair::table>, Pixel>)
            if (dtype_of<typename Pair::table> == sum)
                return f.template operator()<sum_type<typename Pair::table>>(), true;
        return false;
    };
    (void)(visit.template operator()<Pairs>() || ...);
}

/// The same for tables of squares of these pixels.
template <typename Pixel, typename... Triples, typename F>
void visit_squares_of(type_list<Triples...>, dtype squares, F&& f) {
    const auto visit = [&]<typename Triple>() {
        if constexpr (std::is_same_v<typename Triple::input, Pixel>)
            if (dtype_of<typename Triple::squares> == squares)
                return f.template operator()<sum_type<typename Triple::squares>>(), true;
        return false;
    };
    (void)(visit.template operator()<Triples>() || ...);
}

/// f<Pixel, Sum>() for the types of the kernel that computes the table.
template <typename Pixel, typename F>
void visit_kernel_types(dtype sum, bool square, F&& f) {
    if (square)
        visit_squares_of<Pixel>(cuda_squares_triples{}, sum,
                                [&]<typename Sum>() { f.template operator()<squared<Pixel>, Sum>(); });
    else
        visit_sums_of<Pixel>(cuda_type_pairs{}, sum, [&]<typename Sum>() { f.template operator()<Pixel, Sum>(); });
}

}  // namespace boxsum::cuda
