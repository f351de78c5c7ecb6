#pragma once

// Sums of whole rows less an offset, of one channel or several: what rows start with that lie right of an origin. Part
// of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"

namespace boxsum::cpu {
namespace {

template <typename In, typename Sum, bool Square>
void sum_rows(const tile& t) {
    constexpr int lanes = vec<Sum>::lanes;
    constexpr int most = 4;  // vectors that are summed apart, so that additions overlap
    const int channels = static_cast<int>(t.channels);
    const int together = channels == 3 ? 3 : 4;  // whole pixels
    auto* const out = static_cast<Sum*>(t.carry);
    pixel_shift<Sum, 4> shift(t);
    vec<Sum> offset[most];
    for (vec<Sum>& o : offset) o = shift.next();
    const auto term = [](vec<Sum> pixels, vec<Sum> o) __attribute__((always_inline)) {
        const vec<Sum> x = subtract(pixels, o);
        if constexpr (Square)
            return square(x);
        else
            return x;
    };
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const x = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        vec<Sum> s[most] = {zero<Sum>(), zero<Sum>(), zero<Sum>(), zero<Sum>()};
        const auto add_to = [&](int k, std::int64_t i) __attribute__((always_inline)) {
            s[k] = add(s[k], term(load_pixels<In, Sum>(x + i), offset[k]));
        };
        std::int64_t i = 0;
        for (; i + together * lanes <= t.elements; i += together * lanes) {
            for (int k = 0; k < 3; ++k) add_to(k, i + k * lanes);
            if (together == 4) add_to(3, i + 3 * lanes);
        }
        int behind = 0;  // whole vectors
        for (; i + lanes <= t.elements; ++behind, i += lanes) add_to(behind, i);
        if (channels == 1) s[0] = add(add(s[0], s[1]), add(s[2], s[3]));
        Sum all[(most + 1) * lanes];
        for (int k = 0; k < together; ++k) store(all + k * lanes, s[k]);
        const int count = static_cast<int>(t.elements - i);
        if (count > 0) {
            store(all + together * lanes, term(load_pixels_edge<In, Sum>(x + i, count), offset[behind]));
        }
        Sum sums[4] = {};
        if (channels == 1) {
            for (int half = lanes / 2; half > 0; half /= 2)
                for (int k = 0; k < half; ++k) all[k] = static_cast<Sum>(all[k] + all[k + half]);
            sums[0] = all[0];
        } else {
            for (int k = 0; k < together * lanes; k += channels)
                for (int c = 0; c < channels; ++c) sums[c] = static_cast<Sum>(sums[c] + all[k + c]);
        }
        for (int k = 0, c = static_cast<int>(i % channels); k < count; ++k, c = c + 1 == channels ? 0 : c + 1)
            sums[c] = static_cast<Sum>(sums[c] + all[together * lanes + k]);
        for (int k = 0; k < channels; ++k)
            out[row * channels + k] = t.negated ? static_cast<Sum>(Sum{} - sums[k]) : sums[k];
    }
}

}  // namespace
}  // namespace boxsum::cpu
