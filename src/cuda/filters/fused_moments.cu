#include "core/visit_types.hpp"
#include "cuda/device/divider.hpp"
#include "cuda/filters/float_decisions.cuh"
#include "cuda/filters/fused_windows.cuh"
#include "cuda/filters/threshold_formulas.cuh"

#include <bit>
#include <cmath>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// Pixels of the image that is compared with its windows.
template <typename Pixel>
struct compared {
    const char* image;
    std::int64_t row_stride;
    int channels;
    bool is_signed;  ///< of 16 bits

    __device__ int at(int row, int element) const {
        const Pixel x = reinterpret_cast<const Pixel*>(image + row * row_stride)[element];
        return is_signed ? static_cast<std::int16_t>(x) : static_cast<int>(x);
    }
};

/// Copies a thread's columns of a batch's rows, of an image of one channel, to `beside`; for rows that are not valid
/// some row that is.
template <int N, int K, typename Batch>
__device__ void copy_own_pixels(const compared<u8>& image, const Batch& batch) {
    const char* own = image.image + batch.row * image.row_stride + batch.own();
#pragma unroll
    for (int j = 0; j < N; ++j) {
        copy_async<K>(batch.beside + j * batch.apart, own);
        if (j + 1 < batch.valid) own += image.row_stride;
    }
}
/// Those pixels: from `beside` where they wait there. What rows that are not valid have is stored nowhere.
template <bool Waits, int N, int K, typename Batch>
__device__ void own_pixels(u32 (&to)[N][K / 4], const compared<u8>& image, const Batch& batch) {
    if constexpr (Waits) wait_for_copies<1>();
    const char* const own = image.image + batch.row * image.row_stride + batch.own();
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const int row = batch.plain || j < batch.valid ? j : 0;
        const auto x = pixel_run<u8, K>::at(Waits ? batch.beside + j * batch.apart : own + row * image.row_stride);
#pragma unroll
        for (int k = 0; k < K / 4; ++k) to[j][k] = x.word[k];
    }
}

/// Moves bytes one down, `last` to the top.
template <int Words>
__device__ void move_down(u32 (&x)[Words], u32 last) {
#pragma unroll
    for (int k = 0; k < Words; ++k) x[k] = __funnelshift_r(x[k], k + 1 < Words ? x[k + 1] : last, 8);
}

/// Sums of bytes whose rows, and the pixels that are compared, wait in shared memory, or not. Without squares scaled.
template <bool Squares, int K>
using compared_slide = integer_slide<u8, u32, Squares, K, false, false, !Squares>;
template <bool Squares, bool Waits, int K>
using byte_slide = std::conditional_t<Waits, waiting<compared_slide<Squares, K>, true>, compared_slide<Squares, K>>;

/// Of a block whose rows may wait: not every device has the shared memory for more.
constexpr int most_waiting_threads = 256;

template <typename Pixel>
compared<Pixel> compared_of(const fused_task& task) {
    const view_shape& s = task.image.shape;
    return {static_cast<const char*>(task.image.data), s.row_stride, static_cast<int>(s.channels),
            s.type == dtype::s16};
}

/// One result; without data it is not wanted.
struct real_output {
    char* data = nullptr;
    std::int64_t row_stride = 0;
    dtype type = dtype::f32;

    real_output() = default;
    explicit real_output(const any_view& v)
        : data(static_cast<char*>(v.data)), row_stride(v.shape.row_stride), type(v.shape.type) {}

    __device__ void store(int row, int element, double x) const {
        if (data == nullptr) return;
        if (type == dtype::f64)
            reinterpret_cast<double*>(data + row * row_stride)[element] = x;
        else
            reinterpret_cast<float*>(data + row * row_stride)[element] = static_cast<float>(x);
    }
    __device__ float* row(int row) const { return reinterpret_cast<float*>(data + row * row_stride); }
    template <int N>
    __device__ void store_floats(int row, int element, const float (&x)[N]) const {
        if (data != nullptr) store_streaming(reinterpret_cast<float*>(data + row * row_stride) + element, x);
    }
    bool none_or_float() const { return data == nullptr || type == dtype::f32; }
    /// Whether groups of `bytes` can be written together.
    bool in_units_of(std::int64_t bytes) const {
        return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
               row_stride % bytes == 0;
    }
};

/// What is made of mean and variance in double.
enum class moment_job : std::uint8_t { statistics, contrast, extremes, threshold, limit };

struct moment_output {
    moment_job job;
    real_output mean, variance, deviation;  ///< `mean` is the one result of contrast and limit
    double epsilon;
    threshold_terms terms;
    window_extremes* extremes;
    char* binary;
    std::int64_t binary_stride;
    std::uint8_t yes;
    int centre;                       ///< what pixels were lowered by
    double inverse, inverse_squared;  ///< of the pixels of an uncut window, and of their square
};

/// x / n for integers x < 2^53 and n <= 2^36, rounded as a division is, from y, which is 1 / n rounded.
///
/// q = x * y is within two units u of its last place, so r = x - n * q is exact, a multiple of u with at most 2 n u,
/// and q + r * y misses x / n by less than 2 u * 2^-53. A point halfway between two doubles is at least u / (2 n) away:
/// x would be an integer of more than 53 bits if it were hit.
__device__ double quotient(double x, double n, double y) {
    const double q = x * y;
    return __fma_rn(__fma_rn(-n, q, x), y, q);
}

