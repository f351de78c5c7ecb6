// No include guard: each row_kernels_*.cpp includes this once, with BOXSUM_ROWS naming its namespace and
// BOXSUM_ROWS_BYTES its vector length. Everything is in an unnamed namespace and calls nothing inline from the standard
// library, so that no code of one instruction set is merged by the linker into another's.
#include "core/independent_loop.hpp"
#include "cpu/filters/row_kernels.hpp"
#include "filters/exponential.hpp"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace boxsum::filters::BOXSUM_ROWS {
namespace {

#include "cpu/filters/lanes_impl.hpp"

// ---- integer images: vertical sums ----

template <typename A, bool square, typename T>
inline A term(T x, T flip) {
    const auto v = static_cast<u32>(static_cast<T>(x ^ flip));
    return square ? A{v * v} : A{v};  // a product of 32 bits
}

template <typename T, typename A, bool square>
void add_row(A* __restrict sums, const T* __restrict x, T flip, A weight, i64 n) {
    for (i64 i = 0; i < n; ++i) sums[i] = static_cast<A>(sums[i] + weight * term<A, square>(x[i], flip));
}

template <typename T, typename A, bool square>
void slide_row(A* __restrict sums, const T* __restrict in, const T* __restrict out, T flip, i64 n) {
    for (i64 i = 0; i < n; ++i)
        sums[i] = static_cast<A>(sums[i] + (term<A, square>(in[i], flip) - term<A, square>(out[i], flip)));
}

template <typename T, typename A>
constexpr accumulate_kernels<T, A> accumulate() {
    return {add_row<T, A, false>, slide_row<T, A, false>, add_row<T, A, true>, slide_row<T, A, true>};
}

// ---- integer images: horizontal sums ----

template <typename A, int channels>
void slide_vectors(A* __restrict w, const A* __restrict high, const A* __restrict low, i64 n) {
    using L = lanes<A>;
    using vector = typename L::vector;
    i64 i = 0;
    if constexpr (channels < L::count) {
        const typename make_list<L::count>::template of<L> all;
        vector carry;
        for (int k = 0; k < L::count; ++k) carry[k] = w[k % channels - channels];
        for (; i + L::count <= n; i += L::count) {
            vector in, out;
            std::memcpy(&in, high + i, sizeof in);
            std::memcpy(&out, low + i, sizeof out);
            const vector sum = scan_lanes<A, channels>(in - out) + carry;
            std::memcpy(w + i, &sum, sizeof sum);
            carry = L::template last_repeated<channels>(sum, all);
        }
    }
    for (; i < n; ++i) w[i] = static_cast<A>(w[i - channels] + (high[i] - low[i]));
}

template <typename A>
void slide_windows(A* w, const A* high, const A* low, i64 n, i64 channels) {
    switch (channels) {
        case 1:
            return slide_vectors<A, 1>(w, high, low, n);
        case 2:
            return slide_vectors<A, 2>(w, high, low, n);
        case 3:
            return slide_vectors<A, 3>(w, high, low, n);
        default:
            return slide_vectors<A, 4>(w, high, low, n);
    }
}

template <typename A>
void total(A* __restrict totals, const A* __restrict x, i64 cols, i64 channels) {
    if (channels == 1) {
        A sum = 0;
        for (i64 i = 0; i < cols; ++i) sum = static_cast<A>(sum + x[i]);
        totals[0] = sum;
        return;
    }
    for (i64 k = 0; k < channels; ++k) {
        A sum = 0;
        for (i64 i = k; i < cols * channels; i += channels) sum = static_cast<A>(sum + x[i]);
        totals[k] = sum;
    }
}

// ---- integer images: means ----

/// A signed number as its 32-bit halves beside the exponents of 2^84 and 2^52, with one rounding: AVX2 and SSE2 do not
/// convert 64 bits.
inline f64 real_of(u64 x) {
#if defined(__AVX512DQ__) || !defined(__x86_64__)
    return static_cast<f64>(static_cast<s64>(x));
#else
    const u64 high = ((x >> 32) ^ 0x80000000) | 0x4530000000000000, low = (x & 0xffffffff) | 0x4330000000000000;
    return (__builtin_bit_cast(f64, high) - 0x1.00000801p84) + __builtin_bit_cast(f64, low);  // 2^84 + 2^63 + 2^52
#endif
}
inline f32 real_of(u32 x) {
    return static_cast<f32>(static_cast<s32>(x));
}

template <typename A>
inline A rounded_quotient(A w, A count, A half, typename quotient<A>::real reciprocal) {
    using whole = typename quotient<A>::whole;
    const A t = static_cast<A>(w + (count / 2 & half));
    const A q = static_cast<A>(static_cast<s32>(real_of(t) * reciprocal));
    const auto remainder = static_cast<whole>(static_cast<A>(t - q * count));
    return static_cast<A>(q + (remainder >= static_cast<whole>(count) ? 1 : 0));
}

template <typename A, typename Out>
void mean_rounded(Out* __restrict out, const A* __restrict w, A count, A half, Out flip, i64 n) {
    using real = typename quotient<A>::real;
    const real reciprocal = quotient<A>::reduced / static_cast<real>(count);
    for (i64 i = 0; i < n; ++i)
        out[i] = static_cast<Out>(static_cast<Out>(rounded_quotient(w[i], count, half, reciprocal)) ^ flip);
}

template <typename A, typename Out>
void mean_rounded_each(Out* __restrict out, const A* __restrict w, A rows, const A* __restrict cols, A half, Out flip,
                       i64 n) {
    using real = typename quotient<A>::real;
    using whole = typename quotient<A>::whole;
    for (i64 i = 0; i < n; ++i) {
        const A count = static_cast<A>(rows * cols[i]);
        const real reciprocal = quotient<A>::reduced / static_cast<real>(static_cast<whole>(count));
        out[i] = static_cast<Out>(static_cast<Out>(rounded_quotient(w[i], count, half, reciprocal)) ^ flip);
    }
}

/// x / n and x / n^2 rounded once, of numbers x of 53 bits (times a power of two) and n below 2^24, by products with
/// the inverse where multiply-adds have one rounding. With u = 2^-53: `inverse` errs by u of itself, its square by 3 u,
/// so q = x * inverse^2 by 4 u, and with the remainder x - q n^2, which may be rounded, less than 16 u^2 of the
/// quotient are missing before the last rounding. Nothing so near to a quotient is the middle between two doubles:
/// those are at least u / (2 n^2) of it away, as x - n^2 * middle is an integer times a power of two, and not 0.
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA)
constexpr bool by_inverse = true;
#else
constexpr bool by_inverse = false;
#endif
inline f64 quotient_of(f64 x, f64 d, f64 inverse) {
    if constexpr (!by_inverse) return x / d;
    const f64 q = x * inverse;
    return __builtin_fma(__builtin_fma(-d, q, x), inverse, q);
}

