// Included by one translation unit per instruction set, which defines BOXSUM_ROWS. Plain loops that compilers make
// vectors of; everything but the table of functions is in an unnamed namespace (cpu/simd/kernels.hpp says why).

#include "cpu/queries/window_rows.hpp"

#include <type_traits>

namespace boxsum::cpu {
namespace {

/// Integers are subtracted without sign, where wrapping is defined.
template <typename T>
T difference(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using word = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<word>(a) - static_cast<word>(b));
    } else {
        return a - b;
    }
}

template <typename T>
void differences(T* __restrict out, const T* bottom, const T* top, std::int64_t n) {
    if (top == nullptr)
        for (std::int64_t i = 0; i < n; ++i) out[i] = bottom[i];
    else
        for (std::int64_t i = 0; i < n; ++i) out[i] = difference(bottom[i], top[i]);
}

template <typename T>
void sums(T* __restrict out, const T* upto, std::int64_t width, std::int64_t n) {
    const T* const right = upto + width;
    for (std::int64_t i = 0; i < n; ++i) out[i] = difference(right[i], upto[i]);
}

template <typename T>
void convert(f64* __restrict out, const T* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<f64>(x[i]);
}

template <typename T>
void widen(u64* __restrict out, const T* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<u64>(x[i]);
}

template <typename T>
void means_64f(f64* __restrict out, const T* x, f64 rows, const f64* cols, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<f64>(x[i]) / (rows * cols[i]);
}

template <typename T>
void means_32f(f32* __restrict out, const T* x, f64 share, const f64* shares, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<f32>(static_cast<f64>(x[i]) * (share * shares[i]));
}

void variances(f64* __restrict out, const f64* s, const f64* q, f64 rows, const f64* cols, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const f64 count = rows * cols[i], mean = s[i] / count;
        const f64 variance = q[i] / count - mean * mean;
        out[i] = variance < 0 ? 0 : variance;  // keeps NaN
    }
}

void exact_variances(f64* __restrict out, const u64* s, const u64* q, f64 rows, const f64* cols, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const f64 count = rows * cols[i];
        const u64 of_squares = static_cast<u64>(count) * q[i], square = s[i] * s[i];
        out[i] = static_cast<f64>(of_squares > square ? of_squares - square : 0) / (count * count);
    }
}

void narrow(f32* __restrict out, const f64* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<f32>(x[i]);
}

u64 bits(const u64* x, std::int64_t n) {
    u64 all = 0;
    for (std::int64_t i = 0; i < n; ++i) all |= x[i];
    return all;
}

u64 magnitude_bits(const u64* x, std::int64_t n) {
    u64 all = 0;
    for (std::int64_t i = 0; i < n; ++i) all |= x[i] >> 63 != 0 ? 0 - x[i] : x[i];
    return all;
}

template <typename T>
constexpr table_row_kernels<T> table_rows() {
    table_row_kernels<T> k{differences<T>, sums<T>, convert<T>, means_64f<T>, means_32f<T>, nullptr};
    if constexpr (std::is_integral_v<T>) k.widen = widen<T>;
    return k;
}

}  // namespace

namespace BOXSUM_ROWS {
extern constinit const window_row_kernels window_rows{
    {table_rows<u32>(), table_rows<s32>(), table_rows<u64>(), table_rows<s64>(), table_rows<f32>(), table_rows<f64>()},
    variances,
    exact_variances,
    bits,
    magnitude_bits,
    narrow,
};
}  // namespace BOXSUM_ROWS

}  // namespace boxsum::cpu