/// n * squares - sum^2: of 8-bit pixels and at most 2^18 of them below 2^53, of 16-bit ones below n^2 * 2^30.
template <typename Pixel>
__device__ double numerator(std::int64_t sum, std::uint64_t squares, int n) {
    const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    if (sizeof(Pixel) == 1 || n <= 131072)
        return static_cast<double>(static_cast<std::uint64_t>(n) * squares - magnitude * magnitude);
    using u128 = unsigned __int128;
    return static_cast<double>(u128{static_cast<std::uint64_t>(n)} * squares - u128{magnitude} * magnitude);
}

template <typename Pixel, typename Sum, int K>
__global__ __launch_bounds__(most_fused_threads) void fused_moment_kernel(const __grid_constant__ fused_view t,
                                                                          const compared<Pixel> image,
                                                                          const __grid_constant__ moment_output to) {
    using signed_sum = std::make_signed_t<Sum>;
    double largest = 0;
    int smallest = 65536;
    threshold_terms terms = to.terms;
    const int channel = static_cast<int>(blockIdx.y);
    if (terms.method == threshold_method::wolf && to.extremes != nullptr) {
        wait_for_predecessor();
        terms.largest_deviation = from_ordered(to.extremes->largest_deviation[channel]);
        terms.smallest_pixel = from_ordered(to.extremes->smallest_pixel[channel]);
    }
    for_each_batch<Pixel, Sum, true, K>(t, [&](const auto& batch) {
        constexpr int rows = window_sums<Sum, true>::rows;
        batch.for_each_column(false, [&](int col, const auto& w) {
            const bool whole = batch.whole(col);
            const int width = whole ? static_cast<int>(t.cols.full) : fused_width(t, col);
            const int element = col * t.channels + batch.channel;
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) break;
                const int row = batch.row + j, n = batch.height[j] * width;
                const std::int64_t sum = static_cast<signed_sum>(w.sum(j));
                const auto count = static_cast<double>(n);
                const auto total = static_cast<double>(sum + static_cast<std::int64_t>(to.centre) * n);
                const double above = numerator<Pixel>(sum, w.squares(j), n);
                double mean, variance;
                if (sizeof(Pixel) == 1 && whole && batch.plain) {
                    mean = quotient(total, count, to.inverse);
                    variance = quotient(above, count * count, to.inverse_squared);
                } else {
                    mean = total / count;
                    variance = above / (count * count);
                }
                if (to.job == moment_job::extremes) {
                    largest = variance > largest ? variance : largest;
                    const int x = image.at(row, element);
                    smallest = x < smallest ? x : smallest;
                    continue;
                }
                if (to.job == moment_job::statistics) {
                    to.mean.store(row, element, mean);
                    to.variance.store(row, element, variance);
                    if (to.deviation.data != nullptr) to.deviation.store(row, element, sqrt(variance));
                    continue;
                }
                const double deviation = sqrt(variance), x = image.at(row, element);
                if (to.job == moment_job::contrast) {
                    to.mean.store(row, element, (x - mean) / (deviation < to.epsilon ? to.epsilon : deviation));
                    continue;
                }
                const double limit = limit_of(terms, x, mean, deviation);
                if (to.job == moment_job::limit)
                    to.mean.store(row, element, limit);
                else
                    reinterpret_cast<std::uint8_t*>(to.binary + row * to.binary_stride)[element] =
                        x > limit ? to.yes : std::uint8_t{0};
            }
        });
    });
    if (to.job != moment_job::extremes) return;
    join_extremes(to.extremes, channel, largest, smallest < 65536 ? smallest : INFINITY);
}

// ---- 8-bit images: results of 32f ----------------------------------------------------------------------------------

struct float_output {
    real_output mean, deviation;  ///< `mean` is the result of contrast
    double epsilon;
    window_extremes* extremes;
    double inverse, least;  ///< of the pixels of an uncut window: 1 / n; numerators above it have roots >= n epsilon
    float narrow_inverse;
    bool in_units;  ///< a thread's pixels can be read, and its results written, together
};

/// The numbers of a window of n pixels.
struct float_window {
    int n, least_off;  ///< of contrast: below n / 64 the definition decides
    bool uncut;
    double inverse, least;
    float narrow_inverse;

    float_window() = default;
    __device__ float_window(const float_output& to, int pixels, bool whole)
        : n(pixels), least_off((pixels + 63) / 64), uncut(whole) {
        if (uncut) {
            inverse = to.inverse;
            least = to.least;
            narrow_inverse = to.narrow_inverse;
        } else {
            inverse = 1.0 / n;
            least = least_numerator(to.epsilon, n);
            narrow_inverse = __frcp_rn(static_cast<float>(n));
        }
    }

    /// Roots are compared with n * epsilon through what they are taken of, with room for the definition's roundings.
    __host__ __device__ static double least_numerator(double epsilon, double n) {
        return epsilon * n * (epsilon * n) * (1 + 0x1p-40);
    }

    /// The mean in double, rounded: total / n is above 2^-43 of itself away from halfway between two floats, since n
    /// < 2^18 and a float has 24 bits, unless it lies there. Then n is a multiple of 2^17, of which the inverse is
    /// exact. So whatever is close to the quotient may be rounded. `total` below 2^24: q has an error of at most 1.5
    /// units of its last place, the remainder of the division by it is exact, and the sum misses the quotient by less
    /// than 2^-47.
    template <bool Wide = true>
    __device__ float mean(int total) const {
        if (Wide && total >= 1 << 24) return static_cast<float>(static_cast<double>(total) * inverse);
        const float t = static_cast<float>(total), q = t * narrow_inverse;
        return __fmaf_rn(__fmaf_rn(-static_cast<float>(n), q, t), narrow_inverse, q);
    }
};

