#pragma once

#include "core/host_device.hpp"

/// What rounding may have made of the sums of a floating table. Host and device run the same statements in double, and
/// kernels are compiled without contraction.
namespace boxsum {

/// Higham's gamma of as many additions as there are rows and columns, and of the square, the parts of a table and what
/// this bound itself rounds.
BOXSUM_HOST_DEVICE inline double gamma_of(double rows, double cols, double u) {
    const double k = rows + cols + 8;
    return k * u / (1 - k * u);
}

/// What an entry that sums so many rows and columns of values that are not negative adds to the error of a box's sum,
/// the three differences among it.
BOXSUM_HOST_DEVICE inline double error_of_entry(double rows, double cols, double entry, double u) {
    const double g = gamma_of(rows, cols, u);
    return (g + 3 * u) * (entry / (1 - g));
}

}  // namespace boxsum
