#pragma once

// Sums of whole rows less an offset, of one channel or several: what rows start with that lie right of an origin. Part
// of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"
#include "cpu/simd/scan_rows.hpp"

namespace boxsum::cpu {
namespace {

/// Four rows of an image; those that do not exist read the last one.
template <typename In>
BOXSUM_INLINE void find_rows(const tile& t, std::int64_t row, const In* (&rows)[rows_per_pass]) {
    for (std::int64_t q = 0; q < rows_per_pass; ++q)
        rows[q] = reinterpret_cast<const In*>(at(t.image, (row + q < t.rows ? row + q : t.rows - 1) * t.image_stride));
}
/// What the lanes of four vectors add up to.
template <typename Sum>
BOXSUM_INLINE void sum_lanes(const vec<Sum> (&lanes)[rows_per_pass], Sum (&sums)[rows_per_pass]) {
    const Sum none[rows_per_pass] = {};
    row_sums<Sum> of_lanes(none);
    of_lanes.take(lanes);
    for (int g = 0; g < row_sums<Sum>::groups; ++g)
        store_first_block(sums + g * row_sums<Sum>::block_lanes, last_block(of_lanes.totals[g]));
}

/// Four rows at a time, whose lanes are added up together. `Shifts`: an offset is taken that is not zero.
template <typename In, typename Sum, bool Square, bool Shifts>
BOXSUM_INLINE void sum_rows_of_one_channel(const tile& t) {
    constexpr int lanes = vec<Sum>::lanes;
    auto* const out = static_cast<Sum*>(t.carry);
    pixel_shift<Sum, 4> shift(t);
    const vec<Sum> offset = shift.next();
    const auto term = [&](vec<Sum> pixels) __attribute__((always_inline)) {
        vec<Sum> x = pixels;
        if constexpr (Shifts) x = subtract(pixels, offset);
        if constexpr (Square)
            return square(x);
        else
            return x;
    };
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const In* x[rows_per_pass];
        find_rows(t, row, x);
        vec<Sum> s[rows_per_pass];
        for (vec<Sum>& v : s) v = zero<Sum>();
        std::int64_t i = 0;
        for (; i + lanes <= t.elements; i += lanes)
            for (std::int64_t q = 0; q < rows_per_pass; ++q) s[q] = add(s[q], term(load_pixels<In, Sum>(x[q] + i)));
        Sum sums[rows_per_pass];
        sum_lanes(s, sums);
        for (std::int64_t q = 0; q < rows_per_pass && row + q < t.rows; ++q) {
            if (i < t.elements) {
                Sum edge[lanes];
                store(edge, term(load_pixels_edge<In, Sum>(x[q] + i, static_cast<int>(t.elements - i))));
                for (std::int64_t k = 0; k < t.elements - i; ++k) sums[q] = static_cast<Sum>(sums[q] + edge[k]);
            }
            out[row + q] = t.negated ? static_cast<Sum>(Sum{} - sums[q]) : sums[q];
        }
    }
}

#if defined(BOXSUM_BYTE_DOT)

inline constexpr std::int64_t most_bytes_in_32_bits = std::int64_t{1} << 24;

/// Bytes by dot products with ones; an offset is taken from the whole.
template <typename Sum>
BOXSUM_INLINE void sum_rows_of_bytes(const tile& t) {
    auto* const out = static_cast<Sum*>(t.carry);
    const auto ones = splat_bytes(0x01010101);
    const auto taken =
        static_cast<Sum>(static_cast<Sum>(static_cast<std::int64_t>(t.offsets[0])) * static_cast<Sum>(t.elements));
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const std::uint8_t* x[rows_per_pass];
        find_rows(t, row, x);
        u32x s[rows_per_pass];
        for (u32x& v : s) v = zero<std::uint32_t>();
        std::int64_t i = 0;
        for (; i + vector_bytes <= t.elements; i += vector_bytes)
            for (std::int64_t q = 0; q < rows_per_pass; ++q) s[q] = dot_bytes(s[q], load_bytes(x[q] + i), ones);
        if (i < t.elements)
            for (std::int64_t q = 0; q < rows_per_pass; ++q)
                s[q] = dot_bytes(s[q], load_bytes_edge(x[q] + i, static_cast<int>(t.elements - i)), ones);
        std::uint32_t sums[rows_per_pass];
        sum_lanes(s, sums);
        for (std::int64_t q = 0; q < rows_per_pass && row + q < t.rows; ++q) {
            const auto sum = static_cast<Sum>(static_cast<Sum>(sums[q]) - taken);
            out[row + q] = t.negated ? static_cast<Sum>(Sum{} - sum) : sum;
        }
    }
}

#endif

template <typename In, typename Sum, bool Square>
void sum_rows(const tile& t) {
    if (t.channels == 1) {
#if defined(BOXSUM_BYTE_DOT)
        if constexpr (std::is_same_v<In, std::uint8_t> && std::is_integral_v<Sum> && !Square)
            if (t.elements < most_bytes_in_32_bits) return sum_rows_of_bytes<Sum>(t);
#endif
        if (t.offsets[0] == 0) return sum_rows_of_one_channel<In, Sum, Square, false>(t);
        return sum_rows_of_one_channel<In, Sum, Square, true>(t);
    }
    constexpr int lanes = vec<Sum>::lanes;
    constexpr int most = 4;  // vectors that are summed apart, so that additions overlap
    const int channels = static_cast<int>(t.channels);
    const int together = channels == 3 ? 3 : 4;  // whole pixels
    auto* const out = static_cast<Sum*>(t.carry);
    pixel_shift<Sum, 4> shift(t);
    vec<Sum> offset[most];
    for (vec<Sum>& o : offset) o = shift.next();
    const auto term = [](vec<Sum> pixels, vec<Sum> o) __attribute__((always_inline)) {
        const vec<Sum> x = subtract(pixels, o);
        if constexpr (Square)
            return square(x);
        else
            return x;
    };
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const x = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        vec<Sum> s[most] = {zero<Sum>(), zero<Sum>(), zero<Sum>(), zero<Sum>()};
        const auto add_to = [&](int k, std::int64_t i) __attribute__((always_inline)) {
            s[k] = add(s[k], term(load_pixels<In, Sum>(x + i), offset[k]));
        };
        std::int64_t i = 0;
        for (; i + together * lanes <= t.elements; i += together * lanes) {
            for (int k = 0; k < 3; ++k) add_to(k, i + k * lanes);
            if (together == 4) add_to(3, i + 3 * lanes);
        }
        int behind = 0;  // whole vectors
        for (; i + lanes <= t.elements; ++behind, i += lanes) add_to(behind, i);
        Sum all[(most + 1) * lanes];
        for (int k = 0; k < together; ++k) store(all + k * lanes, s[k]);
        const int count = static_cast<int>(t.elements - i);
        if (count > 0) {
            store(all + together * lanes, term(load_pixels_edge<In, Sum>(x + i, count), offset[behind]));
        }
        Sum sums[4] = {};
        for (int k = 0; k < together * lanes; k += channels)
            for (int c = 0; c < channels; ++c) sums[c] = static_cast<Sum>(sums[c] + all[k + c]);
        for (int k = 0, c = static_cast<int>(i % channels); k < count; ++k, c = c + 1 == channels ? 0 : c + 1)
            sums[c] = static_cast<Sum>(sums[c] + all[together * lanes + k]);
        for (int k = 0; k < channels; ++k)
            out[row * channels + k] = t.negated ? static_cast<Sum>(Sum{} - sums[k]) : sums[k];
    }
}

}  // namespace
}  // namespace boxsum::cpu
