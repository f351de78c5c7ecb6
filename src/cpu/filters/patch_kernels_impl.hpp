// No include guard: each patch_kernels_*.cpp includes this once, with BOXSUM_ROWS naming its namespace. As in
// row_kernels_impl.hpp, nothing here may be merged into code of another instruction set.
#include "core/independent_loop.hpp"
#include "cpu/filters/patch_kernels.hpp"
#include "filters/exponential.hpp"

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

template <typename T>
void accumulate(f64* __restrict values, const f64* __restrict weights, const T* __restrict x, i64 n) {
    for (i64 i = 0; i < n; ++i) values[i] += weights[i] * static_cast<f64>(x[i]);
}

void add(f64* to, const f64* const* rows, int count, i64 n) {
    const f64 *const a = rows[0], *const b = rows[1];
    if (count == 2) {
        BOXSUM_INDEPENDENT
        for (i64 i = 0; i < n; ++i) to[i] = a[i] + b[i];
    } else if (count == 3) {
        const f64* const c = rows[2];
        BOXSUM_INDEPENDENT
        for (i64 i = 0; i < n; ++i) to[i] = a[i] + b[i] + c[i];
    } else {
        const f64 *const c = rows[2], *const d = rows[3];
        BOXSUM_INDEPENDENT
        for (i64 i = 0; i < n; ++i) to[i] = a[i] + b[i] + c[i] + d[i];
    }
}

void weights(f64* __restrict to, const f64* __restrict sums, f64 row, const f64* __restrict cols, f64 noise, f64 scale,
             i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const f64 beyond = sums[i] * (row * cols[i]) - noise;
        to[i] = exponential((beyond < 0 ? 0 : beyond) * -scale);  // a NaN is not below 0
    }
}

}  // namespace

constinit const patch_kernels patches = {
    {patch_pixel_kernels<f32>{differences<f32>, accumulate<f32>},
     patch_pixel_kernels<f64>{differences<f64>, accumulate<f64>}},
    add,
    weights,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
