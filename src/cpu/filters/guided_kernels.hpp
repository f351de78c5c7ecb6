#pragma once

#include "core/visit_types.hpp"

#include <cstdint>
#include <tuple>

/// The inner loops of the guided filter, compiled once per instruction set (guided_kernels_*.cpp) and chosen when the
/// program runs. Rows of n elements, whose results have the same bits in each.
namespace boxsum::filters {

/// Moments of the windows of a row, each a row itself, of up to four guides; those of the guides' pairs (1, 0), (2, 0),
/// (2, 1), .. and of each with the image are variances of sums. `to`: a for each guide, then b.
struct fit_rows {
    const f64 *mean[4], *variance[4], *with_image[4], *between[6];
    const f64 *image_mean, *image_variance;
    f64* to[5];
};

template <typename T>
struct guide_kernels {
    /// q += a * x
    void (*add_product)(f64* q, const f64* a, const T* x, std::int64_t n);
};

struct guided_kernels {
    /// Of one to four guides: the solution of (covariances + epsilon E) a = covariances with the image, by L D L^T, and
    /// b = mean of the image - a . means.
    void (*fit[4])(const fit_rows& rows, f64 epsilon, std::int64_t n);
    /// Of a variance a and a mean b: a / (a + epsilon), and what b is more than that times b.
    void (*fit_itself)(f64* a, f64* b, f64 epsilon, std::int64_t n);
    std::tuple<guide_kernels<u8>, guide_kernels<u16>, guide_kernels<f32>, guide_kernels<f64>> guide;
};

/// The best set for this machine.
const guided_kernels& guided_of_this_machine();

namespace baseline {
extern const guided_kernels guided;
}
#if defined(__x86_64__)
namespace avx2 {
extern const guided_kernels guided;
}
namespace avx512 {
extern const guided_kernels guided;
}
#endif

}  // namespace boxsum::filters
