#pragma once

// The vector wrapper for AVX-512 F, BW, VL, DQ (and VNNI, VBMI where the translation unit is compiled with them).
// Everything is in an unnamed namespace: each kernel set owns its copy. See scan_kernels.hpp for the vocabulary.

#include "cpu/simd/kernels.hpp"

#include <immintrin.h>

#include <type_traits>

namespace boxsum::cpu {
namespace {

/// Everything is inlined into the kernels: a call would spill the vectors.
#define BOXSUM_INLINE inline __attribute__((always_inline))

inline constexpr int vector_bytes = 64;
#define BOXSUM_BYTE_DOT  // dot_bytes and what it needs are here

template <typename T>
struct vec {
    static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
    __m512i r;
};
template <>
struct vec<float> {
    static constexpr int lanes = 16;
    __m512 r;
};
template <>
struct vec<double> {
    static constexpr int lanes = 8;
    __m512d r;
};

template <typename T>
BOXSUM_INLINE __m512i bits(vec<T> v) {
    return v.r;
}
BOXSUM_INLINE __m512i bits(vec<float> v) {
    return _mm512_castps_si512(v.r);
}
BOXSUM_INLINE __m512i bits(vec<double> v) {
    return _mm512_castpd_si512(v.r);
}
template <typename T>
BOXSUM_INLINE vec<T> from_bits(__m512i r) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm512_castsi512_ps(r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm512_castsi512_pd(r)};
    else
        return {r};
}

template <typename T>
BOXSUM_INLINE vec<T> zero() {
    return from_bits<T>(_mm512_setzero_si512());
}
template <typename T>
BOXSUM_INLINE vec<T> load(const T* p) {
    return from_bits<T>(_mm512_loadu_si512(p));
}
template <typename T>
BOXSUM_INLINE void store(T* p, vec<T> v) {
    _mm512_storeu_si512(p, bits(v));
}
template <typename T>
BOXSUM_INLINE void stream(T* p, vec<T> v) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), bits(v));
}
#define BOXSUM_VECTOR_JOINER
/// The last words of one vector and the first of the next.
struct vector_joiner {
    __m512i source;
    vector_joiner() = default;
    /// `words` of the first, 1 to 16.
    BOXSUM_INLINE explicit vector_joiner(int words)
        : source(_mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                  _mm512_set1_epi32(16 - words))) {}
    template <typename T>
    BOXSUM_INLINE vec<T> operator()(vec<T> first, vec<T> next) const {
        return from_bits<T>(_mm512_permutex2var_epi32(bits(first), source, bits(next)));
    }
};
BOXSUM_INLINE __mmask64 first_bytes(int count) {
    return count > 0 ? ~0ULL >> (64 - count) : 0;
}
/// A vector's worth of bytes from p, of which the first `count` are read; the others are zero.
BOXSUM_INLINE void load_part(std::byte (&to)[vector_bytes], const void* p, int count) {
    _mm512_store_si512(to, _mm512_maskz_loadu_epi8(first_bytes(count), p));
}
/// The first `count` lanes from p; the others are zero and not read.
template <typename T>
BOXSUM_INLINE vec<T> load_first(const T* p, int count) {
    return from_bits<T>(_mm512_maskz_loadu_epi8(first_bytes(count * static_cast<int>(sizeof(T))), p));
}
/// The first `bytes` bytes of v, 0 to all.
template <typename T>
BOXSUM_INLINE void store_part(T* p, vec<T> v, int bytes) {
    if (bytes > 0) _mm512_mask_storeu_epi8(p, first_bytes(bytes), bits(v));
}
/// Bytes from .. end - 1 of v to where they belong behind p.
template <typename T>
BOXSUM_INLINE void store_between(T* p, vec<T> v, int from, int end) {
    if (from < end) _mm512_mask_storeu_epi8(p, first_bytes(end) & ~first_bytes(from), bits(v));
}
BOXSUM_INLINE vec<std::uint32_t> splat(std::uint32_t x) {
    return {_mm512_set1_epi32(static_cast<int>(x))};
}

