#pragma once

// The vector wrapper for AVX2 (with FMA and F16C): see vector_avx512.hpp.

#include "cpu/simd/kernels.hpp"

#include <immintrin.h>

#include <type_traits>

namespace boxsum::cpu {
namespace {

#define BOXSUM_INLINE inline __attribute__((always_inline))

inline constexpr int vector_bytes = 32;
#define BOXSUM_BYTE_DOT    // what scan_bytes.hpp needs is here: dot_bytes and others
#define BOXSUM_BYTE_WORDS  // what scan_bytes_in_words.hpp needs is here, too

template <typename T>
struct vec {
    static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
    __m256i r;
};
template <>
struct vec<float> {
    static constexpr int lanes = 8;
    __m256 r;
};
template <>
struct vec<double> {
    static constexpr int lanes = 4;
    __m256d r;
};

template <typename T>
BOXSUM_INLINE __m256i bits(vec<T> v) {
    return v.r;
}
BOXSUM_INLINE __m256i bits(vec<float> v) {
    return _mm256_castps_si256(v.r);
}
BOXSUM_INLINE __m256i bits(vec<double> v) {
    return _mm256_castpd_si256(v.r);
}
template <typename T>
BOXSUM_INLINE vec<T> from_bits(__m256i r) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm256_castsi256_ps(r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm256_castsi256_pd(r)};
    else
        return {r};
}

template <typename T>
BOXSUM_INLINE vec<T> zero() {
    return from_bits<T>(_mm256_setzero_si256());
}
template <typename T>
BOXSUM_INLINE vec<T> load(const T* p) {
    return from_bits<T>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
template <typename T>
BOXSUM_INLINE void store(T* p, vec<T> v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bits(v));
}
template <typename T>
BOXSUM_INLINE void stream(T* p, vec<T> v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), bits(v));
}
}  // namespace
}  // namespace boxsum::cpu

#include "cpu/simd/edges_by_copies.hpp"

namespace boxsum::cpu {
namespace {

BOXSUM_INLINE vec<std::uint32_t> splat(std::uint32_t x) {
    return {_mm256_set1_epi32(static_cast<int>(x))};
}
BOXSUM_INLINE std::uint32_t first_lane(vec<std::uint32_t> v) {
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm256_castsi256_si128(v.r)));
}

template <typename T>
BOXSUM_INLINE vec<T> add(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm256_add_ps(a.r, b.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm256_add_pd(a.r, b.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm256_add_epi64(a.r, b.r)};
    else
        return {_mm256_add_epi32(a.r, b.r)};
}

template <typename T>
BOXSUM_INLINE vec<T> subtract(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm256_sub_ps(a.r, b.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm256_sub_pd(a.r, b.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm256_sub_epi64(a.r, b.r)};
    else
        return {_mm256_sub_epi32(a.r, b.r)};
}

/// a + b, on other ports: floats are multiplied by a one that the compiler cannot see, which changes no bit. Zen 4 adds
/// on two ports and multiplies on two others: 32f64f in cache 6.9 against 9.3 cycles per vector.
template <typename T>
struct second_adder {
    BOXSUM_INLINE vec<T> operator()(vec<T> a, vec<T> b) const { return add(a, b); }
};
template <>
struct second_adder<float> {
    __m256 one = _mm256_set1_ps(1);
    BOXSUM_INLINE second_adder() { asm("" : "+x"(one)); }
    BOXSUM_INLINE vec<float> operator()(vec<float> a, vec<float> b) const { return {_mm256_fmadd_ps(a.r, one, b.r)}; }
};
template <>
struct second_adder<double> {
    __m256d one = _mm256_set1_pd(1);
    BOXSUM_INLINE second_adder() { asm("" : "+x"(one)); }
    BOXSUM_INLINE vec<double> operator()(vec<double> a, vec<double> b) const {
        return {_mm256_fmadd_pd(a.r, one, b.r)};
    }
};

BOXSUM_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}
/// Into the second-level cache.
BOXSUM_INLINE void prefetch_far(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
}
BOXSUM_INLINE void stream_fence() {
    _mm_sfence();
}

// Loads that widen `lanes` elements of In to T.

BOXSUM_INLINE __m128i load_16_bytes(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
BOXSUM_INLINE __m128i load_8_bytes(const void* p) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(p));
}
BOXSUM_INLINE __m128i load_4_bytes(const void* p) {
    return _mm_loadu_si32(p);
}

