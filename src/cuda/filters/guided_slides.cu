#include "core/visit_types.hpp"
#include "cuda/filters/guided_sums.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Fits by sums in double that slide: exact of integers, and of floats with errors that a block knows a bound of,
/// beyond which it leaves its windows to additions (guided_fits.cu).
namespace boxsum::cuda {
namespace {

/// An integer below 2^52 without a conversion, of which a multiprocessor makes few.
__device__ double as_double(std::uint32_t x) {
    return __hiloint2double(0x43300000, static_cast<int>(x)) - 0x1p52;
}

/// Pixel i of a run.
template <typename Pixel, int K>
__device__ double value_of(const pixel_run<Pixel, K>& run, int i) {
    if constexpr (sizeof(Pixel) == 4)
        return static_cast<double>(__uint_as_float(run.word[i]));
    else if constexpr (sizeof(Pixel) == 2)
        return as_double(__byte_perm(run.word[i / 2], 0, i % 2 == 0 ? 0x4410 : 0x4432));
    else
        return as_double(__byte_perm(run.word[i / 4], 0, 0x4440u | static_cast<std::uint32_t>(i % 4)));
}

/// What is known of the floats that a thread takes.
struct no_magnitudes {
    __device__ void add(const no_magnitudes&) {}
};
struct magnitudes {
    // Bits of magnitudes, which grow with them: NaN is above all.
    std::uint32_t guide = 0, image = 0;  ///< the largest
    std::uint32_t least = ~0u;           ///< of the image's that are not 0, less one

    __device__ void look_at_guide(std::uint32_t bits) { guide = larger(guide, bits & 0x7fffffffu); }
    __device__ void look_at_image(std::uint32_t bits) {
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        image = larger(image, magnitude);
        least = magnitude - 1 < least ? magnitude - 1 : least;
    }
    __device__ void add(const magnitudes& b) {
        guide = larger(guide, b.guide);
        image = larger(image, b.image);
        least = b.least < least ? b.least : least;
    }
    __device__ static std::uint32_t larger(std::uint32_t a, std::uint32_t b) { return a > b ? a : b; }
    std::uint32_t unused = 0;  ///< sums of segments are words of 8 bytes
};

/// K pixels p of an image, and x of its guide where that is another.
template <typename Pixel, int K, bool Guided>
struct guided_row {
    using run = pixel_run<Pixel, K>;
    run p, x;

    __device__ static guided_row at(const char* from) {
        return {run::at(from + place_of(from, 0)), run::at(from + place_of(from, 1))};
    }
    __device__ void put(char* to) const {
        p.put(to + place_of(to, 0));
        x.put(to + place_of(to, 1));
    }
    /// Where run k of a row is that waits at `row`: so that neighbouring threads' meet in no bank.
    __device__ static int place_of(const char* row, int k) {
        constexpr int size = static_cast<int>(sizeof(run));
        return (static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / 128 % 2) ^ k) * size;
    }
};
template <typename Pixel, int K>
struct guided_row<Pixel, K, false> {
    using run = pixel_run<Pixel, K>;
    run p;

    __device__ static guided_row at(const char* from) { return {run::at(from)}; }
    __device__ void put(char* to) const { p.put(to); }
    __device__ static int place_of(const char*, int) { return 0; }
};

/// The guide, of one channel, is the view's `weights`.
template <typename Pixel, int K, bool Guided>
class guided_reader {
  public:
    using row = guided_row<Pixel, K, Guided>;

    __device__ guided_reader(const fused_view& t, int col, int channel)
        : image_(t, col, channel), guide_(t.weights, col, 0) {}
    __device__ bool inside(int first, int n) const { return image_.inside(first, n); }
    template <int N>
    __device__ void read(row (&to)[N], int first, int begin, int end, bool plain) const {
        pixel_run<Pixel, K> x[N];
        image_.read(x, first, begin, end, plain);
#pragma unroll
        for (int j = 0; j < N; ++j) to[j].p = x[j];
        if constexpr (Guided) {
            guide_.read(x, first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j].x = x[j];
        }
    }
    /// As run_reader does.
    template <int N>
    __device__ void start(char* to, int apart, int first, int begin, int end, bool plain) const {
        image_.template start<N>(to + row::place_of(to, 0), apart, first, begin, end, plain);
        if constexpr (Guided) guide_.template start<N>(to + row::place_of(to, 1), apart, first, begin, end, plain);
    }