template <typename T>
BOXSUM_INLINE vec<T> add(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm512_add_ps(a.r, b.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm512_add_pd(a.r, b.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm512_add_epi64(a.r, b.r)};
    else
        return {_mm512_add_epi32(a.r, b.r)};
}

template <typename T>
BOXSUM_INLINE vec<T> subtract(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm512_sub_ps(a.r, b.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm512_sub_pd(a.r, b.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm512_sub_epi64(a.r, b.r)};
    else
        return {_mm512_sub_epi32(a.r, b.r)};
}

/// a + b, on other ports: floats are multiplied by a one that the compiler cannot see, which changes no bit. Zen 4 adds
/// on two ports and multiplies on two others: 32f64f in cache 6.9 against 9.3 cycles per vector.
template <typename T>
struct second_adder {
    BOXSUM_INLINE vec<T> operator()(vec<T> a, vec<T> b) const { return add(a, b); }
};
template <>
struct second_adder<float> {
    __m512 one = _mm512_set1_ps(1);
    BOXSUM_INLINE second_adder() { asm("" : "+v"(one)); }
    BOXSUM_INLINE vec<float> operator()(vec<float> a, vec<float> b) const { return {_mm512_fmadd_ps(a.r, one, b.r)}; }
};
template <>
struct second_adder<double> {
    __m512d one = _mm512_set1_pd(1);
    BOXSUM_INLINE second_adder() { asm("" : "+v"(one)); }
    BOXSUM_INLINE vec<double> operator()(vec<double> a, vec<double> b) const {
        return {_mm512_fmadd_pd(a.r, one, b.r)};
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

template <typename T, typename In>
BOXSUM_INLINE vec<T> load_as(const In* p) {
    const auto* const half = reinterpret_cast<const __m256i*>(p);
    const auto* const quarter = reinterpret_cast<const __m128i*>(p);
    if constexpr (std::is_same_v<T, In> || (std::is_integral_v<T> && std::is_integral_v<In> && sizeof(T) == sizeof(In)))
        return from_bits<T>(_mm512_loadu_si512(p));
    else if constexpr (sizeof(T) == 4 && std::is_integral_v<T>) {
        if constexpr (std::is_same_v<In, std::uint8_t>) return {_mm512_cvtepu8_epi32(_mm_loadu_si128(quarter))};
        if constexpr (std::is_same_v<In, std::uint16_t>) return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(half))};
        if constexpr (std::is_same_v<In, std::int16_t>) return {_mm512_cvtepi16_epi32(_mm256_loadu_si256(half))};
    } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
        if constexpr (std::is_same_v<In, std::uint8_t>) return {_mm512_cvtepu8_epi64(_mm_loadl_epi64(quarter))};
        if constexpr (std::is_same_v<In, std::uint16_t>) return {_mm512_cvtepu16_epi64(_mm_loadu_si128(quarter))};
        if constexpr (std::is_same_v<In, std::int16_t>) return {_mm512_cvtepi16_epi64(_mm_loadu_si128(quarter))};
        if constexpr (std::is_same_v<In, std::uint32_t>) return {_mm512_cvtepu32_epi64(_mm256_loadu_si256(half))};
        if constexpr (std::is_same_v<In, std::int32_t>) return {_mm512_cvtepi32_epi64(_mm256_loadu_si256(half))};
    } else if constexpr (std::is_same_v<T, float>) {
        if constexpr (std::is_same_v<In, std::uint8_t>)
            return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(quarter)))};
        if constexpr (std::is_same_v<In, half_bits>) return {_mm512_cvtph_ps(_mm256_loadu_si256(half))};
    } else {
        if constexpr (std::is_same_v<In, float>) return {_mm512_cvtps_pd(_mm256_loadu_ps(p))};
        if constexpr (std::is_same_v<In, std::uint8_t>)
            return {_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_loadl_epi64(quarter)))};
        if constexpr (std::is_same_v<In, std::uint16_t>)
            return {_mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128(quarter)))};
        if constexpr (std::is_same_v<In, std::int16_t>)
            return {_mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(_mm_loadu_si128(quarter)))};
    }
}

/// Squares of pixels. The product must fit T: pixels have at most half as many bits, or T is floating.
template <typename T>
BOXSUM_INLINE vec<T> square(vec<T> x) {
    if constexpr (std::is_same_v<T, float>)
        return {_mm512_mul_ps(x.r, x.r)};
    else if constexpr (std::is_same_v<T, double>)
        return {_mm512_mul_pd(x.r, x.r)};
    else if constexpr (sizeof(T) == 8)
        return {_mm512_mul_epu32(x.r, x.r)};
    else
        return {_mm512_madd_epi16(x.r, x.r)};  // of bytes: the upper word of each lane is zero
}

