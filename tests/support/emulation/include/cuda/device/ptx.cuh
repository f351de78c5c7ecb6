#pragma once

// In place of src/cuda/device/ptx.cuh.

#include "support/emulation/machine.hpp"

#include <boxsum/types.hpp>

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

inline float root_within_two_units(float x) {
    return std::sqrt(x);
}

template <typename T>
T* dynamic_shared() {
    return reinterpret_cast<T*>(emulation::dynamic_shared_memory());
}

}  // namespace boxsum::cuda