template <typename T, typename In>
BOXSUM_INLINE vec<T> load_as(const In* p) {
    if constexpr (std::is_same_v<T, In> || (std::is_integral_v<T> && std::is_integral_v<In> && sizeof(T) == sizeof(In)))
        return from_bits<T>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    else if constexpr (sizeof(T) == 4 && std::is_integral_v<T>) {
        if constexpr (std::is_same_v<In, std::uint8_t>) return {_mm256_cvtepu8_epi32(load_8_bytes(p))};
        if constexpr (std::is_same_v<In, std::uint16_t>) return {_mm256_cvtepu16_epi32(load_16_bytes(p))};
        if constexpr (std::is_same_v<In, std::int16_t>) return {_mm256_cvtepi16_epi32(load_16_bytes(p))};
    } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
        if constexpr (std::is_same_v<In, std::uint8_t>) return {_mm256_cvtepu8_epi64(load_4_bytes(p))};
        if constexpr (std::is_same_v<In, std::uint16_t>) return {_mm256_cvtepu16_epi64(load_8_bytes(p))};
        if constexpr (std::is_same_v<In, std::int16_t>) return {_mm256_cvtepi16_epi64(load_8_bytes(p))};
        if constexpr (std::is_same_v<In, std::uint32_t>) return {_mm256_cvtepu32_epi64(load_16_bytes(p))};
        if constexpr (std::is_same_v<In, std::int32_t>) return {_mm256_cvtepi32_epi64(load_16_bytes(p))};
    } else if constexpr (std::is_same_v<T, float>) {
        if constexpr (std::is_same_v<In, std::uint8_t>)
            return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(load_8_bytes(p)))};
        if constexpr (std::is_same_v<In, half_bits>) return {_mm256_cvtph_ps(load_16_bytes(p))};
    } else {
        if constexpr (std::is_same_v<In, float>) return {_mm256_cvtps_pd(_mm_loadu_ps(p))};
        if constexpr (std::is_same_v<In, std::uint8_t>) return {_mm256_cvtepi32_pd(_mm_cvtepu8_epi32(load_4_bytes(p)))};
        if constexpr (std::is_same_v<In, std::uint16_t>)
            return {_mm256_cvtepi32_pd(_mm_cvtepu16_epi32(load_8_bytes(p)))};
        if constexpr (std::is_same_v<In, std::int16_t>)
            return {_mm256_cvtepi32_pd(_mm_cvtepi16_epi32(load_8_bytes(p)))};
    }
}

template <typename T>
BOXSUM_INLINE vec<T> square(vec<T> x) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm256_mul_ps(x.r, x.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm256_mul_pd(x.r, x.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm256_mul_epu32(x.r, x.r)};
    else
        return {_mm256_madd_epi16(x.r, x.r)};  // of bytes: the upper word of each lane is zero
}

template <typename Out, typename T>
BOXSUM_INLINE void convert(vec<T> v, vec<Out> (&out)[sizeof(Out) / sizeof(T)]) {
    if constexpr (sizeof(Out) == sizeof(T)) {
        if constexpr (std::is_same_v<Out, float> && std::is_integral_v<T>)
            out[0] = {_mm256_cvtepi32_ps(v.r)};
        else
            out[0] = from_bits<Out>(bits(v));
    } else {
        const __m128i low = _mm256_castsi256_si128(v.r);
        const __m128i high = _mm256_extracti128_si256(v.r, 1);
        if constexpr (std::is_same_v<Out, double>) {
            out[0] = {_mm256_cvtepi32_pd(low)};
            out[1] = {_mm256_cvtepi32_pd(high)};
        } else if constexpr (std::is_same_v<T, std::int32_t>) {
            out[0] = {_mm256_cvtepi32_epi64(low)};
            out[1] = {_mm256_cvtepi32_epi64(high)};
        } else {
            out[0] = {_mm256_cvtepu32_epi64(low)};
            out[1] = {_mm256_cvtepu32_epi64(high)};
        }
    }
}

// Blocks: 128-bit halves of a vector.

template <typename T>
BOXSUM_INLINE void transpose_blocks(vec<T> (&v)[16 / sizeof(T)]) {
    if constexpr (sizeof(T) == 8) {
        const __m256i a = bits(v[0]), b = bits(v[1]);
        v[0] = from_bits<T>(_mm256_unpacklo_epi64(a, b));
        v[1] = from_bits<T>(_mm256_unpackhi_epi64(a, b));
    } else {
        const __m256i ab_low = _mm256_unpacklo_epi32(bits(v[0]), bits(v[1]));
        const __m256i ab_high = _mm256_unpackhi_epi32(bits(v[0]), bits(v[1]));
        const __m256i cd_low = _mm256_unpacklo_epi32(bits(v[2]), bits(v[3]));
        const __m256i cd_high = _mm256_unpackhi_epi32(bits(v[2]), bits(v[3]));
        v[0] = from_bits<T>(_mm256_unpacklo_epi64(ab_low, cd_low));
        v[1] = from_bits<T>(_mm256_unpackhi_epi64(ab_low, cd_low));
        v[2] = from_bits<T>(_mm256_unpacklo_epi64(ab_high, cd_high));
        v[3] = from_bits<T>(_mm256_unpackhi_epi64(ab_high, cd_high));
    }
}

