#pragma once

#include "core/visit_types.hpp"
#include "cuda/production/sat/squares.cuh"

#include <type_traits>

/// From types of elements to those that kernels are compiled for.
namespace boxsum::cuda {

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
