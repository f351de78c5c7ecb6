#include "core/visit_types.hpp"
#include "cuda/filters/guided_slides.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Fits by sums in double that slide: exact of integers, and of floats with errors that a block knows a bound of,
/// beyond which it leaves its windows to additions (guided_fits.cu).
namespace boxsum::cuda {
namespace {

struct sliding_fits {
    fit_output fits;
    double inverse;  ///< of the pixels of an uncut window
    bool in_units;   ///< a thread's fits can be written together
};

/// The fit of a window of n pixels, from the numerators of its moments.
template <bool Guided, typename Sums>
__device__ fit fit_of_sums(const Sums& w, int j, double n, double inverse, double epsilon) {
    const double noise = n * n * epsilon;
    if constexpr (Guided) {
        const pair_moments m = moments_of(w, n);
        return fit_of<true>(m.variance, m.covariance, m.x, m.p, noise, inverse);
    } else {
        const double x = w.v[0].of[j];
        return fit_of_itself<true>(moment_numerator(n, x, x, w.v[1].of[j]), x, noise, inverse);
    }
}

template <typename Slide, bool Guided, bool Waits>
__global__ __maxnreg__(Guided ? 168 : 128) void sliding_fit_kernel(const __grid_constant__ fused_view t,
                                                                   const __grid_constant__ sliding_fits to) {
    using slide = std::conditional_t<Waits, waiting<Slide, false>, Slide>;
    for_each_batch<slide>(t, [&](const auto& batch) {
        constexpr int rows = Slide::rows, K = Slide::K;
        if (to.in_units && batch.owns()) {
            float a[rows][K], b[rows][K];
            double n[rows], inverse[rows];
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                n[j] = static_cast<double>(batch.height[j]) * static_cast<double>(t.cols.full);
                inverse[j] = batch.plain ? to.inverse : 1 / n[j];
            }
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const auto w = batch.own_window(i);
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    const fit one = fit_of_sums<Guided>(w, j, n[j], inverse[j], to.fits.epsilon);
                    a[j][i] = to.fits.narrow_a(one);
                    b[j][i] = to.fits.narrow_b(one);
                }
            }
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) continue;
                const std::int64_t row = batch.row + j, at = std::int64_t{batch.own()} * 4;
                store_streaming(reinterpret_cast<float*>(to.fits.a + row * to.fits.a_stride + at), a[j]);
                store_streaming(reinterpret_cast<float*>(to.fits.b + row * to.fits.b_stride + at), b[j]);
            }
        }
        batch.for_each_column(to.in_units, [&](int col, const auto& w) {
            const int width = fused_width(t, col);
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                const double n = static_cast<double>(batch.height[j]) * width;
                to.fits.store(batch.row + j, std::int64_t{col} * t.channels + batch.channel,
                              fit_of_sums<Guided>(w, j, n, 1 / n, to.fits.epsilon));
            }
        });
    });
}

template <typename Pixel, bool Guided, bool Waits = false, typename To>
void launch_slides(void (*kernel)(fused_view, To), const guided_windows& windows, stream_ref stream, const To& to) {
    using moments = moment_slide<Pixel, Guided>;
    using slide = std::conditional_t<Waits, waiting<moments, false>, moments>;
    constexpr int K = slide::K;
    const filters::window_job& job = *windows.job;
    const fused_shape shape = moment_shape_of(windows);
    auto* const segments = static_cast<std::byte*>(windows.scratch) + refused_bytes(job, shape);
    const auto on = [&](const const_any_view& image) {
        fused_view t = on_device<Pixel, K>({&job, image, job.first_row, job.end_row, segments}, shape);
        t.flip = t.outside = 0;
        return t;
    };
    fused_view t = on(windows.image);
    if (Guided) t.weights = on(windows.guide);
    t.refused = static_cast<std::uint32_t*>(windows.scratch);
    t.most_pixels = largest_square(job, shape, windows.epsilon);
    launch_sliding<slide>(kernel, t, shape, stream, to);
}

