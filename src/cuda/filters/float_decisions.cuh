#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/exact_doubles.cuh"
#include "cuda/filters/threshold_formulas.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Results of 8-bit images by less than their definitions in double, which decide where these are in doubt.
namespace boxsum::cuda {

/// Pixels whose totals are all below 2^24, so that floats have them.
inline constexpr int narrow_pixels = (1 << 24) / 255;

/// The float that a double x is rounded to, |x| normal as a float. `doubtful`: one within 2^-38 of it might be rounded
/// to another.
struct narrowed {
    u32 bits;
    bool doubtful;

    /// Without Signed, of x above 0.
    template <bool Signed = true>
    __device__ explicit narrowed(double x, std::bool_constant<Signed> = {}) {
        const auto high = static_cast<u32>(__double2hiint(x)), low = static_cast<u32>(__double2loint(x));
        constexpr u32 half = 1u << 28, within = 1u << 15;  // units of 2^-52; a double is up to two of 2^-53 of itself
        const u32 rest = low & (2 * half - 1);
        bits = __funnelshift_l(low, high - (896u << 20), 3);
        if (Signed) bits = (high & 0x80000000u) | (bits & 0x7fffffffu);
        bits += rest > half ? 1 : 0;
        doubtful = rest - (half - within) < 2 * within;
    }
};

/// T = at_zero + mean * m + deviation * s + product * m * s, and how far it may be off in single precision.
///
/// With u = 2^-24: a sum S of n centred pixels, of which |S| / n <= 128 is all that matters, times 1 / n has an error
/// of 256 u, and m = that + 128 one of 512 u. The numerator of the variance, below 2^50, is made of two halves with an
/// error of 2 u, its root has half of that and 2 u of its own, s = root / n <= 128 two more: 5 u or 640 u in all. The
/// rest are the roundings of the coefficients, products and sums, each of its magnitude with m <= 255, x <= 255; 1 %
/// covers what is of second order, and the definition's own roundings, some 2^-48 of the magnitudes, lie far below.
struct float_rule {
    float at_zero, mean, deviation, product, error;

    __device__ float_rule(const threshold_terms& t) {
        double zero = 0, m = 1 - t.k, s = 0, both = 0;
        switch (t.method) {
            case threshold_method::niblack:
                m = 1;
                s = t.k;
                break;
            case threshold_method::sauvola:
                both = t.k / t.range;
                break;
            case threshold_method::wolf: {
                const double divisor = t.largest_deviation > 0 ? t.largest_deviation : 1;
                zero = t.k * t.smallest_pixel;
                s = -t.k * t.smallest_pixel / divisor;
                both = t.k / divisor;
                break;
            }
            default:
                break;
        }
        at_zero = static_cast<float>(zero);
        mean = static_cast<float>(m);
        deviation = static_cast<float>(s);
        product = static_cast<float>(both);
        const double slope = fabs(s) + 255 * fabs(both), most = fabs(zero) + 255 * fabs(m) + 128 * slope;
        const double units = (512 + 2 * 255) * fabs(m) + 2 * fabs(zero) +
                             128 * ((512 + 2 * 255) * fabs(both) + 2 * fabs(s)) + 640 * slope + 2 * most + 255;
        error = static_cast<float>(units * 0x1p-24 * 1.01);
    }

    /// Whether nothing overflows: thresholds are below 2^23 times the error.
    __device__ bool decides() const { return error < 1e30f; }
};

}  // namespace boxsum::cuda