/// The lanes of a 32-bit vector as one or two vectors of the table's type.
template <typename Out, typename T>
BOXSUM_INLINE void convert(vec<T> v, vec<Out> (&out)[sizeof(Out) / sizeof(T)]) {
    if constexpr (sizeof(Out) == sizeof(T)) {
        if constexpr (std::is_same_v<Out, float> && std::is_integral_v<T>)
            out[0] = {_mm512_cvtepi32_ps(v.r)};
        else
            out[0] = from_bits<Out>(bits(v));
    } else {
        const __m256i low = _mm512_castsi512_si256(v.r);
        const __m256i high = _mm512_extracti64x4_epi64(v.r, 1);
        if constexpr (std::is_same_v<Out, double>) {
            out[0] = {_mm512_cvtepi32_pd(low)};
            out[1] = {_mm512_cvtepi32_pd(high)};
        } else if constexpr (std::is_same_v<T, std::int32_t>) {
            out[0] = {_mm512_cvtepi32_epi64(low)};
            out[1] = {_mm512_cvtepi32_epi64(high)};
        } else {
            out[0] = {_mm512_cvtepu32_epi64(low)};
            out[1] = {_mm512_cvtepu32_epi64(high)};
        }
    }
}

// Blocks: 128-bit parts of a vector, each of block_lanes<T> = 4 or 2 lanes.

/// Transposes block_lanes<T> vectors within each block. Its own inverse.
template <typename T>
BOXSUM_INLINE void transpose_blocks(vec<T> (&v)[16 / sizeof(T)]) {
    if constexpr (sizeof(T) == 8) {
        const __m512i a = bits(v[0]), b = bits(v[1]);
        v[0] = from_bits<T>(_mm512_unpacklo_epi64(a, b));
        v[1] = from_bits<T>(_mm512_unpackhi_epi64(a, b));
    } else {
        const __m512i ab_low = _mm512_unpacklo_epi32(bits(v[0]), bits(v[1]));
        const __m512i ab_high = _mm512_unpackhi_epi32(bits(v[0]), bits(v[1]));
        const __m512i cd_low = _mm512_unpacklo_epi32(bits(v[2]), bits(v[3]));
        const __m512i cd_high = _mm512_unpackhi_epi32(bits(v[2]), bits(v[3]));
        v[0] = from_bits<T>(_mm512_unpacklo_epi64(ab_low, cd_low));
        v[1] = from_bits<T>(_mm512_unpackhi_epi64(ab_low, cd_low));
        v[2] = from_bits<T>(_mm512_unpacklo_epi64(ab_high, cd_high));
        v[3] = from_bits<T>(_mm512_unpackhi_epi64(ab_high, cd_high));
    }
}

