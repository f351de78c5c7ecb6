#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

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
    bool to_bytes;
    int first_channel, channels;  ///< of the weights
};

__global__ __launch_bounds__(128) void guided_weights_kernel(const __grid_constant__ weights_view t) {
    const int element = static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x);
    const int col = element / t.channels, channel = t.first_channel + element % t.channels;
    if (col >= t.image.cols.extent) return;
    const auto rows = static_cast<int>(t.image.rows.extent);
    for (int row = static_cast<int>(blockIdx.y); row < rows; row += static_cast<int>(gridDim.y)) {
        weighted_run<double, 1> pixel;
        read_one<any_pixel>(t.image, pixel, 0, row, col, channel);
        if (t.guide != nullptr)
            for (int k = 0; k < t.guides; ++k) {
                const double x =
                    load_pixel(t.guide + row * t.guide_stride, t.guide_type, std::int64_t{col} * t.guides + k);
                if (x != x) pixel.w[0] = 0;
            }
        char* const to = t.to + row * t.to_stride;
        if (t.to_bytes)
            reinterpret_cast<u8*>(to)[element] = pixel.w[0] > 0 ? 1 : 0;
        else
            reinterpret_cast<float*>(to)[element] = pixel.w[0];
    }
}

}  // namespace

void enqueue_guided_weights(const guided_weights& w, stream_ref stream) {
    const view_shape& to = w.to.shape;
    const real_windows windows{w.job, w.image, w.mask, w.weights, 0, w.image.shape.rows};
    const weights_view t{on_device<weighted_kernel<false>>(windows, {}),
                         static_cast<const char*>(w.guide.data),
                         w.guide.shape.row_stride,
                         w.guide.shape.type,
                         static_cast<int>(w.guide.shape.channels),
                         static_cast<char*>(w.to.data),
                         to.row_stride,
                         to.type == dtype::u8,
                         w.channel,
                         static_cast<int>(to.channels)};
    launch(guided_weights_kernel,
           {.grid = {static_cast<unsigned>((to.cols * to.channels + 127) / 128),
                     static_cast<unsigned>(std::min<std::int64_t>(to.rows, 65535)), 1},
            .block = 128},
           stream, t);
}

std::size_t weighted_scratch_bytes(const guided_windows& windows) {
    return windows.guide.shape.rows == 0 ? adding_bytes<weighted_kernel<false>>(*windows.job)
                                         : adding_bytes<weighted_kernel<true>>(*windows.job);
}

void enqueue_weighted_fits(const guided_fits& fits, const refused_blocks& refused, stream_ref stream) {
    if (fits.guide.data == nullptr)
        launch_adding<weighted_kernel<false>>(weighted_fit_kernel<false>, *fits.job, {fits.image}, fits.weights, refused,
                                              fits.scratch, stream, sampled_fit_output(fits));
    else
        launch_adding<weighted_kernel<true>>(weighted_fit_kernel<true>, *fits.job, {fits.image, fits.guide},
                                             fits.weights, refused, fits.scratch, stream, sampled_fit_output(fits));
}

void enqueue_weighted_moments(const guided_moments& moments, stream_ref stream) {
    launch_adding<weighted_kernel<true>>(weighted_moment_kernel, *moments.job, {moments.image, moments.guide},
                                         moments.weights, {}, moments.scratch, stream, sampled_moment_output(moments));
}

}  // namespace boxsum::cuda