/// The inverse of numbers below 2^31, rounded once: two steps of Newton's leave less than 2^-52 of it, and the third is
/// exact but for its rounding. No such inverse is nearer than 2^-85 of itself to the middle between two doubles.
#if defined(__AVX512F__)
inline __m512d inverse_of(__m512d n) {
    const __m512d one = _mm512_set1_pd(1);
    __m512d y = _mm512_maskz_rcp14_pd(0xff, n);  // masked, for the warnings of GCC 12
    for (int step = 0; step < 3; ++step) y = _mm512_fmadd_pd(_mm512_fnmadd_pd(n, y, one), y, y);
    return y;
}
#endif

/// In place, of a multiple of 8 numbers: without the divider, on which roots wait.
inline void invert(f64* x, i64 n) {
#if defined(__AVX512F__)
    for (i64 i = 0; i < n; i += 8) _mm512_storeu_pd(x + i, inverse_of(_mm512_loadu_pd(x + i)));
#else
    for (i64 i = 0; i < n; ++i) x[i] = 1 / x[i];
#endif
}

template <typename A>
struct unsigned_of {
    using type = A;
};
template <>
struct unsigned_of<f32> {
    using type = u32;
};
template <>
struct unsigned_of<f64> {
    using type = u64;
};
template <typename A>
using bits_of = typename unsigned_of<A>::type;

