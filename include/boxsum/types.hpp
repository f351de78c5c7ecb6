#pragma once

#include <boxsum/export.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace boxsum BOXSUM_EXPORT {

/// Element types. The short names ("8u", "32f", "16f") are the literature's.
enum class dtype : std::uint8_t { u8, u16, s16, u32, s32, u64, s64, f16, f32, f64 };

/// IEEE 754 binary16, as storage only: an input type of tables (16f32f). Bit-compatible with CUDA's `__half`.
struct float16 {
    std::uint16_t bits = 0;

    friend bool operator==(float16, float16) = default;
};

/// Exact widening; NaN and infinities keep their class.
float to_float(float16 value) noexcept;

/// Rounds to nearest, ties to even; overflows to infinity.
float16 to_float16(float value) noexcept;

/// Bytes of one element.
constexpr std::size_t size_of(dtype type) noexcept {
    switch (type) {
        case dtype::u8:
            return 1;
        case dtype::u16:
        case dtype::s16:
        case dtype::f16:
            return 2;
        case dtype::u32:
        case dtype::s32:
        case dtype::f32:
            return 4;
        case dtype::u64:
        case dtype::s64:
        case dtype::f64:
            return 8;
    }
    return 0;
}

constexpr bool is_floating(dtype type) noexcept {
    return type == dtype::f16 || type == dtype::f32 || type == dtype::f64;
}

constexpr bool is_signed(dtype type) noexcept {
    return is_floating(type) || type == dtype::s16 || type == dtype::s32 || type == dtype::s64;
}

/// "8u", "16s", "32f" and so on.
std::string_view name_of(dtype type) noexcept;

/// The inverse of `name_of`; nothing for an unknown name.
std::optional<dtype> dtype_from_name(std::string_view name) noexcept;

namespace detail {
template <typename T>
consteval dtype dtype_without_const();
}

/// C++ type <-> dtype. `dtype_of<T>` is only defined for the ten element types (const-qualified or not).
template <typename T>
inline constexpr dtype dtype_of = detail::dtype_without_const<T>();
template <>
inline constexpr dtype dtype_of<std::uint8_t> = dtype::u8;
template <>
inline constexpr dtype dtype_of<std::uint16_t> = dtype::u16;
template <>
inline constexpr dtype dtype_of<std::int16_t> = dtype::s16;
template <>
inline constexpr dtype dtype_of<std::uint32_t> = dtype::u32;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::s32;
template <>
inline constexpr dtype dtype_of<std::uint64_t> = dtype::u64;
template <>
inline constexpr dtype dtype_of<std::int64_t> = dtype::s64;
template <>
inline constexpr dtype dtype_of<float16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;

template <typename T>
consteval dtype detail::dtype_without_const() {
    static_assert(std::is_const_v<T>,
                  "boxsum: this is no element type; elements of images and tables are std::uint8_t, std::uint16_t, "
                  "std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, boxsum::float16, float and "
                  "double (of long and long long only the one that is std::int64_t)");
    if constexpr (std::is_const_v<T>)
        return dtype_of<std::remove_const_t<T>>;
    else
        return dtype::u8;
}

/// Input type -> table type, written as in the literature: 8u32u, 32f64f (Chen et al. 2018, section III.D).
struct type_pair {
    dtype input;
    dtype table;

    friend bool operator==(type_pair, type_pair) = default;
};

/// "8u32u"
std::string name_of(type_pair types);

/// Input, table of sums and table of squares of a fused computation: 8u32u64u.
struct squares_triple {
    dtype input;
    dtype table;
    dtype squares;

    friend bool operator==(squares_triple, squares_triple) = default;
};

/// "8u32u64u"
std::string name_of(squares_triple types);

/// The closed list of type pairs, in the order of documentation. Nothing outside it can be computed.
std::span<const type_pair> type_pairs() noexcept;

/// The closed list of (input, sum, squares) triples.
std::span<const squares_triple> squares_triples() noexcept;

/// How a table relates to its image (docs/concepts.md). With I the image and T the table:
enum class table_layout : std::uint8_t {
    /// rows x cols; T(r, c) = sum of I over rows 0..r and columns 0..c, both included (Chen et al., eq. 1).
    inclusive,
    /// rows x cols; T(r, c) = sum over rows < r and columns < c: the first row and column are zero (eq. 2). Boxes that
    /// touch the last row or column cannot be answered from it.
    exclusive,
    /// (rows + 1) x (cols + 1); the exclusive table with the last row and column kept: OpenCV's, MATLAB's and NPP's.
    padded,
};

/// "inclusive", "exclusive", "padded"
std::string_view name_of(table_layout layout) noexcept;
std::optional<table_layout> layout_from_name(std::string_view name) noexcept;

/// What NaN pixels of floating images do.
enum class nan_mode : std::uint8_t {
    propagate,  ///< they make the results that they are in NaN
    omit,       ///< they do not count
};

/// Where an algorithm runs.
enum class backend : std::uint8_t { cpu, cuda };

/// "cpu", "cuda"
std::string_view name_of(backend where) noexcept;

}  // namespace boxsum
