#pragma once

#include "convolve/job.hpp"

namespace boxsum::convolution {

/// The CPU's convolve(), on checked memory.
void run(const job& j, const void* image, void* result, int threads);

/// Inner loops, compiled once per instruction set. `sums[c] = sum over i < rows, j < cols of weights[i * cols + j] *
/// lines[i][c + j * channels]`, for c < n.
template <typename T>
using sum_row = void (*)(T* sums, const T* const* lines, const T* weights, int rows, int cols, std::int64_t channels,
                         std::int64_t n);

struct row_sums {
    sum_row<float> f32;
    sum_row<double> f64;
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
