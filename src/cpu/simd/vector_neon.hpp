#pragma once

// The vector wrapper for NEON of 64-bit Arm: a vector is one 128-bit block. Written with the compilers' vector
// extensions, which map one to one; see vector_avx512.hpp for the vocabulary.

#include "cpu/simd/kernels.hpp"

#include <arm_neon.h>

#include <type_traits>

namespace boxsum::cpu {
namespace {

/// Everything is inlined into the kernels: a call would spill the vectors.
#define BOXSUM_INLINE inline __attribute__((always_inline))

inline constexpr int vector_bytes = 16;

template <typename T>
struct vec {
    static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
    typedef T reg __attribute__((vector_size(vector_bytes)));  // GCC ignores the attribute in a dependent alias
    reg r;
};

template <typename T>
BOXSUM_INLINE vec<T> zero() {
    return {typename vec<T>::reg{}};
}
template <typename T>
BOXSUM_INLINE vec<T> load(const T* p) {
    vec<T> v;
    __builtin_memcpy(&v.r, p, vector_bytes);
    return v;
}
template <typename T>
BOXSUM_INLINE void store(T* p, vec<T> v) {
    __builtin_memcpy(p, &v.r, vector_bytes);
}
/// Arm streams pairs of registers only, and compilers offer no intrinsic for it.
template <typename T>
BOXSUM_INLINE void stream(T* p, vec<T> v) {
    const auto bits = (uint64x2_t)v.r;
    asm("stnp %d1, %d2, %0"
        : "=Q"(*reinterpret_cast<uint64x2_t*>(p))
        : "w"(vget_low_u64(bits)), "w"(vget_high_u64(bits)));
}
#define BOXSUM_VECTOR_JOINER
/// The last words of one vector and the first of the next.
struct vector_joiner {
    uint8x16_t source;
    vector_joiner() = default;
    /// `words` of the first, 1 to 4.
    BOXSUM_INLINE explicit vector_joiner(int words) {
        const uint8x16_t byte = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        source = byte + static_cast<std::uint8_t>(16 - 4 * words);
    }
    template <typename T>
    BOXSUM_INLINE vec<T> operator()(vec<T> first, vec<T> next) const {
        const uint8x16x2_t both = {{(uint8x16_t)first.r, (uint8x16_t)next.r}};
        return {(typename vec<T>::reg)vqtbl2q_u8(both, source)};
    }
};
}  // namespace
}  // namespace boxsum::cpu

#include "cpu/simd/edges_by_copies.hpp"

namespace boxsum::cpu {
namespace {

template <typename T>
BOXSUM_INLINE vec<T> add(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, std::int32_t>) {  // signed lanes wrap, too
        return {(typename vec<T>::reg)((uint32x4_t)a.r + (uint32x4_t)b.r)};
    } else {
        return {a.r + b.r};
    }
}
template <typename T>
BOXSUM_INLINE vec<T> subtract(vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, std::int32_t>) {
        return {(typename vec<T>::reg)((uint32x4_t)a.r - (uint32x4_t)b.r)};
    } else {
        return {a.r - b.r};
    }
}
/// x86 has more ports for this.
template <typename T>
struct second_adder {
    BOXSUM_INLINE vec<T> operator()(vec<T> a, vec<T> b) const { return add(a, b); }
};

BOXSUM_INLINE void prefetch(const void* p) {
    __builtin_prefetch(p);
}
/// Into the second-level cache.
BOXSUM_INLINE void prefetch_far(const void* p) {
    __builtin_prefetch(p, 0, 2);
}
BOXSUM_INLINE void stream_fence() {
    asm volatile("dmb ishst" ::: "memory");
}