  private:
    run_reader<Pixel, K> image_, guide_;
};

/// Sums of guide x and x^2, and of image p and x p where it is not its own guide. `Pixel`: a float's bits are 32.
template <typename PixelType, bool Guided>
class moment_slide {
  public:
    static constexpr int K = slide_columns, values = Guided ? 4 : 2;
    static constexpr bool wraps = false, real = sizeof(PixelType) == 4;
    using Pixel = PixelType;
    using row = guided_row<Pixel, K, Guided>;
    using reader = guided_reader<Pixel, K, Guided>;
    using sums = double_sums<values, Guided ? 1 : 2>;  // two rows of four spill a kilobyte
    static constexpr int rows = sums::rows;

    /// By how much a sum changes when a row enters and another leaves.
    struct change {
        double of[values];

        __device__ change(const row& in, const row& out, int i) {
            const double p = value_of(in.p, i), q = value_of(out.p, i);
            if constexpr (Guided) {
                const double x = value_of(in.x, i), y = value_of(out.x, i);
                set_guide(x, y);
                of[2] = p - q;
                of[3] = __fma_rn(x, p, -(y * q));
            } else {
                set_guide(p, q);
            }
        }
        __device__ void set_guide(double x, double y) {
            of[0] = x - y;
            of[1] = (x - y) * (x + y);
        }
    };

    struct columns {
        double sum[values][K] = {};
        std::conditional_t<real, magnitudes, no_magnitudes> seen;

        __device__ void enter(const row& in, const fused_view& t) {
            const row none = nothing(t);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                look_at(in, i);
                slide(i, in, none);
            }
        }
        __device__ void look_at(const row& in, int i) {
            if constexpr (real && Guided) {
                seen.look_at_guide(in.x.word[i]);
                seen.look_at_image(in.p.word[i]);
            } else if constexpr (real) {
                seen.look_at_guide(in.p.word[i]);
            }
        }
        __device__ void slide(int i, const row& in, const row& out) {
            const change by(in, out, i);
#pragma unroll
            for (int k = 0; k < values; ++k) sum[k][i] += by.of[k];
        }
        __device__ void add(const columns& other) {
            seen.add(other.seen);
#pragma unroll
            for (int k = 0; k < values; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) sum[k][i] += other.sum[k][i];
        }
    };

    __device__ moment_slide(const fused_view& t, const columns& first) : t_(t), columns_(first) {}

    __device__ static row nothing(const fused_view& t) {
        row none;
        none.p = pixel_run<Pixel, K>::all(t.flip);
        if constexpr (Guided) none.x = none.p;
        return none;
    }

    /// Of the whole block, as ends() is. t.most_pixels is the guide's largest square.
    __device__ bool begins() const {
        if constexpr (!real) return true;
        const bool near = is_near();
        if (!near) refuse(1);
        return near;
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j)
#pragma unroll
            for (int i = 0; i < K; ++i) {
                columns_.look_at(in[j], i);
                columns_.slide(i, in[j], out[j]);
#pragma unroll
                for (int k = 0; k < values; ++k) {
                    double& all = mine.v[k].of[j];
                    all = i == 0 ? columns_.sum[k][i] : all + columns_.sum[k][i];
                    until_.set(j, k, i, all);
                }
            }
        return mine;
    }

    __device__ void watch(const sums&) {}

    __device__ void pass(sums& until, int i, const row (&)[rows], const row (&)[rows]) {
        until_.pass(until, i, columns_.sum);
    }

    __device__ void ends() const {
        if constexpr (real) refuse(is_near() ? 0 : 1);
    }

  private:
    __device__ void refuse(std::uint32_t refused) const {
        if (threadIdx.x == 0) t_.refused[blockIdx.y * gridDim.x + blockIdx.x] = refused;
    }

    /// Whether the square of the guide's largest magnitude is small enough (largest_square() below). The error of a is
    /// in units of the image's largest magnitude: of at most `most_above` times the least that is not 0.
    __device__ bool is_near() const {
        constexpr double most_above = 1024;
        std::uint32_t most[3] = {};
        if constexpr (real) {
            most[0] = columns_.seen.guide;
            most[1] = columns_.seen.image;
            most[2] = ~columns_.seen.least;
        }
        largest_of_block(most);
        const auto of = [](std::uint32_t bits) { return static_cast<double>(__uint_as_float(bits)); };
        const double guide = of(most[0]), square = guide * guide;
        // Also where they are NaN or infinite this is false.
        return square <= t_.most_pixels &&
               (!Guided || square * of(most[1]) <= t_.most_pixels * most_above * of(~most[2] + 1));
    }

    const fused_view& t_;
    columns columns_;
    column_prefixes<values, rows, K> until_;
};