/// The definition's deviation in double. `above`: the numerator of the variance.
__device__ __noinline__ float deviation_exactly(double above, int n) {
    const auto count = static_cast<double>(n);
    return static_cast<float>(sqrt(above / (count * count)));
}

/// The definition's contrast in double, of a window whose pixels are not all x.
__device__ __noinline__ float contrast_exactly(int x, int total, double above, int n, double epsilon) {
    const auto count = static_cast<double>(n);
    const double s = sqrt(above / (count * count));
    return static_cast<float>((x - total / count) / (s < epsilon ? epsilon : s));
}

/// Statistics (mean and deviation), contrast or extremes. The numerator A of the variance is an exact integer below
/// 2^50. With y within 2^-20 of 1 / sqrt(A), a step of Newton's gives sqrt(A), or its inverse, within 1.5 * 2^-40 and
/// some 2^-52; the definition in double has less. What is farther than 2^-38 from halfway between two floats is rounded
/// as the definition is; the rest, one in 2^13, is computed as it says. Contrast is (x n - total) / sqrt(A); the
/// definition's mean is off by 2^-46, so where x is less than 1 / 64 from it, it decides, too.
template <moment_job Job>
struct float_rules {
    static constexpr bool reads_pixels = Job != moment_job::statistics;
    struct values {
        float first, second;  ///< mean and deviation, or the contrast
    };

    const float_output& to;
    double largest = 0;               ///< variance, of windows that are cut
    std::uint64_t largest_above = 0;  ///< numerator of others
    int smallest = 256;

    /// Of a window of centred pixels around the pixel x, without a branch. `doubtful`: exactly() says what they are.
    template <bool Wide = true>
    __device__ values operator()(const float_window& window, int x, int sum, u32 squares, bool& doubtful) {
        const int n = window.n;
        const std::uint64_t above = numerator_of(n, sum, squares);
        doubtful = false;
        if constexpr (Job == moment_job::extremes) {
            smallest = x < smallest ? x : smallest;
            if (window.uncut) {
                largest_above = above > largest_above ? above : largest_above;
            } else {
                const double count = n, variance = static_cast<double>(above) / (count * count);
                largest = variance > largest ? variance : largest;
            }
            return {};
        }
        const double numerator = as_double(above), y = inverse_root_approximately(numerator);
        if constexpr (Job == moment_job::contrast) {
            const int over = (x - 128) * n - sum, off = over < 0 ? -over : over;
            const double inverse_root = __fma_rn(0.5 * y, __fma_rn(-(numerator * y), y, 1.0), y);
            const narrowed near(as_double(over) * inverse_root);
            // Without a branch, as && would be.
            const bool decided = (numerator > window.least) & (off >= window.least_off) & !near.doubtful;
            doubtful = !decided & (over != 0);
            return {over == 0 ? 0 : __uint_as_float(near.bits), 0};
        } else {
            const double g = numerator * y, root = __fma_rn(__fma_rn(-g, g, numerator), 0.5 * y, g);
            const narrowed near(root * window.inverse);
            doubtful = near.doubtful;
            return {window.template mean<Wide>(sum + 128 * n), above == 0 ? 0 : __uint_as_float(near.bits)};
        }
    }

    /// The same, as defined.
    __device__ values exactly(const float_window& window, int x, int sum, u32 squares) const {
        const int n = window.n;
        const double numerator = as_double(numerator_of(n, sum, squares));
        if constexpr (Job == moment_job::contrast)
            return {contrast_exactly(x, sum + 128 * n, numerator, n, to.epsilon), 0};
        else
            return {window.mean(sum + 128 * n), deviation_exactly(numerator, n)};
    }

    __device__ static std::uint64_t numerator_of(int n, int sum, u32 squares) {
        return std::uint64_t{static_cast<u32>(n)} * squares - static_cast<std::uint64_t>(std::int64_t{sum} * sum);
    }

    __device__ void join(const fused_view& t) const {
        const auto count = static_cast<double>(t.rows.full * t.cols.full);
        const double variance = static_cast<double>(largest_above) / (count * count);
        join_extremes(to.extremes, static_cast<int>(blockIdx.y), variance > largest ? variance : largest,
                      smallest < 256 ? smallest : INFINITY);
    }
};

/// Registers of a thread: few where it does one column after the other, and so has others to wait with.
constexpr int float_registers(moment_job job) {
    return job == moment_job::statistics ? 80 : job == moment_job::contrast ? 96 : 128;
}

