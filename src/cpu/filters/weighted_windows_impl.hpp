// No include guard: each weighted_windows_*.cpp includes this once, as row_kernels_*.cpp do row_kernels_impl.hpp.
#include "cpu/filters/row_kernels.hpp"

#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Windows of pixels that may not count, in the scheme of group_windows_impl.hpp: sums of weights and of weighted
// pixels, and means and squared deviations merged as in Chan, Golub, LeVeque 1979, with weights for numbers of samples.
// What does not count, or lies beyond a border that nothing continues, is a sample of weight 0: windows of all kinds
// take one way.

namespace boxsum::filters::BOXSUM_ROWS {
namespace {

#include "cpu/filters/lanes_impl.hpp"

void weights_of(f32* __restrict to, const u8* __restrict counts, i64 n) {
    for (i64 i = 0; i < n; ++i) to[i] = static_cast<f32>(counts[i]);
}

#include "cpu/filters/group_windows_impl.hpp"

namespace group_lanes {

/// a / b of weights; of two that are none, 0. Two steps of Newton's and one that corrects the quotient by its remainder
/// have the bits of the division for numbers below 2^31, whose quotients are no nearer to the middle between two
/// doubles than 2^-85 of themselves, where they are off by 2^-104 (Markstein 1990); of weights, but for one in some
/// 2^50.
BOXSUM_INLINE inline reals share_of(reals a, reals b) {
    const reals some = b + 0x1p-300;
#if defined(__AVX512F__)
    const __m512d v = (__m512d)some, one = _mm512_set1_pd(1);
    __m512d y = _mm512_maskz_rcp14_pd(0xff, v);  // masked, for the warnings of GCC 12
    for (int step = 0; step < 2; ++step) y = _mm512_fmadd_pd(_mm512_fnmadd_pd(v, y, one), y, y);
    const __m512d q = _mm512_mul_pd((__m512d)a, y);
    return (reals)_mm512_fmadd_pd(_mm512_fnmadd_pd(v, q, (__m512d)a), y, q);
#else
    return a / some;
#endif
}

struct weighted_sample {
    reals weight, x;
};

struct weighted_sum {
    static constexpr int parts = 2;
    reals weight, sum;

    BOXSUM_INLINE inline static weighted_sum of(const weighted_sample& s) { return {s.weight, s.weight * s.x}; }
    BOXSUM_INLINE inline weighted_sum with(const weighted_sum& b) const { return {weight + b.weight, sum + b.sum}; }
    BOXSUM_INLINE inline weighted_sum with(const weighted_sample& b) const { return with(of(b)); }
    template <typename F>
    BOXSUM_INLINE inline static void each(F&& f) {
        f(0, &weighted_sum::weight);
        f(1, &weighted_sum::sum);
    }
};

/// A mean of sums has a bound that does not depend on weights; merged ones tell the squared deviations.
struct weighted_moment {
    static constexpr int parts = 4;
    reals weight, sum, mean, m2;

    BOXSUM_INLINE inline static weighted_moment of(const weighted_sample& s) {
        return {s.weight, s.weight * s.x, s.x, reals{}};
    }
    BOXSUM_INLINE inline weighted_moment with(const weighted_sum& b, reals of_b, reals both) const {
        const reals all = weight + b.weight, d = of_b - mean, step = share_of(b.weight, all) * d;
        return {all, sum + b.sum, mean + step, both + (weight * d) * step};
    }
    BOXSUM_INLINE inline weighted_moment with(const weighted_moment& b) const {
        return with(weighted_sum{b.weight, b.sum}, b.mean, m2 + b.m2);
    }
    BOXSUM_INLINE inline weighted_moment with(const weighted_sample& b) const {
        return with(weighted_sum::of(b), b.x, m2);
    }
    template <typename F>
    BOXSUM_INLINE inline static void each(F&& f) {
        f(0, &weighted_moment::weight);
        f(1, &weighted_moment::sum);
        f(2, &weighted_moment::mean);
        f(3, &weighted_moment::m2);
    }
};

template <typename Value>
struct weighted_joins {
    using value = Value;

    i64 plane;

