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

/// Powers of two that fits of bytes are multiplied by before they are rounded to integers.
struct byte_fit_scales {
    f64 a, b;
};

/// Windows of rows * cols[i] pixels.
struct byte_window_counts {
    f64 rows, inverse_rows;
    const f64 *cols, *inverse_cols;
};

/// Sums of windows, all below 2^31, of up to four guides, of their products (0, 0), (1, 0), (1, 1), (2, 0), .. and of
/// those with the image.
struct byte_guide_sums {
    const u32 *guide[4], *products[10], *image, *with_image[4];
};

struct byte_guide_kernels {
    /// sums += weight * x * y
    void (*add_products)(u32* sums, const u8* x, const u8* y, u32 weight, std::int64_t n);
    /// sums += x * y of the row that enters, less that of the row that leaves
    void (*slide_products)(u32* sums, const u8* x, const u8* y, const u8* out_x, const u8* out_y, std::int64_t n);
    void (*add_fits)(u64* sums, const u64* fits, u64 weight, std::int64_t n);
    void (*slide_fits)(u64* sums, const u64* in, const u64* out, std::int64_t n);
    /// Of an image by itself, its own guide, and by one to four guides: a for each, then b.
    void (*fit[5])(s64* const* to, const byte_guide_sums& sums, const byte_window_counts& counts, f64 epsilon,
                   const byte_fit_scales& scales, std::int64_t n);
    /// Of one to four guides: mean(a) . guides + mean(b) + raised, rounded down and cut to bytes. Sums of signed fits,
    /// below 2^51 in size.
    void (*apply[4])(u8* to, const u64* const* fits, const u8* const* guides, const byte_window_counts& counts,
                     const byte_fit_scales& scales, f64 raised, std::int64_t n);
};

struct guided_kernels {
    /// Of one to four guides: the solution of (covariances + epsilon E) a = covariances with the image, by L D L^T, and
    /// b = mean of the image - a . means.
    void (*fit[4])(const fit_rows& rows, f64 epsilon, std::int64_t n);
    /// Of a variance a and a mean b: a / (a + epsilon), and what b is more than that times b.
    void (*fit_itself)(f64* a, f64* b, f64 epsilon, std::int64_t n);
    std::tuple<guide_kernels<u8>, guide_kernels<u16>, guide_kernels<f32>, guide_kernels<f64>> guide;
    byte_guide_kernels bytes;
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
