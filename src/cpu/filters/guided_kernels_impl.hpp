// No include guard: each guided_kernels_*.cpp includes this once, with BOXSUM_ROWS naming its namespace. As in
// row_kernels_impl.hpp, nothing here may be merged into code of another instruction set.
#include "core/independent_loop.hpp"
#include "cpu/filters/guided_kernels.hpp"

namespace boxsum::filters::BOXSUM_ROWS {
namespace {

using i64 = std::int64_t;

template <int i>
struct constant {
    static constexpr int value = i;
};

/// f(constant<first>{}), .. f(constant<end - 1>{}): loops inside of the loop over pixels would keep that from vectors.
template <int first, int end, typename F>
__attribute__((always_inline)) inline void unrolled(F&& f) {
    if constexpr (first < end) {
        f(constant<first>{});
        unrolled<first + 1, end>(f);
    }
}
#define BOXSUM_INLINE __attribute__((always_inline))

/// a becomes m^-1 a, of a symmetric m of which what lies below the diagonal is given.
template <int guides>
BOXSUM_INLINE inline void solve(f64 (&m)[guides][guides], f64 (&a)[guides]) {
    f64 inverse[guides];
    unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
        constexpr int j = decltype(at)::value;
        inverse[j] = 1 / m[j][j];
        unrolled<j + 1, guides>([&](auto below) BOXSUM_INLINE {
            constexpr int i = decltype(below)::value;
            const f64 l = m[i][j] * inverse[j];
            unrolled<j + 1, i + 1>([&](auto k)
                                       BOXSUM_INLINE { m[i][decltype(k)::value] -= l * m[decltype(k)::value][j]; });
            a[i] -= l * a[j];
        });
    });
    unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
        constexpr int j = guides - 1 - decltype(at)::value;
        unrolled<j + 1, guides>([&](auto i)
                                    BOXSUM_INLINE { a[j] -= m[decltype(i)::value][j] * a[decltype(i)::value]; });
        a[j] *= inverse[j];
    });
}

template <int guides>
BOXSUM_INLINE inline void fit_one(const fit_rows& rows, f64 epsilon, i64 c) {
    f64 m[guides][guides], a[guides];
    unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
        constexpr int i = decltype(at)::value;
        const f64 own = rows.variance[i][c];
        a[i] = (rows.with_image[i][c] - own - rows.image_variance[c]) * 0.5;
        m[i][i] = own + epsilon;
        unrolled<0, i>([&](auto other) BOXSUM_INLINE {
            constexpr int j = decltype(other)::value;
            m[i][j] = (rows.between[i * (i - 1) / 2 + j][c] - own - rows.variance[j][c]) * 0.5;
        });
    });
    solve<guides>(m, a);
    f64 b = rows.image_mean[c];
    unrolled<0, guides>([&](auto j) BOXSUM_INLINE { b -= a[decltype(j)::value] * rows.mean[decltype(j)::value][c]; });
    unrolled<0, guides>([&](auto j) BOXSUM_INLINE { rows.to[decltype(j)::value][c] = a[decltype(j)::value]; });
    rows.to[guides][c] = b;
}

template <int guides>
void fit(const fit_rows& given, f64 epsilon, i64 n) {
    const fit_rows rows = given;  // whose pointers no result changes
    BOXSUM_INDEPENDENT
    for (i64 c = 0; c < n; ++c) fit_one<guides>(rows, epsilon, c);
}

void fit_itself(f64* __restrict a, f64* __restrict b, f64 epsilon, i64 n) {
    for (i64 c = 0; c < n; ++c) {
        const f64 share = a[c] / (a[c] + epsilon);
        a[c] = share;
        b[c] -= share * b[c];
    }
}

template <typename T>
void add_product(f64* __restrict q, const f64* __restrict a, const T* x, i64 n) {
    BOXSUM_INDEPENDENT
    for (i64 c = 0; c < n; ++c) q[c] += a[c] * static_cast<f64>(x[c]);
}

void add_products(u32* __restrict sums, const u8* x, const u8* y, u32 weight, i64 n) {
    for (i64 i = 0; i < n; ++i) sums[i] += weight * (static_cast<u32>(x[i]) * y[i]);
}

void slide_products(u32* __restrict sums, const u8* x, const u8* y, const u8* out_x, const u8* out_y, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const auto in = static_cast<u16>(x[i] * y[i]), out = static_cast<u16>(out_x[i] * out_y[i]);
        sums[i] += static_cast<u32>(in) - static_cast<u32>(out);
    }
}

void add_fits(u64* __restrict sums, const u64* fits, u64 weight, i64 n) {
    for (i64 i = 0; i < n; ++i) sums[i] += weight * fits[i];
}

void slide_fits(u64* __restrict sums, const u64* in, const u64* out, i64 n) {
    for (i64 i = 0; i < n; ++i) sums[i] += in[i] - out[i];
}

