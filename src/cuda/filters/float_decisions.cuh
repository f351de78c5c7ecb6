#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/exact_doubles.cuh"
#include "cuda/device/ptx.cuh"
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

/// What a threshold is made of, in single precision.
enum class threshold_kind : std::uint8_t {
    multiple_of_mean,  ///< bradley
    deviation,         ///< niblack, sauvola, wolf
    quadratic_mean,    ///< nick
    difference,        ///< singh: of a pixel from its mean
    exponential,       ///< phansalkar
};

/// Calls f.template operator()<Kind>() for a method's kind.
template <typename F>
void visit_kind(threshold_method method, F&& f) {
    switch (method) {
        case threshold_method::bradley:
            return f.template operator()<threshold_kind::multiple_of_mean>();
        case threshold_method::nick:
            return f.template operator()<threshold_kind::quadratic_mean>();
        case threshold_method::singh:
            return f.template operator()<threshold_kind::difference>();
        case threshold_method::phansalkar:
            return f.template operator()<threshold_kind::exponential>();
        default:
            return f.template operator()<threshold_kind::deviation>();
    }
}

/// Whether it takes sums of squares.
constexpr bool has_root(threshold_kind kind) {
    return kind != threshold_kind::multiple_of_mean && kind != threshold_kind::difference;
}

/// n^2 times what a root is taken of: the variance, whose numerator is `above`, or of a quadratic mean the mean of
/// squares, which is more by the square of the mean. `total`: of pixels. Below 2^52.
template <threshold_kind Kind>
__device__ std::uint64_t under_root(std::uint64_t above, int total) {
    return Kind == threshold_kind::quadratic_mean ? above + static_cast<std::uint64_t>(std::int64_t{total} * total)
                                                  : above;
}

/// The root of an integer below 2^52, within 3 u of itself; u = 2^-24.
__device__ inline float root_of(std::uint64_t x) {
    return root_within_two_units(__fmaf_rn(static_cast<float>(static_cast<u32>(x >> 32)), 4294967296.0f,
                                           static_cast<float>(static_cast<u32>(x))));
}

/// By how much a threshold exceeds its pixel x, times something positive, and how far that may be off in single
/// precision. With a, b, c, d of the rule, a window's mean m, and r its deviation or its quadratic mean:
///   a + b m + r (c + d m) - x         multiple_of_mean, deviation, quadratic_mean
///   (a m - x) (b - e) + d m e         difference: e = min(|x - m|, c), and b - e is positive
///   m (a + b 2^(c m) + d r) - x       exponential: c <= 0
///
/// With u = 2^-24: a sum S of n pixels 128 lower, of which |S| / n <= 128 is all that matters, times 1 / n has an error
/// of 256 u, and m = that + 128 one of 512 u. What a root is taken of is made of two halves with an error of 2 u, the
/// root has half of that and 2 u of its own, r = root / n two more: 5 u of itself, which is at most 128, or 255. The
/// rest are the roundings of the rule, products and sums, each of its magnitude with m <= 255, x <= 255; 1 % covers
/// what is of second order, and the definition's own roundings, some 2^-48 of the magnitudes, lie far below.
///   difference: e errs by the 512 u and 255 of a rounding, and by u c where that is less than 255.
///   exponential: c m errs by (512 + 2 * 255) u |c|, the power by ln 2 times that, and m times the power is at most
///   1 / (e ln 2 |c|): together 1022 / 2.718 u whatever c is, as long as the powers' error is small.
///
/// Margins are below 2^24 times the error, so that where this is finite nothing overflows. Where it is infinite margins
/// decide nothing: of factors beyond floats, and of ranges by which the definition divides to infinity.
template <threshold_kind Kind>
struct float_rule {
    float a, b, c, d, error;

    __device__ float_rule(const threshold_terms& t) {
        constexpr double x = 255, of_mean = 512, by_mean = of_mean + 2 * x;  // with the roundings of a product with m
        const double slope = 1 - t.k, spread = t.k / t.range;
        double at_zero = 0, mean = slope, root = 0, product = 0, units = 0;
        if constexpr (Kind == threshold_kind::difference) {
            const double whole = 2 * t.range, most = whole * 254 / 255, cut = most < x ? most : x;
            at_zero = slope, mean = whole, root = most, product = t.k;
            const double first = fabs(slope) * x + x, last = fabs(t.k) * x, e = of_mean + x + cut;
            units = whole * (fabs(slope) * by_mean + x) + first * (e + 2 * whole) + cut * fabs(t.k) * (by_mean + x) +
                    last * e + 2 * last * cut + first * whole;
        } else if constexpr (Kind == threshold_kind::exponential) {
            at_zero = slope, mean = t.p, root = -t.q / (2 * t.range) * 1.4426950408889634, product = spread;
            const double first = fabs(slope) + fabs(t.p), all = first + 128 * fabs(spread);
            units = x * (fabs(slope) + 5 * fabs(t.p) + first + (640 + 128) * fabs(spread) + 2 * all) + of_mean * all +
                    by_mean / 2.718 * fabs(t.p) + x;
            if (!(root <= 0 && root > -16)) units = INFINITY;
        } else {
            constexpr double largest_root = Kind == threshold_kind::quadratic_mean ? 255 : 128;
            if (Kind == threshold_kind::quadratic_mean || t.method == threshold_method::niblack) {
                mean = 1;
                root = t.k;
            } else if (t.method == threshold_method::sauvola) {
                product = spread;
            } else if (t.method == threshold_method::wolf) {
                const double divisor = t.largest_deviation > 0 ? t.largest_deviation : 1;
                at_zero = t.k * t.smallest_pixel;
                root = -t.k * t.smallest_pixel / divisor;
                product = t.k / divisor;
            }
            const double rise = fabs(root) + x * fabs(product),
                         most = fabs(at_zero) + x * fabs(mean) + largest_root * rise;
            units = by_mean * fabs(mean) + 2 * fabs(at_zero) +
                    largest_root * (by_mean * fabs(product) + 2 * fabs(root)) + 5 * largest_root * rise + 2 * most + x;
        }
        a = static_cast<float>(at_zero);
        b = static_cast<float>(mean);
        c = static_cast<float>(root);
        d = static_cast<float>(product);
        error = units < 1e37 && t.range > 1e-300 ? static_cast<float>(units * 0x1p-24 * 1.01) : INFINITY;
    }
    /// Of the numbers of another.
    __device__ float_rule(float4 of, float error_of) : a(of.x), b(of.y), c(of.z), d(of.w), error(error_of) {}

    /// Of a mean, a root (where the kind has one), and a pixel.
    __device__ float margin(float m, float r, float x) const {
        if constexpr (Kind == threshold_kind::difference) {
            const float e = fminf(fabsf(x - m), c);
            return __fmaf_rn(__fmaf_rn(a, m, -x), b - e, d * m * e);
        } else if constexpr (Kind == threshold_kind::exponential) {
            const float power = power_of_two_approximately(c * m);
            return __fmaf_rn(m, __fmaf_rn(d, r, __fmaf_rn(b, power, a)), -x);
        } else {
            float limit = __fmaf_rn(b, m, a);
            if constexpr (has_root(Kind)) limit = __fmaf_rn(r, __fmaf_rn(d, m, c), limit);
            return limit - x;
        }
    }
};

}  // namespace boxsum::cuda