template <moment_job Job, bool Waits, int K>
__global__ __maxnreg__(float_registers(Job)) void fused_float_kernel(const __grid_constant__ fused_view t,
                                                                     const compared<u8> image,
                                                                     const __grid_constant__ float_output to) {
    float_rules<Job> rules{to};
    constexpr bool writes = Job != moment_job::extremes;
    // Two results a pixel are 32 bytes a thread and row, which warps write side by side only with a column a thread: at
    // 16384^2 on an H200 that takes 2.4 copies, and owned columns 3.0. One result takes 3.6 owned, and 4.4.
    const bool owned = Job != moment_job::statistics && to.in_units;
    const auto ahead = [&](const auto& batch) {
        if (float_rules<Job>::reads_pixels && owned && batch.owns())
            copy_own_pixels<window_sums<u32, true>::rows, K>(image, batch);
    };
    for_each_batch<byte_slide<true, Waits, K>>(t, ahead, [&](const auto& batch) {
        constexpr int rows = window_sums<u32, true>::rows, together = 4;
        const char* const pixels = image.image + batch.row * image.row_stride;
        if (owned && batch.owns()) {  // one result or none
            const int full = static_cast<int>(t.cols.full);
            u32 x[rows][K / 4] = {};
            if constexpr (float_rules<Job>::reads_pixels) own_pixels<Waits, rows, K>(x, image, batch);
            float_window window[rows];
#pragma unroll
            for (int j = 0; j < rows; ++j) window[j] = float_window(to, batch.height[j] * full, batch.plain);
            u32 doubtful = 0;
#pragma unroll
            for (int k = 0; k < K; k += together) {
                float first[rows][together];
#pragma unroll
                for (int i = 0; i < together; ++i) {
                    const auto w = batch.own_window(k + i);
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        const int pixel = static_cast<int>(x[j][k / 4] >> (8 * i) & 0xffu);
                        if (!writes && j >= batch.valid) continue;
                        bool doubted;
                        first[j][i] = rules(window[j], pixel, static_cast<int>(w.sum(j)), w.squares(j), doubted).first;
                        if (doubted) doubtful |= 1u << (rows * (k + i) + j);
                    }
                }
                if constexpr (writes) {
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        if (j >= batch.valid) continue;
                        to.mean.store_floats(batch.row + j, batch.own() + k, first[j]);
                    }
                }
            }
            while (doubtful != 0) {
                const int at = __ffs(static_cast<int>(doubtful)) - 1, i = at / rows, j = at % rows;
                doubtful &= doubtful - 1;
                if (j >= batch.valid) continue;
                const auto w = batch.own_window(i);
                const int col = batch.own() + i,
                          pixel = reinterpret_cast<const u8*>(pixels + j * image.row_stride)[col];
                const float_window of(to, batch.height[j] * full, batch.plain);
                to.mean.store_floats(batch.row + j, col,
                                     {rules.exactly(of, pixel, static_cast<int>(w.sum(j)), w.squares(j)).first});
            }
        }
        const bool alike = Job == moment_job::statistics && batch.plain && t.channels == 1;
        if constexpr (Job == moment_job::statistics) {
            const auto in_turn = [&](auto wide) {
                const float_window window(to, static_cast<int>(t.rows.full * t.cols.full), true);
                float *mean[rows], *deviation[rows];
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    mean[j] = to.mean.row(batch.row + j);
                    deviation[j] = to.deviation.row(batch.row + j);
                }
                batch.for_each_owned_column([&](int col, const auto& w) {
                    typename float_rules<Job>::values v[rows];
                    bool any = false;
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        bool doubtful;
                        v[j] = rules.template operator()<wide()>(window, 0, static_cast<int>(w.sum(j)), w.squares(j),
                                                                 doubtful);
                        any |= doubtful;
                    }
                    if (any) {
#pragma unroll
                        for (int j = 0; j < rows; ++j)
                            v[j] = rules.exactly(window, 0, static_cast<int>(w.sum(j)), w.squares(j));
                    }
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        if (to.mean.data != nullptr) store_streaming(mean[j] + col, v[j].first);
                        if (to.deviation.data != nullptr) store_streaming(deviation[j] + col, v[j].second);
                    }
                });
            };
            if (alike && t.rows.full * t.cols.full <= narrow_pixels)
                in_turn(std::false_type{});
            else if (alike)
                in_turn(std::true_type{});
        }
        batch.for_each_column(owned || alike, [&](int col, const auto& w) {
            const bool uncut = batch.plain && batch.whole(col);
            const int width = uncut ? static_cast<int>(t.cols.full) : fused_width(t, col);
            const int element = col * t.channels + batch.channel;
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                int x = 0;
                if constexpr (float_rules<Job>::reads_pixels)
                    x = reinterpret_cast<const u8*>(pixels + j * image.row_stride)[element];
                const float_window window(to, batch.height[j] * width, uncut);
                bool doubtful;
                auto v = rules(window, x, static_cast<int>(w.sum(j)), w.squares(j), doubtful);
                if (doubtful) v = rules.exactly(window, x, static_cast<int>(w.sum(j)), w.squares(j));
                if constexpr (writes) {
                    to.mean.store_floats(batch.row + j, element, {v.first});
                    to.deviation.store_floats(batch.row + j, element, {v.second});
                }
            }
        });
    });
    if constexpr (Job == moment_job::extremes) rules.join(t);
}

// ---- thresholds of 8-bit images, decided in single precision --------------------------------------------------------

/// x > c sum / n of a byte x, 0 < c, decided by one integer: times * sum - pixels * x, `pixels` being times * n / c
/// rounded, is off by at most 255 times what that was rounded by, which `error` bounds. Below -error x exceeds c sum /
/// n, above it does not, and so says the definition in double, whose roundings come to 2^-20 here at most. `pixels` is
/// kept negative: a constant that is subtracted has each pixel negated first.
struct mean_ratio {
    u32 times = 1, minus_pixels = 0, error = 0;

    /// Whether all integers fit 32 bits.
    static bool fits(double n, double c, double times) { return 256 * n * times * (c < 1 ? 1 / c : 1) < 0x1p31; }

