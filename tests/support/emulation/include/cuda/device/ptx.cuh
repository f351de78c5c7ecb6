#pragma once

// In place of src/cuda/device/ptx.cuh.

#include "support/emulation/machine.hpp"

#include <boxsum/types.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace boxsum::cuda {

inline float half_to_float(float16 x) {
    return to_float(x);
}

inline void store_relaxed(unsigned long long* word, unsigned long long value,
                          const emulation::location& where = emulation::location::current()) {
    *word = value;
    emulation::progress();
    emulation::yield(where);
}

inline unsigned long long load_relaxed(const unsigned long long* word,
                                       const emulation::location& where = emulation::location::current()) {
    emulation::look(word, "looks with load_relaxed", where);
    return *word;
}

inline void add_relaxed(unsigned* word, unsigned value,
                        const emulation::location& where = emulation::location::current()) {
    emulation::add_later(word, value);
    emulation::progress();
    emulation::yield(where);
}

inline std::uintptr_t opaque(std::uintptr_t x) {
    return x;
}

inline int dot_of_unsigned(std::uint32_t a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<int>(a >> i & 0xffu) * static_cast<std::int8_t>(b >> i);
    return c;
}

inline std::uint32_t signs_of(std::uint32_t a, std::uint32_t b) {
    return (a >> 31 != 0 ? 0xffu : 0u) | (b >> 31 != 0 ? 0xff00u : 0u);
}

/// One of the two floats around x, which bits of the nearer one choose: a device's approximations are off by up to a
/// unit, too, whether or not a float has the result.
inline float float_about(double x) {
    const auto nearest = static_cast<float>(x);
    if (x == 0 || std::popcount(std::bit_cast<std::uint32_t>(nearest)) % 2 == 0) return nearest;
    return std::nextafter(nearest, nearest > x ? 0 : INFINITY);
}

inline float root_within_two_units(float x) {
    return float_about(std::sqrt(double{x}));
}

inline float power_of_two_approximately(float x) {
    return x < -126 ? 0 : x == 0 ? 1 : float_about(std::exp2(double{x}));
}

inline float inverse_approximately(float x) {
    return float_about(1 / double{x});
}

inline double inverse_root_approximately(double x) {
    const std::uint64_t upper = ~std::uint64_t{0xffffffff};
    const double root = 1 / std::sqrt(std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & upper));
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(root) & upper);
}

inline double inverse_approximately(double x) {
    const std::uint64_t upper = ~std::uint64_t{0xffffffff};
    const double inverse = 1 / std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & upper);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(inverse) & upper);
}

template <typename T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(emulation::dynamic_shared_memory());
}

}  // namespace boxsum::cuda
