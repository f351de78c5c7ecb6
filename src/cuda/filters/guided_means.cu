#include "core/visit_types.hpp"
#include "cuda/filters/counted_slide.cuh"
#include "cuda/filters/guided_adding.cuh"
#include "cuda/filters/guided_sums.cuh"
#include "cuda/filters/guided_terms.cuh"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Means of fits, and what they make of the guide.
namespace boxsum::cuda {
namespace {

/// A guide and a result: where a fit is evaluated, and to.
template <int Guides>
struct evaluation {
    static constexpr int guides = Guides, fits = Guides + 1;  ///< planes of sums
    static constexpr bool sampled = false, slides = true;

    const char* guide;
    char* result;
    std::int64_t guide_stride, guide_plane, result_stride;
    dtype guide_type, result_type;
    int per_guide;  ///< channels of the result for one of the guide: 1, or all of them
    int step;       ///< from a pixel's result to its neighbour's, where the fits have fewer channels
    double half;    ///< 0.5: results of integers are rounded half up; 0: down
    bool in_units;  ///< four pixels of both can be moved together

    evaluation(const const_any_view& by, const any_view& to, int channel, rounding_mode rounding)
        : guide(static_cast<const char*>(by.data)),
          result(static_cast<char*>(to.data) + channel * static_cast<std::int64_t>(size_of(to.shape.type))),
          guide_stride(by.shape.row_stride),
          guide_plane(by.shape.plane_stride),
          result_stride(to.shape.row_stride),
          guide_type(by.shape.type),
          result_type(to.shape.type),
          per_guide(Guides > 1 || by.shape.channels == to.shape.channels ? 1 : static_cast<int>(to.shape.channels)),
          step(Guides > 1 ? static_cast<int>(to.shape.channels) : 1),
          half(rounding == rounding_mode::half_up ? 0.5 : 0) {
        const auto units = [](const const_any_view& v) {
            const auto unit = 4 * static_cast<std::int64_t>(size_of(v.shape.type));
            return v.shape.type != dtype::f64 && lies_in_units(v, unit);
        };
        in_units = units(by) && units(to) && (Guides == 1 || guide_plane % 16 == 0);
    }

    __device__ void store(std::int64_t row, std::int64_t element, const double (&fit)[Guides + 1]) const {
        const std::int64_t place = per_guide == 1 ? element : element / per_guide;
        double q = fit[Guides];
#pragma unroll
        for (int k = 0; k < Guides; ++k)
            q += fit[k] * load_pixel(guide + k * guide_plane + row * guide_stride, guide_type, place);
        store_pixel(result + row * result_stride, result_type, element * step, q, half);
    }

    /// Of a window of n fits.
    __device__ void store_sums(std::int64_t row, std::int64_t element, const double (&sums)[fits], double n) const {
        double fit[fits];
#pragma unroll
        for (int k = 0; k < fits; ++k) fit[k] = sums[k] / n;
        store(row, element, fit);
    }

    /// Columns col .. col + 3 of a single channel.
    template <typename T>
    __device__ static void load(double (&x)[4], const char* from, std::int64_t col) {
        const auto four = *reinterpret_cast<const vector_of<T, 4>*>(from + col * static_cast<int>(sizeof(T)));
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = static_cast<double>(four.x[i]);
    }
    __device__ void load_four(double (&x)[4], int k, std::int64_t row, std::int64_t col) const {
        const char* const from = guide + k * guide_plane + row * guide_stride;
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

/// Where some fits do not exist: their sums are those of fits that do, and how many these are lies before that of b.
template <int Guides>
struct sampled_evaluation : evaluation<Guides> {
    static constexpr int guides = Guides, fits = Guides + 2;
    static constexpr bool sampled = true, slides = Guides == 1;  // by more guides moments take most of the time

    double fill;
    bool omits_nan;
    const char* weights;  ///< null: the guide alone says where there is a result
    std::int64_t weights_stride;
    dtype weights_type;

    sampled_evaluation(const evaluation<Guides>& all, const guided_gaps& gaps)
        : evaluation<Guides>(all),
          fill(gaps.fill),
          omits_nan(gaps.omits_nan),
          weights(static_cast<const char*>(gaps.weights.data)),
          weights_stride(gaps.weights.shape.row_stride),
          weights_type(gaps.weights.shape.type) {
        this->in_units = this->in_units && (weights == nullptr || lies_in_units(gaps.weights, 16));
    }

    __device__ void store_sums(std::int64_t row, std::int64_t element, const double (&sums)[fits], double) const {
        const double n = sums[Guides];
        double fit[Guides + 1];
#pragma unroll
        for (int k = 0; k < Guides; ++k) fit[k] = sums[k] / n;
        fit[Guides] = sums[Guides + 1] / n;
        store_mean(row, element, fit, n > 0);
    }

    /// Where there are results of columns col .. col + 3, whose guide is x, if fits exist.
    __device__ void load_four_wanted(bool (&there)[4], const double (&x)[4], std::int64_t row, std::int64_t col) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) there[i] = !(omits_nan && x[i] != x[i]);
        if (weights == nullptr) return;
        double w[4];
        const char* const from = weights + row * weights_stride;
        if (weights_type == dtype::u8)
            this->template load<u8>(w, from, col);
        else
            this->template load<f32>(w, from, col);
#pragma unroll
        for (int i = 0; i < 4; ++i) there[i] = there[i] && w[i] > 0;
    }

