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
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const x = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        vec<Sum> s[most] = {zero<Sum>(), zero<Sum>(), zero<Sum>(), zero<Sum>()};
        shift.step = 0;
        const auto add_to = [&](vec<Sum> & sum, std::int64_t i) __attribute__((always_inline)) {
            sum = add(sum, shift_pixels<Square>(load_pixels<In, Sum>(x + i), shift.next(), shift.negated));
        };
        std::int64_t i = 0;
        for (; i + together * lanes <= t.elements; i += together * lanes) {
            for (int k = 0; k < 3; ++k) add_to(s[k], i + k * lanes);
            if (together == 4) add_to(s[3], i + 3 * lanes);
        }
        for (int k = 0; i + lanes <= t.elements; ++k, i += lanes) add_to(s[k], i);
        if (channels == 1) s[0] = add(add(s[0], s[1]), add(s[2], s[3]));
        Sum all[(most + 1) * lanes];
        for (int k = 0; k < together; ++k) store(all + k * lanes, s[k]);
        const int count = static_cast<int>(t.elements - i);
        if (count > 0) {
            vec<Sum> last = shift_pixels<Square>(load_pixels_edge<In, Sum>(x + i, count), shift.next(), shift.negated);
            store(all + together * lanes, last);
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
        for (int k = 0; k < channels; ++k) out[row * channels + k] = sums[k];
    }
}

}  // namespace
}  // namespace boxsum::cpu
