#pragma once

#include "core/visit_types.hpp"

#include <cstdint>
#include <tuple>

/// The inner loops of window queries: rows of `n` elements (columns times channels). They are compiled once per
/// instruction set (window_rows_*.cpp) and chosen when the program runs.
namespace boxsum::cpu {

/// Rows of a table of type T. Integers wrap.
template <typename T>
struct table_row_kernels {
    using entry = T;
    /// out = bottom - top; top null: zeros
    void (*differences)(T* out, const T* bottom, const T* top, std::int64_t n);
    /// out[i] = upto[i + width] - upto[i]
    void (*sums)(T* out, const T* upto, std::int64_t width, std::int64_t n);
    void (*convert)(f64* out, const T* sums, std::int64_t n);
    /// out = sums / (rows * cols[i])
    void (*means_64f)(f64* out, const T* sums, f64 rows, const f64* cols, std::int64_t n);
    /// out = sums * (share * shares[i])
    void (*means_32f)(f32* out, const T* sums, f64 share, const f64* shares, std::int64_t n);
    /// Two's complement, sign-extended; null for floating tables.
    void (*widen)(u64* out, const T* sums, std::int64_t n);
};

struct window_row_kernels {
    std::tuple<table_row_kernels<u32>, table_row_kernels<s32>, table_row_kernels<u64>, table_row_kernels<s64>,
               table_row_kernels<f32>, table_row_kernels<f64>>
        table;
    /// q / count - (s / count)^2, at least 0, with count = rows * cols[i]
    void (*variances)(f64* out, const f64* s, const f64* q, f64 rows, const f64* cols, std::int64_t n);
    /// (count * q - s * s) / count^2, at least 0, of numbers whose products fit 64 bits
    void (*exact_variances)(f64* out, const u64* s, const u64* q, f64 rows, const f64* cols, std::int64_t n);
    /// All bits that any number has, and any magnitude in two's complement.
    u64 (*bits)(const u64* x, std::int64_t n);
    u64 (*magnitude_bits)(const u64* x, std::int64_t n);
    void (*narrow)(f32* out, const f64* x, std::int64_t n);
};

/// The best set for this machine.
const window_row_kernels& window_rows_of_this_machine();

namespace baseline {
extern const window_row_kernels window_rows;
}
#if defined(__x86_64__)
namespace avx2 {
extern const window_row_kernels window_rows;
}
namespace avx512 {
extern const window_row_kernels window_rows;
}
#endif

}  // namespace boxsum::cpu
