#include "core/visit_types.hpp"
#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Fits and moments of images whose pixels may not count, by additions only.
namespace boxsum::cuda {
namespace {

/// Of image p, its weight w and guide I: w, w p, w p^2 where it is its own guide, else w, w I, w I^2, w p, w I p; all
/// with what they are rounded by.
template <bool Guided>
struct weighted_terms {
    using sums = real_sums<0, Guided ? 5 : 3>;
    static constexpr int images = Guided ? 2 : 1;  // p and I
    static constexpr bool sampled = true;
    __device__ static int other_channel(int) { return 0; }

    __device__ static sums of(const double (&pixels)[images], float weight) {
        sums s;
        s.clear();
        if (!(weight > 0)) return s;  // whatever the pixel is
        const double p = pixels[0], x = pixels[images - 1];
        const auto set = [&](int k, double factor, double rest, double by) {
            const exact_product product = multiplied(factor, by);
            s.v[k] = product.high;
            s.v[k + 1] = product.low + rest * by;
        };
        s.v[0] = static_cast<double>(weight);
        set(2, s.v[0], 0, x);
        set(4, s.v[2], s.v[3], x);
        if constexpr (Guided) {
            set(6, s.v[0], 0, p);
            set(8, s.v[2], s.v[3], p);
        }
        return s;
    }
};

template <bool Guided>
using weighted_kernel = adding_kernel<weighted_terms<Guided>>;

/// Of the sums of a window, of which `n` is the first.
__device__ pair_moments moments_of(const weighted_terms<true>::sums& s, const compensated_sum& n, double noise) {
    const compensated_sum x(s.v[2], s.v[3]), squares(s.v[4], s.v[5]), p(s.v[6], s.v[7]), products(s.v[8], s.v[9]);
    return {moment_numerator(n, x, x, squares, noise), moment_numerator(n, x, p, products, 0), x.joined(), p.joined()};
}

template <bool Guided>
__global__ __launch_bounds__(most_adding_threads) void weighted_fit_kernel(
    const __grid_constant__ typename weighted_kernel<Guided>::view t, const __grid_constant__ sampled_fit_output to) {
    using kernel = weighted_kernel<Guided>;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double, const typename kernel::sums& s) {
        const compensated_sum n(s.v[0], s.v[1]);
        const double counted = n.joined(), noise = counted * counted * to.epsilon;
        fit one;
        if constexpr (Guided) {
            const pair_moments m = moments_of(s, n, t.noise);
            one = fit_of(m.variance, m.covariance, m.x, m.p, noise, 1 / counted);
        } else {
            const compensated_sum x(s.v[2], s.v[3]), squares(s.v[4], s.v[5]);
            one = fit_of_itself(moment_numerator(n, x, x, squares, t.noise), x.joined(), noise, 1 / counted);
        }
        to.store(row, col * t.channels + static_cast<int>(blockIdx.y), one, counted);
    });
}

__global__ __launch_bounds__(most_adding_threads) void weighted_moment_kernel(
    const __grid_constant__ weighted_kernel<true>::view t, const __grid_constant__ sampled_moment_output to) {
    for_each_added_window<weighted_kernel<true>>(
        t, [&](int row, std::int64_t col, double, const weighted_kernel<true>::sums& s) {
            const compensated_sum n(s.v[0], s.v[1]);
            to.store(row, static_cast<int>(col), moments_of(s, n, 0), n.joined());
        });
}

// ---- which pixels count ---------------------------------------------------------------------------------------------

/// An image with what says which of its pixels count, a guide, and where their weights go.
struct weights_view {
    real_view image;
    const char* guide;  ///< null: none that matters
    std::int64_t guide_stride;
    dtype guide_type;
    int guides;
    char* to;
    std::int64_t to_stride;
    bool to_units;                ///< K weights can be written together
    int first_channel, channels;  ///< of the weights
};

/// A thread makes K weights of a row.
using weights_kernel = adding_kernel<weighted_terms<false>, 4>;

