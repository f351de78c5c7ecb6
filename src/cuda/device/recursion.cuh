#pragma once

#include "cuda/device/register_matrix.cuh"
#include "cuda/device/workspace_slots.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

/// Recursive filters of order 3 on the registers of a lane, and what carries them from tile to tile (Nehab, Maximo,
/// Lima, Hoppe 2011, section 3), with the coefficients of a Gaussian (van Vliet, Young, Verbeek 1998). A causal filter
/// y(i) = g x(i) + a1 y(i - 1) + a2 y(i - 2) + a3 y(i - 3) runs along a line, the same one backwards behind it.
namespace boxsum::cuda {

inline constexpr int recursion_order = 3;

/// The filter, and what it makes of the values beyond a tile's edges. An index k counts away from the edge.
template <typename T>
struct recursion {
    T gain, a[recursion_order];
    /// [j][k]: the prologue j of the next tile from prologue k; epilogues alike.
    T over[recursion_order][recursion_order];
    T turned[recursion_order][recursion_order];     ///< epilogue j that a tile passes back from its prologue k
    T end[recursion_order][recursion_order];        ///< epilogue j behind the last tile from its prologue k
    T from_prologue[recursion_order][matrix_size];  ///< what prologue k adds to each value, after both directions
    T from_epilogue[recursion_order][matrix_size];
};

// On the device

/// What tiles pass on, an array in the workspace. `tiles` along the lines; `lines` are padded to whole tiles.
template <typename T>
struct carries {
    T* data;
    std::int64_t tiles, lines;

    carries(workspace_slots& slots, std::int64_t layers, std::int64_t along, std::int64_t across)
        : data(slots.take<T>(layers * (along + 1) * recursion_order * across * matrix_size)),
          tiles(along),
          lines(across * matrix_size) {}

    /// Of a tile, or the one behind the last.
    __device__ T& at(std::int64_t layer, std::int64_t tile, int k, std::int64_t line) const {
        return data[((layer * (tiles + 1) + tile) * recursion_order + k) * lines + line];
    }
};

template <typename T>
struct all_carries {
    carries<T> row_prologues, row_epilogues, col_prologues, col_epilogues;

    all_carries(workspace_slots& slots, std::int64_t layers, std::int64_t tile_rows, std::int64_t tile_cols)
        : row_prologues(slots, layers, tile_cols, tile_rows),
          row_epilogues(slots, layers, tile_cols, tile_rows),
          col_prologues(slots, layers, tile_rows, tile_cols),
          col_epilogues(slots, layers, tile_rows, tile_cols) {}

