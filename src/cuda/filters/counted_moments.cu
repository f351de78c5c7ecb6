#include "core/visit_types.hpp"
#include "cuda/filters/counted_slide.cuh"
#include "cuda/filters/float_decisions.cuh"
#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

#include <cmath>
#include <stdexcept>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// 8-bit images some of whose pixels do not count: what is made of squares, and thresholds of means, by integer sums
/// that slide.
namespace boxsum::cuda {
namespace {

/// A window's pixels that count, and their sum.
struct byte_moments {
    int n, sum;           ///< of pixels 128 lower
    std::uint64_t above;  ///< numerator of the variance, below 2^50: n times their squares - sum^2

    __device__ int total() const { return sum + 128 * n; }
    /// Whether mean and deviation are x and 0.
    __device__ bool is_flat(int x) const { return total() == x * n && above == 0; }
};
__device__ byte_moments moments_of(const sums_and_counts<window_sums<u32, true>>& w, int j) {
    const auto sum = static_cast<int>(w.of.sum(j));
    return {static_cast<int>(w.count[j]), sum,
            std::uint64_t{w.count[j]} * w.of.squares(j) - static_cast<std::uint64_t>(std::int64_t{sum} * sum)};
}
/// Without squares, which thresholds of means do not ask for.
__device__ byte_moments moments_of(const window_sums<std::uint64_t, false>& w, int j) {
    using packed = packed_count<u8>;
    return {static_cast<int>(packed::count(w.sum(j))), static_cast<int>(packed::sum(w.sum(j))), 0};
}

// ---- the definitions ------------------------------------------------------------------------------------------------

/// Of a window with a pixel.
struct exact_byte_moments {
    double mean, variance;

