#pragma once

#include <boxsum/types.hpp>

#include <cstdint>
#include <utility>

/// The closed lists of element types as C++ types, and the only switches over them in the project.
namespace boxsum {

template <typename Input, typename Table>
struct typed_pair {
    using input = Input;
    using table = Table;
    static constexpr type_pair value{dtype_of<Input>, dtype_of<Table>};
};

template <typename Input, typename Table, typename Squares>
struct typed_triple {
    using input = Input;
    using table = Table;
    using squares = Squares;
    static constexpr squares_triple value{dtype_of<Input>, dtype_of<Table>, dtype_of<Squares>};
};

template <typename... Entries>
struct type_list {};

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using s16 = std::int16_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
using f16 = float16;
using f32 = float;
using f64 = double;

template <typename... First, typename... Second>
type_list<First..., Second...> joined(type_list<First...>, type_list<Second...>);

/// What devices have kernels for. On the CPU there is more.
using device_type_pairs =
    type_list<typed_pair<u8, u32>, typed_pair<u8, s32>, typed_pair<u8, f32>, typed_pair<u8, u64>, typed_pair<u8, f64>,
              typed_pair<u16, u32>, typed_pair<u16, u64>, typed_pair<s16, s32>, typed_pair<s16, s64>,
              typed_pair<u32, u32>, typed_pair<s32, s32>, typed_pair<u32, u64>, typed_pair<s32, s64>,
              typed_pair<f32, f32>, typed_pair<f32, f64>, typed_pair<f64, f64>, typed_pair<f16, f32>>;

using host_only_type_pairs =
    type_list<typed_pair<u16, f64>, typed_pair<s16, f64>, typed_pair<u64, u64>, typed_pair<s64, s64>>;

/// The order is that of `type_pairs()`.
using all_type_pairs = decltype(joined(device_type_pairs{}, host_only_type_pairs{}));

/// Chen et al. 2018, section III.D.
using paper_type_pairs = type_list<typed_pair<u8, s32>, typed_pair<u8, u32>, typed_pair<u8, f32>, typed_pair<s32, s32>,
                                   typed_pair<u32, u32>, typed_pair<f32, f32>, typed_pair<f64, f64>>;

/// For fast development builds and CI.
using min_type_pairs = type_list<typed_pair<u8, u32>, typed_pair<f32, f32>>;

using device_squares_triples =
    type_list<typed_triple<u8, u32, u32>, typed_triple<u8, u32, u64>, typed_triple<u8, u32, f64>,
              typed_triple<u8, s32, f64>, typed_triple<u8, u64, u64>, typed_triple<u8, f64, f64>,
              typed_triple<u16, u32, u64>, typed_triple<u16, u64, u64>, typed_triple<u16, u32, f64>,
              typed_triple<u16, u64, f64>, typed_triple<f32, f32, f32>, typed_triple<f32, f32, f64>,
              typed_triple<f32, f64, f64>, typed_triple<f64, f64, f64>>;

/// The others of OpenCV.
using host_only_squares_triples =
    type_list<typed_triple<u8, s32, s32>, typed_triple<u8, s32, f32>, typed_triple<u8, f32, f32>,
              typed_triple<u8, f32, f64>, typed_triple<u16, f64, f64>, typed_triple<s16, f64, f64>>;

using all_squares_triples = decltype(joined(device_squares_triples{}, host_only_squares_triples{}));

/// For kernels on an emulated device (tests/support/emulation).
using emulated_type_pairs = type_list<typed_pair<u8, u32>, typed_pair<f32, f32>, typed_pair<f64, f64>>;

using emulated_squares_triples =
    type_list<typed_triple<u8, u32, u32>, typed_triple<u8, u32, u64>, typed_triple<f32, f32, f32>>;

using min_squares_triples = type_list<typed_triple<u8, u32, u64>, typed_triple<f32, f32, f32>>;

/// Images that filters take.
using filter_types = type_list<u8, u16, s16, f32, f64>;

/// What BOXSUM_TYPES compiled for CUDA. Host code always has everything.
#if defined(BOXSUM_TYPES_MIN)
using cuda_type_pairs = min_type_pairs;
using cuda_squares_triples = min_squares_triples;
#elif defined(BOXSUM_EMULATED)
using cuda_type_pairs = emulated_type_pairs;
using cuda_squares_triples = emulated_squares_triples;
#elif defined(BOXSUM_TYPES_PAPER)
using cuda_type_pairs = paper_type_pairs;
using cuda_squares_triples = min_squares_triples;
#else
using cuda_type_pairs = device_type_pairs;
using cuda_squares_triples = device_squares_triples;
#endif

/// Calls f.template operator()<Input, Table>() for the entry of the list that equals `types`; false if there is none.
template <typename... Pairs, typename F>
bool visit_type_pair(type_list<Pairs...>, type_pair types, F&& f) {
    return ((types == Pairs::value ? (f.template operator()<typename Pairs::input, typename Pairs::table>(), true)
                                   : false) ||
            ...);
}

/// Calls f.template operator()<Input, Table, Squares>() for the entry that equals `types`; false if there is none.
template <typename... Triples, typename F>
bool visit_squares_triple(type_list<Triples...>, squares_triple types, F&& f) {
    return (
        (types == Triples::value
             ? (f.template operator()<typename Triples::input, typename Triples::table, typename Triples::squares>(),
                true)
             : false) ||
        ...);
}

/// Calls f.template operator()<T>() for the entry that is `type`; false if there is none.
template <typename... Types, typename F>
bool visit_type(type_list<Types...>, dtype type, F&& f) {
    return ((type == dtype_of<Types> ? (f.template operator()<Types>(), true) : false) || ...);
}

template <typename... Types>
constexpr bool contains(type_list<Types...>, dtype type) {
    return ((type == dtype_of<Types>) || ...);
}

template <typename... Pairs>
constexpr bool contains(type_list<Pairs...>, type_pair types) {
    return ((types == Pairs::value) || ...);
}

template <typename... Triples>
constexpr bool contains(type_list<Triples...>, squares_triple types) {
    return ((types == Triples::value) || ...);
}

/// Calls f.template operator()<T>() for the element type, of all types, and returns what it returns.
template <typename F>
decltype(auto) visit_dtype(dtype type, F&& f) {
    switch (type) {
        case dtype::u8:
            return f.template operator()<u8>();
        case dtype::u16:
            return f.template operator()<u16>();
        case dtype::s16:
            return f.template operator()<s16>();
        case dtype::u32:
            return f.template operator()<u32>();
        case dtype::s32:
            return f.template operator()<s32>();
        case dtype::u64:
            return f.template operator()<u64>();
        case dtype::s64:
            return f.template operator()<s64>();
        case dtype::f16:
            return f.template operator()<f16>();
        case dtype::f32:
            return f.template operator()<f32>();
        case dtype::f64:
            break;
    }
    return f.template operator()<f64>();
}

}  // namespace boxsum