    template <int, typename Other>
    BOXSUM_INLINE inline value join(const value& a, const Other& b) const {
        return a.with(b);
    }
    BOXSUM_INLINE inline value join_whole(const value& a, const value& b) const { return a.with(b); }
    BOXSUM_INLINE inline value join_prefix(const value& a, const value& b) const { return a.with(b); }
    BOXSUM_INLINE inline static value start(const value& x) { return x; }
    BOXSUM_INLINE inline static value start(const weighted_sample& x) { return value::of(x); }
    BOXSUM_INLINE inline value at(const f64* from) const {
        value v;
        value::each([&](int part, auto member) BOXSUM_INLINE { v.*member = load<reals>(from + part * plane); });
        return v;
    }
    BOXSUM_INLINE inline void put(f64* to, const value& v) const {
        value::each([&](int part, auto member) BOXSUM_INLINE { store(to + part * plane, v.*member); });
    }
};

template <typename Value>
BOXSUM_INLINE inline const weighted_sample& sample_of(const weighted_joins<Value>&, const weighted_sample& x) {
    return x;
}
template <typename Value>
BOXSUM_INLINE inline Value joined_by(const weighted_joins<Value>&, const Value& a, const Value& b,
                                     const merge_shares&) {
    return a.with(b);
}
template <typename Value>
void join_vectors(const weighted_joins<Value>& by, f64* to, const f64* a, const f64* b, const merge_shares&, i64 n) {
    for (i64 i = 0; i < n; i += lanes) by.put(to + i, by.at(a + i).with(by.at(b + i)));
}

/// A pixel that does not count may be anything, NaN too.
BOXSUM_INLINE inline weighted_sample sample_where(reals weight, reals x) {
    return {weight, weight > 0.0 ? x : reals{}};
}

template <typename T>
class weighted_pixel_rows {
    const T* x[16];  // from their element `start` on
    const f32* weights[16];
    i64 start = 0;

  public:
    weighted_pixel_rows(const weighted_row<T>* first, const weighted_row<T>* last) {
        for (int i = 0; i < 16; ++i) {
            const weighted_row<T>& row = i < 8 ? first[i] : last[i - 8];
            x[i] = row.x;
            weights[i] = row.weight;
        }
    }
    BOXSUM_INLINE inline weighted_sample at(int i, i64 c) const {
        return sample_where(as_reals(weights[i] + (c - start)), as_reals(x[i] + (c - start)));
    }
    BOXSUM_INLINE inline void fetch(int i, i64 c) const { __builtin_prefetch(x[i] + (c - start)); }
    void end(i64 c, i64 count) {
        end_rows(x, ends, c, count);
        end_rows(weights, end_weights, c, count);
        start = c;
    }

  private:
    T ends[16][lanes];
    f32 end_weights[16][lanes];
};

template <typename Value>
void join_rows(f64* to, const f64* a, const f64* b, i64 plane, i64 n) {
    join_vectors(weighted_joins<Value>{plane}, to, a, b, {}, n);
}

template <typename Value, typename T>
void add_weighted(f64* to, const weighted_row<T>& x, bool alone, i64 plane, i64 n) {
    const weighted_joins<Value> by{plane};
    const auto add = [&](i64 i, const weighted_sample& s)
                         BOXSUM_INLINE { by.put(to + i, alone ? Value::of(s) : by.at(to + i).with(s)); };
    i64 i = 0;
    for (; i + lanes <= n; i += lanes) add(i, sample_where(as_reals(x.weight + i), as_reals(x.x + i)));
    if (i == n) return;
    f64 weight[lanes] = {}, pixel[lanes] = {};
    for (i64 k = 0; i + k < n; ++k) {
        weight[k] = static_cast<f64>(x.weight[i + k]);
        pixel[k] = static_cast<f64>(x.x[i + k]);
    }
    add(i, sample_where(load<reals>(weight), load<reals>(pixel)));
}

template <typename Value, typename T>
void down_weighted(f64* line, i64 plane, const weighted_row<T>* first, const weighted_row<T>* last,
                   const group_windows& windows, const f64* beyond, i64 n) {
    weighted_pixel_rows<T> rows(first, last);
    const weighted_joins<Value> by{windows.stride / Value::parts};
    with_width(windows, [&](auto width) {
        down_as<decltype(width)::value>(rows, windows, by, n, [&](i64 c, Value(&v)[8]) BOXSUM_INLINE {
            if (beyond != nullptr)
                unrolled<8>([&](auto i) BOXSUM_INLINE {
                    v[decltype(i)::value] = v[decltype(i)::value].with(by.at(beyond + c));
                });
            Value::each([&](int part, auto member) BOXSUM_INLINE {
                reals one[8];
                unrolled<8>([&](auto i) BOXSUM_INLINE { one[decltype(i)::value] = v[decltype(i)::value].*member; });
                put_line(line + part * plane + 8 * c, one);
            });
        });
    });
}

template <typename Value>
struct weighted_along {
    i64 plane, line_plane;

