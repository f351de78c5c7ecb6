#pragma once

#include "image_io/image.hpp"

#include <boxsum/types.hpp>

#include <cstdint>
#include <type_traits>

namespace boxsum::cli {

/// Calls f(std::type_identity<T>) with the C++ type of the elements.
template <typename F>
decltype(auto) visit_type(dtype type, F&& f) {
    switch (type) {
        case dtype::u8:
            return f(std::type_identity<std::uint8_t>());
        case dtype::u16:
            return f(std::type_identity<std::uint16_t>());
        case dtype::s16:
            return f(std::type_identity<std::int16_t>());
        case dtype::u32:
            return f(std::type_identity<std::uint32_t>());
        case dtype::s32:
            return f(std::type_identity<std::int32_t>());
        case dtype::u64:
            return f(std::type_identity<std::uint64_t>());
        case dtype::s64:
            return f(std::type_identity<std::int64_t>());
        case dtype::f16:
            return f(std::type_identity<float16>());
        case dtype::f32:
            return f(std::type_identity<float>());
        default:
            return f(std::type_identity<double>());
    }
}

/// A pixel as a number to compute with: 16f as float, others as they are.
template <typename T>
auto number_of(T pixel) {
    if constexpr (std::is_same_v<T, float16>)
        return to_float(pixel);
    else
        return pixel;
}

/// First element of a row.
template <typename T>
const T* row_as(const const_any_view& view, std::int64_t r) {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(view.data) + r * view.shape.row_stride);
}
template <typename T>
T* row_as(const any_view& view, std::int64_t r) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(view.data) + r * view.shape.row_stride);
}

}  // namespace boxsum::cli