    mean_ratio() = default;
    BOXSUM_HOST_DEVICE mean_ratio(int n, double c, u32 multiplier) : times(multiplier) {
        const double exact = n * static_cast<double>(times) / c, whole = rint(exact);
        minus_pixels = 0 - static_cast<u32>(whole);
        error = static_cast<u32>(255 * fabs(exact - whole) + 0x1p-10);
    }
    /// With the multiplier that leaves fewest pixels in doubt.
    static mean_ratio best_of(int n, double c) {
        mean_ratio best(n, c, 1);
        for (u32 times = 2; times < 128 && fits(n, c, times); ++times) {
            const mean_ratio next(n, c, times);
            if ((2 * next.error + 1) * best.times < (2 * best.error + 1) * next.times) best = next;
        }
        return best;
    }

    static constexpr u32 most_error = 128;  ///< whatever n is
    /// Up to 2 * error the integer and the error are uncertain, from here on they are not.
    BOXSUM_HOST_DEVICE static constexpr u32 certain(u32 error) { return 2 * error + 1; }
};

/// A division in double is long, and rare.
__device__ __noinline__ u32 minus_pixels_of(int n, double c, u32 times) {
    return mean_ratio(n, c, times).minus_pixels;
}

/// x / d of multiples x of d, as 32-bit numbers.
struct exact_divisor {
    u32 inverse = 1;  ///< of d without its factors of two
    int shift = 0;

    exact_divisor() = default;
    explicit exact_divisor(u32 d) : shift(std::countr_zero(d)) {
        const u32 odd = d >> shift;
        for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;  // right in twice the bits each time, in one at first
    }
    __device__ u32 quotient(u32 x) const { return (x >> shift) * inverse; }
};

struct binary_output {
    char* data;
    std::int64_t row_stride;
    std::uint8_t yes;
    threshold_terms terms;
    const window_extremes* extremes;
    float inverse;        ///< of the pixels of an uncut window
    bool in_units;        ///< a thread's pixels can be read, and its results written, together
    double slope;         ///< of a multiple_of_mean, how many means a threshold is
    mean_ratio uncut;     ///< of it and an uncut window
    u32 certain;          ///< there the integer decides from here on, without its sign
    exact_divisor times;  ///< of its multiplier, by which sums are scaled
};

/// The decision in double. `above`: the numerator of the variance, or 0 where nothing asks for it.
__device__ __noinline__ bool exceeds_exactly(const threshold_terms& terms, int x, int sum, std::uint64_t above, int n) {
    double m = x, s = 0;
    if (above != 0 || sum != (x - 128) * n) {
        const auto count = static_cast<double>(n);
        m = static_cast<double>(sum + 128ll * n) / count;
        s = sqrt(static_cast<double>(above) / (count * count));
    }
    return x > limit_of(terms, x, m, s);
}

