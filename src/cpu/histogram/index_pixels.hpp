#pragma once

// Pixels to bin numbers, in plain loops that compilers turn into vector code. Included by every kernel set, each of
// which owns its copy: everything is in an unnamed namespace.

#include "cpu/histogram/bin_kernels.hpp"

namespace boxsum::cpu {
namespace {

template <typename Pixel, typename Index>
void index_uniform(const void* pixels, void* indices, std::int64_t n, const void* rule) {
    const auto* const in = static_cast<const Pixel*>(pixels);
    auto* const out = static_cast<Index*>(indices);
    const uniform_bins u = *static_cast<const uniform_bins*>(rule);
    const double lo = u.lo, hi = u.hi, scale = u.scale;
    const std::int32_t last = u.bins - 1;
    const std::int32_t none = static_cast<Index>(-1);
    const std::int32_t below = u.clamped ? 0 : none, above = u.clamped ? last : none;
    for (std::int64_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(in[i]);
        const bool at_least_lo = v >= lo, below_hi = v < hi;
        // Both comparisons are false for NaN. The conversion only sees values that fit.
        const double inside = at_least_lo && below_hi ? (v - lo) * scale : 0.0;
        std::int32_t bin = static_cast<std::int32_t>(inside);
        bin = bin > last ? last : bin;
        bin = at_least_lo ? bin : v < lo ? below : none;
        bin = below_hi ? bin : v >= hi ? above : none;
        out[i] = static_cast<Index>(bin);
    }
}

template <typename Pixel, typename Index>
void index_lookup(const void* pixels, void* indices, std::int64_t n, const void* rule) {
    const auto* const in = static_cast<const Pixel*>(pixels);
    auto* const out = static_cast<Index*>(indices);
    const auto* const table = static_cast<const Index*>(rule);
    for (std::int64_t i = 0; i < n; ++i) out[i] = table[in[i]];
}

/// The index functions of a set; sets with a better one replace it.
constexpr void set_index_functions(histogram_kernels& set) {
    constexpr auto u16 = static_cast<std::size_t>(pixel_kind::u16), s32 = static_cast<std::size_t>(pixel_kind::s32),
                   f32 = static_cast<std::size_t>(pixel_kind::f32);
    set.uniform[u16][0] = index_uniform<std::uint16_t, std::uint8_t>;
    set.uniform[u16][1] = index_uniform<std::uint16_t, std::uint16_t>;
    set.uniform[s32][0] = index_uniform<std::int32_t, std::uint8_t>;
    set.uniform[s32][1] = index_uniform<std::int32_t, std::uint16_t>;
    set.uniform[f32][0] = index_uniform<float, std::uint8_t>;
    set.uniform[f32][1] = index_uniform<float, std::uint16_t>;
    set.lookup_u8[0] = index_lookup<std::uint8_t, std::uint8_t>;
    set.lookup_u8[1] = index_lookup<std::uint8_t, std::uint16_t>;
    set.lookup_u16[0] = index_lookup<std::uint16_t, std::uint8_t>;
    set.lookup_u16[1] = index_lookup<std::uint16_t, std::uint16_t>;
}

}  // namespace
}  // namespace boxsum::cpu