struct sliding_fits {
    fit_output fits;
    double inverse;  ///< of the pixels of an uncut window
    bool in_units;   ///< a thread's fits can be written together
};

/// Of a window of n pixels.
__device__ pair_moments moments_of(const double_sums<4, 1>& w, double n) {
    const double x = w.v[0].of[0], p = w.v[2].of[0];
    return {moment_numerator(n, x, x, w.v[1].of[0]), moment_numerator(n, x, p, w.v[3].of[0]), x, p};
}

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

/// The square of the guide's largest magnitude M up to which sums that slide may be used.
///
/// With u = 2^-53, windows of h rows, w columns and n = h w pixels, K columns a thread, T rows of a band, S columns of
/// a block in W warps, a window's sum of squares has three errors, all in units of u n M^2: a column's sum makes h
/// additions and T slides, whose changes have errors of 3 u M^2 and whose sums one of u h M^2: (h + T) (1 + 3 / h). A
/// thread's total makes K additions of them: K (1 + K / w), since a window may begin and end within a thread's columns.
/// Both its ends are prefix sums, of at most S h pixels, rounded 5 + W + 1 + K times: 2 (10 + W) S / w. Sums of values
/// and of products with the image are alike. The numerators of moments, n squares - sum^2, then have up to three times
/// that of n^2 u M^2, and eight of their own. This bound is to be 2^-22 epsilon.
double largest_square(const filters::window_job& job, const fused_shape& shape, double epsilon) {
    const auto h = static_cast<double>(job.rows.width()), w = static_cast<double>(job.cols.width());
    constexpr double K = slide_columns;
    const double slides = shape.band_rows, across = K * shape.threads, warps = (shape.threads + 31) / 32;
    const double sums = (h + slides) * (1 + 3 / h) + K * (1 + K / w) + 2 * (10 + warps) * across / w;
    return epsilon * 0x1p-22 / ((3 * sums + 8) * 0x1p-53);
}

fused_shape moment_shape_of(const guided_windows& windows) {
    return guided_shape_of(*windows.job, windows.guide.shape.rows != 0 ? 4 : 2);
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
    // So that quotients are moderate. Less is lost beside every variance of floats but 0, and of a guide that is 0 all
    // fits are its mean; with more than that the square of every float that slides is nothing.
    to.fits.epsilon = std::clamp(fits.epsilon, 0x1p-400, 0x1p400);
    return to;
}

// ---- an image of bytes that is its own guide ------------------------------------------------------------------------

constexpr int byte_columns = fused_columns(dtype::u8, fused_sums::squares);

filters::window_job of_bytes(const filters::window_job& job) {
    filters::window_job bytes = job;
    bytes.shape.type = dtype::u8;
    return bytes;
}

bool is_of_bytes(const guided_windows& windows) {
    return windows.image.shape.type == dtype::u8 && windows.guide.shape.rows == 0 &&
           fused_supports(of_bytes(*windows.job), true);
}

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