    /// `given`: whether a fit exists.
    __device__ void store_mean(std::int64_t row, std::int64_t element, const double (&fit)[Guides + 1],
                               bool given) const {
        const std::int64_t place = this->per_guide == 1 ? element : element / this->per_guide;
        bool there =
            given && (weights == nullptr || load_pixel(weights + row * weights_stride, weights_type, element) > 0);
        double q = fit[Guides];
#pragma unroll
        for (int k = 0; k < Guides; ++k) {
            const double x =
                load_pixel(this->guide + k * this->guide_plane + row * this->guide_stride, this->guide_type, place);
            if (omits_nan && x != x) there = false;
            q += fit[k] * x;
        }
        store_pixel(this->result + row * this->result_stride, this->result_type, element * this->step, there ? q : fill,
                    this->half);
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

/// Planes of fits: a of the guide's first channel, b as `weights`, and a of its other channels.
template <int Guides>
struct fit_view : fused_view {
    plane_view others[Guides - 1];
};
template <>
struct fit_view<1> : fused_view {};

/// Sums of a and b, multiples of guided_units: exact in double as long as they are below 2^53 of these, which a block
/// looks at; so that additions have the same bits.
template <int Guides>
class fit_slide {
  public:
    static constexpr int K = slide_columns, values = Guides + 1;
    static constexpr bool wraps = false;
    using Pixel = std::uint32_t;  ///< a float's bits
    using run = pixel_run<Pixel, K>;
    using sums = double_sums<values, Guides == 1 ? 2 : 1>;
    static constexpr int rows = sums::rows;
    using view = fit_view<Guides>;

    struct row {
        run of[values];
    };

    class reader {
      public:
        __device__ reader(const fused_view& t, int col, int channel)
            : t_(static_cast<const view&>(t)), first_(t, col, channel) {}
        __device__ bool inside(int first, int n) const { return first_.inside(first, n); }
        template <int N>
        __device__ void read(row (&to)[N], int first, int begin, int end, bool plain) const {
            read_planes(to, first, begin, end, plain, std::make_index_sequence<values>());
        }

      private:
        template <int N, std::size_t... k>
        __device__ void read_planes(row (&to)[N], int first, int begin, int end, bool plain,
                                    std::index_sequence<k...>) const {
            (read_plane<k>(to, first, begin, end, plain), ...);
        }
        template <std::size_t k, int N>
        __device__ void read_plane(row (&to)[N], int first, int begin, int end, bool plain) const {
            run x[N];
            if constexpr (k == 0)
                first_.read(x, first, begin, end, plain);
            else
                one(first_, plane<k>()).read(x, first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j].of[k] = x[j];
        }
        template <std::size_t k>
        __device__ const plane_view& plane() const {
            if constexpr (k == Guides)
                return t_.weights;
            else
                return t_.others[k - 1];
        }

        using one = run_reader<Pixel, K>;
        const view& t_;
        one first_;
    };

    struct columns {
        double sum[values][K] = {};
        std::uint32_t largest[2] = {};  ///< bits of magnitudes of a and b, which grow with them: NaN is above all

        __device__ void enter(const row& in, const fused_view&) {
#pragma unroll
            for (int k = 0; k < values; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    look_at(in, k, i);
                    sum[k][i] += value(in, k, i);
                }
        }
        __device__ void look_at(const row& in, int k, int i) {
            const std::uint32_t magnitude = in.of[k].word[i] & 0x7fffffffu;
            std::uint32_t& most = largest[k == Guides];
            most = magnitude > most ? magnitude : most;
        }
        __device__ void add(const columns& other) {
#pragma unroll
            for (int k = 0; k < 2; ++k) largest[k] = other.largest[k] > largest[k] ? other.largest[k] : largest[k];
#pragma unroll
            for (int k = 0; k < values; ++k)
#pragma unroll
                for (int i = 0; i < K; ++i) sum[k][i] += other.sum[k][i];
        }
    };

    __device__ fit_slide(const fused_view& t, const columns& first) : t_(t), columns_(first) {}

    __device__ static row nothing(const fused_view&) {
        row none;
#pragma unroll
        for (run& x : none.of) x = run::all(0);
        return none;
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
            for (int k = 0; k < values; ++k) {
                double before = 0;
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    columns_.look_at(in[j], k, i);
                    double& sum = columns_.sum[k][i];
                    sum = (sum + value(in[j], k, i)) - value(out[j], k, i);
                    before = i == 0 ? sum : before + sum;
                    until_.set(j, k, i, before);
                }
                mine.v[k].of[j] = before;
            }
        return mine;
    }

    __device__ void watch(const sums&) {}

    __device__ void pass(sums& until, int i, const row (&)[rows], const row (&)[rows]) {
        until_.pass(until, i, columns_.sum);
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
    column_prefixes<values, rows, K> until_;
};

template <typename Evaluation>
struct sliding_result {
    Evaluation to;
    std::uint32_t all;  ///< pixels of an uncut window
    double inverse;     ///< of these
};

/// x / n as a division has it, from y, which is 1 / n rounded; infinities and NaN become NaN. x is an integer below
/// 2^53 times a power of two (quotient() of fused_moments.cu).
__device__ double exact_quotient(double x, double n, double y) {
    const double q = x * y;
    return __fma_rn(__fma_rn(-n, q, x), y, q);
}

/// Where some fits do not exist these are zeros, and how many do is counted.
template <typename Evaluation>
using slide_of =
    std::conditional_t<Evaluation::sampled, counted_slide<fit_slide<Evaluation::guides>, uncounted::cleared>,
                       fit_slide<Evaluation::guides>>;

template <typename Evaluation>
__global__ __maxnreg__(Evaluation::guides == 1 ? 128
                       : Evaluation::guides < 4
                           ? 168
                           : 224) void sliding_result_kernel(const __grid_constant__ fit_view<Evaluation::guides> t,
                                                             const __grid_constant__ sliding_result<Evaluation> by) {
    using slide = slide_of<Evaluation>;
    constexpr int Guides = Evaluation::guides;
    for_each_batch<slide>(t, [&](const auto& batch) {
        constexpr int rows = slide::rows, K = slide::K;
        static_assert(K == 4);
        if (by.to.in_units && batch.owns()) {
            double x[Guides][rows][K], q[rows][K];
#pragma unroll
            for (int k = 0; k < Guides; ++k)
#pragma unroll
                for (int j = 0; j < rows; ++j)
                    by.to.load_four(x[k][j], k, batch.row + (j < batch.valid ? j : 0), batch.own());
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
                    q[j][i] = exact_quotient(w.v[Guides].of[j], n[j], inverse[j]);
#pragma unroll
                    for (int k = 0; k < Guides; ++k)
                        q[j][i] += exact_quotient(w.v[k].of[j], n[j], inverse[j]) * x[k][j][i];
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
                double sums[Evaluation::fits];
#pragma unroll
                for (int k = 0; k < Evaluation::fits; ++k) sums[k] = w.v[k].of[j];
                by.to.store_sums(batch.row + j, std::int64_t{col} * t.channels + batch.channel, sums, n);
            }
        });
    });
}

/// Where some fits do not exist, one guide.
template <typename Evaluation>
__global__ __maxnreg__(168) void counted_result_kernel(const __grid_constant__ fit_view<1> t,
                                                       const __grid_constant__ sliding_result<Evaluation> by) {
    using slide = slide_of<Evaluation>;
    const auto mean_of = [&](const typename slide::sums& w, int j, double(&fit)[2]) {
        const std::uint32_t count = w.count[j];
        const auto n = static_cast<double>(count);
        const double inverse = count == by.all ? by.inverse : quotient<true>(1, n);
#pragma unroll
        for (int k = 0; k < 2; ++k) fit[k] = exact_quotient(w.of.v[k].of[j], n, inverse);
        return count > 0;
    };
    for_each_batch<slide>(t, [&](const auto& batch) {
        constexpr int rows = slide::rows, K = slide::K;
        static_assert(K == 4);
        if (by.to.in_units && batch.owns()) {
            double x[rows][K], q[rows][K];
            bool there[rows][K];
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                const int row = batch.row + (j < batch.valid ? j : 0);
                by.to.load_four(x[j], 0, row, batch.own());
                by.to.load_four_wanted(there[j], x[j], row, batch.own());
            }
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const auto w = batch.own_window(i);
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    double fit[2];
                    const bool given = mean_of(w, j, fit) && there[j][i];
                    q[j][i] = given ? fit[1] + fit[0] * x[j][i] : by.to.fill;
                }
            }
#pragma unroll
            for (int j = 0; j < rows; ++j)
                if (j < batch.valid) by.to.store_four(batch.row + j, batch.own(), q[j]);
        }
        batch.for_each_column(by.to.in_units, [&](int col, const typename slide::sums& w) {
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) break;
                double fit[2];
                const bool given = mean_of(w, j, fit);
                by.to.store_mean(batch.row + j, std::int64_t{col} * t.channels + batch.channel, fit, given);
            }
        });
    });
}

