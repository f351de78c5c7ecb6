#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/filters/guided_kernels.hpp"
#include "cuda/filters/real_windows.cuh"

#include <boxsum/types.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Fits of a guided filter from the sums of a window, and pixels of any type.
namespace boxsum::cuda {

// ---- pixels ---------------------------------------------------------------------------------------------------------

__device__ inline double load_pixel(const char* row, dtype type, std::int64_t element) {
    switch (type) {
        case dtype::u8:
            return reinterpret_cast<const u8*>(row)[element];
        case dtype::u16:
            return reinterpret_cast<const u16*>(row)[element];
        case dtype::f32:
            return reinterpret_cast<const f32*>(row)[element];
        default:
            return reinterpret_cast<const f64*>(row)[element];
    }
}

template <typename T>
__device__ T rounded(double x, double half) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(x);
    } else {
        constexpr double most = sizeof(T) == 1 ? 255 : 65535;
        const double value = x + half;
        return static_cast<T>(static_cast<int>(value > 0 ? (value < most ? value : most) : 0));  // NaN: 0
    }
}

__device__ inline void store_pixel(char* row, dtype type, std::int64_t element, double x, double half) {
    switch (type) {
        case dtype::u8:
            reinterpret_cast<u8*>(row)[element] = rounded<u8>(x, half);
            break;
        case dtype::u16:
            reinterpret_cast<u16*>(row)[element] = rounded<u16>(x, half);
            break;
        case dtype::f32:
            reinterpret_cast<f32*>(row)[element] = rounded<f32>(x, half);
            break;
        default:
            reinterpret_cast<f64*>(row)[element] = x;
    }
}

// ---- fits -----------------------------------------------------------------------------------------------------------

/// result = a . guide + b.
struct fit {
    double a, b;
};

/// From the sums of a window of n pixels and the numerators of its moments; `noise`: n^2 epsilon, `inverse`: 1 / n.
template <bool Moderate = false>
__device__ fit fit_of(double variance, double covariance, double guide, double image, double noise, double inverse) {
    const double a = quotient<Moderate>(covariance, variance + noise);
    return {a, (image - a * guide) * inverse};
}

/// Of an image that is its own guide.
template <bool Moderate = false>
__device__ fit fit_of_itself(double variance, double image, double noise, double inverse) {
    const double share = quotient<Moderate>(variance, variance + noise), mean = image * inverse;
    return {share, mean - share * mean};
}

/// A sum and what it was rounded by.
struct compensated_sum {
    double high, low;

    __device__ compensated_sum(double value, double rest) {
        high = value + rest;
        const double of_rest = high - value;
        low = (value - (high - of_rest)) + (rest - of_rest);
        if (!(fabs(value) < INFINITY)) high = value;
    }
    /// Infinities have nothing that they are rounded by.
    __device__ double joined() const { return fabs(high) < INFINITY ? high + low : high; }
};

/// n products + rest - x y, the sums with what they were rounded by: as compensated_variance() of real_results.cuh. It
/// is 0 where it is at most `noise` of the first product.
__device__ inline double moment_difference(double n, const compensated_sum& x, const compensated_sum& y,
                                           double products, double rest, double noise) {
    const exact_product first = multiplied(n, products), second = multiplied(x.high, y.high);
    const double above =
        (first.high - second.high) + ((first.low + rest) - (second.low + (x.high * y.low + x.low * y.high)));
    const double doubtful = noise * first.high;
    return noise > 0 && above <= doubtful && doubtful < INFINITY ? 0 : above;
}

/// n products - x y of a window of n pixels.
__device__ inline double moment_numerator(double n, const compensated_sum& x, const compensated_sum& y,
                                          const compensated_sum& products, double noise) {
    return moment_difference(n, x, y, products.high, n * products.low, noise);
}

/// The same of a sum of weights.
__device__ inline double moment_numerator(const compensated_sum& n, const compensated_sum& x, const compensated_sum& y,
                                          const compensated_sum& products, double noise) {
    return moment_difference(n.high, x, y, products.high, n.high * products.low + n.low * products.high, noise);
}

/// The same of sums that have no rest: of the difference of two products one is rounded, and by how much is known.
__device__ inline double moment_numerator(double n, double x, double y, double products) {
    const exact_product second = multiplied(x, y);
    return __fma_rn(n, products, -second.high) - second.low;
}

