#pragma once

#include "convolve/job.hpp"

namespace boxsum::convolution {

/// Rows of the result that one call of an inner loop makes.
inline constexpr int rows_together = 4;

/// Inner loops, compiled once per instruction set. `sums[q][c] = sum over i < rows, j < cols of weights[i * cols + j] *
/// lines[q + i][c + j * channels]`, for q < rows_together and c < n, added in this order.
template <typename T>
using sum_rows = void (*)(T* const* sums, const T* const* lines, const T* weights, int rows, int cols,
                          std::int64_t channels, std::int64_t n);

struct row_sums {
    sum_rows<float> f32;
    sum_rows<double> f64;
};

namespace baseline {
extern const row_sums sums;
}
#if defined(__x86_64__)
namespace avx2 {
extern const row_sums sums;
}
namespace avx512 {
extern const row_sums sums;
}
#endif

}  // namespace boxsum::convolution