constexpr i64 most_of_a_piece = 64;

/// Calls f(first, n, of_one_count or of_several_counts) for short pieces of a row: where all pixels count, few have
/// windows of several sizes.
template <typename A, typename F>
inline void for_each_piece(const A* cols, i64 n, F&& f) {
    for (i64 i = 0; i < n; i += most_of_a_piece) {
        const i64 piece = n - i < most_of_a_piece ? n - i : most_of_a_piece;
        const auto differ = [&] {
            bits_of<A> bits = 0;
            for (i64 k = i; k < i + piece; ++k)
                bits |= __builtin_bit_cast(bits_of<A>, cols[k]) ^ __builtin_bit_cast(bits_of<A>, cols[i]);
            return bits != 0;
        };
        if (!differ())
            f(i, piece, of_one_count{});
        else
            f(i, piece, of_several_counts{});
    }
}

/// A signed number of the type's bits.
template <typename A>
inline f64 in_double(A x) {
    if constexpr (sizeof(A) == 8)
        return real_of(x);
    else
        return static_cast<f64>(static_cast<s32>(x));
}

template <typename A>
inline f64 mean_of(A w, A count, A offset) {
    return in_double(static_cast<A>(w - offset * count)) / in_double(count);
}

template <typename A, typename Out, typename Counts>
inline void mean_of_some(Out* __restrict out, const A* __restrict w, A rows, const A* __restrict cols, A offset, i64 n,
                         Counts) {
    const A one_count = static_cast<A>(rows * cols[0]);
    const f64 one_inverse = 1 / in_double(one_count);
    for (i64 i = 0; i < n; ++i) {
        const A count = Counts::value ? one_count : static_cast<A>(rows * cols[i]);
        const A sum = static_cast<A>(w[i] - offset * count);
        if constexpr (Counts::value)
            out[i] = static_cast<Out>(quotient_of(in_double(sum), in_double(count), one_inverse));
        else
            out[i] = static_cast<Out>(in_double(sum) / in_double(count));
    }
}

template <typename A, typename Out>
void mean_real(Out* out, const A* w, A rows, const A* cols, A offset, i64 n) {
    for_each_piece(cols, n, [&](i64 i, i64 piece, auto counts) {
        mean_of_some(out + i, w + i, rows, cols + i, offset, piece, counts);
    });
}

template <typename A>
void mean_some(u16* __restrict out, const A* __restrict w, const u32* __restrict counts, u32 least, A half, u16 flip,
               u16 fill, i64 n) {
    using real = typename quotient<A>::real;
    using whole = typename quotient<A>::whole;
    for (i64 i = 0; i < n; ++i) {
        const u32 c = counts[i];
        const A count = c > 0 ? c : 1;
        const real reciprocal = quotient<A>::reduced / static_cast<real>(static_cast<whole>(count));
        const auto mean = static_cast<u16>(static_cast<u16>(rounded_quotient(w[i], count, half, reciprocal)) ^ flip);
        out[i] = c >= least ? mean : fill;
    }
}

template <typename A>
constexpr window_kernels<A> window() {
    return {total<A>,
            slide_windows<A>,
            mean_rounded<A, u8>,
            mean_rounded<A, u16>,
            mean_rounded_each<A, u8>,
            mean_rounded_each<A, u16>,
            mean_real<A, f32>,
            mean_real<A, f64>,
            mean_some<A>};
}

// ---- integer images: variances ----

