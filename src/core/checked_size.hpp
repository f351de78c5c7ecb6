#pragma once

#include <cstdint>
#include <optional>

namespace boxsum {

/// a * b for non-negative 64-bit sizes; nothing when it does not fit.
inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) return {};
    return result;
}

/// a + b; nothing when it does not fit.
inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) return {};
    return result;
}

}  // namespace boxsum
