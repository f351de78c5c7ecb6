// No include guard: each weighted_windows_*.cpp includes this once, as row_kernels_*.cpp do row_kernels_impl.hpp.
#include "cpu/filters/row_kernels.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Windows of pixels that may not count, in the scheme of group_windows_impl.hpp: sums of weights and of weighted
// pixels, and means and squared deviations merged as in Chan, Golub, LeVeque 1979, with weights for numbers of samples,
// or, of 32-bit pixels that count or do not, sums of squared distances from one of the window's pixels.
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

/// 1 / n, of numbers below 2^31 with the bits of the division, as row_kernels_impl.hpp says.
BOXSUM_INLINE inline reals inverse_of_number(reals n) {
#if defined(__AVX512F__)
    const __m512d v = (__m512d)n, one = _mm512_set1_pd(1);
    __m512d y = _mm512_maskz_rcp14_pd(0xff, v);
    for (int step = 0; step < 3; ++step) y = _mm512_fmadd_pd(_mm512_fnmadd_pd(v, y, one), y, y);
    return (reals)y;
#else
    return 1.0 / n;
#endif
}

/// b where it is below a or no number.
BOXSUM_INLINE inline reals smaller(reals a, reals b) {
#if defined(__AVX512F__)
    return (reals)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
#else
    return a < b ? a : b;
#endif
}
BOXSUM_INLINE inline reals larger(reals a, reals b) {
#if defined(__AVX512F__)
    return (reals)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
#else
    return a > b ? a : b;
#endif
}

struct weighted_sample {
    using weight_type = f32;
    reals weight, x;

    /// A pixel that does not count may be anything, NaN too.
    template <typename T>
    BOXSUM_INLINE inline static weighted_sample from(const f32* weights, const T* x) {
        const reals weight = as_reals(weights);
        return {weight, weight > 0.0 ? as_reals(x) : reals{}};
    }
};

struct weighted_sum {
    static constexpr int parts = 2;
    reals number, total;

    BOXSUM_INLINE inline static weighted_sum of(const weighted_sample& s) { return {s.weight, s.weight * s.x}; }
    BOXSUM_INLINE inline reals weight() const { return number; }
    BOXSUM_INLINE inline reals sum() const { return total; }
    BOXSUM_INLINE inline weighted_sum with(const weighted_sum& b) const { return {number + b.number, total + b.total}; }
    BOXSUM_INLINE inline weighted_sum with(const weighted_sample& b) const { return with(of(b)); }
    template <typename F>
    BOXSUM_INLINE inline static void each(F&& f) {
        f(0, &weighted_sum::number);
        f(1, &weighted_sum::total);
    }
};

/// A mean of sums has a bound that does not depend on weights; merged ones tell the squared deviations.
struct weighted_moment {
    static constexpr int parts = 4;
    reals number, total, mean, m2;

    BOXSUM_INLINE inline static weighted_moment of(const weighted_sample& s) {
        return {s.weight, s.weight * s.x, s.x, reals{}};
    }
    BOXSUM_INLINE inline reals weight() const { return number; }
    BOXSUM_INLINE inline reals sum() const { return total; }
    BOXSUM_INLINE inline weighted_moment with(const weighted_sum& b, reals of_b, reals both) const {
        const reals all = number + b.number, d = of_b - mean, step = share_of(b.number, all) * d;
        return {all, total + b.total, mean + step, both + (number * d) * step};
    }
    BOXSUM_INLINE inline weighted_moment with(const weighted_moment& b) const {
        return with(weighted_sum{b.number, b.total}, b.mean, m2 + b.m2);
    }
    BOXSUM_INLINE inline weighted_moment with(const weighted_sample& b) const {
        return with(weighted_sum::of(b), b.x, m2);
    }
    template <typename F>
    BOXSUM_INLINE inline static void each(F&& f) {
        f(0, &weighted_moment::number);
        f(1, &weighted_moment::total);
        f(2, &weighted_moment::mean);
        f(3, &weighted_moment::m2);
    }
};

