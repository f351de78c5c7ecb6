#pragma once

#include "support/emulation/machine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

// The functions that CUDA C++ has without a header, as far as this project uses them.

namespace boxsum::emulation {

template <typename T>
std::uint64_t bits_of(T x) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return bits;
}

template <typename T>
T from_bits(std::uint64_t bits) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/// Sign-extended, so that 64 bits compare as T does.
template <typename T>
std::uint64_t widened(T x) {
    return static_cast<std::uint64_t>(
        static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(x));
}

template <typename T>
T shuffle(unsigned mask, T x, int from, const location& where) {
    return from_bits<T>(collect(collective::shuffle, mask, bits_of(x), from, where));
}

/// A read-modify-write as one step. What changes nothing is a look: a thread may poll with it.
template <typename T, typename F>
T modify(T* word, F&& f, const location& where) {
    const T before = *word;
    const T after = f(before);
    if (bits_of(before) == bits_of(after)) {
        look(word, "looks with an atomic", where);
        const T now = *word;  // others ran
        const T then = f(now);
        *word = then;
        if (bits_of(now) != bits_of(then)) progress();
        return now;
    }
    *word = after;
    progress();
    yield(where);
    return before;
}

}  // namespace boxsum::emulation

#define BOXSUM_HERE const boxsum::emulation::location& where = boxsum::emulation::location::current()

// Barriers

inline void __syncthreads(BOXSUM_HERE) {
    boxsum::emulation::block_barrier("waits at __syncthreads", where);
}
inline int __syncthreads_count(int predicate, BOXSUM_HERE) {
    return boxsum::emulation::block_count(predicate != 0, "waits at __syncthreads_count", where);
}
inline int __syncthreads_or(int predicate, BOXSUM_HERE) {
    return boxsum::emulation::block_count(predicate != 0, "waits at __syncthreads_or", where) != 0;
}
inline int __syncthreads_and(int predicate, BOXSUM_HERE) {
    return boxsum::emulation::block_count(predicate == 0, "waits at __syncthreads_and", where) == 0;
}
inline void __threadfence(BOXSUM_HERE) {
    boxsum::emulation::yield(where);
}
inline void __threadfence_block(BOXSUM_HERE) {
    boxsum::emulation::yield(where);
}
inline void __nanosleep(unsigned, BOXSUM_HERE) {
    boxsum::emulation::rest(where);
}

// Collectives of a warp

inline void __syncwarp(unsigned mask = ~0u, BOXSUM_HERE) {
    (void)boxsum::emulation::collect(boxsum::emulation::collective::sync, mask, 0, 0, where);
}
template <typename T>
T __shfl_sync(unsigned mask, T x, int from, int width = 32, BOXSUM_HERE) {
    const int lane = boxsum::emulation::lane_number();
    return boxsum::emulation::shuffle(mask, x, (lane & ~(width - 1)) | (from & (width - 1)), where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T x, unsigned delta, int width = 32, BOXSUM_HERE) {
    const int lane = boxsum::emulation::lane_number(), from = lane - static_cast<int>(delta);
    return boxsum::emulation::shuffle(mask, x, from < (lane & ~(width - 1)) ? lane : from, where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T x, unsigned delta, int width = 32, BOXSUM_HERE) {
    const int lane = boxsum::emulation::lane_number(), from = lane + static_cast<int>(delta);
    return boxsum::emulation::shuffle(mask, x, from > (lane | (width - 1)) ? lane : from, where);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T x, int distance, int width = 32, BOXSUM_HERE) {
    const int lane = boxsum::emulation::lane_number(), from = lane ^ distance;
    return boxsum::emulation::shuffle(mask, x, from > (lane | (width - 1)) ? lane : from, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<unsigned>(collect(collective::ballot, mask, predicate != 0, 0, where));
}
inline int __all_sync(unsigned mask, int predicate, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return collect(collective::all, mask, predicate != 0, 0, where) != 0;
}
inline int __any_sync(unsigned mask, int predicate, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return collect(collective::any, mask, predicate != 0, 0, where) != 0;
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<unsigned>(collect(collective::match_any, mask, bits_of(x), 0, where));
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T x, int* all, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    const auto same = static_cast<unsigned>(collect(collective::match_all, mask, bits_of(x), 0, where));
    *all = same != 0;
    return same;
}
template <typename T>
T __reduce_add_sync(unsigned mask, T x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<T>(collect(collective::add, mask, widened(x), 0, where));
}
template <typename T>
T __reduce_min_sync(unsigned mask, T x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    constexpr auto kind = std::is_signed_v<T> ? collective::signed_minimum : collective::minimum;
    return static_cast<T>(collect(kind, mask, widened(x), 0, where));
}
template <typename T>
T __reduce_max_sync(unsigned mask, T x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    constexpr auto kind = std::is_signed_v<T> ? collective::signed_maximum : collective::maximum;
    return static_cast<T>(collect(kind, mask, widened(x), 0, where));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<unsigned>(collect(collective::bit_and, mask, x, 0, where));
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<unsigned>(collect(collective::bit_or, mask, x, 0, where));
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned x, BOXSUM_HERE) {
    using namespace boxsum::emulation;
    return static_cast<unsigned>(collect(collective::bit_xor, mask, x, 0, where));
}

// Atomics, of shared or global memory

template <typename T>
T atomicAdd(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return static_cast<T>(old + x); }, where);
}
template <typename T>
T atomicSub(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return static_cast<T>(old - x); }, where);
}
inline unsigned atomicInc(unsigned* word, unsigned most, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](unsigned old) { return old >= most ? 0 : old + 1; }, where);
}
template <typename T>
T atomicMin(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return std::min(old, x); }, where);
}
template <typename T>
T atomicMax(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return std::max(old, x); }, where);
}
template <typename T>
T atomicAnd(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return static_cast<T>(old & x); }, where);
}
template <typename T>
T atomicOr(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return static_cast<T>(old | x); }, where);
}
template <typename T>
T atomicXor(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return static_cast<T>(old ^ x); }, where);
}
template <typename T>
T atomicExch(T* word, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T) { return x; }, where);
}
template <typename T>
T atomicCAS(T* word, std::type_identity_t<T> expected, std::type_identity_t<T> x, BOXSUM_HERE) {
    return boxsum::emulation::modify(
        word, [&](T old) { return old == expected ? x : old; }, where);
}

