// Included once per instruction set, with BOXSUM_ROWS, its namespace, and BOXSUM_ROWS_BYTES, the bytes of its vectors.

#include "cpu/convolve/convolve.hpp"

#include <cstring>

namespace boxsum::convolution::BOXSUM_ROWS {
namespace {

template <typename T>
struct vector_of {
    typedef T type __attribute__((vector_size(BOXSUM_ROWS_BYTES)));
};

template <typename T>
void sum_row_impl(T* sums, const T* const* lines, const T* weights, int rows, int cols, std::int64_t channels,
                  std::int64_t n) {
    using vector = typename vector_of<T>::type;
    constexpr std::int64_t width = BOXSUM_ROWS_BYTES / sizeof(T), block = 4 * width;
    const auto load = [](const T* from) {
        vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    };
    std::int64_t c = 0;
    for (; c + block <= n; c += block) {  // four sums at once hide the latency of an addition
        vector a{}, b{}, d{}, e{};
        const T* w = weights;
        for (int i = 0; i < rows; ++i) {
            const T* x = lines[i] + c;
            for (int j = 0; j < cols; ++j, ++w, x += channels) {
                a += *w * load(x);
                b += *w * load(x + width);
                d += *w * load(x + 2 * width);
                e += *w * load(x + 3 * width);
            }
        }
        std::memcpy(sums + c, &a, sizeof a);
        std::memcpy(sums + c + width, &b, sizeof b);
        std::memcpy(sums + c + 2 * width, &d, sizeof d);
        std::memcpy(sums + c + 3 * width, &e, sizeof e);
    }
    for (; c < n; ++c) {
        T sum{};
        const T* w = weights;
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < cols; ++j, ++w) sum += *w * lines[i][c + j * channels];
        sums[c] = sum;
    }
}

}  // namespace

constinit const row_sums sums{sum_row_impl<float>, sum_row_impl<double>};

}  // namespace boxsum::convolution::BOXSUM_ROWS
