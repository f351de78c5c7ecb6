#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"
#include "cuda/filters/sliding_samples.cuh"

#include <algorithm>
#include <limits>
#include <stdexcept>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

struct sliding_output {
    run_output mean, sum, count;
    double least;         ///< what must count for a result, above 0
    std::uint32_t raise;  ///< what makes centred pixels positive
    std::uint32_t half;   ///< 1: halves are rounded up; 0: means are rounded down
    std::uint32_t flip;   ///< XORed to a positive mean; 0: there are none below 0
    std::int64_t centre;  ///< what centred pixels are lower by
    bool in_units;        ///< a thread's means, of the image's type, and counts, of four bytes, are written together
    double inverse;       ///< of the pixels of an uncut window
    double lowest;        ///< of pixels with weights, which are held from 0 on
    double step;          ///< behind an integer: from here on a mean of them is rounded to the next one, 0.5 or 1
};

/// What a window comes to.
template <typename Count>
struct sliding_values {
    Count count;
    bool given;
    double sum, mean;
    std::uint32_t rounded;  ///< of integers: a pixel
};

/// Of integers; `mean` and `sum` only where they are wanted.
template <typename Pixel, int K>
__device__ sliding_values<std::uint32_t> values_of(const sliding_output& to, const window_sums<std::uint64_t, false>& w,
                                                   int j, double, bool, bool wants_sum) {
    sliding_values<std::uint32_t> v{};
    v.count = packed_count<Pixel>::count(w.sum(j));
    v.given = v.count >= to.least;
    const std::int64_t centred = packed_count<Pixel>::sum(w.sum(j));
    const std::uint32_t n = v.count > 1 ? v.count : 1;
    // Off by at most one before it is corrected: a quotient below 2^16, a few relative errors of 2^-23.
    const auto y = static_cast<std::uint64_t>(centred) + std::uint64_t{to.raise} * v.count + to.half * (n / 2);
    const float all = sizeof(Pixel) == 1 ? static_cast<float>(static_cast<std::uint32_t>(y)) : static_cast<float>(y);
    v.rounded = static_cast<std::uint32_t>(__fdividef(all, static_cast<float>(n)));
    const auto rest = static_cast<std::int32_t>(static_cast<std::uint32_t>(y) - v.rounded * n);
    if (rest < 0) --v.rounded;
    if (rest >= static_cast<std::int32_t>(n)) ++v.rounded;
    v.rounded ^= to.flip;
    if (wants_sum) {
        v.sum = static_cast<double>(centred + to.centre * v.count);
        v.mean = v.sum / n;
    }
    return v;
}

/// Of floats, with the formulas of real_results.cuh.
template <typename Pixel, int K>
__device__ sliding_values<std::uint32_t> values_of(const sliding_output& to, const window_sums<double, false>& w, int j,
                                                   double n, bool uncut, bool) {
    sliding_values<std::uint32_t> v{};
    v.count = static_cast<std::uint32_t>(n);
    v.given = true;
    v.sum = w.sum(j);
    v.mean = uncut && to.mean.type == dtype::f32 ? v.sum * to.inverse : v.sum / n;
    return v;
}

/// The quotient of sums that are exact, rounded: what real_results.cuh rounds a quotient in double to.
///
/// Numbers that are rounded to different integers are told by a product and one rounding, of which the sign is right.
/// Both sums are multiples of the finest bit of the weights and at most 2^51 times it, so that a quotient that is not
/// such a number is further from it than a double. An approximate quotient, off by 2^-3 of up to 2^16, knows which one
/// is near.
__device__ inline std::uint32_t rounded_quotient(double sum, double count, double step) {
    constexpr double integers = 0x1.8p52;  // from here on doubles are; the last bits of one are the integer's
    const double near = __fma_rn(sum, inverse_approximately(count), -step) + integers;
    const double rest = __fma_rn(-((near - integers) + step), count, sum);
    const auto below = static_cast<std::uint32_t>(__double2loint(near));
    return below + 1 - (static_cast<std::uint32_t>(__double2hiint(rest)) >> 31);
}

/// Of floats, and of pixels with weights: with the formulas of real_results.cuh.
template <typename Pixel, int K, typename Count>
__device__ sliding_values<Count> values_of(const sliding_output& to, const counted_sums<Count>& w, int j, double, bool,
                                           bool wants_sum) {
    sliding_values<Count> v{};
    v.count = w.count[j];
    v.given = v.count >= to.least;
    v.sum = w.sum(j);
    if constexpr (sizeof(Pixel) == 2) v.sum = __fma_rn(to.lowest, v.count, v.sum);
    if constexpr (sizeof(Pixel) != 4)
        v.rounded = rounded_quotient(v.sum, v.count, to.step) & (sizeof(Pixel) == 1 ? 0xffu : 0xffffu);
    if (std::is_integral_v<Count>)
        v.mean = v.count > 0 ? v.sum / v.count : 0;
    else if (sizeof(Pixel) == 4 || wants_sum)
        v.mean = v.sum / (v.given ? v.count : Count{1});
    return v;
}