/// Where samples count.
#if defined(__AVX512F__)
typedef __mmask8 choice;
BOXSUM_INLINE inline choice counting(const u8* counts) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(counts));
    return static_cast<choice>(_mm_test_epi8_mask(eight, eight));
}
BOXSUM_INLINE inline reals where(choice some, reals x) {
    return (reals)_mm512_maskz_mov_pd(some, (__m512d)x);
}
#else
typedef decltype(reals{} > reals{}) choice;
BOXSUM_INLINE inline choice counting(const u8* counts) {
    choice some;
    for (int i = 0; i < lanes; ++i) some[i] = -i64{counts[i]};
    return some;
}
BOXSUM_INLINE inline reals where(choice some, reals x) {
    return (reals)((choice)x & some);
}
#endif

/// A pixel of weight 1 or, where it does not count, 0.
struct counted_sample {
    using weight_type = u8;
    choice some;
    reals x;

    template <typename T>
    BOXSUM_INLINE inline static counted_sample from(const u8* counts, const T* x) {
        const choice some = counting(counts);
        return {some, where(some, as_reals(x))};
    }
    BOXSUM_INLINE inline reals weight() const { return where(some, reals{} + 1.0); }
    BOXSUM_INLINE inline reals sum() const { return x; }
    BOXSUM_INLINE inline reals squares_about(reals middle) const {
        const reals d = where(some, x - middle);
        return d * d;
    }
};

/// Pixels that count, of 32 bits: their number and sum, one of them, the pivot, and squared distances from it, which
/// are added and lose their mean's in the end. Of n pixels at least one has the pivot for its mean, so that the squared
/// distances are at most n times the squared deviations: as many times larger are these sums' errors. Sums of equal
/// pixels, and their products with numbers, are exact, so that they have no squared deviations.
struct counted_moment {
    static constexpr int parts = 4;
    reals number, total, pivot, squares;

    BOXSUM_INLINE inline static const counted_moment& of(const counted_moment& s) { return s; }
    BOXSUM_INLINE inline static counted_moment of(const counted_sample& s) { return {s.weight(), s.x, s.x, reals{}}; }
    BOXSUM_INLINE inline reals weight() const { return number; }
    BOXSUM_INLINE inline reals sum() const { return total; }
    BOXSUM_INLINE inline reals squares_about(reals middle) const {
        return squares + (pivot - middle) * ((total + total) - number * (pivot + middle));
    }
    BOXSUM_INLINE inline reals squared_deviations(reals inverse) const {
        const reals beside = total - number * pivot;
        return larger(reals{}, squares - beside * (beside * inverse));
    }
    /// About the pivot of the first, whatever it is.
    template <typename Other>
    BOXSUM_INLINE inline counted_moment plus(const Other& b) const {
        return {number + b.weight(), total + b.sum(), pivot, squares + b.squares_about(pivot)};
    }
    /// About the pivot of the first that counts.
    template <typename Other>
    BOXSUM_INLINE inline counted_moment with(const Other& b) const {
        return counted_moment{number, total, number > 0.0 ? pivot : of(b).pivot, squares}.plus(b);
    }
    template <typename F>
    BOXSUM_INLINE inline static void each(F&& f) {
        f(0, &counted_moment::number);
        f(1, &counted_moment::total);
        f(2, &counted_moment::pivot);
        f(3, &counted_moment::squares);
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
    template <typename Sample>
    BOXSUM_INLINE inline static value start(const Sample& x) {
        return value::of(x);
    }
    BOXSUM_INLINE inline value at(const f64* from) const {
        value v;
        value::each([&](int part, auto member) BOXSUM_INLINE { v.*member = load<reals>(from + part * plane); });
        return v;
    }
    BOXSUM_INLINE inline void put(f64* to, const value& v) const {
        value::each([&](int part, auto member) BOXSUM_INLINE { store(to + part * plane, v.*member); });
    }
};

template <typename Value, typename Sample>
BOXSUM_INLINE inline const Sample& sample_of(const weighted_joins<Value>&, const Sample& x) {
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

/// Windows that have no pixel in common that counts.
template <typename First, typename Last>
__attribute__((noinline)) void windows_apart(counted_moment* v, const First& first, const Last& last) {
    counted_moment suffix = {}, prefix = {};
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = 7 - decltype(i)::value;
        v[at] = suffix = suffix.with(first(constant<at>{}));
    });
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        prefix = prefix.with(last(i));
        v[decltype(i)::value] = v[decltype(i)::value].with(prefix);
    });
}