// ---- by additions ---------------------------------------------------------------------------------------------------

template <int Guides>
struct fit_terms {
    using sums = real_sums<Guides + 1, 0>;
    static constexpr int images = Guides + 1;
    static constexpr bool sampled = false;
    __device__ static int other_channel(int channel) { return channel; }
    __device__ static sums of(const double (&fit)[images]) {
        sums s;
#pragma unroll
        for (int k = 0; k < images; ++k) s.v[k] = fit[k];
        return s;
    }
};
template <typename Evaluation>
using fit_kernel = adding_kernel<fit_terms<Evaluation::fits - 1>>;

template <typename Evaluation>
__global__ __launch_bounds__(most_adding_threads) void adding_result_kernel(const __grid_constant__
                                                                            typename fit_kernel<Evaluation>::view t,
                                                                            const __grid_constant__ Evaluation to) {
    using kernel = fit_kernel<Evaluation>;
    for_each_added_window<kernel>(t, [&](int row, std::int64_t col, double n, const typename kernel::sums& s) {
        to.store_sums(row, col * t.channels + static_cast<int>(blockIdx.y), s.v, n);
    });
}

/// Of prefix sums: all rows of a window and one more, and all columns that a block reads.
double pixels_of(const filters::window_job& job, const fused_shape& shape) {
    return static_cast<double>(job.rows.width() + 1) * (shape.threads * slide_columns);
}