template <typename T, int N>
__device__ void store_words(char* to, const T (&words)[N]) {
    constexpr int at_once = N < 4 ? N : 4;
#pragma unroll
    for (int k = 0; k < N; k += at_once) {
        T part[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) part[i] = words[k + i];
        store_streaming(reinterpret_cast<T*>(to) + k, part);
    }
}

template <typename Slide>
__global__ __launch_bounds__(most_fused_threads) void sliding_mean_kernel(const __grid_constant__ fused_view t,
                                                                          const __grid_constant__ sliding_output to) {
    using Pixel = typename Slide::Pixel;
    constexpr bool real = sizeof(Pixel) == 4;
    for_each_batch<Slide>(t, [&](const auto& batch) {
        constexpr int rows = Slide::rows, K = Slide::K;
        constexpr int in_word = 4 / static_cast<int>(sizeof(Pixel)), bits = 32 / in_word;
        const auto values = [&](const auto& w, int j, int width, bool whole, bool wants_sum) {
            const bool uncut = whole && batch.height[j] == static_cast<int>(t.rows.full);
            const double n = static_cast<double>(batch.height[j]) * width;
            return values_of<Pixel, K>(to, w, j, n, uncut, wants_sum);
        };
        if (to.in_units && batch.owns()) {
            std::uint32_t mean[rows][K / in_word], count[rows][K];
            const auto fill =
                real ? __float_as_uint(static_cast<float>(to.mean.fill))
                     : static_cast<std::uint32_t>(static_cast<int>(to.mean.fill)) & (0xffffffffu >> (32 - bits));
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const auto w = batch.own_window(i);
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    const auto v = values(w, j, static_cast<int>(t.cols.full), true, false);
                    std::uint32_t x = real ? __float_as_uint(static_cast<float>(v.mean)) : v.rounded;
                    if (!v.given) x = fill;
                    x <<= bits * (i % in_word) % 32;
                    mean[j][i / in_word] = i % in_word == 0 ? x : mean[j][i / in_word] | x;
                    // Weights are no 32-bit integers.
                    count[j][i] = std::is_floating_point_v<decltype(v.count)> || to.count.type == dtype::f32
                                      ? __float_as_uint(static_cast<float>(v.count))
                                      : static_cast<std::uint32_t>(v.count);
                }
            }
            const auto store = [&](const run_output& result, int size, const auto& words) {
                if (result.data == nullptr) return;
                char* at = result.data + batch.row * result.row_stride + std::int64_t{batch.own()} * size;
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    if (j < batch.valid) store_words(at, words[j]);
                    at += result.row_stride;
                }
            };
            store(to.mean, sizeof(Pixel), mean);
            store(to.count, 4, count);
        }
        batch.for_each_column(to.in_units, [&](int col, const auto& w) {
            const int width = fused_width(t, col);
            const std::int64_t element = std::int64_t{col} * t.channels + batch.channel;
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                const auto v = values(w, j, width, batch.whole(col), true);
                const int row = batch.row + j;
                const auto store = [&](const run_output& result, double x) {
                    if (result.data != nullptr) store_element(result, row, element, x);
                };
                double mean = v.mean;
                if (!real && !is_floating(to.mean.type))
                    mean = to.flip != 0 ? static_cast<double>(static_cast<s16>(v.rounded)) : v.rounded;
                store(to.mean, v.given ? mean : to.mean.fill);
                store(to.sum, v.given ? v.sum : to.sum.fill);
                store(to.count, v.count);
            }
        });
    });
}