template <typename T>
BOXSUM_INLINE vec<T> shift_blocks(vec<T> v) {
    return from_bits<T>(_mm256_permute2x128_si256(bits(v), bits(v), 0x08));
}
template <typename T>
BOXSUM_INLINE vec<T> scan_blocks(vec<T> v) {
    return add(v, shift_blocks(v));
}
template <typename T>
BOXSUM_INLINE vec<T> last_block(vec<T> v) {
    return from_bits<T>(_mm256_permute4x64_epi64(bits(v), 0xee));
}
template <typename T>
BOXSUM_INLINE vec<T> load_block(const T* p) {
    return from_bits<T>(_mm256_broadcastsi128_si256(load_16_bytes(p)));
}
template <typename T>
BOXSUM_INLINE void store_first_block(T* p, vec<T> v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(bits(v)));
}

// Lanes of a row with interleaved channels: 64-bit lanes move as pairs of 32-bit ones.

template <typename T>
struct lane_map {
    __m256i source;
    __m256i keep;
};
template <typename T>
BOXSUM_INLINE lane_map<T> make_lane_map(const int (&source)[vec<T>::lanes]) {
    constexpr int words = static_cast<int>(sizeof(T)) / 4;
    alignas(32) std::int32_t index[8];
    alignas(32) std::int32_t keep[8];
    for (int i = 0; i < 8; ++i) {
        const int from = source[i / words];
        index[i] = from < 0 ? 0 : from * words + i % words;
        keep[i] = from < 0 ? 0 : -1;
    }
    return {_mm256_load_si256(reinterpret_cast<const __m256i*>(index)),
            _mm256_load_si256(reinterpret_cast<const __m256i*>(keep))};
}
template <typename T>
BOXSUM_INLINE vec<T> permute(vec<T> v, const lane_map<T>& map) {
    return from_bits<T>(_mm256_and_si256(_mm256_permutevar8x32_epi32(bits(v), map.source), map.keep));
}

// Bytes: a vector of 8 groups of 4 bytes, whose sums are 32-bit lanes.

using u32x = vec<std::uint32_t>;

BOXSUM_INLINE u32x dot_bytes(u32x acc, __m256i pixels, __m256i weights) {
    return {_mm256_add_epi32(acc.r, _mm256_madd_epi16(_mm256_maddubs_epi16(pixels, weights), _mm256_set1_epi16(1)))};
}
BOXSUM_INLINE u32x dot_words(u32x acc, u32x words, u32x weights) {
    return {_mm256_add_epi32(acc.r, _mm256_madd_epi16(words.r, weights.r))};
}
/// Half a vector of bytes from p, then zeros.
BOXSUM_INLINE u32x load_half(const void* p) {
    return {_mm256_zextsi128_si256(load_16_bytes(p))};
}
BOXSUM_INLINE __m256i load_bytes(const std::uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
/// The first `count` of them.
BOXSUM_INLINE __m256i load_bytes_edge(const std::uint8_t* p, int count) {
    alignas(vector_bytes) std::byte all[vector_bytes];
    load_part(all, p, count);
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(all));
}
BOXSUM_INLINE __m256i splat_bytes(std::uint32_t group) {
    return _mm256_set1_epi32(static_cast<int>(group));
}
BOXSUM_INLINE __m256i bytes_behind() {
    return _mm256_broadcastsi128_si256(
        _mm_set_epi32(0, static_cast<int>(0xff000000), static_cast<int>(0xffff0000), static_cast<int>(0xffffff00)));
}
BOXSUM_INLINE u32x shift_left_16(u32x v) {
    return {_mm256_slli_epi32(v.r, 16)};
}
BOXSUM_INLINE u32x scan_within_blocks(u32x v) {
    v.r = _mm256_add_epi32(v.r, _mm256_bslli_epi128(v.r, 4));
    v.r = _mm256_add_epi32(v.r, _mm256_bslli_epi128(v.r, 8));
    return v;
}
struct block_carrier {
    BOXSUM_INLINE u32x operator()(u32x v) const {
        const __m256i totals = _mm256_shuffle_epi32(v.r, 0xff);
        v.r = _mm256_add_epi32(v.r, _mm256_permute2x128_si256(totals, totals, 0x08));
        return v;
    }
};
/// Lane m of block b becomes lane 2 * m + b.
struct group_transposer {
    __m256i source = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
    BOXSUM_INLINE __m256i operator()(__m256i v) const { return _mm256_permutevar8x32_epi32(v, source); }
};
struct last_lane_splat {
    __m256i source = _mm256_set1_epi32(7);
    BOXSUM_INLINE u32x operator()(u32x v) const { return {_mm256_permutevar8x32_epi32(v.r, source)}; }
};
template <int m>
BOXSUM_INLINE __m256i splat_in_block(__m256i v) {
    return _mm256_shuffle_epi32(v, m * 0x55);
}

