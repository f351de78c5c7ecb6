#include "core/visit_types.hpp"

#include <boxsum/types.hpp>

#include <array>
#include <bit>
#include <cmath>

namespace boxsum {
namespace {

struct named_dtype {
    dtype type;
    std::string_view name;
};

constexpr std::array<named_dtype, 10> dtype_names{{{dtype::u8, "8u"},
                                                   {dtype::u16, "16u"},
                                                   {dtype::s16, "16s"},
                                                   {dtype::u32, "32u"},
                                                   {dtype::s32, "32s"},
                                                   {dtype::u64, "64u"},
                                                   {dtype::s64, "64s"},
                                                   {dtype::f16, "16f"},
                                                   {dtype::f32, "32f"},
                                                   {dtype::f64, "64f"}}};

constexpr std::array<std::string_view, 3> layout_names{"inclusive", "exclusive", "padded"};

template <typename... Entries>
constexpr auto values_of(type_list<Entries...>) {
    return std::array{Entries::value...};
}

constexpr auto pair_values = values_of(all_type_pairs{});
constexpr auto triple_values = values_of(all_squares_triples{});

}  // namespace

std::string_view name_of(dtype type) noexcept {
    const auto i = static_cast<std::size_t>(type);
    return i < dtype_names.size() ? dtype_names[i].name : std::string_view();
}

std::optional<dtype> dtype_from_name(std::string_view name) noexcept {
    for (const named_dtype& entry : dtype_names)
        if (entry.name == name) return entry.type;
    return {};
}

std::string name_of(type_pair types) {
    return std::string(name_of(types.input)).append(name_of(types.table));
}

std::string name_of(squares_triple types) {
    return name_of(type_pair{types.input, types.table}).append(name_of(types.squares));
}

std::span<const type_pair> type_pairs() noexcept {
    return pair_values;
}
std::span<const squares_triple> squares_triples() noexcept {
    return triple_values;
}

std::string_view name_of(table_layout layout) noexcept {
    const auto i = static_cast<std::size_t>(layout);
    return i < layout_names.size() ? layout_names[i] : std::string_view();
}

std::optional<table_layout> layout_from_name(std::string_view name) noexcept {
    for (std::size_t i = 0; i < layout_names.size(); ++i)
        if (layout_names[i] == name) return static_cast<table_layout>(i);
    return {};
}

std::string_view name_of(backend where) noexcept {
    return where == backend::cpu ? "cpu" : "cuda";
}

float to_float(float16 value) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
    const std::uint32_t fraction = value.bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);  // zero or subnormal: fraction * 2^-24
    return sign != 0 ? -magnitude : magnitude;
}

float16 to_float16(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};   // NaN
    if (magnitude >= 0x47800000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // 65536 and above, infinity
    if (magnitude < 0x38800000u) {                                                      // below 2^-14: subnormal
        // nearbyint rounds ties to even; a carry to 1024 is the smallest normal number, whose bits are the same.
        const float scaled = std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24));
        return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(scaled))};
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);  // ties to even; may carry to infinity
    return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace boxsum
