// The kernels in plain C++: every machine has them, and they serve what the vector sets leave out (row sums beyond
// 2^31, more channels than lanes). Compiled with the library's own flags.

#include "cpu/simd/kernels.hpp"

#include <boxsum/types.hpp>

#include <type_traits>

namespace boxsum::cpu {
namespace {

template <typename Out, typename In>
Out widened(In value) {
    if constexpr (std::is_same_v<In, half_bits>)
        return to_float(float16{value.bits});
    else
        return static_cast<Out>(value);  // sign-extends
}
template <typename Out, bool Square, typename In>
Out pixel(In value) {
    const Out x = widened<Out>(value);
    if constexpr (Square)
        return static_cast<Out>(x * x);
    else
        return x;
}
/// That of a tile with `offsets`.
template <typename Out, bool Square, typename In>
Out shifted(In value, double offset, bool negated) {
    Out o;
    if constexpr (std::is_integral_v<Out>)
        o = static_cast<Out>(static_cast<std::int64_t>(offset));
    else
        o = static_cast<Out>(offset);
    Out x = static_cast<Out>(widened<Out>(value) - o);
    if constexpr (Square) x = static_cast<Out>(x * x);
    return negated ? static_cast<Out>(Out{} - x) : x;
}

template <typename In, typename Out, bool Square>
void scan_tile(const tile& t) {
    const auto bytes = [](const void* p, std::int64_t offset) { return static_cast<const std::byte*>(p) + offset; };
    auto* const carry = static_cast<Out*>(t.carry);
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const auto* const image = reinterpret_cast<const In*>(bytes(t.image, r * t.image_stride));
        auto* const table = reinterpret_cast<Out*>(static_cast<std::byte*>(t.table) + r * t.table_stride);
        const auto* const above =
            r == 0 ? static_cast<const Out*>(t.above)
                   : reinterpret_cast<const Out*>(static_cast<const std::byte*>(t.table) + (r - 1) * t.table_stride);
        const auto* const border = static_cast<const Out*>(t.border_values);
        for (std::int64_t k = 0; k < t.border; ++k)
            table[k - t.border] = border == nullptr ? Out{} : border[r * t.border + k];
        Out sum[4] = {};
        for (std::int64_t k = 0; k < t.channels && t.carry_in; ++k) sum[k] = carry[r * t.channels + k];
        std::int64_t channel = 0;
        for (std::int64_t i = 0; i < t.elements; ++i) {
            const Out x = t.offsets == nullptr ? pixel<Out, Square>(image[i])
                                               : shifted<Out, Square>(image[i], t.offsets[channel], t.negated);
            sum[channel] = static_cast<Out>(sum[channel] + x);
            table[i] = static_cast<Out>((above == nullptr ? Out{} : above[i]) + sum[channel]);
            if (++channel == t.channels) channel = 0;
        }
        if (t.carry != nullptr)  // the next tile begins with element `elements`, of this channel
            for (std::int64_t k = 0; k < t.channels; ++k) carry[r * t.channels + k] = sum[(channel + k) % t.channels];
    }
}

template <typename In, typename Sum, bool Square>
void add_columns(const void* image, std::int64_t image_stride, std::int64_t rows, std::int64_t elements, void* sums) {
    auto* const out = static_cast<Sum*>(sums);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto* const x = reinterpret_cast<const In*>(static_cast<const std::byte*>(image) + r * image_stride);
        for (std::int64_t i = 0; i < elements; ++i) out[i] = static_cast<Sum>(out[i] + pixel<Sum, Square>(x[i]));
    }
}

template <typename In, typename Sum, bool Square>
void sum_rows(const tile& t) {
    auto* const out = static_cast<Sum*>(t.carry);
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const auto* const x = reinterpret_cast<const In*>(static_cast<const std::byte*>(t.image) + r * t.image_stride);
        for (std::int64_t k = 0; k < t.channels; ++k) {
            Sum sum{};
            for (std::int64_t i = k; i < t.elements; i += t.channels)
                sum = static_cast<Sum>(sum + shifted<Sum, Square>(x[i], t.offsets[k], t.negated));
            out[r * t.channels + k] = sum;
        }
    }
}