/// Sums of guide x and image p, of x^2 and x p, of one row.
using byte_sums = window_sums<u32, false>;

class byte_slide {
  public:
    static constexpr int K = byte_columns, rows = 1;
    static constexpr bool wraps = true;
    static constexpr int wide_words = 0;
    using sums = byte_sums;
    using run = pixel_run<u8, K>;
    using row = guided_row<u8, K, true>;
    using reader = guided_reader<u8, K, true>;

    struct columns {
        std::uint32_t sum[sums::values][K] = {};

        __device__ void slide(int i, const row& in, const row& out) {
            const std::uint32_t x = byte(in.x, i), p = byte(in.p, i), y = byte(out.x, i), q = byte(out.p, i);
            sum[0][i] += x - y;
            sum[1][i] += p - q;
            sum[2][i] += x * x - y * y;
            sum[3][i] += x * p - y * q;
        }
        __device__ void enter(const row& in, const fused_view& t) {
#pragma unroll
            for (int i = 0; i < K; ++i) slide(i, in, nothing(t));
        }
        __device__ void add(const columns& other) {
#pragma unroll
            for (int k = 0; k < sums::values; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) sum[k][i] += other.sum[k][i];
        }
        __device__ void subtract(const columns& other) {
#pragma unroll
            for (int k = 0; k < sums::values; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) sum[k][i] -= other.sum[k][i];
        }
        __device__ static std::uint32_t byte(const run& pixels, int i) {
            return __byte_perm(pixels.word[i / 4], 0, 0x4440u | static_cast<std::uint32_t>(i % 4));
        }
    };

    __device__ byte_slide(const fused_view&, const columns& first) : columns_(first) {
#pragma unroll
        for (int k = 0; k < sums::values; ++k)
#pragma unroll
            for (int i = 0; i < K; ++i) total_.value[k] += first.sum[k][i];
    }

    __device__ static row nothing(const fused_view&) {
        return {run::all(0), run::all(0)};
    }
    __device__ bool begins() const {
        return true;
    }

    __device__ sums advance(const row (&in)[rows], const row (&out)[rows]) {
        for (int w = 0; w < run::words; ++w) {
            const std::uint32_t x = in[0].x.word[w], p = in[0].p.word[w], y = out[0].x.word[w], q = out[0].p.word[w];
            constexpr std::uint32_t ones = 0x01010101;
            total_.value[0] += __dp4a(x, ones, 0u) - __dp4a(y, ones, 0u);
            total_.value[1] += __dp4a(p, ones, 0u) - __dp4a(q, ones, 0u);
            total_.value[2] += __dp4a(x, x, 0u) - __dp4a(y, y, 0u);
            total_.value[3] += __dp4a(x, p, 0u) - __dp4a(y, q, 0u);
        }
        return total_;
    }
    __device__ void watch(const sums&) {}
    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
        columns_.slide(i, in[0], out[0]);
#pragma unroll
        for (int k = 0; k < sums::values; ++k) until.value[k] += columns_.sum[k][i];
    }
    __device__ void ends() const {}

  private:
    columns columns_;
    sums total_{};
};

/// Of a window of n pixels.
__device__ pair_moments moments_of(const byte_sums& w, double n) {
    const auto count = static_cast<std::uint64_t>(static_cast<std::uint32_t>(n));
    const std::uint64_t x = w.value[0], p = w.value[1];  // numerators are below 2^50
    const auto numerator = [](std::uint64_t difference) {
        return static_cast<double>(static_cast<std::int64_t>(difference));
    };
    return {numerator(count * w.value[2] - x * x), numerator(count * w.value[3] - x * p), static_cast<double>(x),
            static_cast<double>(p)};
}

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

/// Whether sums of products fit 32 bits.
bool is_byte_pair(const guided_windows& windows) {
    const view_shape &image = windows.image.shape, &guide = windows.guide.shape;
    return image.type == dtype::u8 && guide.rows != 0 && guide.type == dtype::u8 &&
           fused_supports(of_bytes(*windows.job), true) && windows.job->largest_window <= 0xffffffff / (255 * 255);
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
