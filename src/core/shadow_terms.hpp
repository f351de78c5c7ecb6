#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

/// A pixel of variance_shadows(). Host and device run the same statements in double, and kernels are compiled without
/// contraction, so that both find the same bits.
namespace boxsum {

/// A side of a rectangle: the part of a pixel, whole pixels, and the part of another one; each may be empty.
struct shadow_side {
    static constexpr int runs = 3;

    std::int64_t edge[runs + 1] = {};  ///< run i is the pixels edge[i] .. edge[i + 1] - 1
    double weight[runs] = {};
    double length = 0;

    /// Of what lies on a map of so many pixels. Nothing of it: length 0.
    BOXSUM_HOST_DEVICE shadow_side(double first, double extent, std::int64_t pixels) {
        const double last = static_cast<double>(pixels), end = first + extent;
        const double low = first < 0 ? 0 : first, high = last < end ? last : end;  // NaN stays, and is nothing
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

/// The sum over a rectangle of what a table has summed. `Table` has Word at(row, col), the sum of the pixels above that
/// row and left of that column; minus(a, b); and double value(a).
template <typename Word, typename Table>
BOXSUM_HOST_DEVICE double weighted_sum(const Table& table, const shadow_side& rows, const shadow_side& cols) {
    constexpr int edges = shadow_side::runs + 1;
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
                   table.value(table.minus(table.minus(row[j], above[j]), table.minus(row[j - 1], above[j - 1])));
        }
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int j = 0; j < edges; ++j) above[j] = row[j];
    }
    return sum;
}

/// Chebyshev's bound, its two remedies applied; `receiver` less what the table's pixels are less.
BOXSUM_HOST_DEVICE inline double lit_part(double mean, double mean_square, double receiver, double min_variance,
                                          double bleeding) {
    const double behind = receiver - mean;
    if (behind <= 0) return 1;
    const double seen = mean_square - mean * mean, variance = seen < min_variance ? min_variance : seen;
    const double lit = variance > 0 ? variance / (variance + behind * behind) : 0;
    const double stretched = (lit - bleeding) / (1 - bleeding);
    return stretched < 0 ? 0 : stretched > 1 ? 1 : stretched;
}

}  // namespace boxsum
