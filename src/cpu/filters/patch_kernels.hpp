#pragma once

#include "core/visit_types.hpp"

#include <cstdint>
#include <tuple>
#include <type_traits>

/// The inner loops of non-local means, compiled once per instruction set (patch_kernels_*.cpp) and chosen when the
/// program runs. Rows of n elements; the channels of pixels are `plane` elements apart.
namespace boxsum::filters {

/// Rows of pixels.
template <typename T>
struct patch_pixel_kernels {
    /// to[i] = sum of (x[i] - y[i])^2 over channels
    void (*differences)(f64* to, const T* x, const T* y, std::int64_t channels, std::int64_t plane, std::int64_t n);
    /// sums += weights, values += weights * x
    void (*accumulate)(T* sums, T* values, const T* weights, const T* x, std::int64_t n);
    /// The second of these, of the other channels.
    void (*accumulate_values)(T* values, const T* weights, const T* x, std::int64_t n);
    /// totals += sums, which become 0
    void (*flush)(f64* totals, T* sums, std::int64_t n);
};

/// Rows of pixels that count where `counted`, which lies behind their channels, is 1, and are 0 where it is 0. A weight
/// below 0 is that of patches that are not compared.
template <typename T>
struct counted_pixel_kernels {
    /// As of all pixels, of those that count in both rows.
    void (*differences)(f64* to, const T* x, const T* y, std::int64_t channels, std::int64_t plane, std::int64_t n);
    /// pairs += how many count in both rows, less those of the rows that leave.
    void (*slide_pairs)(s32* pairs, const T* counted, const T* other, const T* counted_leaving, const T* other_leaving,
                        std::int64_t n);
    void (*accumulate)(T* sums, T* values, const T* weights, const T* x, const T* counted, std::int64_t n);
    void (*accumulate_values)(T* values, const T* weights, const T* x, const T* counted, std::int64_t n);
    void (*accumulate_counts)(T* counts, const T* weights, const T* counted, std::int64_t n);
};

/// Pairs that count lie in the bits above their differences, which are below 2^24.
inline constexpr int pairs_shift = 24;

/// What sums of type S are multiplied by.
template <typename S>
using factor_of = std::conditional_t<std::is_same_v<S, s32>, f32, f64>;

/// Sums of patches: exact integers of type S, or doubles.
template <typename S>
struct patch_sum_kernels {
    using factor = factor_of<S>;
    /// The sum of two to four rows, from left to right.
    void (*add)(S* to, const S* const* rows, int count, std::int64_t n);
    /// to[i] = exp(-max(0, sum * row * cols[i] - noise) * scale) of the sum of one to four rows, in single precision
    /// within 2^-21 (1 + the exponent) of its value.
    void (*weights_32f)(f32* to, const S* const* rows, int count, factor row, const factor* cols, factor noise,
                        factor scale, std::int64_t n);
};

struct patch_kernels {
    std::tuple<patch_pixel_kernels<f32>, patch_pixel_kernels<f64>> pixel;
    std::tuple<patch_sum_kernels<s32>, patch_sum_kernels<f64>> sum;
    /// The same in double.
    void (*weights_64f)(f64* to, const f64* const* rows, int count, f64 row, const f64* cols, f64 noise, f64 scale,
                        std::int64_t n);
    /// sums += the squared differences of x and y, less those of the row that leaves; of integers of 8 bits.
    void (*slide)(s32* sums, const f32* x, const f32* y, const f32* x_leaving, const f32* y_leaving,
                  std::int64_t channels, std::int64_t plane, std::int64_t n);

    // Where pixels may not count.
    std::tuple<counted_pixel_kernels<f32>, counted_pixel_kernels<f64>> counted;
    /// As slide() of what counts in both rows, and pairs beside it.
    void (*slide_counted)(s32* sums, const f32* x, const f32* y, const f32* x_leaving, const f32* y_leaving,
                          std::int64_t channels, std::int64_t plane, std::int64_t n);
    /// The weights of such sums, and those of differences and pairs: -1 where fewer than `least` pairs count.
    void (*counted_weights_32f)(f32* to, const s32* sums, s32 least, f32 channels, f32 noise, f32 scale,
                                std::int64_t n);
    void (*counted_weights_64f)(f64* to, const f64* sums, const s32* pairs, s32 least, f64 channels, f64 noise,
                                f64 scale, std::int64_t n);
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