/// Sums of values less `offset`, and n^2 times the variance, as doubles.
struct exact_moments {
    f64 sum, numerator;
};

template <typename S, typename Q>
inline exact_moments moments_of(S s, Q q, S count, f64 real_count, S offset) {
    const f64 sum = in_double(static_cast<S>(s - offset * count));
    if constexpr (sizeof(Q) == 4) {
        // Every product is an integer below 2^53, so this is exact, and every instruction set converts 32 bits.
        const f64 total = in_double(s);
        return {sum, real_count * in_double(q) - total * total};
    } else {
        const u64 total = s;
        // At most n^2 times a quarter of the squared range, below 2^63 where it fits 64 bits.
        return {sum, real_of(static_cast<u64>(count) * q - total * total)};
    }
}

/// Of windows of less than 2^23 values below 2^16. With an integer a near their mean, n^2 var = n V - b^2 where V = q -
/// a (2 s - n a), the sum of (x - a)^2, at most n (2^30 + 1), and b = s - n a, at most n in size. In parts of 24 bits
/// every product and difference is exact, and the last sum is rounded once.
template <typename S, typename Q>
inline exact_moments moments_in_parts(S s, Q q, S count, f64 real_count, S offset, f64 inverse) {
    const f64 sum = in_double(static_cast<S>(s - offset * count));
    const auto near = static_cast<s32>(sum * inverse + in_double(offset));
    const u64 a = static_cast<u32>(near), total = s, of_near = count * a;
    const u64 squares = q - a * (2 * total - of_near);
    const f64 high = static_cast<f64>(static_cast<s32>(squares >> 24));
    const f64 low = static_cast<f64>(static_cast<s32>(squares & 0xffffff));
    const f64 rest = static_cast<f64>(static_cast<s32>(total - of_near));
    return {sum, real_count * high * 0x1p24 + (real_count * low - rest * rest)};
}

enum class spread_as { variance, deviation };

/// Where nothing counts, results are whatever, but made of numbers.
template <typename S>
inline S at_least_one(S count) {
    return static_cast<S>(count + (count == 0 ? 1 : 0));
}

template <bool parts, spread_as what, typename Out, typename S, typename Q, typename Counts>
inline void moments_of_some(Out* __restrict mean, Out* __restrict spread, const S* __restrict s, const Q* __restrict q,
                            S rows, const S* __restrict cols, S offset, i64 n, Counts) {
    const S one_count = at_least_one(static_cast<S>(rows * cols[0]));
    const f64 one_inverse = 1 / in_double(one_count);
    f64 inverses[most_of_a_piece];
    if constexpr (!Counts::value) {
        for (i64 i = 0; i < most_of_a_piece; ++i) inverses[i] = 1;
        for (i64 i = 0; i < n; ++i) inverses[i] = in_double(at_least_one(static_cast<S>(rows * cols[i])));
        invert(inverses, most_of_a_piece);
    }
    for (i64 i = 0; i < n; ++i) {
        const S count = Counts::value ? one_count : at_least_one(static_cast<S>(rows * cols[i]));
        const f64 real_count = in_double(count), area = real_count * real_count;
        const f64 inverse = Counts::value ? one_inverse : inverses[i];
        exact_moments m;
        if constexpr (parts)
            m = moments_in_parts<S, Q>(s[i], q[i], count, real_count, offset, inverse);
        else
            m = moments_of<S, Q>(s[i], q[i], count, real_count, offset);
        mean[i] = static_cast<Out>(quotient_of(m.sum, real_count, inverse));
        const f64 variance = quotient_of(m.numerator, area, inverse * inverse);
        spread[i] = static_cast<Out>(what == spread_as::deviation ? __builtin_sqrt(variance) : variance);
    }
}

