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
    static constexpr bool has_second = Guided;
    __device__ static int second_channel(int) { return 0; }

    __device__ static sums of(double p, double x) {
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
__global__ __launch_bounds__(most_adding_threads) void adding_fit_kernel(const __grid_constant__ adding_view t,
                                                                         const __grid_constant__ fit_output to) {
    using kernel = adding_kernel<moment_terms<Guided>>;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double n, const typename kernel::sums& s) {
        const compensated_sum x(s.v[0], s.v[1]), squares(s.v[2], s.v[3]);
        const double variance = moment_numerator(n, x, x, squares, t.noise), noise = n * n * to.epsilon;
        fit one;
        if constexpr (Guided) {
            const compensated_sum p(s.v[4], s.v[5]), products(s.v[6], s.v[7]);
            one = fit_of(variance, moment_numerator(n, x, p, products, 0), x.joined(), p.joined(), noise, 1 / n);
        } else {
            one = fit_of_itself(variance, x.joined(), noise, 1 / n);
        }
        to.store(row, col * t.channels + static_cast<int>(blockIdx.y), one);
    });
}

template <bool Guided>
void launch_fits(const guided_fits& fits, const refused_blocks& refused, stream_ref stream) {
    launch_adding<adding_kernel<moment_terms<Guided>>>(adding_fit_kernel<Guided>, *fits.job, fits.image, fits.guide,
                                                       refused, stream, fit_output(fits));
}

}  // namespace

bool guided_supports(const filters::window_job& job, bool guided) {
    constexpr int K = adding_kernel<moment_terms<true>>::K;
    const std::int64_t threads = guided ? adding_threads<adding_kernel<moment_terms<true>>>()
                                        : adding_threads<adding_kernel<moment_terms<false>>>();
    return real_supports(job, true) && job.cols.before + job.cols.after + K <= threads * K * 3 / 4;
}

std::size_t guided_scratch_bytes(const guided_fits& fits) {
    return fits_slide(fits) ? sliding_fit_bytes(fits) : 0;
}

void enqueue_guided_fits(const guided_fits& fits, stream_ref stream) {
    refused_blocks refused;
    if (fits_slide(fits)) {
        refused = enqueue_sliding_fits(fits, stream);
        if (!is_floating(fits.image.shape.type)) return;
    }
    if (fits.guide.data == nullptr)
        launch_fits<false>(fits, refused, stream);
    else
        launch_fits<true>(fits, refused, stream);
}

}  // namespace boxsum::cuda