#undef BOXSUM_HERE

// Loads and stores with a cache policy

template <typename T>
T __ldcg(const T* from) {
    return *from;
}
template <typename T>
T __ldcs(const T* from) {
    return *from;
}
template <typename T>
T __ldg(const T* from) {
    return *from;
}
template <typename T>
void __stcs(T* to, std::type_identity_t<T> x) {
    *to = x;
}
template <typename T>
void __stcg(T* to, std::type_identity_t<T> x) {
    *to = x;
}

// Bits and integers

inline int __popc(unsigned x) {
    return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
    return std::popcount(x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline int __clz(int x) {
    return std::countl_zero(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
    return std::countl_zero(static_cast<unsigned long long>(x));
}
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31u));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31u) >> 32);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned choice = selector >> (4 * i) & 0xfu;
        unsigned byte = static_cast<unsigned>(bytes >> (8 * (choice & 7u))) & 0xffu;
        if ((choice & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
        result |= byte << (8 * i);
    }
    return result;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xffu) * (b >> i & 0xffu);
    return c;
}
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i);
    return c;
}
inline int __dp2a_lo(int a, int b, int c) {
    for (int i = 0; i < 2; ++i) c += static_cast<std::int16_t>(a >> (16 * i)) * static_cast<std::int8_t>(b >> (8 * i));
    return c;
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 2; ++i) c += (a >> (16 * i) & 0xffffu) * (b >> (8 * i) & 0xffu);
    return c;
}
inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
    unsigned result = 0;
    for (int i = 0; i < 32; i += 8) {
        const int d = static_cast<int>(a >> i & 0xffu) - static_cast<int>(b >> i & 0xffu);
        result |= static_cast<unsigned>(d < 0 ? -d : d) << i;
    }
    return result;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}

// Floats

inline float __fdividef(float x, float y) {
    return x / y;
}
inline float __frcp_rn(float x) {
    return 1.0f / x;
}
inline float __fmaf_rn(float x, float y, float z) {
    return std::fma(x, y, z);
}
inline double __fma_rn(double x, double y, double z) {
    return std::fma(x, y, z);
}
inline float __int_as_float(int x) {
    return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
    return std::bit_cast<int>(x);
}
inline float __uint_as_float(unsigned x) {
    return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
    return std::bit_cast<unsigned>(x);
}
inline long long __double_as_longlong(double x) {
    return std::bit_cast<long long>(x);
}
inline int __double2hiint(double x) {
    return static_cast<int>(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
    return static_cast<int>(__double_as_longlong(x));
}
inline double __longlong_as_double(long long x) {
    return std::bit_cast<double>(x);
}
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double(static_cast<long long>(
        static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low)));
}

// The functions of the standard library that CUDA has without `std::`.
using std::max;
using std::min;