#if defined(__AVX512F__)
inline void store_some(f64* to, __mmask8 some, __m512d x) {
    _mm512_mask_storeu_pd(to, some, x);
}
inline void store_some(f32* to, __mmask8 some, __m512d x) {
    _mm256_mask_storeu_ps(to, some, _mm512_maskz_cvtpd_ps(0xff, x));
}

/// x / d as above, of vectors.
inline __m512d quotient_of(__m512d x, __m512d d, __m512d inverse) {
    const __m512d q = _mm512_mul_pd(x, inverse);
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(d, q, x), inverse, q);
}

/// As moments_of_some of several numbers, up to 2^23, with all in registers. Two steps of Newton's leave 1.2 u of an
/// inverse, so that less than 20 u^2 of a quotient are missing.
template <spread_as what, typename Out, typename S, typename Q>
void moments_of_each(Out* mean, Out* spread, const S* s, const Q* q, S rows, const S* cols, S offset, i64 n) {
    static_assert(sizeof(S) == 4);
    const __m256i all_rows = _mm256_set1_epi32(static_cast<s32>(rows)), one = _mm256_set1_epi32(1);
    const __m256i all_offset = _mm256_set1_epi32(static_cast<s32>(offset));
    for (i64 i = 0; i < n; i += 8) {
        const auto here = static_cast<__mmask8>(n - i < 8 ? (1 << (n - i)) - 1 : 0xff);
        const __m256i total = _mm256_maskz_loadu_epi32(here, s + i);
        const __m256i given = _mm256_mullo_epi32(_mm256_maskz_loadu_epi32(here, cols + i), all_rows);
        const __m256i count = _mm256_max_epu32(given, one);
        const __m512d real_count = _mm512_maskz_cvtepi32_pd(0xff, count), real_one = _mm512_set1_pd(1);
        __m512d inverse = _mm512_maskz_rcp14_pd(0xff, real_count);
        for (int step = 0; step < 2; ++step)
            inverse = _mm512_fmadd_pd(_mm512_fnmadd_pd(real_count, inverse, real_one), inverse, inverse);
        __m512d numerator;
        if constexpr (sizeof(Q) == 4) {
            const __m512d sum = _mm512_maskz_cvtepi32_pd(0xff, total);
            const __m512d squares = _mm512_maskz_cvtepi32_pd(0xff, _mm256_maskz_loadu_epi32(here, q + i));
            numerator = _mm512_fmsub_pd(real_count, squares, _mm512_mul_pd(sum, sum));
        } else {
            const __m512i sum = _mm512_maskz_cvtepu32_epi64(0xff, total);
            const __m512i number = _mm512_maskz_cvtepu32_epi64(0xff, count);
            const __m512i squares = _mm512_mullo_epi64(number, _mm512_maskz_loadu_epi64(here, q + i));
            numerator = _mm512_cvtepi64_pd(_mm512_sub_epi64(squares, _mm512_maskz_mul_epu32(0xff, sum, sum)));
        }
        const __m256i sum = _mm256_sub_epi32(total, _mm256_mullo_epi32(count, all_offset));
        store_some(mean + i, here, quotient_of(_mm512_maskz_cvtepi32_pd(0xff, sum), real_count, inverse));
        const __m512d variance =
            quotient_of(numerator, _mm512_mul_pd(real_count, real_count), _mm512_mul_pd(inverse, inverse));
        store_some(spread + i, here, what == spread_as::deviation ? _mm512_maskz_sqrt_pd(0xff, variance) : variance);
    }
}
#endif

template <bool parts, spread_as what, typename Out, typename S, typename Q>
void moments(Out* mean, Out* spread, const S* s, const Q* q, S rows, const S* cols, S offset, i64 n) {
    for_each_piece(cols, n, [&](i64 i, i64 piece, auto counts) {
#if defined(__AVX512F__)
        if constexpr (!parts && sizeof(S) == 4 && !decltype(counts)::value)
            return moments_of_each<what>(mean + i, spread + i, s + i, q + i, rows, cols + i, offset, piece);
#endif
        moments_of_some<parts, what>(mean + i, spread + i, s + i, q + i, rows, cols + i, offset, piece, counts);
    });
}

