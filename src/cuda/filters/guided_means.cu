#include "core/visit_types.hpp"
#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_sums.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Means of fits, and what they make of the guide.
namespace boxsum::cuda {
namespace {

/// A guide and a result: where a fit is evaluated, and to.
struct evaluation {
    const char* guide;
    char* result;
    std::int64_t guide_stride, result_stride;
    dtype guide_type, result_type;
    int per_guide;  ///< channels of the result for one of the guide: 1, or all of them
    double half;    ///< 0.5: results of integers are rounded half up; 0: down
    bool in_units;  ///< four pixels of both can be moved together

    evaluation(const const_any_view& by, const any_view& to, rounding_mode rounding)
        : guide(static_cast<const char*>(by.data)),
          result(static_cast<char*>(to.data)),
          guide_stride(by.shape.row_stride),
          result_stride(to.shape.row_stride),
          guide_type(by.shape.type),
          result_type(to.shape.type),
          per_guide(by.shape.channels == to.shape.channels ? 1 : static_cast<int>(to.shape.channels)),
          half(rounding == rounding_mode::half_up ? 0.5 : 0) {
        const auto units = [](const const_any_view& v) {
            const auto unit = 4 * static_cast<std::int64_t>(size_of(v.shape.type));
            return v.shape.type != dtype::f64 && lies_in_units(v, unit);
        };
        in_units = units(by) && units(to);
    }

    __device__ void store(std::int64_t row, std::int64_t element, double a, double b) const {
        const std::int64_t place = per_guide == 1 ? element : element / per_guide;
        const double x = load_pixel(guide + row * guide_stride, guide_type, place);
        store_pixel(result + row * result_stride, result_type, element, b + a * x, half);
    }

    /// Columns col .. col + 3 of a single channel.
    template <typename T>
    __device__ static void load(double (&x)[4], const char* from, std::int64_t col) {
        const auto four = *reinterpret_cast<const vector_of<T, 4>*>(from + col * static_cast<int>(sizeof(T)));
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = static_cast<double>(four.x[i]);
    }
    __device__ void load_four(double (&x)[4], std::int64_t row, std::int64_t col) const {
        const char* const from = guide + row * guide_stride;
        if (guide_type == dtype::u8)
            load<u8>(x, from, col);
        else if (guide_type == dtype::u16)
            load<u16>(x, from, col);
        else
            load<f32>(x, from, col);
    }
    template <typename T>
    __device__ void store(char* to, std::int64_t col, const double (&q)[4]) const {
        T four[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) four[i] = rounded<T>(q[i], half);
        store_streaming(reinterpret_cast<T*>(to) + col, four);
    }
    __device__ void store_four(std::int64_t row, std::int64_t col, const double (&q)[4]) const {
        char* const to = result + row * result_stride;
        if (result_type == dtype::u8)
            store<u8>(to, col, q);
        else if (result_type == dtype::u16)
            store<u16>(to, col, q);
        else
            store<f32>(to, col, q);
    }
};

// ---- sums of fits that slide ----------------------------------------------------------------------------------------

/// Largest magnitudes of a and b with which all sums of a block are exact, in members of other kernels.
struct fit_limits {
    double a;
    float b;

    void set(fused_view& t) const {
        t.most_pixels = a;
        t.nodata = std::bit_cast<std::uint32_t>(b);
    }
    __device__ static fit_limits of(const fused_view& t) { return {t.most_pixels, __uint_as_float(t.nodata)}; }
};

/// Sums of a and b, multiples of guided_units: exact in double as long as they are below 2^53 of these, which a block
/// looks at; so that additions have the same bits.
class fit_slide {
  public:
    static constexpr int K = slide_columns;
    static constexpr bool wraps = false;
    using Pixel = std::uint32_t;  ///< a float's bits
    using run = pixel_run<Pixel, K>;
    using sums = double_sums<2, 2>;
    static constexpr int rows = sums::rows;

    struct row {
        run of[2];
    };

    class reader {
      public:
        __device__ reader(const fused_view& t, int col, int channel)
            : a_(t, col, channel), b_(t.weights, col, channel) {}
        __device__ bool inside(int first, int n) const { return a_.inside(first, n); }
        template <int N>
        __device__ void read(row (&to)[N], int first, int begin, int end, bool plain) const {
            run a[N], b[N];
            a_.read(a, first, begin, end, plain);
            b_.read(b, first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j].of[0] = a[j], to[j].of[1] = b[j];
        }