    __device__ exact_byte_moments(int total, double above, int n) {
        const auto count = static_cast<double>(n);
        mean = total / count;
        variance = above / (count * count);
    }
};

__device__ __noinline__ double limit_by_definition(const threshold_terms& terms, int x, int total, double above,
                                                   int n) {
    const exact_byte_moments m(total, above, n);
    return limit_of(terms, x, m.mean, sqrt(m.variance));
}

/// A threshold of any type, where it is the result.
__device__ __noinline__ void store_limit(const run_output& to, int row, int element, bool given,
                                         const threshold_terms& terms, int x, int total, double above, int n) {
    store_element(to, row, element, given ? limit_by_definition(terms, x, total, above, n) : to.fill);
}

__device__ __noinline__ float contrast_by_definition(int x, int total, double above, int n, double epsilon) {
    const exact_byte_moments m(total, above, n);
    const double s = sqrt(m.variance);
    return static_cast<float>((x - m.mean) / (s < epsilon ? epsilon : s));
}

__device__ __noinline__ float deviation_by_definition(double above, int n) {
    return static_cast<float>(sqrt(exact_byte_moments(0, above, n).variance));
}

/// Statistics of any types.
__device__ __noinline__ void store_by_definition(const real_finish& to, int row, int element, bool given, int total,
                                                 double above, int n) {
    const exact_byte_moments m(total, above, n);
    const auto store = [&](const run_output& result, double x) {
        if (result.data != nullptr) store_element(result, row, element, given ? x : result.fill);
    };
    const int count = n > 0 ? n : 1, half = to.half != 0 ? count / 2 : 0;
    store(to.mean, is_floating(to.mean.type) ? m.mean : (total + half) / count);
    store(to.sum, total);
    store(to.variance, m.variance);
    store(to.deviation, sqrt(m.variance));
}

// ---- in single precision --------------------------------------------------------------------------------------------

/// 1 / n within 2^-24 + 2^-46 of it, for n < 2^23 above 0: 1 - n y is exact.
__device__ float inverse_of(int n) {
    const float count = static_cast<float>(n), y = inverse_approximately(count);
    return __fmaf_rn(y, __fmaf_rn(-count, y, 1.0f), y);
}

/// The mean's definition, from y = inverse_of(n). `low` is what a float does not hold of a total: then q has an error
/// of 2^-23 of itself, what the total is above n q is exact, and at most 2^-21 of it, so the sum misses the quotient by
/// less than 2^-44. It is at least 2^-42 of itself away from halfway between two floats, unless it lies there; then n
/// is a multiple of 2^17, so that itself, whose inverse is exact.
__device__ float mean_of(int total, int n, float y) {
    const int low = total >= 1 << 24 ? total & 3 : 0;
    const float t = static_cast<float>(total - low), q = t * y;
    return __fmaf_rn(__fmaf_rn(-static_cast<float>(n), q, t) + static_cast<float>(low), y, q);
}

/// As float_rules of fused_moments.cu has it, of a window of any number of pixels.
__device__ narrowed deviation_of(double above, int n, float y) {
    const double root = inverse_root_approximately(above), g = above * root;
    const auto about = static_cast<double>(y);  // within 2^-23, and after a step of Newton's within 2^-46
    const double inverse = __fma_rn(about, __fma_rn(-as_double(n), about, 1.0), about);
    return narrowed(__fma_rn(__fma_rn(-g, g, above), 0.5 * root, g) * inverse);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

/// The pixels around which windows lie.
struct own_pixels_of {
    const fused_view& t;

    struct pixel {
        int x;
        bool counts;
    };
    __device__ pixel at(int row, int col, int channel) const {
        const auto byte = [&](const plane_view& plane, int element) {
            return int{reinterpret_cast<const u8*>(plane.image + row * plane.image_stride)[element]};
        };
        const int x = byte(t, col * t.channels + channel);
        bool counts = !t.has_nodata || x != static_cast<int>(t.nodata & 0xffu);
        if (t.mask.image != nullptr)
            counts = counts & (byte(t.mask, t.mask.channels == 1 ? col : col * t.channels + channel) != 0);
        return {x, counts};
    }
};

__device__ void store_count(const run_output& to, int row, int element, int n) {
    if (to.data == nullptr) return;
    if (to.type == dtype::f64) return store_element(to, row, element, n);
    store_streaming(reinterpret_cast<u32*>(to.data + row * to.row_stride) + element,
                    to.type == dtype::f32 ? __float_as_uint(static_cast<float>(n)) : static_cast<u32>(n));
}

__device__ float* floats_of(const run_output& to, int row) {
    return reinterpret_cast<float*>(to.data + row * to.row_stride);
}

/// Whether a window of so many pixels has a result.
__device__ u32 least_of(const real_finish& to) {
    return to.least < 4e9 ? static_cast<u32>(to.least) : ~0u;
}

constexpr int counted_moment_registers = 128;

/// What all threads of a block share; of their registers few are left.
struct threshold_decision {
    threshold_terms terms;
    float4 rule;  ///< a float_rule's at_zero, mean, deviation, product
    float error;
    u8 yes, fill;
    u32 flat_exceeds[8];  ///< bit x: whether x exceeds the threshold where all pixels of a window are x
};

/// A column a thread, so that warps write side by side.
template <typename Slide>
__global__ __maxnreg__(counted_moment_registers) void counted_threshold_kernel(
    const __grid_constant__ fused_view t, const __grid_constant__ real_finish to) {
    constexpr bool squares = requires(typename Slide::sums w) { w.count; };
    const bool limits = to.task == real_task::limit;
    __shared__ threshold_decision s;
    threshold_terms terms = to.terms;
    if (terms.method == threshold_method::wolf) {
        wait_for_predecessor();
        terms.largest_deviation = from_ordered(to.extremes->largest_deviation[blockIdx.y]);
        terms.smallest_pixel = from_ordered(to.extremes->smallest_pixel[blockIdx.y]);
    }
    if (threadIdx.x == 0) {
        const float_rule rule(terms);
        // Of other methods nothing is known in single precision.
        const bool decides = terms.method <= threshold_method::wolf && rule.decides();
        s.rule = {rule.at_zero, rule.mean, rule.deviation, rule.product};
        s.error = decides ? rule.error : INFINITY;
        s.terms = terms;
        s.yes = static_cast<u8>(to.yes);
        s.fill = limits ? u8{0} : static_cast<u8>(to.mean.fill);
    }
    for (int x = static_cast<int>(threadIdx.x); x < 256; x += static_cast<int>(blockDim.x)) {
        const unsigned bits = __ballot_sync(~0u, x > limit_of(terms, x, x, 0));
        if (x % 32 == 0) s.flat_exceeds[x / 32] = bits;
    }
    const u32 least = least_of(to);
    const own_pixels_of pixels{t};
    for_each_batch<Slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
            const int element = col * t.channels + batch.channel;
            typename own_pixels_of::pixel own[Slide::rows];
#pragma unroll
            for (int j = 0; j < Slide::rows; ++j)
                own[j] = pixels.at(batch.row + (j < batch.valid ? j : 0), col, batch.channel);
#pragma unroll
            for (int j = 0; j < Slide::rows; ++j) {
                if (j >= batch.valid) break;
                const int row = batch.row + j, x = own[j].x;
                const byte_moments m = moments_of(w, j);
                const bool given = own[j].counts & (static_cast<u32>(m.n) >= least);
                store_count(to.count, row, element, m.n);
                if (limits) {
                    store_limit(to.mean, row, element, given, s.terms, x, m.total(), as_double(m.above), m.n);
                    continue;
                }
                // By how much a threshold exceeds its pixel.
                const float y = inverse_of(m.n), mean = __fmaf_rn(static_cast<float>(m.sum), y, 128.0f);
                const float4 rule = s.rule;
                float limit = __fmaf_rn(rule.y, mean, rule.x);
                if constexpr (squares) {
                    const float numerator = __fmaf_rn(static_cast<float>(static_cast<u32>(m.above >> 32)), 4294967296.0f,
                                                      static_cast<float>(static_cast<u32>(m.above)));
                    const float deviation = root_within_two_units(numerator) * y;
                    limit = __fmaf_rn(deviation, __fmaf_rn(rule.w, mean, rule.z), limit);
                }
                const float margin = limit - static_cast<float>(x);
                bool exceeds = margin < 0;
                if (given && !(fabsf(margin) > s.error))
                    exceeds = m.is_flat(x)
                                  ? (s.flat_exceeds[x / 32] >> (x % 32) & 1u) != 0
                                  : x > limit_by_definition(s.terms, x, m.total(), as_double(m.above), m.n);
                reinterpret_cast<u8*>(to.mean.data + row * to.mean.row_stride)[element] =
                    given ? (exceeds ? s.yes : u8{0}) : s.fill;
            }
        });
    });
}

