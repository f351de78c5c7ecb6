// No include guard: each patch_kernels_*.cpp includes this once, with BOXSUM_ROWS naming its namespace. As in
// row_kernels_impl.hpp, nothing here may be merged into code of another instruction set.
#include "core/independent_loop.hpp"
#include "cpu/filters/patch_kernels.hpp"
#include "filters/exponential.hpp"

#include <type_traits>

namespace boxsum::filters::BOXSUM_ROWS {
namespace {

using i64 = std::int64_t;

template <typename T>
void differences(f64* __restrict to, const T* x, const T* y, i64 channels, i64 plane, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const f64 d = static_cast<f64>(x[i]) - static_cast<f64>(y[i]);
        to[i] = d * d;
    }
    for (i64 k = 1; k < channels; ++k)
        for (i64 i = 0; i < n; ++i) {
            const f64 d = static_cast<f64>(x[k * plane + i]) - static_cast<f64>(y[k * plane + i]);
            to[i] += d * d;
        }
}

/// Differences of squares stay below 2^24, so that single precision has them.
void slide(s32* __restrict sums, const f32* x, const f32* y, const f32* x_leaving, const f32* y_leaving, i64 channels,
           i64 plane, i64 n) {
    for (i64 k = 0; k < channels; ++k)
        for (i64 i = 0; i < n; ++i) {
            const f32 in = x[k * plane + i] - y[k * plane + i],
                      out = x_leaving[k * plane + i] - y_leaving[k * plane + i];
            sums[i] += static_cast<s32>(in * in - out * out);
        }
}

template <typename T>
void accumulate(T* __restrict sums, T* __restrict values, const T* __restrict weights, const T* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const T w = weights[i];
        sums[i] += w;
        values[i] += w * x[i];
    }
}

template <typename T>
void accumulate_values(T* __restrict values, const T* __restrict weights, const T* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) values[i] += weights[i] * x[i];
}

template <typename T>
void flush(f64* __restrict totals, T* __restrict sums, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        totals[i] += static_cast<f64>(sums[i]);
        sums[i] = 0;
    }
}

/// A sum; of integers modulo 2^32, since what lies behind a row, which nobody asks for, may be anything.
template <typename S, typename... More>
[[gnu::always_inline]] inline S sum_of(S first, More... more) {
    using wide = std::conditional_t<std::is_integral_v<S>, u32, S>;
    return static_cast<S>((static_cast<wide>(first) + ... + static_cast<wide>(more)));
}

/// Calls with_sum(sum) with a function that gives the sum of `count` rows at i.
template <typename S, typename F>
[[gnu::always_inline]] inline void for_sum_of(const S* const* rows, int count, F&& with_sum) {
    const S* const a = rows[0];
    if (count == 1) return with_sum([=](i64 i) { return a[i]; });
    const S* const b = rows[1];
    if (count == 2) return with_sum([=](i64 i) { return sum_of(a[i], b[i]); });
    const S* const c = rows[2];
    if (count == 3) return with_sum([=](i64 i) { return sum_of(a[i], b[i], c[i]); });
    const S* const d = rows[3];
    with_sum([=](i64 i) { return sum_of(a[i], b[i], c[i], d[i]); });
}

template <typename S>
void add(S* to, const S* const* rows, int count, i64 n) {
    for_sum_of(
        rows, count, [=](auto sum) __attribute__((always_inline)) {
            BOXSUM_INDEPENDENT
            for (i64 i = 0; i < n; ++i) to[i] = sum(i);
        });
}

