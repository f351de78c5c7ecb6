#pragma once

#include <boxsum/types.hpp>

#include <cstdint>

/// What CUDA C++ has no word for, or only in large headers. The one place with inline assembly, so that a host compiler
/// can be given another (tests/support/emulation).
namespace boxsum::cuda {

__device__ inline float half_to_float(float16 x) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
}

/// 64 bits that are seen as a whole or not at all, without order to anything else.
__device__ inline void store_relaxed(unsigned long long* word, unsigned long long value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ inline unsigned long long load_relaxed(const unsigned long long* word) {
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/// Adds without waiting for the old value, which cuda::atomic_ref::fetch_add was seen to ask for even where nobody uses
/// it: a round trip to the second-level cache.
__device__ inline void add_relaxed(unsigned* word, unsigned value) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/// The same number, of which the compiler does not know where it came from: an address that moves on from row to row is
/// otherwise worked out anew for each.
__device__ inline std::uintptr_t opaque(std::uintptr_t x) {
    asm volatile("" : "+l"(x));
    return x;
}

/// c + a . b of four bytes each, of which those of `a` are unsigned.
__device__ inline int dot_of_unsigned(std::uint32_t a, int b, int c) {
    int sum;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}

/// Two bytes, 255 where a number is negative, that of the first one below; above them anything.
__device__ inline std::uint32_t signs_of(std::uint32_t a, std::uint32_t b) {
    std::uint32_t signs;
    asm("prmt.b32 %0, %1, %2, 0x00fb;" : "=r"(signs) : "r"(a), "r"(b));
    return signs;
}

/// The root of x, 0 or normal, within two units of 2^-24 of it.
__device__ inline float root_within_two_units(float x) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

/// 2^x within 2^-22 of it, 1 for 0; for x of at most 1. 0 below -126.
__device__ inline float power_of_two_approximately(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

/// 1 / x within 2^-23 of it, for normal x.
__device__ inline float inverse_approximately(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

/// 1 / sqrt(x) within 2^-20 of it, for normal x above 0; infinity for 0. Of a double's upper half and into one: no
/// conversion.
__device__ inline double inverse_root_approximately(double x) {
    double root;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(x));
    return root;
}

/// 1 / x within 2^-19 of it, for x and 1 / x normal; infinity for 0. As the above.
__device__ inline double inverse_approximately(double x) {
    double inverse;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));
    return inverse;
}

/// Dynamic shared memory of the block.
template <typename T>
__device__ inline T* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T*>(bytes);
}

}  // namespace boxsum::cuda