/// The plane of sums k but that of b.
const any_view& fit_of(const guided_means& means, int k) {
    return k < means.guides ? means.a[static_cast<std::size_t>(k)] : means.exists;
}

/// Of windows that blocks hold: those that are refused are made by additions.
template <typename Evaluation>
bool means_slide(const guided_means& means) {
    return Evaluation::slides && means.b.shape.type == dtype::f32 &&
           adds_in_blocks<fit_kernel<Evaluation>>(*means.job) && sliding_supports(*means.job);
}

template <typename Evaluation>
refused_blocks enqueue_sliding_results(const guided_means& means, const Evaluation& to, stream_ref stream) {
    constexpr int K = slide_columns;
    using slide = slide_of<Evaluation>;
    const filters::window_job& job = *means.job;
    const fused_shape shape = guided_shape_of(job, Evaluation::fits);
    auto* const words = static_cast<std::uint32_t*>(means.scratch);
    void* const segments = static_cast<std::byte*>(means.scratch) + refused_bytes(job, shape);
    const auto on = [&](const any_view& fits) {
        return on_device<std::uint32_t, K>({&job, fits, job.first_row, job.end_row, segments}, shape);
    };
    fit_view<Evaluation::guides> t{};
    static_cast<fused_view&>(t) = on(means.a[0]);
    t.weights = on(means.b);
    if constexpr (Evaluation::guides > 1)
        for (int k = 1; k < Evaluation::guides; ++k) t.others[k - 1] = on(fit_of(means, k));
    if constexpr (Evaluation::sampled)
        t.mask = on_device<u8, K>({&job, means.exists, job.first_row, job.end_row, segments}, shape);
    t.mask.flip = t.mask.outside = 0;
    t.refused = words;
    const double pixels = pixels_of(job, shape);
    const double most_b = std::min(0x1p52 / pixels * means.units.b, 0x1p127);
    fit_limits{0x1p52 / pixels * means.units.a, static_cast<float>(most_b)}.set(t);
    const std::int64_t all = job.rows.full * job.cols.full;
    const sliding_result<Evaluation> by{to, static_cast<std::uint32_t>(all), 1 / static_cast<double>(all)};
    if constexpr (Evaluation::sampled)
        launch_sliding<slide>(counted_result_kernel<Evaluation>, t, shape, stream, by);
    else
        launch_sliding<slide>(sliding_result_kernel<Evaluation>, t, shape, stream, by);
    return {words, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
}

template <typename Evaluation>
void enqueue_result(const guided_means& means, const Evaluation& to, stream_ref stream) {
    refused_blocks refused;
    if constexpr (Evaluation::slides)
        if (means_slide<Evaluation>(means)) refused = enqueue_sliding_results(means, to, stream);
    const_any_view fits[Evaluation::fits];
    for (int k = 0; k < Evaluation::fits - 1; ++k) fits[k] = fit_of(means, k);
    fits[Evaluation::fits - 1] = means.b;
    launch_adding<fit_kernel<Evaluation>>(adding_result_kernel<Evaluation>, *means.job, fits, {}, refused,
                                          means.scratch, stream, to);
}

/// f with the type of means' evaluation() and whether it is sampled.
template <typename F>
void visit_evaluations(const guided_means& means, F&& f) {
    const auto guided = [&]<int Guides>() {
        if (means.exists.shape.rows == 0)
            f.template operator()<evaluation<Guides>>();
        else
            f.template operator()<sampled_evaluation<Guides>>();
    };
    switch (means.guides) {
        case 1:
            return guided.template operator()<1>();
        case 2:
            return guided.template operator()<2>();
        case 3:
            return guided.template operator()<3>();
        default:
            return guided.template operator()<4>();
    }
}

}  // namespace

