#pragma once

#include <cstdint>

/// Integers in double without a conversion, of which a multiprocessor makes few.
namespace boxsum::cuda {

/// Of x below 2^52.
__device__ inline double as_double(std::uint64_t x) {
    return __hiloint2double(static_cast<int>(0x43300000u | static_cast<std::uint32_t>(x >> 32)), static_cast<int>(x)) -
           0x1p52;
}

__device__ inline double as_double(std::uint32_t x) {
    return __hiloint2double(0x43300000, static_cast<int>(x)) - 0x1p52;
}

__device__ inline double as_double(int x) {
    return __hiloint2double(0x43300000, static_cast<int>(static_cast<std::uint32_t>(x) ^ 0x80000000u)) -
           (0x1p52 + 0x1p31);
}

}  // namespace boxsum::cuda