template <spread_as what, typename Out, typename S, typename Q>
void moments_wide(Out* __restrict mean, Out* __restrict spread, const S* __restrict s, const Q* __restrict q, S rows,
                  const S* __restrict cols, S offset, i64 n) {
    S counts = 0;
    for (i64 i = 0; i < n; ++i) counts |= static_cast<S>(rows * cols[i]);
    if (counts < S{1} << 23) return moments<true, what, Out, S, Q>(mean, spread, s, q, rows, cols, offset, n);
    __extension__ typedef unsigned __int128 u128;
    for (i64 i = 0; i < n; ++i) {
        const S count = static_cast<S>(rows * cols[i]);
        const f64 real_count = in_double(count);
        const u128 sum = s[i];
        mean[i] = static_cast<Out>(mean_of(s[i], count, offset));
        const f64 variance = static_cast<f64>(static_cast<u128>(count) * q[i] - sum * sum) / (real_count * real_count);
        spread[i] = static_cast<Out>(what == spread_as::deviation ? __builtin_sqrt(variance) : variance);
    }
}

template <typename S, typename Q>
constexpr moment_kernels<S, Q> moment() {
    using enum spread_as;
    return {{moments<false, variance, f64, S, Q>, moments_wide<variance, f64, S, Q>},
            {moments<false, deviation, f64, S, Q>, moments_wide<deviation, f64, S, Q>},
            {moments<false, deviation, f32, S, Q>, moments_wide<deviation, f32, S, Q>}};
}

// ---- floating images ----

template <typename T>
void load(f64* __restrict to, const T* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) to[i] = static_cast<f64>(x[i]);
}

// Here and below `to` may be `a`: the running prefix is updated in place.
template <typename T>
void add_samples(f64* to, const f64* a, const T* __restrict x, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 i = 0; i < n; ++i) to[i] = a[i] + static_cast<f64>(x[i]);
}

template <typename T>
void merge_samples(f64* to, f64* to2, const f64* a, const f64* a2, const T* __restrict x, f64 f, f64 g, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 i = 0; i < n; ++i) {
        const f64 d = static_cast<f64>(x[i]) - a[i];
        to2[i] = a2[i] + (g * d) * d;
        to[i] = a[i] + f * d;
    }
}

void add_rows(f64* to, const f64* a, const f64* b, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

void merge_rows(f64* to, f64* to2, const f64* a, const f64* a2, const f64* b, const f64* b2, f64 f, f64 g, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 i = 0; i < n; ++i) {
        const f64 d = b[i] - a[i];
        to2[i] = (a2[i] + b2[i]) + (g * d) * d;
        to[i] = a[i] + f * d;
    }
}

#include "cpu/filters/group_windows_impl.hpp"

/// Whether all of x / d has normal remainders, or quotients are divisions anyway: no NaN, nothing infinite, tiny or 0,
/// whose sign products lose.
inline bool have_inverse(const f64* x, i64 n) {
    constexpr u64 least = u64{1023 - 900} << 52, most = u64{1023 + 900} << 52;
    u64 beyond = 0;
    for (i64 i = 0; by_inverse && i < n; ++i)
        beyond |= (__builtin_bit_cast(u64, x[i]) & ~(u64{1} << 63)) - least > most - least ? 1 : 0;
    return beyond == 0;
}

/// f(i, quotient) with x[i] / (rows * cols[i]) of a row. Numbers of pixels from 2^48 on are divisors of
/// their own.
template <typename F>
inline void divide_row(const f64* __restrict x, f64 rows, const f64* __restrict cols, i64 n, F&& f) {
    for_each_piece(cols, n, [&](i64 first, i64 piece, auto counts) {
        const f64 one_count = rows * cols[first], inverse = 1 / one_count;
        const bool whole =
            one_count >= 1 && one_count < 0x1p48 && static_cast<f64>(static_cast<i64>(one_count)) == one_count;
        if (decltype(counts)::value && whole && have_inverse(x + first, piece))
            for (i64 i = first; i < first + piece; ++i) f(i, quotient_of(x[i], one_count, inverse));
        else
            for (i64 i = first; i < first + piece; ++i) f(i, x[i] / (rows * cols[i]));
    });
}

