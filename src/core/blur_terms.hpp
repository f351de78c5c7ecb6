#pragma once

#include "core/host_device.hpp"

#include <cstdint>
#include <type_traits>

/// What variable_blur() and circles_of_confusion() compute of a pixel. Host and device run the same statements, and
/// kernels are compiled without contraction, so that both find the same bits.
namespace boxsum {

inline constexpr int highest_blur_order = 3;

/// Coefficient i of the difference of an order, without its sign: binomials.
BOXSUM_HOST_DEVICE inline std::uint64_t difference_weight(int order, int i) {
    return i == 0 || i == order ? 1 : static_cast<std::uint64_t>(order);
}

/// Entry k of the order-fold running sum of endless ones, (k + 1) ... (k + order) / order!, modulo 2^64.
BOXSUM_HOST_DEVICE inline std::uint64_t repeated_ones(int order, std::int64_t k) {
    if (k < 0) return 0;
    std::uint64_t a = static_cast<std::uint64_t>(k) + 1, b = a + 1, c = a + 2;
    if (order == 1) return a;
    (a % 2 == 0 ? a : b) /= 2;
    if (order == 2) return a * b;
    (a % 3 == 0 ? a : b % 3 == 0 ? b : c) /= 3;  // one of three in a row, a half of it too
    return a * b * c;
}

/// The sum of the weights within an axis of n pixels of the window around `at`: of a table of ones, which ends with the
/// axis.
BOXSUM_HOST_DEVICE inline std::uint64_t blur_weights(std::int64_t n, int order, std::int64_t at, std::int64_t radius) {
    const std::int64_t width = 2 * radius + 1, last = at + order * radius;
    std::uint64_t sum = 1;
    if (at - order * radius >= 0 && last < n) {
        for (int i = 0; i < order; ++i) sum *= static_cast<std::uint64_t>(width);
        return sum;
    }
    sum = 0;
    for (int i = 0; i <= order; ++i) {
        const std::int64_t k = last - i * width;
        const std::uint64_t term =
            difference_weight(order, i) * (repeated_ones(order, k) - repeated_ones(order, k - n));
        sum = i % 2 == 0 ? sum + term : sum - term;
    }
    return sum;
}

/// sum / weights, as results have it: `half_up` or rounded down.
template <typename Out>
BOXSUM_HOST_DEVICE inline Out blurred_pixel(std::uint64_t sum, std::uint64_t weights, bool half_up) {
    if constexpr (std::is_floating_point_v<Out>) {
        return static_cast<Out>(static_cast<double>(sum) / static_cast<double>(weights));
    } else {
        const auto divided = [half_up](auto dividend, auto divisor) {
            const auto whole = dividend / divisor, rest = dividend % divisor;
            return static_cast<Out>(whole + (half_up && rest >= divisor - rest ? 1 : 0));
        };
        // Most sums have 32 bits, which devices divide several times as fast.
        if ((sum | weights) >> 32 == 0)
            return divided(static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(weights));
        return divided(sum, weights);
    }
}

/// The radius of the circle of confusion at depth z, which is rounded to the nearest.
BOXSUM_HOST_DEVICE inline double confusion_radius(double z, double focus, double aperture, double largest) {
    if (z != z) return 0;
    if (!(z > 0)) return largest;
    const double off = 1 - focus / z, radius = aperture * (off < 0 ? -off : off) + 0.5;
    return radius < largest ? static_cast<double>(static_cast<std::uint64_t>(radius)) : largest;
}

}  // namespace boxsum