/// Statistics, contrast and extremes.
template <typename Slide>
__global__ __maxnreg__(counted_moment_registers) void counted_moment_kernel(const __grid_constant__ fused_view t,
                                                                            const __grid_constant__ real_finish to) {
    double largest = 0, at_most_largest = 0;  // variance, and what leaves room for a rounding
    int smallest = 256;
    const auto none_or_float = [](const run_output& result) {
        return result.data == nullptr || result.type == dtype::f32;
    };
    const bool floats =
        none_or_float(to.mean) && none_or_float(to.deviation) && to.variance.data == nullptr && to.sum.data == nullptr;
    const u32 least = least_of(to);
    const own_pixels_of pixels{t};
    for_each_batch<Slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
            const int element = col * t.channels + batch.channel;
            typename own_pixels_of::pixel own[Slide::rows] = {};
            if (to.task != real_task::statistics)
#pragma unroll
                for (int j = 0; j < Slide::rows; ++j)
                    own[j] = pixels.at(batch.row + (j < batch.valid ? j : 0), col, batch.channel);
#pragma unroll
            for (int j = 0; j < Slide::rows; ++j) {
                if (j >= batch.valid) break;
                const int row = batch.row + j, x = own[j].x;
                const byte_moments m = moments_of(w, j);
                const bool given = static_cast<u32>(m.n) >= least;
                const double above = as_double(m.above);
                store_count(to.count, row, element, m.n);
                if (to.task == real_task::extremes) {
                    const double n = as_double(m.n);
                    if (given && above > at_most_largest * (n * n)) {
                        const double variance = above / (n * n);
                        largest = variance > largest ? variance : largest;
                        at_most_largest = largest * (1 - 0x1p-50);
                    }
                    if ((given & own[j].counts) && x < smallest) smallest = x;
                } else if (to.task == real_task::contrast) {
                    // As float_rules of fused_moments.cu has it.
                    const double n = as_double(m.n), y = inverse_root_approximately(above), slight = to.epsilon * n;
                    const int over = x * m.n - m.total(), off = over < 0 ? -over : over;
                    const narrowed near(as_double(over) * __fma_rn(0.5 * y, __fma_rn(-(above * y), y, 1.0), y));
                    const bool decided = (above > slight * slight * (1 + 0x1p-40)) & (off >= (m.n + 63) / 64) &
                                         !near.doubtful;
                    float contrast = over == 0 ? 0 : __uint_as_float(near.bits);
                    if (!(given & own[j].counts))
                        contrast = static_cast<float>(to.mean.fill);
                    else if (!decided & (over != 0))
                        contrast = contrast_by_definition(x, m.total(), above, m.n, to.epsilon);
                    store_streaming(floats_of(to.mean, row) + element, contrast);
                } else if (floats) {
                    const float y = inverse_of(m.n);
                    if (to.mean.data != nullptr)
                        store_streaming(floats_of(to.mean, row) + element,
                                        given ? mean_of(m.total(), m.n, y) : static_cast<float>(to.mean.fill));
                    if (to.deviation.data != nullptr) {
                        const narrowed near = deviation_of(above, m.n, y);
                        float deviation = above == 0 ? 0 : __uint_as_float(near.bits);
                        if (!given)
                            deviation = static_cast<float>(to.deviation.fill);
                        else if (near.doubtful & (above != 0))
                            deviation = deviation_by_definition(above, m.n);
                        store_streaming(floats_of(to.deviation, row) + element, deviation);
                    }
                } else {
                    store_by_definition(to, row, element, given, m.total(), above, m.n);
                }
            }
        });
    });
    if (to.task != real_task::extremes) return;
    join_extremes(to.extremes, static_cast<int>(blockIdx.y), largest, smallest < 256 ? smallest : INFINITY);
}

