#pragma once

#include "cuda/device/exact_doubles.cuh"
#include "cuda/filters/guided_sums.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cstdint>
#include <type_traits>

/// What slides for the fits of a guided filter (fused_windows.cuh): sums of an image and of its guide, in double, and
/// in 32 bits of bytes.
namespace boxsum::cuda {

// ---- in double ------------------------------------------------------------------------------------------------------

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

    /// `times`: so many times as many pixels as the emptiest of the windows has an uncut window where all count.
    __device__ void ends(double times = 1) const {
        if constexpr (real) refuse(is_near(times) ? 0 : 1);
    }

  private:
    __device__ void refuse(std::uint32_t refused) const {
        if (threadIdx.x == 0) t_.refused[blockIdx.y * gridDim.x + blockIdx.x] = refused;
    }

    /// Whether the square of the guide's largest magnitude is small enough (largest_square() below). The error of a is
    /// in units of the image's largest magnitude: of at most `most_above` times the least that is not 0.
    /// Where few pixels of a window count, errors of sums are shared out among these.
    __device__ bool is_near(double times = 1) const {
        constexpr double most_above = 1024;
        std::uint32_t most[3] = {};
        if constexpr (real) {
            most[0] = columns_.seen.guide;
            most[1] = columns_.seen.image;
            most[2] = ~columns_.seen.least;
        }
        largest_of_block(most);
        const auto of = [](std::uint32_t bits) { return static_cast<double>(__uint_as_float(bits)); };
        const double guide = of(most[0]), square = guide * guide * times;
        // Also where they are NaN or infinite this is false.
        return square <= t_.most_pixels &&
               (!Guided || square * of(most[1]) <= t_.most_pixels * most_above * of(~most[2] + 1));
    }

    const fused_view& t_;
    columns columns_;
    column_prefixes<values, rows, K> until_;
};

/// Of a window of n pixels.
__device__ inline pair_moments moments_of(const double_sums<4, 1>& w, double n) {
    const double x = w.v[0].of[0], p = w.v[2].of[0];
    return {moment_numerator(n, x, x, w.v[1].of[0]), moment_numerator(n, x, p, w.v[3].of[0]), x, p};
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
inline double largest_square(const filters::window_job& job, const fused_shape& shape, double epsilon) {
    const auto h = static_cast<double>(job.rows.width()), w = static_cast<double>(job.cols.width());
    constexpr double K = slide_columns;
    const double slides = shape.band_rows, across = K * shape.threads, warps = (shape.threads + 31) / 32;
    const double sums = (h + slides) * (1 + 3 / h) + K * (1 + K / w) + 2 * (10 + warps) * across / w;
    return epsilon * 0x1p-22 / ((3 * sums + 8) * 0x1p-53);
}

/// With this quotients of moments of floats are moderate. Less is lost beside every variance of floats but 0, and of a
/// guide that is 0 all fits are its mean; with more the square of every float that slides is nothing.
inline double moderate(double epsilon) {
    return std::clamp(epsilon, 0x1p-400, 0x1p400);
}

inline fused_shape moment_shape_of(const guided_windows& windows) {
    return guided_shape_of(*windows.job, windows.guide.shape.rows != 0 ? 4 : 2);
}

// ---- of bytes -------------------------------------------------------------------------------------------------------

inline constexpr int byte_columns = fused_columns(dtype::u8, fused_sums::squares);

inline filters::window_job of_bytes(const filters::window_job& job) {
    filters::window_job bytes = job;
    bytes.shape.type = dtype::u8;
    return bytes;
}

inline bool is_of_bytes(const guided_windows& windows) {
    return windows.image.shape.type == dtype::u8 && windows.guide.shape.rows == 0 &&
           fused_supports(of_bytes(*windows.job), true);
}

/// Whether sums of products fit 32 bits.
inline bool is_byte_pair(const guided_windows& windows) {
    const view_shape &image = windows.image.shape, &guide = windows.guide.shape;
    return image.type == dtype::u8 && guide.rows != 0 && guide.type == dtype::u8 &&
           fused_supports(of_bytes(*windows.job), true) && windows.job->largest_window <= 0xffffffff / (255 * 255);
}

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
__device__ inline pair_moments moments_of(const byte_sums& w, double n) {
    const auto count = static_cast<std::uint64_t>(static_cast<std::uint32_t>(n));
    const std::uint64_t x = w.value[0], p = w.value[1];  // numerators are below 2^50
    const auto numerator = [](std::uint64_t difference) {
        return static_cast<double>(static_cast<std::int64_t>(difference));
    };
    return {numerator(count * w.value[2] - x * x), numerator(count * w.value[3] - x * p), static_cast<double>(x),
            static_cast<double>(p)};
}

}  // namespace boxsum::cuda