BOXSUM_INLINE inline bool any_below(reals x, f64 least) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask((__m512d)x, _mm512_set1_pd(least), _CMP_LT_OQ) != 0;
#else
    bool any = false;
    for (int i = 0; i < lanes; ++i) any |= x[i] < least;
    return any;
#endif
}

/// As for other joins, but all eight have the pivot of what they have in common, so that the rest is added.
template <int rest, typename First, typename Last>
BOXSUM_INLINE inline void wide_windows(counted_moment (&v)[8], const weighted_joins<counted_moment>& by, First&& first,
                                       Last&& last, const group_state& state) {
    constexpr int split = 8 - rest;
    counted_moment part = {}, common = {};
    if (state.whole) {
        common = by.at(state.slot);
        if (state.in_block) common = common.with(by.at(state.prefix));
    }
    if constexpr (rest != 0) {
        part = by.at(state.part);
        common = common.with(part);
    }
    counted_moment sum = common;
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = 7 - decltype(i)::value;
        v[at] = sum = sum.plus(first(constant<at>{}));
    });
    const auto end = [&] {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(last(constant<0>{}))>, counted_sample>) {
            std::array<counted_sample, 8> all;
            unrolled<8>([&](auto i) BOXSUM_INLINE { all[decltype(i)::value] = last(i); });
            return [all](auto i) BOXSUM_INLINE { return all[decltype(i)::value]; };
        } else {
            return last;
        }
    }();
    counted_moment prefix = {{}, {}, sum.pivot, {}};
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        prefix = prefix.plus(end(i));
        v[at] = {v[at].number + prefix.number, v[at].total + prefix.total, prefix.pivot,
                 v[at].squares + prefix.squares};
    });
    if (any_below(common.number, 1)) {
        counted_moment apart[8];
        windows_apart(apart, first, last);
        unrolled<8>([&](auto i) BOXSUM_INLINE {
            counted_moment::each([&](int, auto member) BOXSUM_INLINE {
                reals& x = v[decltype(i)::value].*member;
                x = common.number > 0.0 ? x : apart[decltype(i)::value].*member;
            });
        });
    }
    // About pivots of their own, since windows without those in common have them.
    const auto chain = [&](auto from, auto count) BOXSUM_INLINE {
        counted_moment all = counted_moment::of(end(from));
        unrolled<decltype(count)::value - 1>([&](auto i) BOXSUM_INLINE {
            all = all.with(end(constant<decltype(from)::value + 1 + decltype(i)::value>{}));
        });
        return all;
    };
    if (state.whole) {
        counted_moment group = chain(constant<0>{}, constant<split>{});
        if constexpr (rest != 0) group = part.with(group);
        by.put(state.slot, group);
        by.put(state.prefix, state.in_block ? by.at(state.prefix).with(group) : group);
    }
    if constexpr (rest != 0) by.put(state.part, chain(constant<split>{}, constant<rest>{}));
}

template <typename W, typename T>
const W* weights_of(const weighted_row<T>& row) {
    if constexpr (std::is_same_v<W, u8>)
        return row.counts;
    else
        return row.weight;
}

template <typename Sample, typename T>
class weighted_pixel_rows {
    using weight_type = typename Sample::weight_type;
    const T* x[16];  // from their element `start` on
    const weight_type* weights[16];
    i64 start = 0;