template <typename Slide>
void launch_counted(void (*kernel)(fused_view, real_finish), const real_windows& windows, fused_sums sums,
                    const real_finish& to, stream_ref stream) {
    if (sizeof(typename Slide::columns) != static_cast<std::size_t>(fused_slot_bytes(dtype::u8, sums)))
        throw std::logic_error("counted moments: segments of another size than was planned");
    const fused_shape shape = fused_shape_of(*windows.job, sums, windows.end_row - windows.first_row);
    launch_sliding<Slide>(kernel, samples_on_device<u8, Slide::K>(windows, shape, windows.scratch), shape, stream, to);
}

}  // namespace

void launch_counted_moments(const real_windows& windows, bool squares, const real_finish& to, stream_ref stream) {
    constexpr int columns = fused_columns(dtype::u8, fused_sums::counted_squares),
                  mean_columns = fused_columns(dtype::u8, fused_sums::counted);
    using moments = counted_slide<integer_slide<u8, u32, true, columns>, uncounted::asked>;
    using means = counted_integers<u8, mean_columns>;
    const fused_sums sums = squares ? fused_sums::counted_squares : fused_sums::counted;
    if (!squares)
        launch_counted<means>(counted_threshold_kernel<means>, windows, sums, to, stream);
    else if (to.task == real_task::threshold || to.task == real_task::limit)
        launch_counted<moments>(counted_threshold_kernel<moments>, windows, sums, to, stream);
    else
        launch_counted<moments>(counted_moment_kernel<moments>, windows, sums, to, stream);
}

}  // namespace boxsum::cuda