guided_units::guided_units(const filters::window_job& means, dtype image, double epsilon) {
    const double pixels =
        std::min(std::exp2(std::ceil(std::log2(pixels_of(means, guided_shape_of(means, 2))))), 0x1p16);
    const double noise = std::sqrt(epsilon), most = image == dtype::u8 ? 25.5 : image == dtype::u16 ? 6553.5 : 64;
    const double scale = std::min(noise, most);
    const auto power = [](double x) { return std::exp2(std::ceil(std::log2(x))); };
    a = pixels * 0x1p-42 * power(scale / noise);
    b = pixels * 0x1p-40 * power(scale);
}

std::size_t guided_means_bytes(const guided_means& means) {
    const filters::window_job& job = *means.job;
    std::size_t bytes = 0;
    visit_evaluations(means, [&]<typename Evaluation>() {
        if (!means_slide<Evaluation>(means)) {
            bytes = adding_bytes<fit_kernel<Evaluation>>(job);
            return;
        }
        if constexpr (Evaluation::slides) {
            const fused_shape shape = guided_shape_of(job, Evaluation::fits);
            bytes = refused_bytes(job, shape);
            if (!shape.prepared) return;
            const std::int64_t slots = job.shape.channels * shape.segments * (shape.segment_cols / slide_columns);
            bytes += static_cast<std::size_t>(slots) * sizeof(typename slide_of<Evaluation>::columns);
        }
    });
    return bytes;
}

void enqueue_guided_result(const guided_means& means, const const_any_view& guide, const any_view& result, int channel,
                           rounding_mode rounding, const guided_gaps& gaps, stream_ref stream) {
    visit_evaluations(means, [&]<typename Evaluation>() {
        const evaluation<Evaluation::guides> to(guide, result, channel, rounding);
        if constexpr (Evaluation::sampled)
            enqueue_result(means, Evaluation(to, gaps), stream);
        else
            enqueue_result(means, to, stream);
    });
}

}  // namespace boxsum::cuda