    weighted_joins<Value> by(i64) const { return {plane}; }
    weighted_joins<Value> of_line() const { return {line_plane}; }
    merge_shares closing(i64) const { return {}; }
    merge_shares begin(i64) const { return {}; }
};

/// What becomes of windows of some columns, eight values an element.
struct weighted_columns {
    alignas(64) f64 weight[8 * 64], sum[8 * 64], mean[8 * 64], spread[8 * 64];  // of up to four channels
};

/// Roots are taken between joins, which hide them. Where a sum is not finite, the spread is no number.
template <typename Value>
void weighted_results_along(weighted_columns& to, const weighted_results& results, const f64* line,
                            const weighted_along<Value>& how, group_windows& windows, const f64* beyond, i64 group,
                            i64 cols, i64 channels) {
    const reals least = reals{} + results.least, fill = reals{} + results.fill;
    with_width(windows, [&](auto width) {
        along_as<decltype(width)::value>(
            line, windows, how, group, cols, channels, [&](i64 first, i64 at, Value(&v)[8]) BOXSUM_INLINE {
                unrolled<8>([&](auto i) BOXSUM_INLINE {
                    constexpr int col = decltype(i)::value;
                    if (beyond != nullptr) v[col] = v[col].with(how.by(0).at(beyond + at));
                    const i64 place = (first + col) * 8 * channels + at;
                    const reals weight = v[col].weight, sum = v[col].sum;
                    store(to.weight + place, weight);
                    store(to.mean + place, weight >= least ? sum / (weight + 0x1p-300) : fill);
                    if (results.sum != nullptr) store(to.sum + place, weight >= least ? sum : fill);
                    if constexpr (std::is_same_v<Value, weighted_moment>) {
                        const reals variance = v[col].m2 * share_of(reals{} + 1.0, weight);
                        const reals spread = (results.deviations ? root(variance) : variance) + (sum - sum);
                        store(to.spread + place, weight >= least ? spread : fill);
                    }
                });
            });
    });
}

template <typename Value>
void along_weighted(const weighted_results& results, const f64* line, i64 plane, group_windows windows,
                    const f64* beyond, i64 cols, i64 channels) {
    weighted_columns values;
    const i64 step = 8 * channels, together = columns_together(channels);
    const weighted_along<Value> how{windows.stride / Value::parts, plane};
    if (windows.width > 8) begin_along(line, windows, how, channels);
    for (i64 c = 0; c < cols; c += together) {
        const i64 rounded = cols - c < together ? (cols - c + 15) / 16 * 16 : together;
        weighted_results_along<Value>(values, results, line + c * step, how, windows, beyond, c / 8, rounded, channels);
        const i64 n = (cols - c < together ? cols - c : together) * channels;
        const auto put = [&](auto* const* rows, const f64* of) {
            if (rows != nullptr) put_rows(rows, c * channels, of, nullptr, 0, n, results.streaming);
        };
        put(results.weight, values.weight);
        put(results.sum, values.sum);
        put(results.mean, values.mean);
        put(results.weight_32f, values.weight);
        put(results.mean_32f, values.mean);
        put(results.count, values.weight);
        if constexpr (std::is_same_v<Value, weighted_moment>) {
            put(results.spread, values.spread);
            put(results.spread_32f, values.spread);
        }
    }
    end_lines(results.streaming);
}

#undef BOXSUM_INLINE

template <typename Value, typename T>
constexpr weighted_kernels<T> kernels_of() {
    return {Value::parts, join_rows<Value>, add_weighted<Value, T>, down_weighted<Value, T>, along_weighted<Value>};
}

}  // namespace group_lanes
}  // namespace

constinit const weighted_windows weighted_rows = {
    {group_lanes::kernels_of<group_lanes::weighted_sum, f32>(),
     group_lanes::kernels_of<group_lanes::weighted_sum, f64>()},
    {group_lanes::kernels_of<group_lanes::weighted_moment, f32>(),
     group_lanes::kernels_of<group_lanes::weighted_moment, f64>()},
    weights_of,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