/// Integers below 2^51 in size as doubles and back, by the bits of their sums with 1.5 * 2^52: not all instruction sets
/// convert 64 bits.
constexpr f64 beside = 0x1.8p52;
inline f64 real_of(u64 x) {
    return __builtin_bit_cast(f64, x + __builtin_bit_cast(u64, beside)) - beside;
}
inline s64 whole_of(f64 x) {
    return __builtin_bit_cast(s64, x + beside) - __builtin_bit_cast(s64, beside);
}
inline f64 real_of(u32 x) {
    return static_cast<f64>(static_cast<s32>(x));
}

/// n^2 times variances and covariances are integers below 2^53: exact. Without guides the image is its own.
template <int given>
void fit_bytes(s64* const* to, const byte_guide_sums& all_sums, const byte_window_counts& counts, f64 epsilon,
               const byte_fit_scales& scales, i64 n) {
    constexpr bool itself = given == 0;
    constexpr int guides = itself ? 1 : given;
    const byte_guide_sums sums = all_sums;
    const f64 *const cols = counts.cols, *const inverse_cols = counts.inverse_cols;
    const f64 rows = counts.rows, inverse_rows = counts.inverse_rows, scale_a = scales.a, scale_b = scales.b;
    s64* results[guides + 1];
    unrolled<0, guides + 1>([&](auto k) BOXSUM_INLINE { results[decltype(k)::value] = to[decltype(k)::value]; });
    BOXSUM_INDEPENDENT
    for (i64 c = 0; c < n; ++c) {
        const f64 count = rows * cols[c], x = itself ? real_of(sums.guide[0][c]) : real_of(sums.image[c]);
        f64 m[guides][guides], a[guides], g[guides];
        unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
            constexpr int i = decltype(at)::value;
            g[i] = real_of(sums.guide[i][c]);
            unrolled<0, i + 1>([&](auto other) BOXSUM_INLINE {
                constexpr int j = decltype(other)::value;
                m[i][j] = count * real_of(sums.products[i * (i + 1) / 2 + j][c]) - g[i] * g[j];
            });
            a[i] = itself ? m[i][i] : count * real_of(sums.with_image[i][c]) - g[i] * x;
            m[i][i] += count * count * epsilon;
        });
        if constexpr (guides == 1)
            a[0] = a[0] / m[0][0];
        else
            solve<guides>(m, a);
        f64 b = x;
        unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
            constexpr int i = decltype(at)::value;
            b -= a[i] * g[i];
            results[i][c] = whole_of(a[i] * scale_a);
        });
        results[guides][c] = whole_of(b * (inverse_rows * inverse_cols[c]) * scale_b);
    }
}

template <int guides>
void apply_bytes(u8* __restrict to, const u64* const* all_fits, const u8* const* all_guides,
                 const byte_window_counts& counts, const byte_fit_scales& scales, f64 raised, i64 n) {
    const u64* fits[guides + 1];
    const u8* guide[guides];
    unrolled<0, guides + 1>([&](auto k) BOXSUM_INLINE { fits[decltype(k)::value] = all_fits[decltype(k)::value]; });
    unrolled<0, guides>([&](auto k) BOXSUM_INLINE { guide[decltype(k)::value] = all_guides[decltype(k)::value]; });
    const f64* const inverse_cols = counts.inverse_cols;
    const f64 inverse_rows = counts.inverse_rows, unit_a = 1 / scales.a, unit_b = 1 / scales.b;
    BOXSUM_INDEPENDENT
    for (i64 c = 0; c < n; ++c) {
        f64 sum = 0;
        unrolled<0, guides>([&](auto at) BOXSUM_INLINE {
            constexpr int i = decltype(at)::value;
            sum += real_of(fits[i][c]) * unit_a * static_cast<f64>(guide[i][c]);
        });
        const f64 value = (sum + real_of(fits[guides][c]) * unit_b) * (inverse_rows * inverse_cols[c]) + raised;
        const f64 above = value > 0 ? value : 0;
        to[c] = static_cast<u8>(static_cast<s32>(above < 255 ? above : 255));
    }
}
#undef BOXSUM_INLINE

}  // namespace

constinit const guided_kernels guided = {
    {fit<1>, fit<2>, fit<3>, fit<4>},
    fit_itself,
    {guide_kernels<u8>{add_product<u8>}, guide_kernels<u16>{add_product<u16>}, guide_kernels<f32>{add_product<f32>},
     guide_kernels<f64>{add_product<f64>}},
    {add_products,
     slide_products,
     add_fits,
     slide_fits,
     {fit_bytes<0>, fit_bytes<1>, fit_bytes<2>, fit_bytes<3>, fit_bytes<4>},
     {apply_bytes<1>, apply_bytes<2>, apply_bytes<3>, apply_bytes<4>}},
};

}  // namespace boxsum::filters::BOXSUM_ROWS
