#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

/// Of image p and guide I: p, p^2 where it is its own guide, else I, I^2, p, I p; all with what they are rounded by.
template <bool Guided>
struct moment_terms {
    using sums = real_sums<0, Guided ? 4 : 2>;
    static constexpr int images = Guided ? 2 : 1;  // p and I
    static constexpr bool sampled = false;
    __device__ static int other_channel(int) { return 0; }

    __device__ static sums of(const double (&pixels)[images]) {
        const double p = pixels[0], x = pixels[images - 1];
        sums s;
        s.clear();
        const exact_product square = multiplied(x, x);
        s.v[0] = x;
        s.v[2] = square.high;
        s.v[3] = square.low;
        if constexpr (Guided) {
            const exact_product product = multiplied(x, p);
            s.v[4] = p;
            s.v[6] = product.high;
            s.v[7] = product.low;
        }
        return s;
    }
};

template <bool Guided>
using moment_kernel = adding_kernel<moment_terms<Guided>>;

/// Of the sums of a window of n pixels.
__device__ pair_moments moments_of(const moment_terms<true>::sums& s, double n, double noise) {
    const compensated_sum x(s.v[0], s.v[1]), squares(s.v[2], s.v[3]), p(s.v[4], s.v[5]), products(s.v[6], s.v[7]);
    return {moment_numerator(n, x, x, squares, noise), moment_numerator(n, x, p, products, 0), x.joined(), p.joined()};
}

template <bool Guided>
__global__ __launch_bounds__(most_adding_threads) void adding_fit_kernel(const __grid_constant__
                                                                         typename moment_kernel<Guided>::view t,
                                                                         const __grid_constant__ fit_output to) {
    using kernel = moment_kernel<Guided>;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double n, const typename kernel::sums& s) {
        const double noise = n * n * to.epsilon;
        fit one;
        if constexpr (Guided) {
            const pair_moments m = moments_of(s, n, t.noise);
            one = fit_of(m.variance, m.covariance, m.x, m.p, noise, 1 / n);
        } else {
            const compensated_sum x(s.v[0], s.v[1]), squares(s.v[2], s.v[3]);
            one = fit_of_itself(moment_numerator(n, x, x, squares, t.noise), x.joined(), noise, 1 / n);
        }
        to.store(row, col * t.channels + static_cast<int>(blockIdx.y), one);
    });
}

__global__ __launch_bounds__(most_adding_threads) void adding_moment_kernel(
    const __grid_constant__ moment_kernel<true>::view t, const __grid_constant__ moment_output to) {
    for_each_added_window<moment_kernel<true>>(
        t, [&](int row, std::int64_t col, double n, const moment_kernel<true>::sums& s) {
            to.store(row, static_cast<int>(col), moments_of(s, n, 0));
        });
}

}  // namespace

namespace {

/// Sums slide of windows that blocks hold: those that are refused are made by additions.
template <bool Guided>
bool may_slide(const guided_windows& windows) {
    return adds_in_blocks<moment_kernel<Guided>>(*windows.job) && moments_slide(windows);
}

bool slide(const guided_fits& fits) {
    if (fits.a.shape.type != dtype::f32) return false;
    return fits.guide.shape.rows == 0 ? may_slide<false>(fits) : may_slide<true>(fits);
}

/// Those of integers are exact. Floats take additions, whose order does not depend on which rows are made at once
/// (real_windows.cuh), and so have the same bits, too.
bool slide(const guided_moments& moments) {
    return !is_floating(moments.image.shape.type) && may_slide<true>(moments);
}

}  // namespace

std::size_t guided_scratch_bytes(const guided_fits& fits) {
    if (fits.sampled()) return counts_slide(fits) ? counted_scratch_bytes(fits) : weighted_scratch_bytes(fits);
    if (slide(fits)) return sliding_moment_bytes(fits);
    return fits.guide.shape.rows == 0 ? adding_bytes<moment_kernel<false>>(*fits.job)
                                      : adding_bytes<moment_kernel<true>>(*fits.job);
}

std::size_t guided_scratch_bytes(const guided_moments& moments) {
    if (moments.sampled()) return weighted_scratch_bytes(moments);
    return slide(moments) ? sliding_moment_bytes(moments) : adding_bytes<moment_kernel<true>>(*moments.job);
}

void enqueue_guided_fits(const guided_fits& fits, stream_ref stream) {
    refused_blocks refused;
    if (fits.sampled() ? counts_slide(fits) : slide(fits)) {
        refused = fits.sampled() ? enqueue_counted_fits(fits, stream) : enqueue_sliding_fits(fits, stream);
        if (!is_floating(fits.image.shape.type)) return;
    }
    if (fits.sampled()) return enqueue_weighted_fits(fits, refused, stream);
    if (fits.guide.data == nullptr)
        launch_adding<moment_kernel<false>>(adding_fit_kernel<false>, *fits.job, {fits.image}, {}, refused,
                                            fits.scratch, stream, fit_output(fits));
    else
        launch_adding<moment_kernel<true>>(adding_fit_kernel<true>, *fits.job, {fits.image, fits.guide}, {}, refused,
                                           fits.scratch, stream, fit_output(fits));
}

void enqueue_guided_moments(const guided_moments& moments, stream_ref stream) {
    if (moments.sampled()) return enqueue_weighted_moments(moments, stream);
    if (slide(moments)) return enqueue_sliding_moments(moments, stream);
    launch_adding<moment_kernel<true>>(adding_moment_kernel, *moments.job, {moments.image, moments.guide}, {}, {},
                                       moments.scratch, stream, moment_output(moments));
}

}  // namespace boxsum::cuda
