#pragma once

#include <boxsum/types.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace boxsum {

/// The nearest float16, ties to even, with one rounding. On the way through 32 bits the number is cut off and its last
/// bit says whether it was exact (rounding to odd), so that no tie appears that was none.
inline float16 nearest_float16(double x) noexcept {
    const float near = static_cast<float>(x);
    if (static_cast<double>(near) == x || std::isnan(x)) return to_float16(near);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(near);
    if (std::abs(static_cast<double>(near)) > std::abs(x)) --bits;
    return to_float16(std::bit_cast<float>(bits | 1));
}

/// floor(sum / count + 1/2) or, if not `half_up`, floor(sum / count). Integers of less than 2^53, count above 0.
inline std::int64_t rounded_quotient(double sum, double count, bool half_up) noexcept {
    const auto s = static_cast<std::int64_t>(sum), n = static_cast<std::int64_t>(count);
    const std::int64_t raised = 2 * s + (half_up ? n : 0);
    return raised / (2 * n) - (raised % (2 * n) < 0 ? 1 : 0);
}

}  // namespace boxsum
