#pragma once

#include "core/host_device.hpp"

#include <boxsum/histogram_search.hpp>

#include <cmath>
#include <numbers>

/// Each distance is a sum over bins of a term of the two shares p and q, and a last step. Host and device run the same
/// statements in double, and kernels are compiled without contraction, so that both find the same windows.
namespace boxsum {

template <histogram_distance distance>
BOXSUM_HOST_DEVICE double distance_term(double p, double q) {
    if constexpr (distance == histogram_distance::l1) return std::abs(p - q);
    if constexpr (distance == histogram_distance::l2) return (p - q) * (p - q);
    if constexpr (distance == histogram_distance::chi_square)
        return p + q > 0 ? 0.5 * (p - q) * (p - q) / (p + q) : 0.0 * (p + q);
    if constexpr (distance == histogram_distance::intersection) return p < q || p != p ? p : q;
    if constexpr (distance == histogram_distance::bhattacharyya) return std::sqrt(p * q);
}

BOXSUM_HOST_DEVICE constexpr double largest_distance(histogram_distance distance) {
    if (distance == histogram_distance::l1) return 2;
    return distance == histogram_distance::l2 ? std::numbers::sqrt2 : 1;
}

/// `a_empty`: the histogram's total is zero, so that there are no shares to compare.
BOXSUM_HOST_DEVICE inline double finish_distance(histogram_distance distance, double sum, bool a_empty, bool b_empty) {
    if (a_empty || b_empty) return a_empty && b_empty ? 0.0 : largest_distance(distance);
    // Rounding may bring the sums of equal histograms above 1; a NaN passes through.
    const double from_one = sum > 1 ? 0.0 : 1 - sum;
    switch (distance) {
        case histogram_distance::l2:
            return std::sqrt(sum);
        case histogram_distance::intersection:
            return from_one;
        case histogram_distance::bhattacharyya:
            return std::sqrt(from_one);
        case histogram_distance::l1:
        case histogram_distance::chi_square:
            break;
    }
    return sum;
}

template <typename F>
void visit_distance(histogram_distance distance, F&& f) {
    switch (distance) {
        case histogram_distance::l1:
            return f.template operator()<histogram_distance::l1>();
        case histogram_distance::l2:
            return f.template operator()<histogram_distance::l2>();
        case histogram_distance::chi_square:
            return f.template operator()<histogram_distance::chi_square>();
        case histogram_distance::intersection:
            return f.template operator()<histogram_distance::intersection>();
        case histogram_distance::bhattacharyya:
            return f.template operator()<histogram_distance::bhattacharyya>();
    }
}

/// What a value is multiplied by to become a share of the total.
BOXSUM_HOST_DEVICE inline double share_factor(double total) {
    return total == 0 ? 0.0 : 1 / total;
}

}  // namespace boxsum