void divide_64f(f64* __restrict out, const f64* __restrict x, f64 rows, const f64* __restrict cols, i64 n) {
    divide_row(x, rows, cols, n, [&](i64 i, f64 quotient) { out[i] = quotient; });
}

void square_root(f64* out, const f64* x, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 i = 0; i < n; ++i) out[i] = __builtin_sqrt(x[i]);
}

void convert_32f(f32* __restrict out, const f64* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) out[i] = static_cast<f32>(x[i]);
}

void number_32u(u32* __restrict out, const u32* __restrict x, i64 n, [[maybe_unused]] bool streaming) {
    i64 i = 0;
#if defined(__AVX512F__)  // only stores of whole lines of the cache leave past it
    if (streaming && reinterpret_cast<std::uintptr_t>(out) % 64 == 0)
        for (; i + 16 <= n; i += 16)
            _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(x + i));
#endif
    std::memcpy(out + i, x + i, static_cast<std::size_t>(n - i) * sizeof(u32));
}

bool any_below(const u32* x, u32 least, i64 n) {
    u32 below = 0;
    for (i64 i = 0; i < n; ++i) below |= x[i] - least;
    return below >> 31 != 0;
}

template <typename T>
void number(T* __restrict out, const u32* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<s32>(x[i]));
}

#include "cpu/filters/group_kernels_impl.hpp"

// ---- pixels against their window ----

template <typename T>
void thresholds(f64* __restrict out, const T* __restrict x, const f64* __restrict m, const f64* __restrict s,
                const threshold_terms& terms, i64 cols, i64 channels) {
    const i64 n = cols * channels;
    const f64 k = terms.k, range = terms.range, p = terms.p;
    switch (terms.method) {
        case threshold_method::bradley: {
            const f64 scale = 1 - k;
            for (i64 i = 0; i < n; ++i) out[i] = m[i] * scale;
            break;
        }
        case threshold_method::niblack:
            for (i64 i = 0; i < n; ++i) out[i] = m[i] + k * s[i];
            break;
        case threshold_method::sauvola:
            for (i64 i = 0; i < n; ++i) out[i] = m[i] * (1 + k * (s[i] / range - 1));
            break;
        case threshold_method::wolf:
            for (i64 c = 0; c < channels; ++c) {
                const f64 largest = terms.largest_deviation[c], smallest = terms.smallest_pixel[c];
                const f64 divisor = largest > 0 ? largest : 1;  // where every deviation is 0, so is the quotient
                for (i64 i = c; i < n; i += channels) out[i] = m[i] - k * (1 - s[i] / divisor) * (m[i] - smallest);
            }
            break;
        case threshold_method::nick:
            for (i64 i = 0; i < n; ++i) out[i] = m[i] + k * __builtin_sqrt(s[i] * s[i] + m[i] * m[i]);
            break;
        case threshold_method::singh: {
            const f64 whole = 2 * range, most = whole * 254 / 255;
            for (i64 i = 0; i < n; ++i) {
                const f64 d = __builtin_fabs(static_cast<f64>(x[i]) - m[i]), cut = d > most ? most : d;
                out[i] = m[i] * (1 + k * (cut / (whole - cut) - 1));
            }
            break;
        }
        case threshold_method::phansalkar: {
            const f64 decay = -terms.q / (2 * range);
            for (i64 i = 0; i < n; ++i) out[i] = m[i] * (1 + p * exponential(decay * m[i]) + k * (s[i] / range - 1));
            break;
        }
    }
}