template <typename In, typename Out, bool Square = false>
constexpr kernel_set::entry scalar_entry() {
    kernel_set::entry e;
    if constexpr (!Square || std::is_floating_point_v<Out>) e.sum_rows = sum_rows<In, Out, Square>;
    if constexpr (std::is_integral_v<Out>) e.add_columns = add_columns<In, Out, Square>;
    e.cached = scan_tile<In, Out, Square>;
    e.interleaved = scan_tile<In, Out, Square>;
    return e;
}

constexpr kernel_set make_scalar_kernels() {
    using u8 = std::uint8_t;
    using u16 = std::uint16_t;
    using s16 = std::int16_t;
    using u32 = std::uint32_t;
    using s32 = std::int32_t;
    using u64 = std::uint64_t;
    kernel_set set{"scalar", 1, {}};
    const auto at = [&](kernel_id id) -> kernel_set::entry& { return set.kernels[static_cast<std::size_t>(id)]; };
    at(kernel_id::u8_u32) = scalar_entry<u8, u32>();
    at(kernel_id::u8_f32) = scalar_entry<u8, float>();
    at(kernel_id::u8_f32_wide) = scalar_entry<u8, float>();
    at(kernel_id::u8_u64) = scalar_entry<u8, u64>();
    at(kernel_id::u8_f64) = scalar_entry<u8, double>();
    at(kernel_id::u16_u32) = scalar_entry<u16, u32>();
    at(kernel_id::u16_u64) = scalar_entry<u16, u64>();
    at(kernel_id::u16_u64_wide) = scalar_entry<u16, u64>();
    at(kernel_id::s16_u32) = scalar_entry<s16, u32>();
    at(kernel_id::s16_u64) = scalar_entry<s16, u64>();
    at(kernel_id::s16_u64_wide) = scalar_entry<s16, u64>();
    at(kernel_id::u16_f64) = scalar_entry<u16, double>();
    at(kernel_id::s16_f64) = scalar_entry<s16, double>();
    at(kernel_id::u32_u32) = scalar_entry<u32, u32>();
    at(kernel_id::u32_u64) = scalar_entry<u32, u64>();
    at(kernel_id::s32_u64) = scalar_entry<s32, u64>();
    at(kernel_id::u64_u64) = scalar_entry<u64, u64>();
    at(kernel_id::f32_f32) = scalar_entry<float, float>();
    at(kernel_id::f32_f64) = scalar_entry<float, double>();
    at(kernel_id::f64_f64) = scalar_entry<double, double>();
    at(kernel_id::f16_f32) = scalar_entry<half_bits, float>();
    at(kernel_id::square_u8_u32) = scalar_entry<u8, u32, true>();
    at(kernel_id::square_u8_f32) = scalar_entry<u8, float, true>();
    at(kernel_id::square_u8_f32_wide) = scalar_entry<u8, float, true>();
    at(kernel_id::square_u8_u64) = scalar_entry<u8, u64, true>();
    at(kernel_id::square_u8_u64_wide) = scalar_entry<u8, u64, true>();
    at(kernel_id::square_u8_f64) = scalar_entry<u8, double, true>();
    at(kernel_id::square_u8_f64_wide) = scalar_entry<u8, double, true>();
    at(kernel_id::square_u16_u64) = scalar_entry<u16, u64, true>();
    at(kernel_id::square_u16_f64) = scalar_entry<u16, double, true>();
    at(kernel_id::square_s16_f64) = scalar_entry<s16, double, true>();
    at(kernel_id::square_f32_f32) = scalar_entry<float, float, true>();
    at(kernel_id::square_f32_f64) = scalar_entry<float, double, true>();
    at(kernel_id::square_f64_f64) = scalar_entry<double, double, true>();
    return set;
}

}  // namespace

constinit const kernel_set scalar_kernels = make_scalar_kernels();

}  // namespace boxsum::cpu