    __host__ __device__ std::int64_t tile_rows() const { return col_prologues.tiles; }
    __host__ __device__ std::int64_t tile_cols() const { return row_prologues.tiles; }
};

/// The carries of a line before a tile (behind it: with tile + 1), zeros before the first.
template <typename T>
__device__ void read_carries(T (&to)[recursion_order], const carries<T>& from, std::int64_t layer, std::int64_t tile,
                             std::int64_t line) {
#pragma unroll
    for (int k = 0; k < recursion_order; ++k) to[k] = tile < 0 ? T{} : from.at(layer, tile, k, line);
}

/// Along the registers of a lane, from the values before them.
template <typename T>
__device__ void filter_forwards(T (&data)[matrix_size], const recursion<T>& f, const T (&prologue)[recursion_order]) {
    T y1 = prologue[0], y2 = prologue[1], y3 = prologue[2];
#pragma unroll
    for (int j = 0; j < matrix_size; ++j) {
        data[j] = f.gain * data[j] + f.a[2] * y3 + f.a[1] * y2 + f.a[0] * y1;
        y3 = y2;
        y2 = y1;
        y1 = data[j];
    }
}

template <typename T>
__device__ void filter_backwards(T (&data)[matrix_size], const recursion<T>& f, const T (&epilogue)[recursion_order]) {
    T z1 = epilogue[0], z2 = epilogue[1], z3 = epilogue[2];
#pragma unroll
    for (int j = matrix_size - 1; j >= 0; --j) {
        data[j] = f.gain * data[j] + f.a[2] * z3 + f.a[1] * z2 + f.a[0] * z1;
        z3 = z2;
        z2 = z1;
        z1 = data[j];
    }
}

/// to += matrix * from
template <typename T>
__device__ void add_product(T (&to)[recursion_order], const T (&matrix)[recursion_order][recursion_order],
                            const T (&from)[recursion_order]) {
#pragma unroll
    for (int j = 0; j < recursion_order; ++j)
#pragma unroll
        for (int k = 0; k < recursion_order; ++k) to[j] += matrix[j][k] * from[k];
}

// On the host

/// Both directions along a line that begins with prologue p and ends with epilogue e.
inline std::vector<double> filtered(std::vector<double> x, const recursion<double>& f,
                                    const double (&p)[recursion_order], const double (&e)[recursion_order]) {
    const auto walk = [&](auto first, auto last, const double(&before)[recursion_order]) {
        double y[recursion_order] = {before[0], before[1], before[2]};
        for (; first != last; ++first) {
            *first = f.gain * *first + f.a[0] * y[0] + f.a[1] * y[1] + f.a[2] * y[2];
            y[2] = std::exchange(y[1], std::exchange(y[0], *first));
        }
    };
    walk(x.begin(), x.end(), p);
    walk(x.rbegin(), x.rend(), e);
    return x;
}

/// The poles for sigma = 2 of the filter that is nearest to a Gaussian in the mean square (table 1 of van Vliet et
/// al.). Their q-th roots are those of another sigma: the filter's variance, forwards and backwards, is sum 2 d / (d -
/// 1)^2.
inline recursion<double> recursion_of(double sigma) {
    using complex = std::complex<double>;
    const complex poles[recursion_order] = {{1.41650, 1.00829}, {1.41650, -1.00829}, {1.86543, 0}};
    const auto root = [&](int k, double q) { return std::pow(poles[k], 1 / q); };
    double low = 1e-3, high = 4 * sigma;
    for (int i = 0; i < 100; ++i) {
        const double q = (low + high) / 2;
        complex variance = 0;
        for (int k = 0; k < recursion_order; ++k)
            variance += 2.0 * root(k, q) / ((root(k, q) - 1.0) * (root(k, q) - 1.0));
        (variance.real() < sigma * sigma ? low : high) = q;
    }
    const complex a = 1.0 / root(0, low), b = 1.0 / root(1, low), c = 1.0 / root(2, low);
    recursion<double> f{};
    f.a[0] = (a + b + c).real();
    f.a[1] = -(a * b + a * c + b * c).real();
    f.a[2] = (a * b * c).real();
    f.gain = ((1.0 - a) * (1.0 - b) * (1.0 - c)).real();

    const double none[recursion_order] = {};
    const auto tail = static_cast<std::size_t>(40 * sigma) + matrix_size;  // until nothing of it is left
    for (int k = 0; k < recursion_order; ++k) {
        double one[recursion_order] = {};
        one[k] = 1;
        // Forwards only, which the mirrored direction is, too: what an epilogue makes of zeros.
        const std::vector<double> back = filtered(std::vector<double>(matrix_size), f, none, one);
        const std::vector<double> both = filtered(std::vector<double>(matrix_size), f, one, none);
        const std::vector<double> beyond = filtered(std::vector<double>(tail), f, one, none);
        for (int j = 0; j < recursion_order; ++j) {
            f.over[j][k] = back[static_cast<std::size_t>(j)];
            f.turned[j][k] = both[static_cast<std::size_t>(j)];
            f.end[j][k] = beyond[static_cast<std::size_t>(j)];
        }
        std::copy(both.begin(), both.end(), f.from_prologue[k]);
        std::copy(back.begin(), back.end(), f.from_epilogue[k]);
    }
    return f;
}

template <typename T>
recursion<T> rounded(const recursion<double>& f) {
    static_assert(sizeof(recursion<T>) % sizeof(T) == 0 &&
                  sizeof f / sizeof(double) == sizeof(recursion<T>) / sizeof(T));
    recursion<T> narrow;
    const auto* const from = reinterpret_cast<const double*>(&f);
    std::transform(from, from + sizeof f / sizeof(double), reinterpret_cast<T*>(&narrow),
                   [](double v) { return static_cast<T>(v); });
    return narrow;
}

}  // namespace boxsum::cuda