template <typename Slide>
void launch_means(const real_windows& windows, const real_finish& finish, std::uint32_t* refused, void* segments,
                  fused_sums sums, const fused_shape& shape, stream_ref stream) {
    using Pixel = typename Slide::Pixel;
    constexpr int K = Slide::K;
    const filters::window_job& job = *windows.job;
    const dtype type = windows.image.shape.type;
    if (sizeof(typename Slide::columns) != static_cast<std::size_t>(fused_slot_bytes(type, sums)))
        throw std::logic_error("sliding means: segments of another size than was planned");
    fused_view t = samples_on_device<Pixel, K>(windows, shape, segments);
    // Pixels with weights are not centred: signed ones are held 32768 higher.
    if (sums == fused_sums::weighted_reals) t.flip = type == dtype::s16 ? 0x80008000u : 0;
    if constexpr (requires { Slide::outside(t); })
        t.any_beyond = t.channels == 1 && t.cols.continues() && sides_follow(t.cols, shape);
    t.refused = refused;
    const auto height = static_cast<double>(job.rows.width()), width = static_cast<double>(job.cols.width());
    t.few_pixels = (height + 1) * K;
    // Rounding quotients wants two bits of a window's sum to spare, columns beyond a side one (exact_floats).
    t.most_pixels = std::max(sums == fused_sums::weighted_reals ? height * width : height * width / 2, t.few_pixels);

    sliding_output to{};
    to.mean = finish.mean;
    to.sum = finish.sum;
    to.count = finish.count;
    to.least = std::max(finish.least, std::numeric_limits<double>::denorm_min());
    to.half = finish.half != 0 ? 1 : 0;
    to.lowest = type == dtype::s16 ? -32768 : 0;
    to.step = to.half != 0 ? 0.5 : 1;
    to.raise = type == dtype::u8 ? 128 : 32768;
    to.flip = type == dtype::s16 ? 0x8000 : 0;
    to.centre = type == dtype::u8 ? 128 : type == dtype::u16 ? 32768 : 0;
    to.inverse = 1 / (static_cast<double>(job.rows.full) * static_cast<double>(job.cols.full));
    const auto units = [](const run_output& result, dtype wanted, std::int64_t unit) {
        if (result.data == nullptr) return true;
        return result.type == wanted && reinterpret_cast<std::uintptr_t>(result.data) % unit == 0 &&
               result.row_stride % unit == 0;
    };
    constexpr std::int64_t unit = std::min<std::int64_t>(K * sizeof(Pixel), 16);
    to.in_units = t.channels == 1 && to.sum.data == nullptr && units(to.mean, type, unit) &&
                  (units(to.count, dtype::f32, 16) || units(to.count, dtype::u32, 16));
    launch_sliding<Slide>(sliding_mean_kernel<Slide>, t, shape, stream, to);
}

}  // namespace

/// Floats and weighted pixels leave what may have been rounded to kernels that only add.
void launch_sliding_means(const real_windows& windows, const real_finish& to, stream_ref stream) {
    constexpr int bytes = fused_columns(dtype::u8, fused_sums::counted),
                  words = fused_columns(dtype::u16, fused_sums::counted),
                  reals = fused_columns(dtype::f32, fused_sums::reals);
    const filters::window_job& job = *windows.job;
    const fused_sums sums = sliding_sums_of(job);
    const fused_shape shape = fused_shape_of(job, sums, windows.end_row - windows.first_row);
    void* const segments = static_cast<std::byte*>(windows.scratch) + refused_bytes(job, shape);
    auto* const refused = static_cast<std::uint32_t*>(windows.scratch);
    if (sums == fused_sums::reals) {
        using floats = exact_floats<counts_as::all, reals>;
        // Rows that are no units would be waited for on their way to shared memory.
        if (lies_in_units(windows.image, 16))
            launch_means<waiting<floats, false>>(windows, to, refused, segments, sums, shape, stream);
        else
            launch_means<floats>(windows, to, refused, segments, sums, shape, stream);
    } else if (sums == fused_sums::counted_reals)
        launch_means<exact_floats<counts_as::samples, reals>>(windows, to, refused, segments, sums, shape, stream);
    else if (sums == fused_sums::weighted_reals)
        switch (windows.image.shape.type) {
            case dtype::f32:
                launch_means<exact_floats<counts_as::weights, reals>>(windows, to, refused, segments, sums, shape,
                                                                      stream);
                break;
            case dtype::u8:
                launch_means<exact_floats<counts_as::weights, reals, u8>>(windows, to, refused, segments, sums, shape,
                                                                          stream);
                break;
            default:
                launch_means<exact_floats<counts_as::weights, reals, u16>>(windows, to, refused, segments, sums, shape,
                                                                           stream);
        }
    else if (windows.image.shape.type == dtype::u8)
        launch_means<counted_integers<u8, bytes>>(windows, to, refused, segments, sums, shape, stream);
    else
        launch_means<counted_integers<u16, words>>(windows, to, refused, segments, sums, shape, stream);
    if (sums == fused_sums::counted) return;
    real_windows rest = windows;
    rest.scratch = segments;
    rest.refused = {refused, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
    launch_real_means(rest, to, stream);
}

}  // namespace boxsum::cuda