/// Running ones: a pixel after the other would wait for each.
template <typename T>
void extremes(f64* largest, f64* smallest, const T* __restrict x, const f64* __restrict deviation, i64 cols,
              i64 channels) {
    constexpr i64 together = 24;  // a multiple of every number of channels
    f64 most[together], least[together];
    for (i64 j = 0; j < together; ++j) {
        most[j] = largest[j % channels];
        least[j] = smallest[j % channels];
    }
    const auto include = [&](i64 i, i64 j) {
        const f64 value = static_cast<f64>(x[i + j]);
        most[j] = deviation[i + j] > most[j] ? deviation[i + j] : most[j];
        least[j] = value < least[j] ? value : least[j];
    };
    const i64 n = cols * channels;
    i64 i = 0;
    for (; i + together <= n; i += together)
        for (i64 j = 0; j < together; ++j) include(i, j);
    for (i64 j = 0; i + j < n; ++j) include(i, j);
    for (i64 j = 0; j < together; ++j) {
        largest[j % channels] = most[j] > largest[j % channels] ? most[j] : largest[j % channels];
        smallest[j % channels] = least[j] < smallest[j % channels] ? least[j] : smallest[j % channels];
    }
}

template <typename T>
void exceeds(u8* __restrict out, const T* __restrict x, const f64* __restrict limit, u8 yes, i64 n) {
    for (i64 i = 0; i < n; ++i) out[i] = static_cast<f64>(x[i]) > limit[i] ? yes : u8{0};
}

template <typename T>
void contrast(f32* __restrict out, const T* __restrict x, const f64* __restrict m, const f64* __restrict s, f64 epsilon,
              i64 n) {
    // A NaN deviation is not below epsilon and so stays NaN.
    for (i64 i = 0; i < n; ++i)
        out[i] = static_cast<f32>((static_cast<f64>(x[i]) - m[i]) / (s[i] < epsilon ? epsilon : s[i]));
}

// ---- pixels that may not count ----

#include "cpu/filters/counted_kernels_impl.hpp"

}  // namespace

constinit const row_kernels rows = {
    {accumulate<u8, u32>(), accumulate<u8, u64>(), accumulate<u16, u32>(), accumulate<u16, u64>()},
    {window<u32>(), window<u64>()},
    {moment<u32, u32>(), moment<u32, u64>(), moment<u64, u64>()},
    {sample_kernels<f32>{load<f32>, add_samples<f32>, group_lanes::down<f32>, merge_samples<f32>,
                         group_lanes::down_moments<f32>, group_lanes::counted_down<f32>},
     sample_kernels<f64>{load<f64>, add_samples<f64>, group_lanes::down<f64>, merge_samples<f64>,
                         group_lanes::down_moments<f64>, group_lanes::counted_down<f64>}},
    {add_rows, merge_rows, divide_64f, square_root, convert_32f, number_32u, any_below, number<f32>, number<f64>,
     group_lanes::close_block, group_lanes::along<f32>, group_lanes::along<f64>, group_lanes::along_moments<f32>,
     group_lanes::along_moments<f64>, group_lanes::numbers_down, group_lanes::counted_means},
    {pixel_kernels<u8>{clean<u8>, thresholds<u8>, extremes<u8>, exceeds<u8>, contrast<u8>},
     pixel_kernels<u16>{clean<u16>, thresholds<u16>, extremes<u16>, exceeds<u16>, contrast<u16>},
     pixel_kernels<s16>{clean<s16>, thresholds<s16>, extremes<s16>, exceeds<s16>, contrast<s16>},
     pixel_kernels<f32>{clean<f32>, thresholds<f32>, extremes<f32>, exceeds<f32>, contrast<f32>},
     pixel_kernels<f64>{clean<f64>, thresholds<f64>, extremes<f64>, exceeds<f64>, contrast<f64>}},
    &byte_rows,
    &weighted_rows,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