template <threshold_kind Kind, bool Waits, int K>
__global__ __launch_bounds__(most_fused_threads) void fused_threshold_kernel(const __grid_constant__ fused_view t,
                                                                             const compared<u8> image,
                                                                             const __grid_constant__ binary_output to) {
    constexpr bool in_integers = Kind == threshold_kind::multiple_of_mean, squares = has_root(Kind);
    threshold_terms terms = to.terms;
    if (terms.method == threshold_method::wolf) {
        wait_for_predecessor();
        terms.largest_deviation = from_ordered(to.extremes->largest_deviation[blockIdx.y]);
        terms.smallest_pixel = from_ordered(to.extremes->smallest_pixel[blockIdx.y]);
    }
    const float_rule<Kind> rule(terms);
    // Where all pixels of a window are x, so is its mean: 256 results by the definition in double.
    [[maybe_unused]] __shared__ u8 of_flat[in_integers ? 1 : 256];
    if constexpr (!in_integers)
#pragma unroll 1
        for (int x = static_cast<int>(threadIdx.x); x < 256; x += static_cast<int>(blockDim.x))
            of_flat[x] = x > limit_of(terms, x, x, 0) ? to.yes : u8{0};
    [[maybe_unused]] bool was_flat = false;  // all that the thread owned of the batch before
    const auto ahead = [&](const auto& batch) {
        if (to.in_units && batch.owns()) copy_own_pixels<window_sums<u32, squares>::rows, K>(image, batch);
    };
    for_each_batch<byte_slide<squares, Waits, K>>(t, ahead, [&](const auto& batch) {
        constexpr int rows = window_sums<u32, squares>::rows;
        const char* const pixels = image.image + batch.row * image.row_stride;
        char* const out = to.data + batch.row * to.row_stride;
        // Of centred pixels.
        const auto sum_of = [&](const auto& w, int j, int n) {
            if constexpr (squares) return static_cast<int>(w.sum(j));
            const u32 total = in_integers ? to.times.quotient(w.sum(j)) : w.sum(j);
            return static_cast<int>(total - 128u * static_cast<u32>(n));
        };
        const auto above_of = [&](const auto& w, int j, int n) {
            if constexpr (!squares) return std::uint64_t{0};
            const auto sum = static_cast<std::int64_t>(static_cast<int>(w.sum(j)));
            return std::uint64_t{static_cast<u32>(n)} * w.squares(j) - static_cast<std::uint64_t>(sum * sum);
        };
        // By how much a threshold exceeds its pixel, as float_rule has it.
        const auto margin_of = [&](const auto& w, int j, int x, int n, float inverse) {
            const int sum = sum_of(w, j, n);
            const float m = __fmaf_rn(static_cast<float>(sum), inverse, 128.0f);
            float r = 0;
            if constexpr (squares) r = root_of(under_root<Kind>(above_of(w, j, n), sum + 128 * n)) * inverse;
            return rule.margin(m, r, static_cast<float>(x));
        };
        // Whether all pixels of a window are x, as far as its threshold goes: of a difference that is of its mean.
        const auto is_flat = [&](int sum, std::uint64_t above, int x, int n) {
            return squares ? above == 0 : sum == (x - 128) * n;
        };
        // The result of a pixel that single precision, or a rounded factor, does not tell.
        const auto exactly = [&](const auto& w, int j, int x, int n) {
            const int sum = sum_of(w, j, n);
            const std::uint64_t above = above_of(w, j, n);
            if constexpr (!in_integers)
                if (is_flat(sum, above, x, n)) return of_flat[x];
            return exceeds_exactly(terms, x, sum, above, n) ? to.yes : u8{0};
        };
        const int full = static_cast<int>(t.cols.full);
        [[maybe_unused]] u32 cut_minus_pixels[rows];
        if (in_integers && to.in_units && !batch.plain)
            batch.for_rows(cut_minus_pixels, full, [&](int n) { return minus_pixels_of(n, to.slope, to.uncut.times); });
        if (to.in_units && batch.owns()) {
            u32 x[rows][K / 4], yes[rows][K / 4];
            own_pixels<Waits, rows, K>(x, image, batch);
            const auto store = [&] {
#pragma unroll
                for (int j = 0; j < rows; ++j)
                    store_streaming_if(j < batch.valid, reinterpret_cast<u32*>(out + j * to.row_stride + batch.own()),
                                       yes[j]);
            };
            // Where four numbers are negative.
            const auto yes_of = [&](const u32(&by)[4]) {
                return __byte_perm(signs_of(by[0], by[1]), signs_of(by[2], by[3]), 0x5410u) & (to.yes * 0x01010101u);
            };
            if constexpr (in_integers) {
                // Negative where a pixel exceeds its threshold.
                const auto excess = [&](const auto& w, int j, u32 pixel, u32 minus_pixels, u32 error) {
                    return w.sum(j) + (minus_pixels * pixel + error);
                };
                // The least of all, without signs.
                const auto decide_all = [&](const auto& minus_pixels, u32 error) {
                    u32 least = ~0u;
#pragma unroll
                    for (int k = 0; k < K / 4; ++k) {
                        u32 over[rows][4];
#pragma unroll
                        for (int i = 0; i < 4; ++i) {
                            const auto w = batch.own_window(4 * k + i);
#pragma unroll
                            for (int j = 0; j < rows; ++j) {
                                const u32 pixel = __byte_perm(x[j][k], 0, 0x4440u | u32(i));
                                over[j][i] = excess(w, j, pixel, minus_pixels(j), error);
                                least = over[j][i] < least ? over[j][i] : least;
                            }
                        }
#pragma unroll
                        for (int j = 0; j < rows; ++j) yes[j][k] = yes_of(over[j]);
                    }
                    return least;
                };
                constexpr u32 error_of_cut = mean_ratio::most_error;
                const auto minus_pixels = [&](int j) {
                    return batch.plain ? to.uncut.minus_pixels : cut_minus_pixels[j];
                };
                const u32 least = batch.plain ? decide_all([&](int) { return to.uncut.minus_pixels; }, to.uncut.error)
                                              : decide_all([&](int j) { return cut_minus_pixels[j]; }, error_of_cut);
                const u32 certain = batch.plain ? to.certain : mean_ratio::certain(error_of_cut);
                if (least < certain) {
                    own_pixels<Waits, rows, K>(x, image, batch);
                    const u32 error = batch.plain ? to.uncut.error : error_of_cut;
                    u32 any = 0;  // black pixels exceed nothing
#pragma unroll
                    for (int j = 0; j < rows; ++j)
#pragma unroll
                        for (int k = 0; k < K / 4; ++k) any |= x[j][k];
#pragma unroll 1
                    for (int i = any == 0 ? K : 0; i < K; ++i) {  // pixel and verdict are the lowest bytes
                        const auto w = batch.own_window(i);
#pragma unroll
                        for (int j = 0; j < rows; ++j) {
                            const u32 pixel = x[j][0] & 0xffu;
                            u32 verdict = yes[j][0];
                            if (pixel != 0 && excess(w, j, pixel, minus_pixels(j), error) < certain)
                                verdict = exactly(w, j, static_cast<int>(pixel), batch.height[j] * full);
                            move_down(x[j], 0);
                            move_down(yes[j], verdict);
                        }
                    }
                }
                store();
            } else {
                // Whether all pixels of each row's windows are alike, which one window of all their columns says, where
                // its sum of squares does not wrap. Then their verdicts are that of any pixel. By sums alone only black
                // ones are known to be alike.
                const auto are_flat = [&] {
                    const auto w = batch.own_windows(0, K - 1);
                    bool alike = true;
                    u32 row_yes[rows];
#pragma unroll
                    for (int j = 0; j < rows; ++j) {
                        const int n = batch.height[j] * (full + K - 1);
                        const int pixel = squares ? static_cast<int>(x[j][0] & 0xffu) : 0;
                        alike &= (n < 1 << 18) & is_flat(sum_of(w, j, n), above_of(w, j, n), pixel, n);
                        row_yes[j] = of_flat[pixel] * 0x01010101u;
                    }
                    if (alike)
#pragma unroll
                        for (int j = 0; j < rows; ++j)
#pragma unroll
                            for (int k = 0; k < K / 4; ++k) yes[j][k] = row_yes[j];
                    return alike;
                };
                bool is_flat_now = was_flat && are_flat();
                if (!is_flat_now) {
                    float inverse[rows];
#pragma unroll
                    for (int j = 0; j < rows; ++j)
                        inverse[j] = batch.plain ? to.inverse : __frcp_rn(static_cast<float>(batch.height[j] * full));
                    float least = INFINITY;
#pragma unroll
                    for (int k = 0; k < K / 4; ++k) {
                        u32 margin[rows][4];
#pragma unroll
                        for (int i = 0; i < 4; ++i) {
                            const auto w = batch.own_window(4 * k + i);
#pragma unroll
                            for (int j = 0; j < rows; ++j) {
                                const int pixel = static_cast<int>(__byte_perm(x[j][k], 0, 0x4440u | u32(i)));
                                const float by = margin_of(w, j, pixel, batch.height[j] * full, inverse[j]);
                                least = fminf(least, fabsf(by));
                                margin[j][i] = __float_as_uint(by);
                            }
                        }
#pragma unroll
                        for (int j = 0; j < rows; ++j) yes[j][k] = yes_of(margin[j]);
                    }
                    if (!(least > rule.error)) {  // also where it is NaN
                        own_pixels<Waits, rows, K>(x, image, batch);
                        is_flat_now = are_flat();
                        // One window after the other: its pixel is the lowest byte of x, its verdict becomes the
                        // highest.
#pragma unroll 1
                        for (int i = 0; i < (is_flat_now ? 0 : K); ++i) {
                            const auto w = batch.own_window(i);
#pragma unroll
                            for (int j = 0; j < rows; ++j) {
                                const int n = batch.height[j] * full, pixel = static_cast<int>(x[j][0] & 0xffu);
                                const float by = margin_of(w, j, pixel, n, inverse[j]);
                                move_down(x[j], 0);
                                move_down(yes[j],
                                          fabsf(by) > rule.error ? (by < 0 ? to.yes : 0) : exactly(w, j, pixel, n));
                            }
                        }
                    }
                }
                was_flat = is_flat_now;
                store();
            }
        }
        if (batch.none_left(to.in_units)) return;  // spares a batch what the loop begins with
        batch.for_each_column(to.in_units, [&](int col, const auto& w) {
            const int width = fused_width(t, col), element = col * t.channels + batch.channel;
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                const int x = reinterpret_cast<const u8*>(pixels + j * image.row_stride)[element];
                const int n = batch.height[j] * width;
                const float margin = margin_of(w, j, x, n, __frcp_rn(static_cast<float>(n)));
                reinterpret_cast<u8*>(out + j * to.row_stride)[element] =
                    fabsf(margin) > rule.error ? (margin < 0 ? to.yes : u8{0}) : exactly(w, j, x, n);
            }
        });
    });
}

