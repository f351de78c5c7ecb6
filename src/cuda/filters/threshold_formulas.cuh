#pragma once

#include "cuda/filters/window_kernels.hpp"
#include "filters/exponential.hpp"

#include <boxsum/filters.hpp>

#include <cmath>
#include <cstdint>

/// The formulas of thresholds, with the CPU's bits where nothing contracts them.
namespace boxsum::cuda {

/// A threshold's formula with its numbers; of one channel, so with Wolf's terms.
struct threshold_terms {
    threshold_method method;
    double k, range, p, q;
    double largest_deviation, smallest_pixel;
};

/// The threshold of a pixel x whose window has mean m and deviation s.
__device__ inline double limit_of(const threshold_terms& t, double x, double m, double s) {
    const double k = t.k;
    switch (t.method) {
        case threshold_method::bradley:
            return m * (1 - k);
        case threshold_method::niblack:
            return m + k * s;
        case threshold_method::sauvola:
            return m * (1 + k * (s / t.range - 1));
        case threshold_method::wolf:
            return m - k * (1 - s / (t.largest_deviation > 0 ? t.largest_deviation : 1)) * (m - t.smallest_pixel);
        case threshold_method::nick:
            return m + k * sqrt(s * s + m * m);
        case threshold_method::singh: {
            const double whole = 2 * t.range, most = whole * 254 / 255;
            const double d = fabs(x - m), cut = d > most ? most : d;
            return m * (1 + k * (cut / (whole - cut) - 1));
        }
        case threshold_method::phansalkar:
            return m * (1 + t.p * filters::exponential(-t.q / (2 * t.range) * m) + k * (s / t.range - 1));
    }
    return 0;
}

/// Doubles in the order of unsigned integers.
__device__ inline unsigned long long ordered(double x) {
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
    return bits >> 63 != 0 ? ~bits : bits | 1ull << 63;
}
__device__ inline double from_ordered(unsigned long long o) {
    return __longlong_as_double(static_cast<long long>(o >> 63 != 0 ? o & ~(1ull << 63) : ~o));
}

/// Of a thread's windows; without a pixel `smallest` is infinite. A root grows with what it is taken of. Most threads
/// change nothing: look before the atomic.
__device__ inline void join_extremes(window_extremes* extremes, int channel, double variance, double smallest) {
    const auto look = [](const unsigned long long& word) {
        return *const_cast<const volatile unsigned long long*>(&word);
    };
    const unsigned long long deviation = ordered(sqrt(variance)), pixel = ordered(smallest);
    if (deviation > look(extremes->largest_deviation[channel]))
        atomicMax(&extremes->largest_deviation[channel], deviation);
    if (smallest < INFINITY && pixel < look(extremes->smallest_pixel[channel]))
        atomicMin(&extremes->smallest_pixel[channel], pixel);
}

}  // namespace boxsum::cuda