template <typename T>
__global__ __launch_bounds__(128) void guided_weights_kernel(const __grid_constant__ weights_view t) {
    constexpr int K = weights_kernel::K;
    const int col = (static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x)) * K;
    const int channel = static_cast<int>(blockIdx.y);
    const auto cols = static_cast<int>(t.image.cols.extent), rows = static_cast<int>(t.image.rows.extent);
    if (col >= cols) return;
    using run = weights_kernel::pixels;
    const real_reader<any_pixel, run, K, true> reader(t.image, col, t.first_channel + channel, true);
    for (int row = static_cast<int>(blockIdx.z); row < rows; row += static_cast<int>(gridDim.z)) {
        run pixels;
        reader.read(pixels, row);
        vector_of<T, K> to;
#pragma unroll
        for (int i = 0; i < K; ++i) {
            if (t.guide != nullptr && col + i < cols)
                for (int k = 0; k < t.guides; ++k) {
                    const double x =
                        load_pixel(t.guide + row * t.guide_stride, t.guide_type, std::int64_t{col + i} * t.guides + k);
                    if (x != x) pixels.w[i] = 0;
                }
            to.x[i] = std::is_same_v<T, u8> ? pixels.w[i] > 0 : static_cast<T>(pixels.w[i]);
        }
        T* const at = reinterpret_cast<T*>(t.to + row * t.to_stride);
        if (t.to_units && col + K <= cols) {
            *reinterpret_cast<vector_of<T, K>*>(at + col) = to;
        } else {
#pragma unroll
            for (int i = 0; i < K; ++i)
                if (col + i < cols) at[std::int64_t{col + i} * t.channels + channel] = to.x[i];
        }
    }
}

}  // namespace

void enqueue_guided_weights(const guided_weights& w, stream_ref stream) {
    constexpr int K = weights_kernel::K;
    const view_shape& to = w.to.shape;
    const real_windows windows{w.job, w.image, w.mask, w.weights, 0, w.image.shape.rows};
    const weights_view t{on_device<weights_kernel>(windows, {}),
                         static_cast<const char*>(w.guide.data),
                         w.guide.shape.row_stride,
                         w.guide.shape.type,
                         static_cast<int>(w.guide.shape.channels),
                         static_cast<char*>(w.to.data),
                         to.row_stride,
                         lies_in_units(w.to, K * static_cast<std::int64_t>(size_of(to.type))),
                         w.channel,
                         static_cast<int>(to.channels)};
    visit_type(type_list<u8, f32>{}, to.type, [&]<typename T>() {
        launch(guided_weights_kernel<T>,
               {.grid = {static_cast<unsigned>((to.cols + 128 * K - 1) / (128 * K)), static_cast<unsigned>(to.channels),
                         static_cast<unsigned>(std::min<std::int64_t>(to.rows, 65535))},
                .block = 128},
               stream, t);
    });
}

std::size_t weighted_scratch_bytes(const guided_windows& windows) {
    return windows.guide.shape.rows == 0 ? adding_bytes<weighted_kernel<false>>(*windows.job)
                                         : adding_bytes<weighted_kernel<true>>(*windows.job);
}

void enqueue_weighted_fits(const guided_fits& fits, const refused_blocks& refused, stream_ref stream) {
    if (fits.guide.data == nullptr)
        launch_adding<weighted_kernel<false>>(weighted_fit_kernel<false>, *fits.job, {fits.image}, fits.weights,
                                              refused, fits.scratch, stream, sampled_fit_output(fits));
    else
        launch_adding<weighted_kernel<true>>(weighted_fit_kernel<true>, *fits.job, {fits.image, fits.guide},
                                             fits.weights, refused, fits.scratch, stream, sampled_fit_output(fits));
}

void enqueue_weighted_moments(const guided_moments& moments, stream_ref stream) {
    launch_adding<weighted_kernel<true>>(weighted_moment_kernel, *moments.job, {moments.image, moments.guide},
                                         moments.weights, {}, moments.scratch, stream, sampled_moment_output(moments));
}

}  // namespace boxsum::cuda