/// Of guide x and image p in a window: guided_moments.
struct pair_moments {
    double variance, covariance, x, p;
};

/// Where moments go.
struct moment_output {
    char *variance, *covariance, *x, *p;  ///< null: not wanted
    std::int64_t row_bytes;
    int first_row;

    explicit moment_output(const guided_moments& moments)
        : variance(static_cast<char*>(moments.variance.data)),
          covariance(static_cast<char*>(moments.covariance.data)),
          x(static_cast<char*>(moments.guide_sum.data)),
          p(static_cast<char*>(moments.image_sum.data)),
          row_bytes(moments.covariance.shape.row_stride),
          first_row(static_cast<int>(moments.job->first_row)) {}

    __device__ void store(int row, int col, const pair_moments& m) const {
        const std::int64_t at = (row - first_row) * row_bytes + std::int64_t{col} * 8;
        const auto put = [at](char* to, double value) {
            if (to != nullptr) *reinterpret_cast<double*>(to + at) = value;
        };
        put(covariance, m.covariance);
        put(variance, m.variance);
        put(x, m.x);
        put(p, m.p);
    }
};

/// Where they go with what counts in each window.
struct sampled_moment_output : moment_output {
    char* count;  ///< null: not wanted

    explicit sampled_moment_output(const guided_moments& moments)
        : moment_output(moments), count(static_cast<char*>(moments.count.data)) {}

    __device__ void store(int row, int col, const pair_moments& m, double counted) const {
        moment_output::store(row, col, m);
        if (count != nullptr) reinterpret_cast<double*>(count + (row - first_row) * row_bytes)[col] = counted;
    }
};

/// Where fits go.
struct fit_output {
    char *a, *b;
    std::int64_t a_stride, b_stride;
    bool is_double;
    double epsilon;
    double shift_a, shift_b;  ///< what is added to these and taken away is rounded to a multiple of guided_units

    explicit fit_output(const guided_fits& fits)
        : a(static_cast<char*>(fits.a.data)),
          b(static_cast<char*>(fits.b.data)),
          a_stride(fits.a.shape.row_stride),
          b_stride(fits.b.shape.row_stride),
          is_double(fits.a.shape.type == dtype::f64),
          epsilon(fits.epsilon) {
        shift_a = 0x1.8p52 * fits.units.a;
        shift_b = 0x1.8p52 * fits.units.b;
    }

    __device__ float narrow_a(const fit& f) const { return static_cast<float>((f.a + shift_a) - shift_a); }
    __device__ float narrow_b(const fit& f) const { return static_cast<float>((f.b + shift_b) - shift_b); }

    __device__ void store(std::int64_t row, std::int64_t element, const fit& f) const {
        char *const to_a = a + row * a_stride, *const to_b = b + row * b_stride;
        if (is_double) {
            reinterpret_cast<double*>(to_a)[element] = f.a;
            reinterpret_cast<double*>(to_b)[element] = f.b;
        } else {
            reinterpret_cast<float*>(to_a)[element] = narrow_a(f);
            reinterpret_cast<float*>(to_b)[element] = narrow_b(f);
        }
    }
};

/// Where fits go of windows in which too little may count.
struct sampled_fit_output : fit_output {
    char* exists;
    std::int64_t exists_stride;
    double least;
    run_output count;

    explicit sampled_fit_output(const guided_fits& fits)
        : fit_output(fits),
          exists(static_cast<char*>(fits.exists.data)),
          exists_stride(fits.exists.shape.row_stride),
          least(fits.least) {
        count.data = static_cast<char*>(fits.count.data);
        count.row_stride = fits.count.shape.row_stride;
        count.type = fits.count.shape.type;
    }

    /// The fit of a window in which so much counts.
    __device__ void store(int row, std::int64_t element, const fit& f, double counted) const {
        const bool exist = counted > 0 && counted >= least;
        fit_output::store(row, element, exist ? f : fit{0, 0});
        reinterpret_cast<u8*>(exists + row * exists_stride)[element] = exist ? 1 : 0;
        if (count.data != nullptr) store_element(count, row, element, counted);
    }
};

}  // namespace boxsum::cuda
