// Included once per instruction set, with BOXSUM_ROWS, its namespace, and BOXSUM_ROWS_BYTES, the bytes of its vectors.

#include "cpu/convolve/convolve.hpp"

#include <cstring>

namespace boxsum::convolution::BOXSUM_ROWS {
namespace {

template <typename T>
struct vector_of {
    typedef T type __attribute__((vector_size(BOXSUM_ROWS_BYTES)));
};

constexpr int vectors = 2;  // of a row at once

/// Elements c .. of four rows: what is loaded of a line, most often across cache lines, serves all of them. Line i is
/// row i - q of the kernel for row q of the result.
template <typename T>
void sum_block(T* const* sums, const T* const* lines, const T* weights, int rows, int cols, std::int64_t channels,
               std::int64_t c) {
    static_assert(rows_together == 4 && vectors == 2);
    using vector = typename vector_of<T>::type;
    constexpr std::int64_t width = BOXSUM_ROWS_BYTES / sizeof(T);
    const auto load = [](const T* from) {
        vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    };
    vector a0{}, a1{}, b0{}, b1{}, d0{}, d1{}, e0{}, e1{};  // by name: compilers keep arrays of them in memory
    const auto add_line = [&](vector& low, vector& high, int i, int q) {
        if (i < q || i - q >= rows) return;
        const T *x = lines[i] + c, *w = weights + (i - q) * cols;
        for (int j = 0; j < cols; ++j, ++w, x += channels) {
            low += *w * load(x);
            high += *w * load(x + width);
        }
    };
    for (int i = 0; i < rows + 3; ++i) {
        if (i < 3 || i >= rows) {
            add_line(a0, a1, i, 0);
            add_line(b0, b1, i, 1);
            add_line(d0, d1, i, 2);
            add_line(e0, e1, i, 3);
            continue;
        }
        const T *x = lines[i] + c, *w = weights + i * cols;
        for (int j = 0; j < cols; ++j, ++w, x += channels) {
            const vector low = load(x), high = load(x + width);
            a0 += w[0] * low;
            a1 += w[0] * high;
            b0 += w[-cols] * low;
            b1 += w[-cols] * high;
            d0 += w[-2 * cols] * low;
            d1 += w[-2 * cols] * high;
            e0 += w[-3 * cols] * low;
            e1 += w[-3 * cols] * high;
        }
    }
    const auto store = [&](T* to, const vector& low, const vector& high) {
        std::memcpy(to + c, &low, sizeof low);
        std::memcpy(to + c + width, &high, sizeof high);
    };
    store(sums[0], a0, a1);
    store(sums[1], b0, b1);
    store(sums[2], d0, d1);
    store(sums[3], e0, e1);
}

template <typename T>
void sum_rows_impl(T* const* sums, const T* const* lines, const T* weights, int rows, int cols, std::int64_t channels,
                   std::int64_t n) {
    constexpr std::int64_t block = vectors * (BOXSUM_ROWS_BYTES / sizeof(T));
    std::int64_t c = 0;
    for (; c + block <= n; c += block) sum_block(sums, lines, weights, rows, cols, channels, c);
    for (; c < n; ++c)
        for (int q = 0; q < rows_together; ++q) {
            T sum{};
            const T* w = weights;
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < cols; ++j, ++w) sum += *w * lines[i + q][c + j * channels];
            sums[q][c] = sum;
        }
}

}  // namespace

constinit const row_sums sums{sum_rows_impl<float>, sum_rows_impl<double>};

}  // namespace boxsum::convolution::BOXSUM_ROWS
