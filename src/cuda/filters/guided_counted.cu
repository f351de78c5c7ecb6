#include "core/visit_types.hpp"
#include "cuda/filters/counted_slide.cuh"
#include "cuda/filters/guided_slides.cuh"

#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Fits by sums that slide of images some of whose pixels do not count (counted_slide.cuh).
namespace boxsum::cuda {

template <typename Pixel, int K, bool Guided>
__device__ void clear_uncounted(guided_row<Pixel, K, Guided>& row, const pixel_run<u8, K>& counts, std::uint32_t flip) {
    clear_uncounted(row.p, counts, flip);
    if constexpr (Guided) clear_uncounted(row.x, counts, flip);
}

namespace {

/// An image of bytes that is its own guide.
using byte_squares = integer_slide<u8, u32, true, byte_columns>;

/// Row j of a window of n pixels that is its own guide.
struct own_moments {
    double variance, x;
};
__device__ own_moments own_moments_of(const window_sums<u32, true>& w, int j, double n) {
    const auto count = static_cast<std::uint32_t>(n);
    const std::int64_t sum = static_cast<int>(w.sum(j));  // of pixels 128 lower
    const std::uint64_t above =
        std::uint64_t{count} * w.squares(j) - static_cast<std::uint64_t>(sum * sum);  // below 2^50
    return {static_cast<double>(above), static_cast<double>(sum + 128ll * count)};
}
template <int Rows>
__device__ own_moments own_moments_of(const double_sums<2, Rows>& w, int j, double n) {
    const double x = w.v[0].of[j];
    return {moment_numerator(n, x, x, w.v[1].of[j]), x};
}

struct counted_fits {
    sampled_fit_output fits;
    std::uint32_t all;  ///< pixels of an uncut window
    double inverse;     ///< of these
};

template <typename Slide>
constexpr int counted_registers = Slide::wraps ? 128 : 168;

/// A column a thread, as for fits where all pixels count of bytes.
template <typename Slide, bool Guided>
__global__ __maxnreg__((counted_registers<Slide>)) void counted_fit_kernel(const __grid_constant__ fused_view t,
                                                                           const __grid_constant__ counted_fits to) {
    std::uint32_t fewest = ~0u, known = ~0u;  // pixels of the thread's emptiest window, and what the block knows of it
    for_each_batch<Slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
            const std::int64_t element = std::int64_t{col} * t.channels + batch.channel;
#pragma unroll
            for (int j = 0; j < Slide::rows; ++j) {
                if (j >= batch.valid) break;
                const std::uint32_t count = w.count[j];
                const auto n = static_cast<double>(count);
                const double noise = n * n * to.fits.epsilon,
                             inverse = count == to.all ? to.inverse : quotient<true>(1, n);
                fit one;
                if constexpr (Guided) {
                    const pair_moments m = moments_of(w.of, n);
                    one = fit_of<true>(m.variance, m.covariance, m.x, m.p, noise, inverse);
                } else {
                    const own_moments m = own_moments_of(w.of, j, n);
                    one = fit_of_itself<true>(m.variance, m.x, noise, inverse);
                }
                to.fits.store(batch.row + j, element, one, n);
                if (count > 0 && n >= to.fits.least && count < fewest) fewest = count;
            }
        });
        if constexpr (Slide::watches)
            if (fewest < known) atomicMin(&fewest_of_block(), fewest);
        known = fewest;
    });
}

/// Windows as kernels of bytes or of sums in double have them.
template <typename Slide>
filters::window_job job_for(const guided_windows& windows) {
    return Slide::wraps ? of_bytes(*windows.job) : *windows.job;
}
template <typename Slide>
fused_shape shape_for(const filters::window_job& job) {
    if constexpr (Slide::wraps)
        return fused_shape_of(job, fused_sums::squares, job.end_row - job.first_row);
    else
        return guided_shape_of(job, Slide::values + 1);
}

/// f<Slide, its pixels, Guided>().
template <typename F>
void visit_counted(const guided_windows& windows, F&& f) {
    // Sums of bytes and counts of more threads are more shared memory than some devices have.
    constexpr int most_threads = 256;
    const auto small = [&] { return shape_for<byte_squares>(job_for<byte_squares>(windows)).threads <= most_threads; };
    if (is_of_bytes(windows) && small()) return f.template operator()<byte_squares, u8, false>();
    if (is_byte_pair(windows) && small()) return f.template operator()<byte_slide, u8, true>();
    visit_type(type_list<u8, u16, f32>{}, windows.image.shape.type, [&]<typename T>() {
        using Pixel = std::conditional_t<std::is_same_v<T, f32>, std::uint32_t, T>;
        if (windows.guide.shape.rows != 0)
            f.template operator()<moment_slide<Pixel, true>, Pixel, true>();
        else
            f.template operator()<moment_slide<Pixel, false>, Pixel, false>();
    });
}

}  // namespace

bool counts_slide(const guided_fits& fits) {
    return fits.weights.shape.type == dtype::u8 && fits.a.shape.type == dtype::f32 &&
           weighted_scratch_bytes(fits) == 0 && moments_slide(fits);
}

std::size_t counted_scratch_bytes(const guided_fits& fits) {
    std::size_t bytes = 0;
    visit_counted(fits, [&]<typename Slide, typename Pixel, bool Guided>() {
        const filters::window_job job = job_for<Slide>(fits);
        const fused_shape shape = shape_for<Slide>(job);
        if (!Slide::wraps) bytes = refused_bytes(job, shape);
        if (!shape.prepared) return;
        const std::int64_t slots = shape.segment_cols / Slide::K;
        bytes += static_cast<std::size_t>(job.shape.channels * shape.segments * slots) *
                 sizeof(typename counted_slide<Slide>::columns);
    });
    return bytes;
}

refused_blocks enqueue_counted_fits(const guided_fits& fits, stream_ref stream) {
    refused_blocks refused;
    visit_counted(fits, [&]<typename Slide, typename Pixel, bool Guided>() {
        using slide = counted_slide<Slide>;
        constexpr int K = slide::K;
        const filters::window_job job = job_for<Slide>(fits);
        const fused_shape shape = shape_for<Slide>(job);
        auto* const words = static_cast<std::uint32_t*>(fits.scratch);
        void* const segments = static_cast<std::byte*>(fits.scratch) + (Slide::wraps ? 0 : refused_bytes(job, shape));
        const auto on = [&](const const_any_view& image) {
            fused_view t = on_device<Pixel, K>({&job, image, job.first_row, job.end_row, segments}, shape);
            if (!std::is_same_v<Slide, byte_squares>) t.flip = t.outside = 0;
            return t;
        };
        fused_view t = on(fits.image);
        if (Guided) t.weights = on(fits.guide);
        t.mask = on_device<u8, K>({&job, fits.weights, job.first_row, job.end_row, segments}, shape);
        t.mask.flip = t.mask.outside = 0;
        if constexpr (!Slide::wraps) {
            t.refused = words;
            t.most_pixels = largest_square(job, shape, fits.epsilon);
        }
        const std::int64_t all = job.rows.full * job.cols.full;
        counted_fits to{sampled_fit_output(fits), static_cast<std::uint32_t>(all), 1 / static_cast<double>(all)};
        to.fits.epsilon = moderate(fits.epsilon);
        launch_sliding<slide>(counted_fit_kernel<slide, Guided>, t, shape, stream, to);
        if (!Slide::wraps) refused = {words, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
    });
    return refused;
}

}  // namespace boxsum::cuda
