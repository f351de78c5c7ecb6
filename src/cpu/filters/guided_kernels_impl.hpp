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

template <int guides>
BOXSUM_INLINE inline void fit_one(const fit_rows& rows, f64 epsilon, i64 c) {
    f64 m[guides][guides], a[guides], inverse[guides];
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
    f64 b = rows.image_mean[c];
    unrolled<0, guides>([&](auto j) BOXSUM_INLINE { b -= a[decltype(j)::value] * rows.mean[decltype(j)::value][c]; });
    unrolled<0, guides>([&](auto j) BOXSUM_INLINE { rows.to[decltype(j)::value][c] = a[decltype(j)::value]; });
    rows.to[guides][c] = b;
}
#undef BOXSUM_INLINE

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

}  // namespace

constinit const guided_kernels guided = {
    {fit<1>, fit<2>, fit<3>, fit<4>},
    fit_itself,
    {guide_kernels<u8>{add_product<u8>}, guide_kernels<u16>{add_product<u16>}, guide_kernels<f32>{add_product<f32>},
     guide_kernels<f64>{add_product<f64>}},
};

}  // namespace boxsum::filters::BOXSUM_ROWS