sliding_fits output_of(const guided_fits& fits, bool owned) {
    const auto in_units = [](const any_view& v) {
        return v.shape.type == dtype::f32 && v.shape.channels == 1 &&
               reinterpret_cast<std::uintptr_t>(v.data) % 16 == 0 && v.shape.row_stride % 16 == 0;
    };
    const filters::window_job& job = *fits.job;
    sliding_fits to{fit_output(fits), 1 / (static_cast<double>(job.rows.full) * static_cast<double>(job.cols.full)),
                    owned && in_units(fits.a) && in_units(fits.b)};
    to.fits.epsilon = moderate(fits.epsilon);
    return to;
}

// ---- an image of bytes that is its own guide ------------------------------------------------------------------------

/// By sums in integers of half the size. A column a thread, as fused_moments.cu has found for two results of floats.
__global__ __maxnreg__(96) void byte_fit_kernel(const __grid_constant__ fused_view t,
                                                const __grid_constant__ sliding_fits to) {
    for_each_batch<u8, u32, true, byte_columns>(t, [&](const auto& batch) {
        constexpr int rows = window_sums<u32, true>::rows;
        batch.for_each_column(false, [&](int col, const auto& w) {
            const bool uncut = batch.plain && batch.whole(col);
            const int width = uncut ? static_cast<int>(t.cols.full) : fused_width(t, col);
            const std::int64_t element = std::int64_t{col} * t.channels + batch.channel;
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) break;
                const int n = batch.height[j] * width;
                const std::int64_t sum = static_cast<int>(w.sum(j));  // of pixels 128 lower
                const std::uint64_t above = std::uint64_t{static_cast<u32>(n)} * w.squares(j) -
                                            static_cast<std::uint64_t>(sum * sum);  // below 2^50
                const auto count = static_cast<double>(n), all = static_cast<double>(sum + 128ll * n);
                to.fits.store(batch.row + j, element,
                              fit_of_itself<true>(static_cast<double>(above), all, count * count * to.fits.epsilon,
                                                  uncut ? to.inverse : 1 / count));
            }
        });
    });
}

void launch_bytes(const guided_fits& fits, stream_ref stream) {
    const filters::window_job job = of_bytes(*fits.job);
    const std::int64_t rows = job.end_row - job.first_row;
    launch_fused<u8, u32, true, byte_columns>(
        byte_fit_kernel, {&job, fits.image, job.first_row, job.end_row, fits.scratch},
        fused_shape_of(job, fused_sums::squares, rows), stream, output_of(fits, false));
}

// ---- an image of bytes, and a guide of bytes ------------------------------------------------------------------------

/// The same sums as moment_slide's, and the same fits, in a quarter of the shared memory.
__global__ __maxnreg__(112) void byte_pair_kernel(const __grid_constant__ fused_view t,
                                                  const __grid_constant__ sliding_fits to) {
    for_each_batch<byte_slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const byte_sums& w) {
            const bool uncut = batch.plain && batch.whole(col);
            const auto n =
                static_cast<double>(batch.height[0] * (uncut ? static_cast<int>(t.cols.full) : fused_width(t, col)));
            const pair_moments m = moments_of(w, n);
            to.fits.store(
                batch.row, std::int64_t{col} * t.channels + batch.channel,
                fit_of<true>(m.variance, m.covariance, m.x, m.p, n * n * to.fits.epsilon, uncut ? to.inverse : 1 / n));
        });
    });
}

template <typename To>
void launch_byte_pair(void (*kernel)(fused_view, To), const guided_windows& windows, stream_ref stream, const To& to) {
    const filters::window_job job = of_bytes(*windows.job);
    const fused_shape shape = fused_shape_of(job, fused_sums::squares, job.end_row - job.first_row);
    const auto on = [&](const const_any_view& image) {
        fused_view t = on_device<u8, byte_slide::K>({&job, image, job.first_row, job.end_row, windows.scratch}, shape);
        t.flip = t.outside = 0;
        return t;
    };
    fused_view t = on(windows.image);
    t.weights = on(windows.guide);
    launch_sliding<byte_slide>(kernel, t, shape, stream, to);
}

// ---- a guide of several channels ------------------------------------------------------------------------------------