  public:
    weighted_pixel_rows(const weighted_row<T>* first, const weighted_row<T>* last) {
        for (int i = 0; i < 16; ++i) {
            const weighted_row<T>& row = i < 8 ? first[i] : last[i - 8];
            x[i] = row.x;
            weights[i] = weights_of<weight_type>(row);
        }
    }
    BOXSUM_INLINE inline Sample at(int i, i64 c) const {
        return Sample::from(weights[i] + (c - start), x[i] + (c - start));
    }
    BOXSUM_INLINE inline void fetch(int i, i64 c) const { __builtin_prefetch(x[i] + (c - start)); }
    void end(i64 c, i64 count) {
        end_rows(x, ends, c, count);
        end_rows(weights, end_weights, c, count);
        start = c;
    }

  private:
    T ends[16][lanes];
    weight_type end_weights[16][lanes];
};

template <typename Value>
constexpr bool counted = std::is_same_v<Value, counted_moment>;
template <typename Value>
using sample = std::conditional_t<counted<Value>, counted_sample, weighted_sample>;
template <typename Value>
constexpr bool knows_spreads = Value::parts == 4;

template <typename Value>
void join_rows(f64* to, const f64* a, const f64* b, i64 plane, i64 n) {
    join_vectors(weighted_joins<Value>{plane}, to, a, b, {}, n);
}

template <typename Value, typename T>
void add_weighted(f64* to, const weighted_row<T>& x, bool alone, i64 plane, i64 n) {
    const weighted_joins<Value> by{plane};
    using weight_type = typename sample<Value>::weight_type;
    const auto add = [&](i64 i, const weight_type* weights, const T* pixels) BOXSUM_INLINE {
        const auto s = sample<Value>::from(weights, pixels);
        by.put(to + i, alone ? Value::of(s) : by.at(to + i).with(s));
    };
    i64 i = 0;
    const weight_type* const given = weights_of<weight_type>(x);
    for (; i + lanes <= n; i += lanes) add(i, given + i, x.x + i);
    if (i == n) return;
    weight_type weights[lanes] = {};
    T pixels[lanes] = {};
    for (i64 k = 0; i + k < n; ++k) {
        weights[k] = given[i + k];
        pixels[k] = x.x[i + k];
    }
    add(i, weights, pixels);
}

/// Eight rows of each element of a line with what lies beyond the image. Rare, so not in the code of each width.
template <typename Value>
__attribute__((noinline)) void join_beyond(f64* line, const weighted_joins<Value>& of_line, const f64* beyond,
                                           const weighted_joins<Value>& of_beyond, i64 n) {
    for (i64 c = 0; c < n; ++c) {
        Value one;
        Value::each([&](int part, auto member)
                        BOXSUM_INLINE { one.*member = reals{} + beyond[part * of_beyond.plane + c]; });
        for (i64 row = 0; row < 8; row += lanes) {
            f64* const at = line + 8 * c + row;
            of_line.put(at, of_line.at(at).with(one));
        }
    }
}

