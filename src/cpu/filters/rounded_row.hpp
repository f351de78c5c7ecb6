#pragma once

#include <boxsum/filters.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace boxsum::filters {

/// Results that are not negative into elements that lie `step` apart: integers rounded as `rounding` says and cut to
/// their range, 0 for NaN.
template <typename Out>
void store_rounded(Out* to, std::int64_t step, const f64* x, std::int64_t n, rounding_mode rounding) {
    if constexpr (std::is_floating_point_v<Out>) {
        for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<Out>(x[i]);
    } else {
        const f64 half = rounding == rounding_mode::half_up ? 0.5 : 0, most = std::numeric_limits<Out>::max();
        for (std::int64_t i = 0; i < n; ++i) {  // what is not negative is rounded down by conversion
            const f64 value = x[i] + half;
            to[i * step] = static_cast<Out>(static_cast<s32>(value > 0 ? std::min(value, most) : 0));  // NaN: 0
        }
    }
}

}  // namespace boxsum::filters