/// exp(x) for x of at most 0, as exponential() but within 4 units in the last place of single precision; 0 below -87.
inline f32 single_exponential(f32 x) {
    const f32 clamped = x < -87 ? -87 : x;
    const f32 shifted = clamped * 1.44269504f + 12582912.f;  // 1.5 * 2^23 leaves the nearest integer in the last bits
    const f32 n = shifted - 12582912.f;
    const f32 r = (clamped - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
    // In pairs of terms: a third of the steps that wait for each other.
    const f32 square = r * r, high = (1.f / 24 + r * (1.f / 120)) + square * (1.f / 720);
    f32 y = (1 + r) + square * ((0.5f + r * (1.f / 6)) + square * high);
    y *= __builtin_bit_cast(f32, (__builtin_bit_cast(u32, shifted) + 127) << 23);
    return x < -87 ? 0 : x != x ? x : y;
}

/// What is below 0 is nothing; a NaN is not.
template <typename S>
inline factor_of<S> exponent(S sum, factor_of<S> share, factor_of<S> noise, factor_of<S> scale) {
    const factor_of<S> beyond = static_cast<factor_of<S>>(sum) * share - noise;
    return (beyond < 0 ? 0 : beyond) * -scale;
}

template <typename S>
void weights_32f(f32* to, const S* const* rows, int count, factor_of<S> row, const factor_of<S>* cols,
                 factor_of<S> noise, factor_of<S> scale, i64 n) {
    for_sum_of(
        rows, count, [=](auto sum) __attribute__((always_inline)) {
            BOXSUM_INDEPENDENT
            for (i64 i = 0; i < n; ++i)
                to[i] = single_exponential(static_cast<f32>(exponent<S>(sum(i), row * cols[i], noise, scale)));
        });
}

void weights_64f(f64* to, const f64* const* rows, int count, f64 row, const f64* cols, f64 noise, f64 scale, i64 n) {
    for_sum_of(
        rows, count, [=](auto sum) __attribute__((always_inline)) {
            BOXSUM_INDEPENDENT
            for (i64 i = 0; i < n; ++i) to[i] = exponential(exponent<f64>(sum(i), row * cols[i], noise, scale));
        });
}

// ---- where pixels may not count ----

template <typename T>
void counted_differences(f64* __restrict to, const T* x, const T* y, i64 channels, i64 plane, i64 n) {
    differences(to, x, y, channels, plane, n);
    const T *const counted = x + channels * plane, *const other = y + channels * plane;
    // No product: what counts may not be finite.
    for (i64 i = 0; i < n; ++i) to[i] = counted[i] * other[i] > 0 ? to[i] : 0;
}

template <typename T>
void slide_pairs(s32* __restrict pairs, const T* counted, const T* other, const T* counted_leaving,
                 const T* other_leaving, i64 n) {
    for (i64 i = 0; i < n; ++i)
        pairs[i] += static_cast<s32>(counted[i] * other[i] - counted_leaving[i] * other_leaving[i]);
}

void slide_counted(s32* __restrict sums, const f32* x, const f32* y, const f32* x_leaving, const f32* y_leaving,
                   i64 channels, i64 plane, i64 n) {
    const i64 c = channels * plane;
    const auto both = [=](i64 i) { return x[c + i] * y[c + i]; };
    const auto both_leaving = [=](i64 i) { return x_leaving[c + i] * y_leaving[c + i]; };
    const auto change = [=](i64 i, f32 counted, f32 counted_leaving) {
        const f32 in = (x[i] - y[i]) * counted, out = (x_leaving[i] - y_leaving[i]) * counted_leaving;
        return static_cast<s32>(in * in - out * out);
    };
    for (i64 i = 0; i < n; ++i) {
        const f32 in = both(i), out = both_leaving(i);
        sums[i] += static_cast<s32>(in - out) * (1 << pairs_shift) + change(i, in, out);
    }
    for (i64 k = plane; k < c; k += plane)
        for (i64 i = 0; i < n; ++i) sums[i] += change(k + i, both(i), both_leaving(i));
}

/// Whether a weight counts for a pixel; that of NaN does.
template <typename T>
inline bool takes(T weight, T counted) {
    return (counted > 0) & !(weight < 0);
}

template <typename T>
void accumulate_counted(T* __restrict sums, T* __restrict values, const T* __restrict weights, const T* __restrict x,
                        const T* __restrict counted, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const T w = weights[i];
        const bool taken = takes(w, counted[i]);
        sums[i] += taken ? w : 0;
        values[i] += taken ? w * x[i] : 0;
    }
}

template <typename T>
void accumulate_counted_values(T* __restrict values, const T* __restrict weights, const T* __restrict x,
                               const T* __restrict counted, i64 n) {
    for (i64 i = 0; i < n; ++i) values[i] += takes(weights[i], counted[i]) ? weights[i] * x[i] : 0;
}

template <typename T>
void accumulate_counts(T* __restrict counts, const T* __restrict weights, const T* __restrict counted, i64 n) {
    for (i64 i = 0; i < n; ++i) counts[i] += takes(weights[i], counted[i]) ? T{1} : T{0};
}

void counted_weights_32f(f32* __restrict to, const s32* __restrict sums, s32 least, f32 channels, f32 noise, f32 scale,
                         i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const s32 pairs = sums[i] >> pairs_shift, differences = sums[i] & ((1 << pairs_shift) - 1);
        const f32 share = 1 / (channels * static_cast<f32>(pairs < 1 ? 1 : pairs));
        const f32 weight = single_exponential(exponent<s32>(differences, share, noise, scale));
        to[i] = pairs < least ? -1 : weight;
    }
}

void counted_weights_64f(f64* __restrict to, const f64* __restrict sums, const s32* __restrict pairs, s32 least,
                         f64 channels, f64 noise, f64 scale, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const f64 share = 1 / (channels * static_cast<f64>(pairs[i] < 1 ? 1 : pairs[i]));
        const f64 weight = exponential(exponent<f64>(sums[i], share, noise, scale));
        to[i] = pairs[i] < least ? -1 : weight;
    }
}

template <typename T>
constexpr counted_pixel_kernels<T> counted_kernels{counted_differences<T>, slide_pairs<T>, accumulate_counted<T>,
                                                   accumulate_counted_values<T>, accumulate_counts<T>};

}  // namespace

constinit const patch_kernels patches = {
    {patch_pixel_kernels<f32>{differences<f32>, accumulate<f32>, accumulate_values<f32>, flush<f32>},
     patch_pixel_kernels<f64>{differences<f64>, accumulate<f64>, accumulate_values<f64>, flush<f64>}},
    {patch_sum_kernels<s32>{add<s32>, weights_32f<s32>}, patch_sum_kernels<f64>{add<f64>, weights_32f<f64>}},
    weights_64f,
    slide,
    {counted_kernels<f32>, counted_kernels<f64>},
    slide_counted,
    counted_weights_32f,
    counted_weights_64f,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