// Bytes summed in words: scan_bytes_in_words.hpp tells what these are for.

using byte_vector = __m256i;

/// Groups 0, 2, 4, 6 in the low half, 1, 3, 5, 7 in the high one.
BOXSUM_INLINE byte_vector even_groups_first(byte_vector v) {
    return _mm256_permutevar8x32_epi32(v, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
}
/// Words: the sum of the first two bytes of each group, and of all four.
BOXSUM_INLINE byte_vector sums_within_groups(byte_vector v) {
    const __m256i pairs = _mm256_maddubs_epi16(v, _mm256_set1_epi8(1));
    return _mm256_add_epi16(pairs, _mm256_slli_epi32(pairs, 16));
}
BOXSUM_INLINE byte_vector add_words(byte_vector a, byte_vector b) {
    return _mm256_add_epi16(a, b);
}
BOXSUM_INLINE byte_vector subtract_words(byte_vector a, byte_vector b) {
    return _mm256_sub_epi16(a, b);
}
BOXSUM_INLINE byte_vector odd_bytes(byte_vector v) {
    return _mm256_srli_epi16(v, 8);
}

/// Sums of the groups before each group, of two rows at once: one in the low words, one in the high words.
struct group_sums {
    __m256i before;
    __m256i total;  ///< of all groups, in all lanes

    group_sums() = default;
    /// From sums_within_groups() of both rows.
    BOXSUM_INLINE group_sums(byte_vector low, byte_vector high) {
        const __m256i groups = _mm256_blend_epi16(_mm256_srli_epi32(low, 16), high, 0xaa);
        // Lane m of either half: groups 2m and 2m + 1.
        const __m256i both = _mm256_add_epi32(groups, _mm256_permute2x128_si256(groups, groups, 0x01));
        __m256i upto = _mm256_add_epi32(both, _mm256_bslli_epi128(both, 4));
        upto = _mm256_add_epi32(upto, _mm256_bslli_epi128(upto, 8));
        before = _mm256_sub_epi32(upto, _mm256_blend_epi32(both, groups, 0xf0));
        total = _mm256_shuffle_epi32(upto, 0xff);
    }
    BOXSUM_INLINE byte_vector low_words() const {
        return _mm256_shuffle_epi8(
            before, _mm256_broadcastsi128_si256(_mm_set_epi8(13, 12, 13, 12, 9, 8, 9, 8, 5, 4, 5, 4, 1, 0, 1, 0)));
    }
    BOXSUM_INLINE byte_vector high_words() const {
        return _mm256_shuffle_epi8(
            before, _mm256_broadcastsi128_si256(_mm_set_epi8(15, 14, 15, 14, 11, 10, 11, 10, 7, 6, 7, 6, 3, 2, 3, 2)));
    }
    BOXSUM_INLINE u32x low_total() const { return {_mm256_blend_epi16(total, _mm256_setzero_si256(), 0xaa)}; }
    BOXSUM_INLINE u32x high_total() const { return {_mm256_srli_epi32(total, 16)}; }
};

/// Words of a and b in turn, within each half.
BOXSUM_INLINE byte_vector interleave_low(byte_vector a, byte_vector b) {
    return _mm256_unpacklo_epi16(a, b);
}
BOXSUM_INLINE byte_vector interleave_high(byte_vector a, byte_vector b) {
    return _mm256_unpackhi_epi16(a, b);
}
/// The low and the high words of each half.
BOXSUM_INLINE u32x low_quarter(byte_vector words) {
    return {_mm256_unpacklo_epi16(words, _mm256_setzero_si256())};
}
BOXSUM_INLINE u32x high_quarter(byte_vector words) {
    return {_mm256_unpackhi_epi16(words, _mm256_setzero_si256())};
}

}  // namespace
}  // namespace boxsum::cpu