      private:
        run_reader<Pixel, K> a_, b_;
    };

    struct columns {
        double sum[2][K] = {};
        std::uint32_t largest[2] = {};  ///< bits of magnitudes, which grow with them: NaN is above all

        __device__ void enter(const row& in, const fused_view&) {
#pragma unroll
            for (int k = 0; k < 2; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    look_at(in, k, i);
                    sum[k][i] += value(in, k, i);
                }
        }
        __device__ void look_at(const row& in, int k, int i) {
            const std::uint32_t magnitude = in.of[k].word[i] & 0x7fffffffu;
            largest[k] = magnitude > largest[k] ? magnitude : largest[k];
        }
        __device__ void add(const columns& other) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                largest[k] = other.largest[k] > largest[k] ? other.largest[k] : largest[k];
#pragma unroll
                for (int i = 0; i < K; ++i) sum[k][i] += other.sum[k][i];
            }
        }
    };

    __device__ fit_slide(const fused_view& t, const columns& first) : t_(t), columns_(first) {}

    __device__ static row nothing(const fused_view&) {
        return {{run::all(0), run::all(0)}};
    }

    /// Of the whole block, as ends() is.
    __device__ bool begins() const {
        const bool exact = is_exact();
        if (!exact) refuse(1);
        return exact;
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j)
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                double before = 0;
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    columns_.look_at(in[j], k, i);
                    double& sum = columns_.sum[k][i];
                    sum = (sum + value(in[j], k, i)) - value(out[j], k, i);
                    until_[j][k][i] = before = i == 0 ? sum : before + sum;
                }
                mine.v[k].of[j] = before;
            }
        return mine;
    }

    __device__ void watch(const sums&) {}

    __device__ void pass(sums& until, int i, const row (&)[rows], const row (&)[rows]) {
        if (i == 0) first_ = until;
#pragma unroll
        for (int j = 0; j < rows; ++j)
#pragma unroll
            for (int k = 0; k < 2; ++k) until.v[k].of[j] = first_.v[k].of[j] + until_[j][k][i];
    }

    __device__ void ends() const {
        refuse(is_exact() ? 0 : 1);
    }

  private:
    __device__ static double value(const row& r, int k, int i) {
        return static_cast<double>(__uint_as_float(r.of[k].word[i]));
    }

    __device__ void refuse(std::uint32_t refused) const {
        if (threadIdx.x == 0) t_.refused[blockIdx.y * gridDim.x + blockIdx.x] = refused;
    }

    __device__ bool is_exact() const {
        std::uint32_t most[2] = {columns_.largest[0], columns_.largest[1]};
        largest_of_block(most);
        const fit_limits limits = fit_limits::of(t_);
        // Also where they are NaN this is false.
        return __uint_as_float(most[0]) <= limits.a && __uint_as_float(most[1]) <= limits.b;
    }

    const fused_view& t_;
    columns columns_;
    double until_[rows][2][K];
    sums first_;
};

struct sliding_result {
    evaluation to;
    double inverse;  ///< of the pixels of an uncut window
};

/// x / n as a division has it, from y, which is 1 / n rounded; infinities and NaN become NaN. x is an integer below
/// 2^53 times a power of two (quotient() of fused_moments.cu).
__device__ double exact_quotient(double x, double n, double y) {
    const double q = x * y;
    return __fma_rn(__fma_rn(-n, q, x), y, q);
}

__global__ __launch_bounds__(most_fused_threads) void sliding_result_kernel(const __grid_constant__ fused_view t,
                                                                            const __grid_constant__ sliding_result by) {
    for_each_batch<fit_slide>(t, [&](const auto& batch) {
        constexpr int rows = fit_slide::rows, K = fit_slide::K;
        static_assert(K == 4);
        if (by.to.in_units && batch.owns()) {
            double x[rows][K], q[rows][K];
#pragma unroll
            for (int j = 0; j < rows; ++j) by.to.load_four(x[j], batch.row + (j < batch.valid ? j : 0), batch.own());
            double n[rows], inverse[rows];
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                n[j] = static_cast<double>(batch.height[j]) * static_cast<double>(t.cols.full);
                inverse[j] = batch.plain ? by.inverse : 1 / n[j];
            }
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const auto w = batch.own_window(i);
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    const double a = exact_quotient(w.v[0].of[j], n[j], inverse[j]);
                    q[j][i] = exact_quotient(w.v[1].of[j], n[j], inverse[j]) + a * x[j][i];
                }
            }
#pragma unroll
            for (int j = 0; j < rows; ++j)
                if (j < batch.valid) by.to.store_four(batch.row + j, batch.own(), q[j]);
        }
        batch.for_each_column(by.to.in_units, [&](int col, const auto& w) {
            const int width = fused_width(t, col);
            for (int j = 0; j < rows && j < batch.valid; ++j) {
                const double n = static_cast<double>(batch.height[j]) * width;
                by.to.store(batch.row + j, std::int64_t{col} * t.channels + batch.channel, w.v[0].of[j] / n,
                            w.v[1].of[j] / n);
            }
        });
    });
}

