#pragma once

#include "core/visit_types.hpp"

#include <cstdint>
#include <tuple>

/// The inner loops of non-local means, compiled once per instruction set (patch_kernels_*.cpp) and chosen when the
/// program runs.
namespace boxsum::filters {

template <typename T>
struct patch_pixel_kernels {
    /// to[i] = sum of (x[i] - y[i])^2 over channels, which are `plane` elements apart.
    void (*differences)(f64* to, const T* x, const T* y, std::int64_t channels, std::int64_t plane, std::int64_t n);
    /// values += weights * x
    void (*accumulate)(f64* values, const f64* weights, const T* x, std::int64_t n);
};

struct patch_kernels {
    std::tuple<patch_pixel_kernels<f32>, patch_pixel_kernels<f64>> pixel;
    /// The sum of two to four rows, from left to right.
    void (*add)(f64* to, const f64* const* rows, int count, std::int64_t n);
    /// to[i] = exp(-max(0, sums[i] * row * cols[i] - noise) * scale)
    void (*weights)(f64* to, const f64* sums, f64 row, const f64* cols, f64 noise, f64 scale, std::int64_t n);
};

/// The best set for this machine.
const patch_kernels& patches_of_this_machine();

namespace baseline {
extern const patch_kernels patches;
}
#if defined(__x86_64__)
namespace avx2 {
extern const patch_kernels patches;
}
namespace avx512 {
extern const patch_kernels patches;
}
#endif

}  // namespace boxsum::filters