/// Inclusive prefix sums of blocks.
template <typename T>
BOXSUM_INLINE vec<T> scan_blocks(vec<T> v) {
    const __m512i none = _mm512_setzero_si512();
    v = add(v, from_bits<T>(_mm512_alignr_epi64(bits(v), none, 6)));
    return add(v, from_bits<T>(_mm512_alignr_epi64(bits(v), none, 4)));
}
/// Block b moves to block b + 1; the first becomes zero.
template <typename T>
BOXSUM_INLINE vec<T> shift_blocks(vec<T> v) {
    return from_bits<T>(_mm512_alignr_epi64(bits(v), _mm512_setzero_si512(), 6));
}
/// The last block, in every block.
template <typename T>
BOXSUM_INLINE vec<T> last_block(vec<T> v) {
    return from_bits<T>(_mm512_shuffle_i64x2(bits(v), bits(v), 0xff));
}
/// The 16 bytes at p, in every block.
template <typename T>
BOXSUM_INLINE vec<T> load_block(const T* p) {
    return from_bits<T>(_mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
template <typename T>
BOXSUM_INLINE void store_first_block(T* p, vec<T> v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(bits(v)));
}

// Lanes of a row with interleaved channels.

/// Moves lanes by permutation: lane i of the result is lane `source[i]`, or zero where `keep[i]` is 0.
template <typename T>
struct lane_map {
    __m512i source;
    __mmask16 keep;
};
template <typename T>
BOXSUM_INLINE lane_map<T> make_lane_map(const int (&source)[vec<T>::lanes]) {
    lane_map<T> map{};
    if constexpr (sizeof(T) == 8) {
        alignas(64) std::int64_t index[8];
        for (int i = 0; i < 8; ++i) {
            index[i] = source[i] < 0 ? 0 : source[i];
            if (source[i] >= 0) map.keep = static_cast<__mmask16>(map.keep | 1 << i);
        }
        map.source = _mm512_load_si512(index);
    } else {
        alignas(64) std::int32_t index[16];
        for (int i = 0; i < 16; ++i) {
            index[i] = source[i] < 0 ? 0 : source[i];
            if (source[i] >= 0) map.keep = static_cast<__mmask16>(map.keep | 1 << i);
        }
        map.source = _mm512_load_si512(index);
    }
    return map;
}
template <typename T>
BOXSUM_INLINE vec<T> permute(vec<T> v, const lane_map<T>& map) {
    if constexpr (sizeof(T) == 8)
        return from_bits<T>(_mm512_maskz_permutexvar_epi64(static_cast<__mmask8>(map.keep), map.source, bits(v)));
    else
        return from_bits<T>(_mm512_maskz_permutexvar_epi32(map.keep, map.source, bits(v)));
}

// Bytes: a vector of 16 groups of 4 bytes, whose sums are 32-bit lanes.

using u32x = vec<std::uint32_t>;

/// acc + the dot product of each group of bytes with its weights, -1, 0 or 1.
BOXSUM_INLINE u32x dot_bytes(u32x acc, __m512i pixels, __m512i weights) {
#if defined(__AVX512VNNI__)
    return {_mm512_dpbusd_epi32(acc.r, pixels, weights)};
#else
    return {_mm512_add_epi32(acc.r, _mm512_madd_epi16(_mm512_maddubs_epi16(pixels, weights), _mm512_set1_epi16(1)))};
#endif
}
/// acc + the dot product of each pair of 16-bit numbers with its weights, 0 or 1.
BOXSUM_INLINE u32x dot_words(u32x acc, u32x words, u32x weights) {
#if defined(__AVX512VNNI__)
    return {_mm512_dpwssd_epi32(acc.r, words.r, weights.r)};
#else
    return {_mm512_add_epi32(acc.r, _mm512_madd_epi16(words.r, weights.r))};
#endif
}
/// Half a vector of bytes from p, then zeros.
BOXSUM_INLINE u32x load_half(const void* p) {
    return {_mm512_zextsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
BOXSUM_INLINE __m512i load_bytes(const std::uint8_t* p) {
    return _mm512_loadu_si512(p);
}
/// The first `count` of them.
BOXSUM_INLINE __m512i load_bytes_edge(const std::uint8_t* p, int count) {
    return _mm512_maskz_loadu_epi8(first_bytes(count), p);
}
BOXSUM_INLINE __m512i splat_bytes(std::uint32_t group) {
    return _mm512_set1_epi32(static_cast<int>(group));
}
/// Weights of -1 for the bytes of a group behind lane i of a block: they take a sum of whole groups back to byte i.
BOXSUM_INLINE __m512i bytes_behind() {
    return _mm512_broadcast_i32x4(
        _mm_set_epi32(0, static_cast<int>(0xff000000), static_cast<int>(0xffff0000), static_cast<int>(0xffffff00)));
}
BOXSUM_INLINE u32x shift_left_16(u32x v) {
    return {_mm512_slli_epi32(v.r, 16)};
}
/// Inclusive prefix sums of the four lanes of each block.
BOXSUM_INLINE u32x scan_within_blocks(u32x v) {
    // Masked additions of pshufd, which runs on more ports than byte shifts: 15.9 against 16.2 cycles per 64 pixels
    // (Zen 4).
    v.r = _mm512_mask_add_epi32(v.r, 0xaaaa, v.r, _mm512_shuffle_epi32(v.r, static_cast<_MM_PERM_ENUM>(0xa0)));
    v.r = _mm512_mask_add_epi32(v.r, 0xcccc, v.r, _mm512_shuffle_epi32(v.r, static_cast<_MM_PERM_ENUM>(0x55)));
    return v;
}
/// Adds to each block the last lanes of all blocks before it, after scan_within_blocks.
struct block_carrier {
    __m512i odd = _mm512_set_epi32(11, 11, 11, 11, 0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0);
    __m512i upper = _mm512_set1_epi32(7);
    BOXSUM_INLINE u32x operator()(u32x v) const {
        v.r = _mm512_mask_add_epi32(v.r, 0xf0f0, v.r, _mm512_permutexvar_epi32(odd, v.r));
        v.r = _mm512_mask_add_epi32(v.r, 0xff00, v.r, _mm512_permutexvar_epi32(upper, v.r));
        return v;
    }
};
/// Lane m of block b becomes lane 4 * m + b: afterwards lane m of all blocks are four consecutive groups.
struct group_transposer {
    __m512i source = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    BOXSUM_INLINE __m512i operator()(__m512i v) const { return _mm512_permutexvar_epi32(source, v); }
};
struct last_lane_splat {
    __m512i source = _mm512_set1_epi32(15);
    BOXSUM_INLINE u32x operator()(u32x v) const { return {_mm512_permutexvar_epi32(source, v.r)}; }
};
/// Lane m of each block, in all four lanes of it.
template <int m>
BOXSUM_INLINE __m512i splat_in_block(__m512i v) {
    return _mm512_shuffle_epi32(v, static_cast<_MM_PERM_ENUM>(m * 0x55));
}

}  // namespace
}  // namespace boxsum::cpu