template <typename Value, typename T>
void down_weighted(f64* line, i64 plane, const weighted_row<T>* first, const weighted_row<T>* last,
                   const group_windows& windows, const f64* beyond, i64 n) {
    weighted_pixel_rows<sample<Value>, T> rows(first, last);
    const weighted_joins<Value> by{windows.stride / Value::parts};
    with_width(windows, [&](auto width) {
        down_as<decltype(width)::value>(rows, windows, by, n, [&](i64 c, Value(&v)[8]) BOXSUM_INLINE {
            Value::each([&](int part, auto member) BOXSUM_INLINE {
                reals one[8];
                unrolled<8>([&](auto i) BOXSUM_INLINE { one[decltype(i)::value] = v[decltype(i)::value].*member; });
                put_line(line + part * plane + 8 * c, one);
            });
        });
    });
    if (beyond != nullptr) join_beyond<Value>(line, {plane}, beyond, by, n);
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

/// Of every window, as if what counts were enough. Where a sum is not finite, the spread is no number.
template <typename Value>
BOXSUM_INLINE inline void put_results(weighted_columns& to, const weighted_results& results, i64 place,
                                      const Value& v) {
    const reals weight = v.weight(), sum = v.sum();
    store(to.weight + place, weight);
    if (results.sum != nullptr) store(to.sum + place, sum);
    if constexpr (counted<Value>) {
        const reals inverse = inverse_of_number(weight);
        store(to.spread + place, v.squared_deviations(inverse) * inverse);
        if (results.mean == nullptr) return store(to.mean + place, sum * inverse);  // n times 1 / n is not always 1
    } else if constexpr (knows_spreads<Value>) {
        store(to.spread + place, v.m2 * share_of(reals{} + 1.0, weight) + (sum - sum));
    }
    store(to.mean + place, sum / (weight + 0x1p-300));
}

/// As join_beyond.
template <typename Value>
__attribute__((noinline)) void join_all(Value (&v)[8], const Value& beyond) {
    for (Value& one : v) one = one.with(beyond);
}

/// The least weight in any lane of each. Roots are taken an eight later, beside its joins, which hide them.
template <typename Value>
reals weighted_results_along(weighted_columns& to, const weighted_results& results, const f64* line,
                             const weighted_along<Value>& how, group_windows& windows, const f64* beyond, i64 group,
                             i64 cols, i64 channels) {
    const bool roots = knows_spreads<Value> && results.deviations;
    i64 before = -1;
    const auto take_root = [&](i64 col) BOXSUM_INLINE {
        if (!roots || before < 0) return;
        f64* const spread = to.spread + before + col * 8 * channels;
        store(spread, root(as_reals(spread)));
    };
    reals least = reals{} + std::numeric_limits<f64>::infinity();
    with_width(windows, [&](auto width) {
        along_as<decltype(width)::value>(
            line, windows, how, group, cols, channels, [&](i64 first, i64 at, Value(&v)[8]) BOXSUM_INLINE {
                const i64 place = first * 8 * channels + at;
                if (beyond != nullptr) {
                    Value joined[8];  // so that v stays in registers elsewhere
                    unrolled<8>([&](auto i) BOXSUM_INLINE { joined[decltype(i)::value] = v[decltype(i)::value]; });
                    join_all(joined, how.by(0).at(beyond + at));
                    unrolled<8>([&](auto i) BOXSUM_INLINE { v[decltype(i)::value] = joined[decltype(i)::value]; });
                }
                unrolled<8>([&](auto i) BOXSUM_INLINE {
                    constexpr int col = decltype(i)::value;
                    put_results(to, results, place + col * 8 * channels, v[col]);
                    least = smaller(least, v[col].weight());
                    take_root(col);
                });
                before = place;
            });
    });
    unrolled<8>([&](auto i) BOXSUM_INLINE { take_root(decltype(i)::value); });
    return least;
}

/// Where what counts is not enough.
__attribute__((noinline)) void fill_results(weighted_columns& to, const weighted_results& results, i64 n) {
    const reals least = reals{} + results.least, fill = reals{} + results.fill;
    for (f64* const x : {to.sum, to.mean, to.spread})
        for (i64 i = 0; i < n; i += lanes) store(x + i, as_reals(to.weight + i) >= least ? as_reals(x + i) : fill);
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
        const reals least = weighted_results_along<Value>(values, results, line + c * step, how, windows, beyond, c / 8,
                                                          rounded, channels);
        if (any_below(least, results.least)) fill_results(values, results, rounded * step);
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
        if constexpr (knows_spreads<Value>) {
            put(results.spread, values.spread);
            put(results.spread_32f, values.spread);
        }
    }
    end_lines(results.streaming);
}

#undef BOXSUM_INLINE

template <typename Value, typename T>
constexpr weighted_kernels<T> kernels_of() {
    return {Value::parts,           counted<Value>,          join_rows<Value>,
            add_weighted<Value, T>, down_weighted<Value, T>, along_weighted<Value>};
}

}  // namespace group_lanes
}  // namespace

constinit const weighted_windows weighted_rows = {
    {group_lanes::kernels_of<group_lanes::weighted_sum, f32>(),
     group_lanes::kernels_of<group_lanes::weighted_sum, f64>()},
    {group_lanes::kernels_of<group_lanes::weighted_moment, f32>(),
     group_lanes::kernels_of<group_lanes::weighted_moment, f64>()},
    group_lanes::kernels_of<group_lanes::counted_moment, f32>(),
    weights_of,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
