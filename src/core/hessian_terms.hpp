#pragma once

#include "core/host_device.hpp"

#include <boxsum/types.hpp>

#include <cstdint>

/// What box_hessian() computes of a pixel. Host and device run the same statements, and kernels are compiled without
/// contraction, so that both find the same bits.
namespace boxsum {

/// What a pixel's box is, in rows or columns: of `count` behind the one `from` away.
struct hessian_reach {
    std::int64_t from, count;
};
struct hessian_box {
    hessian_reach rows, cols;
};

/// The boxes of one scale.
struct hessian_scale {
    hessian_box boxes[8];
    double weight, unit;  ///< of a sum, and what determinants are divided by

    hessian_scale(double sigma, dtype image) {
        const auto n = static_cast<std::int64_t>(3 * sigma);
        const std::int64_t l = n / 3, h = (n - 1) / 2, twice = 2 * l - 1;
        const hessian_box all[] = {{{-l, l}, {-l, l}},        {{1, l}, {1, l}},
                                   {{1, l}, {-l, l}},         {{-l, l}, {1, l}},
                                   {{1 - l, twice}, {-h, n}}, {{1 - l, twice}, {-(l / 2), l}},
                                   {{-h, n}, {1 - l, twice}}, {{-(l / 2), l}, {1 - l, twice}}};
        for (int i = 0; i < 8; ++i) boxes[i] = all[i];
        const auto size = static_cast<double>(n);
        weight = 1.0 / size / size;
        const double largest = image == dtype::u8 ? 255 : image == dtype::u16 ? 65535 : 1;
        unit = largest * largest;
    }
};

/// Of the sums of the eight boxes.
BOXSUM_HOST_DEVICE inline double hessian_determinant(double top_left, double bottom_right, double bottom_left,
                                                     double top_right, double x_middle, double x_side, double y_middle,
                                                     double y_side, double weight, double unit) {
    const double dxy = -(bottom_left + top_right - top_left - bottom_right) * weight;
    const double dxx = -(x_middle - 3 * x_side) * weight;
    const double dyy = -(y_middle - 3 * y_side) * weight;
    return (dxx * dyy - 0.81 * (dxy * dxy)) / unit;
}

}  // namespace boxsum