// ---- launches -------------------------------------------------------------------------------------------------------

void launch_moments(const fused_task& task, moment_output to, stream_ref stream) {
    const fused_shape shape = fused_shape_of(*task.job, fused_sums::squares, task.end_row - task.first_row);
    const dtype type = task.image.shape.type;
    const auto count = static_cast<double>(task.job->rows.full * task.job->cols.full);
    to.centre = type == dtype::u8 ? 128 : type == dtype::u16 ? 32768 : 0;
    to.inverse = 1 / count;
    to.inverse_squared = 1 / (count * count);
    if (type == dtype::u8) {
        constexpr int columns = fused_columns(dtype::u8, fused_sums::squares);
        launch_fused<u8, u32, true, columns>(fused_moment_kernel<u8, u32, columns>, task, shape, stream,
                                             compared_of<u8>(task), to);
    } else {
        constexpr int columns = fused_columns(dtype::u16, fused_sums::squares);
        launch_fused<u16, u64, true, columns>(fused_moment_kernel<u16, u64, columns>, task, shape, stream,
                                              compared_of<u16>(task), to);
    }
}

/// Whether rows wait in shared memory, where threads do not wait for those that are no units to get there.
template <int K>
bool rows_wait(const fused_task& task, const fused_shape& shape) {
    return shape.threads <= most_waiting_threads && on_device<u8, K>(task, shape).in_units;
}

template <moment_job Job>
void launch_floats(const fused_task& task, float_output to, stream_ref stream) {
    constexpr int columns = fused_columns(dtype::u8, fused_sums::squares);
    const auto count = static_cast<double>(task.job->rows.full * task.job->cols.full);
    to.inverse = 1 / count;
    to.narrow_inverse = 1.0f / static_cast<float>(count);
    to.least = float_window::least_numerator(to.epsilon, count);
    const view_shape& image = task.image.shape;
    to.in_units = image.channels == 1 && to.mean.in_units_of(16) && to.deviation.in_units_of(16) &&
                  (!float_rules<Job>::reads_pixels || lies_in_units(task.image, columns));
    const fused_shape shape = fused_shape_of(*task.job, fused_sums::squares, task.end_row - task.first_row);
    const auto launch_kernel = [&](auto waits) {
        launch_fused<byte_slide<true, waits(), columns>>(fused_float_kernel<Job, waits(), columns>, task, shape, stream,
                                                         compared_of<u8>(task), to);
    };
    rows_wait<columns>(task, shape) ? launch_kernel(std::true_type{}) : launch_kernel(std::false_type{});
}

