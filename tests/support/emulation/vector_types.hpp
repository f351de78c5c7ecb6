#pragma once

#include <cstdint>

// CUDA's vector types, with their alignment, and the indices of the running thread.

struct uint3 {
    unsigned x, y, z;
};
struct int3 {
    int x, y, z;
};

struct dim3 {
    unsigned x, y, z;

    constexpr dim3(unsigned columns = 1, unsigned rows = 1, unsigned planes = 1) : x(columns), y(rows), z(planes) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#define BOXSUM_VECTOR_TYPES(scalar, name)                                      \
    struct alignas(2 * sizeof(scalar)) name##2 {                               \
        scalar x, y;                                                           \
    };                                                                         \
    struct alignas(sizeof(scalar) < 8 ? 4 * sizeof(scalar) : 16) name##4 {     \
        scalar x, y, z, w;                                                     \
    };                                                                         \
    constexpr name##2 make_##name##2(scalar x, scalar y) {                     \
        return {x, y};                                                         \
    }                                                                          \
    constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { \
        return {x, y, z, w};                                                   \
    }
BOXSUM_VECTOR_TYPES(unsigned char, uchar)
BOXSUM_VECTOR_TYPES(unsigned short, ushort)
BOXSUM_VECTOR_TYPES(short, short)
BOXSUM_VECTOR_TYPES(int, int)
BOXSUM_VECTOR_TYPES(unsigned, uint)
BOXSUM_VECTOR_TYPES(unsigned long long, ulonglong)
BOXSUM_VECTOR_TYPES(float, float)
BOXSUM_VECTOR_TYPES(double, double)
#undef BOXSUM_VECTOR_TYPES

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;
