#pragma once

#include "core/host_device.hpp"

#include <boxsum/box.hpp>

#include <cmath>
#include <cstdint>

/// Sums over rectangles whose edges lie within pixels. Host and device run the same statements in double, and kernels
/// are compiled without contraction, so that both find the same bits.
namespace boxsum {

/// A side of a rectangle: the part of a pixel, whole pixels, and the part of another one; each may be empty.
struct weighted_side {
    static constexpr int runs = 3;

    std::int64_t edge[runs + 1] = {};  ///< run i is the pixels edge[i] .. edge[i + 1] - 1
    double weight[runs] = {};
    double length = 0;

    /// Between two coordinates that are not negative. Length 0 unless the second is greater.
    BOXSUM_HOST_DEVICE weighted_side(double low, double high) {
        if (!(low < high)) return;
        length = high - low;
        const double whole_from = std::ceil(low), whole_to = std::floor(high);
        edge[0] = static_cast<std::int64_t>(std::floor(low));
        if (whole_from > whole_to) {  // within one pixel
            edge[1] = edge[2] = edge[3] = edge[0] + 1;
            weight[0] = length;
            return;
        }
        edge[1] = static_cast<std::int64_t>(whole_from);
        edge[2] = static_cast<std::int64_t>(whole_to);
        edge[3] = static_cast<std::int64_t>(std::ceil(high));
        weight[0] = whole_from - low;
        weight[1] = 1;
        weight[2] = high - whole_to;
    }
};

/// The sum over a rectangle of what a table has summed: of at most nine boxes of whole pixels, each exact in the
/// table's own arithmetic, by the part of their pixels that lies inside; nothing is a difference of rounded products.
/// `Table` has Word at(row, col), the sum of the pixels above that row and left of that column; minus(a, b); and double
/// value(a, rows, cols) of the sum of so many pixels.
template <typename Word, typename Table>
BOXSUM_HOST_DEVICE double weighted_sum(const Table& table, const weighted_side& rows, const weighted_side& cols) {
    constexpr int edges = weighted_side::runs + 1;
    Word above[edges] = {};
    double sum = 0;
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int i = 0; i < edges; ++i) {
        if (i > 0 && rows.edge[i] == rows.edge[i - 1]) continue;
        Word row[edges] = {};
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int j = 0; j < edges; ++j) {
            if (j > 0 && cols.edge[j] == cols.edge[j - 1]) {
                row[j] = row[j - 1];
                continue;
            }
            row[j] = table.at(rows.edge[i], cols.edge[j]);
            if (i == 0 || j == 0) continue;
            sum += rows.weight[i - 1] * cols.weight[j - 1] *
                   table.value(table.minus(table.minus(row[j], above[j]), table.minus(row[j - 1], above[j - 1])),
                               rows.edge[i] - rows.edge[i - 1], cols.edge[j] - cols.edge[j - 1]);
        }
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int j = 0; j < edges; ++j) above[j] = row[j];
    }
    return sum;
}

/// Whether a box has an area and lies where a table answers.
BOXSUM_HOST_DEVICE inline bool lies_within(const fractional_box& b, std::int64_t rows, std::int64_t cols) {
    return b.top < b.bottom && b.left < b.right && b.top >= 0 && b.left >= 0 && b.bottom <= static_cast<double>(rows) &&
           b.right <= static_cast<double>(cols);
}

/// Of means, which the square of the mean is taken from; NaN stays.
BOXSUM_HOST_DEVICE inline double variance_of_means(double mean, double mean_square) {
    const double variance = mean_square - mean * mean;
    return variance < 0 ? 0 : variance;
}

}  // namespace boxsum