/// `lanes` elements of In, widened to T.
template <typename T, typename In>
BOXSUM_INLINE vec<T> load_as(const In* p) {
    if constexpr (std::is_same_v<In, half_bits>) {
        __fp16 narrow[vec<T>::lanes];
        __builtin_memcpy(narrow, p, sizeof narrow);
        return {vcvt_f32_f16(vld1_f16(narrow))};
    } else if constexpr (sizeof(T) == sizeof(In)) {
        vec<T> v;
        __builtin_memcpy(&v.r, p, vector_bytes);
        return v;
    } else {
        typedef In part __attribute__((vector_size(vec<T>::lanes * sizeof(In))));
        part narrow;
        __builtin_memcpy(&narrow, p, sizeof narrow);
        return {__builtin_convertvector(narrow, typename vec<T>::reg)};
    }
}
template <typename T>
BOXSUM_INLINE vec<T> square(vec<T> x) {
    return {x.r * x.r};
}

template <typename Out, typename T>
BOXSUM_INLINE void convert(vec<T> v, vec<Out> (&out)[sizeof(Out) / sizeof(T)]) {
    if constexpr (sizeof(Out) == sizeof(T)) {
        out[0].r = __builtin_convertvector(v.r, typename vec<Out>::reg);
    } else {
        typedef T half __attribute__((vector_size(vector_bytes / 2)));
        half parts[2];
        __builtin_memcpy(parts, &v.r, vector_bytes);
        out[0].r = __builtin_convertvector(parts[0], typename vec<Out>::reg);
        out[1].r = __builtin_convertvector(parts[1], typename vec<Out>::reg);
    }
}

// The one block of a vector.

template <typename T>
BOXSUM_INLINE void transpose_blocks(vec<T> (&v)[16 / sizeof(T)]) {
    using pairs = uint64x2_t;
    if constexpr (sizeof(T) == 8) {
        const auto a = (pairs)v[0].r, b = (pairs)v[1].r;
        v[0].r = (typename vec<T>::reg)vtrn1q_u64(a, b);
        v[1].r = (typename vec<T>::reg)vtrn2q_u64(a, b);
    } else {
        const auto a = (uint32x4_t)v[0].r, b = (uint32x4_t)v[1].r, c = (uint32x4_t)v[2].r, d = (uint32x4_t)v[3].r;
        const auto ab_even = (pairs)vtrn1q_u32(a, b), ab_odd = (pairs)vtrn2q_u32(a, b);
        const auto cd_even = (pairs)vtrn1q_u32(c, d), cd_odd = (pairs)vtrn2q_u32(c, d);
        v[0].r = (typename vec<T>::reg)vtrn1q_u64(ab_even, cd_even);
        v[1].r = (typename vec<T>::reg)vtrn1q_u64(ab_odd, cd_odd);
        v[2].r = (typename vec<T>::reg)vtrn2q_u64(ab_even, cd_even);
        v[3].r = (typename vec<T>::reg)vtrn2q_u64(ab_odd, cd_odd);
    }
}
template <typename T>
BOXSUM_INLINE vec<T> scan_blocks(vec<T> v) {
    return v;
}
template <typename T>
BOXSUM_INLINE vec<T> shift_blocks(vec<T>) {
    return zero<T>();
}
template <typename T>
BOXSUM_INLINE vec<T> last_block(vec<T> v) {
    return v;
}
template <typename T>
BOXSUM_INLINE vec<T> load_block(const T* p) {
    return load(p);
}
template <typename T>
BOXSUM_INLINE void store_first_block(T* p, vec<T> v) {
    store(p, v);
}

// Lanes of a row with interleaved channels: a table look-up of bytes, which gives zero for an index out of range.

template <typename T>
struct lane_map {
    uint8x16_t source;
};
template <typename T>
BOXSUM_INLINE lane_map<T> make_lane_map(const int (&source)[vec<T>::lanes]) {
    constexpr int size = static_cast<int>(sizeof(T));
    std::uint8_t index[vector_bytes];
    for (int i = 0; i < vector_bytes; ++i)
        index[i] =
            source[i / size] < 0 ? std::uint8_t{255} : static_cast<std::uint8_t>(source[i / size] * size + i % size);
    return {vld1q_u8(index)};
}
template <typename T>
BOXSUM_INLINE vec<T> permute(vec<T> v, const lane_map<T>& map) {
    return {(typename vec<T>::reg)vqtbl1q_u8((uint8x16_t)v.r, map.source)};
}

}  // namespace
}  // namespace boxsum::cpu