/// Whether thresholds of means have rows wait in shared memory: where windows are high, and begin with segments or the
/// image is large. Others are up to a fifteenth slower so.
bool means_wait(const filters::window_job& job) {
    constexpr std::int64_t high = 16, highest = 64, large = std::int64_t{1} << 26;
    const std::int64_t pixels = job.rows.extent * job.cols.extent * job.shape.channels;
    return job.rows.full > highest || (job.rows.full > high && pixels >= large);
}

template <threshold_kind Kind, bool Waits = true>
void launch_threshold(const fused_task& task, binary_output to, const view_shape& result, stream_ref stream) {
    constexpr fused_sums sums = has_root(Kind) ? fused_sums::squares : fused_sums::narrow;
    constexpr int columns = fused_columns(dtype::u8, sums);
    const fused_shape shape = fused_shape_of(*task.job, sums, task.end_row - task.first_row);
    if constexpr (Waits)
        if (!rows_wait<columns>(task, shape) || (sums == fused_sums::narrow && !means_wait(*task.job)))
            return launch_threshold<Kind, false>(task, to, result, stream);
    to.inverse = 1.0f / static_cast<float>(task.job->rows.full * task.job->cols.full);
    to.in_units = lies_in_units(task.image, columns) && lies_in_units({to.data, result}, columns);
    if constexpr (Kind == threshold_kind::multiple_of_mean) {
        to.slope = 1 - to.terms.k;
        const std::int64_t full = task.job->rows.full * task.job->cols.full;
        to.in_units = to.in_units && to.slope > 0 && mean_ratio::fits(static_cast<double>(full), to.slope, 1);
        if (to.in_units) to.uncut = mean_ratio::best_of(static_cast<int>(full), to.slope);
        // The mean itself is what it is for the definition: a pixel like it does not exceed it.
        to.certain = to.slope == 1 ? 0 : mean_ratio::certain(to.uncut.error);
    }
    fused_task scaled = task;
    scaled.scale = static_cast<int>(to.uncut.times);
    to.times = exact_divisor(to.uncut.times);
    launch_fused<byte_slide<has_root(Kind), Waits, columns>>(fused_threshold_kernel<Kind, Waits, columns>, scaled,
                                                             shape, stream, compared_of<u8>(task), to);
}

}  // namespace

void enqueue_fused_statistics(const fused_task& task, const window_results& results, stream_ref stream) {
    moment_output to{};
    to.job = moment_job::statistics;
    to.mean = real_output(results.mean);
    to.variance = real_output(results.variance);
    to.deviation = real_output(results.deviation);
    if (task.image.shape.type == dtype::u8 && to.variance.data == nullptr && to.mean.none_or_float() &&
        to.deviation.none_or_float())
        return launch_floats<moment_job::statistics>(task, {.mean = to.mean, .deviation = to.deviation}, stream);
    launch_moments(task, to, stream);
}

void enqueue_fused_contrast(const fused_task& task, const any_view& result, double epsilon, stream_ref stream) {
    if (task.image.shape.type == dtype::u8)
        return launch_floats<moment_job::contrast>(task, {.mean = real_output(result), .epsilon = epsilon}, stream);
    moment_output to{};
    to.job = moment_job::contrast;
    to.mean = real_output(result);
    to.epsilon = epsilon;
    launch_moments(task, to, stream);
}

void enqueue_fused_extremes(const fused_task& task, window_extremes* extremes, stream_ref stream) {
    if (task.image.shape.type == dtype::u8)
        return launch_floats<moment_job::extremes>(task, {.extremes = extremes}, stream);
    moment_output to{};
    to.job = moment_job::extremes;
    to.extremes = extremes;
    launch_moments(task, to, stream);
}

void enqueue_fused_threshold(const fused_task& task, const any_view& result, const filters::threshold_job& formula,
                             window_extremes* extremes, stream_ref stream) {
    const threshold_terms terms{formula.method, formula.k, formula.range, formula.p, formula.q, 0, 0};
    const auto yes = static_cast<std::uint8_t>(formula.output == threshold_output::zero_one ? 1 : 255);
    const bool limit = formula.output == threshold_output::threshold;
    if (task.image.shape.type == dtype::u8 && !limit) {
        binary_output to{};
        to.data = static_cast<char*>(result.data);
        to.row_stride = result.shape.row_stride;
        to.yes = yes;
        to.terms = terms;
        to.extremes = extremes;
        // With k = 0 the mean is the threshold of all but phansalkar, where a range does not divide to infinity.
        if (formula.k == 0 && formula.range > 1e-300 && formula.method != threshold_method::phansalkar)
            to.terms.method = threshold_method::bradley;
        return visit_kind(to.terms.method,
                          [&]<threshold_kind Kind>() { launch_threshold<Kind>(task, to, result.shape, stream); });
    }
    moment_output to{};
    to.job = limit ? moment_job::limit : moment_job::threshold;
    to.mean = limit ? real_output(result) : real_output();
    to.terms = terms;
    to.extremes = extremes;
    to.binary = static_cast<char*>(result.data);
    to.binary_stride = result.shape.row_stride;
    to.yes = yes;
    launch_moments(task, to, stream);
}

}  // namespace boxsum::cuda
