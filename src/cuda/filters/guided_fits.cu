#include "cuda/filters/guided_kernels.hpp"
#include "cuda/filters/guided_sums.cuh"
#include "cuda/filters/guided_terms.cuh"
#include "cuda/filters/real_windows.cuh"

#include <algorithm>
#include <cmath>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

// ---- fits of any pixels ---------------------------------------------------------------------------------------------

constexpr int most_guided_threads = 256;  // sums of four numbers with what they are rounded by fill shared memory

struct guided_view : real_view {
    real_view guide;
};

/// Sums by additions only of image p and guide I: p, p^2 where it is its own guide, else I, I^2, p, I p; all with what
/// they are rounded by.
template <bool Guided>
struct fit_kernel {
    using Pixel = any_pixel;
    static constexpr terms_layout layout = layout_of(real_terms::moments, dtype::f64);
    static constexpr int K = layout.cols, G = layout.rows;
    using sums = real_sums<0, Guided ? 4 : 2>;
    using pixels = real_run<double, K>;
    using pixel_reader = real_reader<any_pixel, pixels, K, false>;

    struct run {
        pixels image, guide;
        __device__ void clear() {
            image.clear();
            guide.clear();
        }
    };

    class reader {
      public:
        __device__ reader(const real_view& t, int col, int channel, bool reads)
            : image_(t, col, channel, reads),
              guide_(static_cast<const guided_view&>(t).guide, col, Guided ? 0 : channel, reads) {}
        __device__ void read(run& to, int y) const {
            image_.read(to.image, y);
            if constexpr (Guided) guide_.read(to.guide, y);
        }

      private:
        pixel_reader image_, guide_;
    };

    struct columns {
        sums of[K];

        __device__ void clear() {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].clear();
        }
        __device__ void add(const columns& b) {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].add(b.of[i]);
        }
    };

    __device__ static sums term(const real_view&, const run& r, int i) {
        sums s;
        s.clear();
        const double p = r.image.x[i], x = Guided ? r.guide.x[i] : p;
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

    /// Adds rows first .. end - 1.
    __device__ static void add_rows(columns& to, const real_view& t, const reader& from, int first, int end) {
#pragma unroll 1
        for (int y = first; y < end; ++y) {
            run row;
            from.read(row, y);
#pragma unroll
            for (int i = 0; i < K; ++i) to.of[i].add(term(t, row, i));
        }
    }
};

template <bool Guided>
__global__ __launch_bounds__(most_guided_threads) void fit_windows_kernel(const __grid_constant__ guided_view t,
                                                                          const __grid_constant__ fit_output to) {
    using kernel = fit_kernel<Guided>;
    for_each_real_window<kernel>(t, [&](const real_windows_of_thread<kernel>& windows) {
#pragma unroll
        for (int j = 0; j < kernel::G; ++j) {
            if (j < windows.first || j >= windows.end) continue;
            const int row = windows.row + j;
            const auto height = static_cast<double>(t.rows.count(row));
#pragma unroll
            for (int i = 0; i < kernel::K; ++i) {
                if (i >= windows.cols) continue;
                const std::int64_t col = windows.col + i;
                const double n = height * static_cast<double>(t.cols.count(col));
                const auto& s = windows.rows[j].of[i];
                const compensated_sum x(s.v[0], s.v[1]), squares(s.v[2], s.v[3]);
                const double variance = moment_numerator(n, x, x, squares, t.noise), noise = n * n * to.epsilon;
                fit one;
                if constexpr (Guided) {
                    const compensated_sum p(s.v[4], s.v[5]), products(s.v[6], s.v[7]);
                    one =
                        fit_of(variance, moment_numerator(n, x, p, products, 0), x.joined(), p.joined(), noise, 1 / n);
                } else {
                    one = fit_of_itself(variance, x.joined(), noise, 1 / n);
                }
                to.store(row, col * t.channels + windows.channel, one);
            }
        }
    });
}

/// Of blocks that are at most so wide as shared memory allows.
real_shape cut(const filters::window_job& job) {
    real_shape shape = real_shape_of(job, real_terms::moments, job.first_row, job.end_row);
    shape.prepared = false;
    if (shape.threads <= most_guided_threads) return shape;
    constexpr std::int64_t columns = fit_kernel<true>::K;
    const std::int64_t width = job.cols.extent, beyond = job.cols.before + job.cols.after + columns;
    const std::int64_t fits = (most_guided_threads * columns - beyond) / columns * columns;
    const auto up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
    shape.threads = most_guided_threads;
    const std::int64_t strip = up(up(width, up(width, fits)), columns) * columns;
    shape.strip_cols = static_cast<int>(strip);
    shape.strips = static_cast<int>(up(width, strip));
    return shape;
}

template <bool Guided>
void launch_fits(const guided_fits& fits, const refused_blocks& refused, stream_ref stream) {
    using kernel = fit_kernel<Guided>;
    const filters::window_job& job = *fits.job;
    const real_shape shape = cut(job);
    guided_view t{};
    static_cast<real_view&>(t) =
        on_device<kernel>({&job, fits.image, {}, {}, job.first_row, job.end_row, nullptr, refused}, shape);
    if (Guided) t.guide = on_device<kernel>({&job, fits.guide, {}, {}, job.first_row, job.end_row}, shape);
    const int chunks = (shape.bands + shape.chunk_bands - 1) / shape.chunk_bands;
    launch(fit_windows_kernel<Guided>,
           {.grid = {static_cast<unsigned>(shape.strips * chunks), static_cast<unsigned>(t.channels), 1},
            .block = static_cast<unsigned>(shape.threads),
            .shared_bytes = real_planes<kernel>::bytes(shape.threads)},
           stream, t, fit_output(fits));
}

}  // namespace

fused_shape guided_shape_of(const filters::window_job& job) {
    return fused_shape_of(job, fused_sums::reals, job.end_row - job.first_row);
}

bool guided_supports(const filters::window_job& job) {
    constexpr int K = fit_kernel<true>::K;
    return real_supports(job, true) && job.cols.before + job.cols.after + K <= most_guided_threads * K * 3 / 4;
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
