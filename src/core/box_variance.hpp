#pragma once

#include <boxsum/box.hpp>

#include <algorithm>
#include <cstdint>

namespace boxsum {

__extension__ using int128 = __int128;

/// What a variance is over: the number of pixels, or the sum of their weights, which is not `exact`.
struct counted {
    double n = 0;
    int128 exact = 0;
};

/// `rows` x `cols` pixels.
inline counted pixels_of(std::int64_t rows, std::int64_t cols) {
    return {static_cast<double>(rows) * static_cast<double>(cols), int128{rows} * cols};
}

/// Population variance of pixels from their sum and sum of squares, as box_variances() promises it.
inline double variance_of(const scalar& sum, const scalar& squares, const counted& pixels) {
    const double n = pixels.n;
    if (!is_floating(sum.type) && !is_floating(squares.type) && pixels.exact > 0) {
        const auto wide = [](const scalar& s) { return is_signed(s.type) ? int128{s.s} : int128{s.u}; };
        const int128 s = wide(sum);
        int128 n_squares = 0, square_of_sum = 0, numerator = 0;
        // Beyond 128 bits (sums of more than 2^63) fall back to double below.
        if (!__builtin_mul_overflow(pixels.exact, wide(squares), &n_squares) &&
            !__builtin_mul_overflow(s, s, &square_of_sum) &&
            !__builtin_sub_overflow(n_squares, square_of_sum, &numerator))
            return static_cast<double>(std::max(numerator, int128{0})) / (n * n);
    }
    const double mean = sum.to_double() / n;
    const double result = squares.to_double() / n - mean * mean;
    return result < 0 ? 0 : result;  // keeps NaN
}

}  // namespace boxsum