/// Moments of two images of integers, for a guide of several channels.
template <typename Slide>
__global__ __maxnreg__(Slide::wraps ? 112 : 168) void moment_kernel(const __grid_constant__ fused_view t,
                                                                    const __grid_constant__ moment_output to) {
    static_assert(Slide::rows == 1);
    for_each_batch<Slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const auto& w) {
            to.store(batch.row, col, moments_of(w, static_cast<double>(batch.height[0] * fused_width(t, col))));
        });
    });
}

// ---- by types -------------------------------------------------------------------------------------------------------

template <typename F>
void visit_slides(dtype type, bool guided, F&& f) {
    visit_type(type_list<u8, u16, f32>{}, type, [&]<typename T>() {
        using Pixel = std::conditional_t<std::is_same_v<T, f32>, std::uint32_t, T>;
        if (guided)
            f.template operator()<Pixel, true>();
        else
            f.template operator()<Pixel, false>();
    });
}

}  // namespace

bool moments_slide(const guided_windows& windows) {
    const filters::window_job& job = *windows.job;
    const dtype type = windows.image.shape.type;
    if (type == dtype::f64 || (windows.guide.shape.rows != 0 && windows.guide.shape.type != type)) return false;
    // Squares of integers have 32 bits, sums of a double 52.
    return sliding_supports(job) &&
           job.rows.width() * moment_shape_of(windows).threads * slide_columns <= std::int64_t{1} << 20;
}

std::size_t sliding_moment_bytes(const guided_windows& windows) {
    const filters::window_job& job = *windows.job;
    if (is_of_bytes(windows) || is_byte_pair(windows)) {
        const std::size_t bytes = fused_scratch_bytes(of_bytes(job), fused_sums::squares, job.end_row - job.first_row);
        return is_of_bytes(windows) ? bytes : 2 * bytes;
    }
    const fused_shape shape = moment_shape_of(windows);
    std::size_t bytes = refused_bytes(job, shape);
    if (!shape.prepared) return bytes;
    visit_slides(windows.image.shape.type, windows.guide.shape.rows != 0, [&]<typename Pixel, bool Guided>() {
        const std::int64_t slots = shape.segment_cols / slide_columns;
        bytes += static_cast<std::size_t>(job.shape.channels * shape.segments * slots) *
                 sizeof(typename moment_slide<Pixel, Guided>::columns);
    });
    return bytes;
}

refused_blocks enqueue_sliding_fits(const guided_fits& fits, stream_ref stream) {
    if (is_of_bytes(fits)) {
        launch_bytes(fits, stream);
        return {};
    }
    if (is_byte_pair(fits)) {
        launch_byte_pair(byte_pair_kernel, fits, stream, output_of(fits, false));
        return {};
    }
    visit_slides(fits.image.shape.type, fits.guide.shape.rows != 0, [&]<typename Pixel, bool Guided>() {
        const auto launch_kernel = [&](auto waits) {
            launch_slides<Pixel, Guided, waits()>(sliding_fit_kernel<moment_slide<Pixel, Guided>, Guided, waits()>,
                                                  fits, stream, output_of(fits, true));
        };
        // Floats; threads would wait for rows that are no units on their way to shared memory.
        if constexpr (sizeof(Pixel) == 4)
            if (lies_in_units(fits.image, 16) && (!Guided || lies_in_units(fits.guide, 16)))
                return launch_kernel(std::true_type{});
        launch_kernel(std::false_type{});
    });
    const fused_shape shape = moment_shape_of(fits);
    return {static_cast<const std::uint32_t*>(fits.scratch), shape.strip_cols, shape.strips, shape.band_rows,
            shape.bands};
}

void enqueue_sliding_moments(const guided_moments& moments, stream_ref stream) {
    const moment_output to(moments);
    if (is_byte_pair(moments)) return launch_byte_pair(moment_kernel<byte_slide>, moments, stream, to);
    visit_type(type_list<u8, u16>{}, moments.image.shape.type, [&]<typename Pixel>() {
        launch_slides<Pixel, true>(moment_kernel<moment_slide<Pixel, true>>, moments, stream, to);
    });
}

}  // namespace boxsum::cuda