// ---- by additions ---------------------------------------------------------------------------------------------------

struct fit_terms {
    using sums = real_sums<2, 0>;
    static constexpr bool has_second = true;
    __device__ static int second_channel(int channel) { return channel; }
    __device__ static sums of(double a, double b) { return {{a, b}}; }
};

__global__ __launch_bounds__(most_adding_threads) void adding_result_kernel(const __grid_constant__ adding_view t,
                                                                            const __grid_constant__ evaluation to) {
    using kernel = adding_kernel<fit_terms>;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double n, const kernel::sums& s) {
        to.store(row, col * t.channels + static_cast<int>(blockIdx.y), s.v[0] / n, s.v[1] / n);
    });
}

/// Of prefix sums: all rows of a window and one more, and all columns that a block reads.
double pixels_of(const filters::window_job& job, const fused_shape& shape) {
    return static_cast<double>(job.rows.width() + 1) * (shape.threads * fit_slide::K);
}

bool means_slide(const guided_means& means) {
    return means.a.shape.type == dtype::f32 && sliding_supports(*means.job);
}

refused_blocks enqueue_sliding_results(const guided_means& means, const evaluation& to, stream_ref stream) {
    const filters::window_job& job = *means.job;
    const fused_shape shape = guided_shape_of(job);
    auto* const words = static_cast<std::uint32_t*>(means.scratch);
    void* const segments = static_cast<std::byte*>(means.scratch) + refused_bytes(job, shape);
    fused_view t = on_device<std::uint32_t, fit_slide::K>({&job, means.a, job.first_row, job.end_row, segments}, shape);
    t.weights = on_device<std::uint32_t, fit_slide::K>({&job, means.b, job.first_row, job.end_row, segments}, shape);
    t.refused = words;
    const double pixels = pixels_of(job, shape);
    const double most_b = std::min(0x1p52 / pixels * means.units.b, 0x1p127);
    fit_limits{0x1p52 / pixels * means.units.a, static_cast<float>(most_b)}.set(t);
    const sliding_result by{to, 1 / (static_cast<double>(job.rows.full) * static_cast<double>(job.cols.full))};
    launch_sliding<fit_slide>(sliding_result_kernel, t, shape, stream, by);
    return {words, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
}

}  // namespace

guided_units::guided_units(const filters::window_job& means, dtype image, double epsilon) {
    const double pixels = std::min(std::exp2(std::ceil(std::log2(pixels_of(means, guided_shape_of(means))))), 0x1p16);
    const double noise = std::sqrt(epsilon), most = image == dtype::u8 ? 25.5 : image == dtype::u16 ? 6553.5 : 64;
    const double scale = std::min(noise, most);
    const auto power = [](double x) { return std::exp2(std::ceil(std::log2(x))); };
    a = pixels * 0x1p-42 * power(scale / noise);
    b = pixels * 0x1p-40 * power(scale);
}

std::size_t guided_means_bytes(const guided_means& means) {
    const filters::window_job& job = *means.job;
    if (!means_slide(means)) return 0;
    const fused_shape shape = guided_shape_of(job);
    const std::int64_t slots =
        shape.prepared ? job.shape.channels * shape.segments * (shape.segment_cols / fit_slide::K) : 0;
    return refused_bytes(job, shape) + static_cast<std::size_t>(slots) * sizeof(fit_slide::columns);
}

void enqueue_guided_result(const guided_means& means, const const_any_view& guide, const any_view& result,
                           rounding_mode rounding, stream_ref stream) {
    const evaluation to(guide, result, rounding);
    refused_blocks refused;
    if (means_slide(means)) refused = enqueue_sliding_results(means, to, stream);
    launch_adding<adding_kernel<fit_terms>>(adding_result_kernel, *means.job, means.a, means.b, refused, stream, to);
}

}  // namespace boxsum::cuda
