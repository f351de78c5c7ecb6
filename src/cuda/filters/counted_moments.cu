#include "core/visit_types.hpp"
#include "cuda/filters/counted_slide.cuh"
#include "cuda/filters/float_decisions.cuh"
#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

#include <cmath>
#include <stdexcept>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// 8-bit images some of whose pixels do not count: what is made of squares, and thresholds of means, by integer sums
/// that slide.
namespace boxsum::cuda {
namespace {

/// A window's pixels that count, and their sum.
struct byte_moments {
    int n, sum;           ///< of pixels 128 lower
    std::uint64_t above;  ///< numerator of the variance, below 2^50: n times their squares - sum^2

    __device__ int total() const { return sum + 128 * n; }
    /// Whether the mean is x, and with squares the deviation 0.
    __device__ bool is_flat(int x) const { return total() == x * n && above == 0; }
};
__device__ byte_moments moments_of(const sums_and_counts<window_sums<u32, true>>& w, int j) {
    const auto sum = static_cast<int>(w.of.sum(j));
    return {static_cast<int>(w.count[j]), sum,
            std::uint64_t{w.count[j]} * w.of.squares(j) - static_cast<std::uint64_t>(std::int64_t{sum} * sum)};
}
/// Without squares, which thresholds of means do not ask for.
__device__ byte_moments moments_of(const window_sums<std::uint64_t, false>& w, int j) {
    using packed = packed_count<u8>;
    return {static_cast<int>(packed::count(w.sum(j))), static_cast<int>(packed::sum(w.sum(j))), 0};
}

// ---- the definition -------------------------------------------------------------------------------------------------

/// Writes all results of the window around a pixel x, of any types. `given`: whether they are not fill.
__device__ __noinline__ void store_by_definition(const real_finish& to, const threshold_terms& terms, int row,
                                                 int element, bool given, int x, int total, double above, int n) {
    const auto store = [&](const run_output& result, double value) {
        if (result.data != nullptr) store_element(result, row, element, given ? value : result.fill);
    };
    const auto count = static_cast<double>(n > 0 ? n : 1);
    const double mean = total / count, variance = above / (count * count), deviation = sqrt(variance);
    switch (to.task) {
        case real_task::statistics:
            store(to.mean, is_floating(to.mean.type) ? mean : floor((total + to.half * floor(count * 0.5)) / count));
            store(to.sum, total);
            store(to.variance, variance);
            store(to.deviation, deviation);
            break;
        case real_task::contrast:
            store(to.mean, (x - mean) / (deviation < to.epsilon ? to.epsilon : deviation));
            break;
        case real_task::limit:
            store(to.mean, limit_of(terms, x, mean, deviation));
            break;
        default:
            store(to.mean, x > limit_of(terms, x, mean, deviation) ? to.yes : 0);
    }
    given = true;
    store(to.count, n);
}

// ---- in single precision --------------------------------------------------------------------------------------------

/// 1 / n within 2^-24 + 2^-46 of it, for n of 1 to 2^23: 1 - n y is exact.
__device__ float float_inverse_of(int n) {
    const float count = static_cast<float>(n), y = inverse_approximately(count);
    return __fmaf_rn(y, __fmaf_rn(-count, y, 1.0f), y);
}

/// The mean's definition, from y = float_inverse_of(n). `low` is what a float does not hold of a total: q has an error
/// of 2^-23 of itself, so what the total is above n q is exact, and at most 2^-21 of it, and the sum misses the
/// quotient by less than 2^-44. It is above 2^-43 of itself away from halfway between two floats, unless it lies
/// there; then n is 2^17, whose inverse is exact.
template <bool Narrow>
__device__ float float_mean_of(int total, int n, float y) {
    const int low = !Narrow && total >= 1 << 24 ? total & 3 : 0;
    const float t = static_cast<float>(total - low), q = t * y;
    float rest = __fmaf_rn(-static_cast<float>(n), q, t);
    if (!Narrow) rest += static_cast<float>(low);
    return __fmaf_rn(rest, y, q);
}

/// As float_rules of fused_moments.cu has it, of a window of any number of pixels.
__device__ narrowed float_deviation_of(double above, int n, float y) {
    const double root = inverse_root_approximately(above), g = above * root;
    const auto about = static_cast<double>(y);  // within 2^-23, and after a step of Newton's within 2^-46
    const double inverse = __fma_rn(about, __fma_rn(-as_double(n), about, 1.0), about);
    return narrowed(__fma_rn(__fma_rn(-g, g, above), 0.5 * root, g) * inverse, std::false_type{});
}

// ---- kernels --------------------------------------------------------------------------------------------------------

/// Whether counts are words, if they are wanted.
__device__ bool has_words(const run_output& count) {
    return count.data == nullptr || count.type != dtype::f64;
}
__device__ bool is_none_or_float(const run_output& result) {
    return result.data == nullptr || result.type == dtype::f32;
}

/// The rows of a batch in one result.
template <typename T, int Rows>
struct output_rows {
    T* row[Rows];

    template <typename Batch>
    __device__ output_rows(const run_output& to, const Batch& batch) {
#pragma unroll
        for (int j = 0; j < Rows; ++j)
            row[j] = to.data == nullptr
                         ? nullptr
                         : reinterpret_cast<T*>(to.data + (batch.row + j) * to.row_stride) + batch.channel;
    }
    __device__ void store(int j, int element, T x) const {
        if (row[0] != nullptr) store_streaming(row[j] + element, x);
    }
};
template <int Rows>
struct count_rows : output_rows<u32, Rows> {
    u32 floats;

    template <typename Batch>
    __device__ count_rows(const run_output& to, const Batch& batch)
        : output_rows<u32, Rows>(to, batch), floats(to.type == dtype::f32 ? ~0u : 0) {}
    __device__ void store(int j, int element, int n) const {
        const u32 real = __float_as_uint(static_cast<float>(n));
        output_rows<u32, Rows>::store(j, element, (real & floats) | (static_cast<u32>(n) & ~floats));
    }
};

/// A batch's pixels around which windows lie, and the mask's bytes behind each thread's: copied to shared memory while
/// prefix sums are made, since the first-level cache has rows of seven that windows hold, and not those of 31.
template <typename Slide>
class own_pixels {
    static constexpr int rows = Slide::rows, K = Slide::K, run_bytes = static_cast<int>(sizeof(typename Slide::row));
    static_assert(run_bytes == 2 * K);

  public:
    template <typename Batch>
    __device__ static void copy(const fused_view& t, const Batch& batch) {
        const int col = batch.own(), cols = batch.end - col < K ? batch.end - col : K;
        if (cols <= 0) return;
        copy(t, t.in_units, batch, col, cols, 0);
        if (t.mask.image != nullptr) copy(t.mask, t.mask.in_units, batch, col, cols, K);
    }

    template <typename Batch>
    __device__ own_pixels(const fused_view& t, const Batch& batch)
        : begin_(batch.begin),
          apart_(batch.apart),
          nodata_(t.has_nodata ? static_cast<int>(t.nodata & 0xffu) : -1),
          masked_(t.mask.image != nullptr),
          from_(reinterpret_cast<const u8*>(batch.beside) - run_bytes * batch.thread) {}
    /// Of column `col`.
    __device__ void take(int col) {
        const auto place = static_cast<unsigned>(col - begin_);
        const u8* const at = from_ + place / K * run_bytes + place % K;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            x[j] = at[j * apart_];
            counts[j] = (!masked_ | (at[j * apart_ + K] != 0)) & (x[j] != nodata_);
        }
    }

    int x[rows] = {};
    bool counts[rows] = {};

  private:
    /// `cols` columns from `col` on, of rows that are not valid some that are.
    template <typename Batch>
    __device__ static void copy(const plane_view& from, bool in_units, const Batch& batch, int col, int cols, int at) {
        const int channel = from.channels == 1 ? 0 : batch.channel;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            const char* const row = from.image + (batch.row + (j < batch.valid ? j : 0)) * from.image_stride;
            char* const to = batch.beside + j * batch.apart + at;
            if (in_units && cols == K) {
                copy_async<K>(to, row + col);
                continue;
            }
            pixel_run<u8, K> x = pixel_run<u8, K>::all(0);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const int element = (col + (i < cols ? i : 0)) * from.channels + channel;
                x.word[i / 4] |= std::uint32_t{reinterpret_cast<const u8*>(row)[element]} << (8 * (i % 4));
            }
            x.put(to);
        }
    }

    int begin_, apart_, nodata_;
    bool masked_;
    const u8* from_;
};

/// Copies them ahead of a batch, where they are wanted.
template <typename Slide>
struct own_pixels_ahead {
    [[maybe_unused]] static constexpr bool awaits = true;
    const fused_view& t;

    template <typename Batch>
    __device__ void operator()(const Batch& batch) const {
        if (t.beside) own_pixels<Slide>::copy(t, batch);
    }
};

/// How many pixels of a window must count for a result.
__device__ u32 least_of(const real_finish& to) {
    return to.least < 4e9 ? static_cast<u32>(to.least) : ~0u;
}

/// Loaded at once, so that which result a pixel has is no branch.
struct alignas(16) threshold_verdict {
    float error;  ///< above it a margin decides; infinite where none does
    u32 yes, fill;
    u32 least;  ///< what must count for a result
};

/// What all threads of a block share; of their registers few are left. Written ahead of the first batch, read behind
/// the barriers of its sums (for_each_batch).
struct threshold_decision {
    threshold_terms terms;
    float4 rule;  ///< a float_rule's numbers
    threshold_verdict verdict;
    u32 flat_exceeds[8];  ///< bit x: whether x exceeds the threshold where all pixels of a window are x
};

constexpr int counted_moment_registers = 128;

/// A block owns strips of columns by bands of rows, as for_each_batch shares them out: a column a thread, so that warps
/// write side by side.
template <typename Slide, threshold_kind Kind>
__global__ __maxnreg__(counted_moment_registers) void counted_threshold_kernel(const __grid_constant__ fused_view t,
                                                                               const __grid_constant__ real_finish to) {
    constexpr int rows = Slide::rows;
    const bool binary = to.task == real_task::threshold, in_words = binary && has_words(to.count);
    __shared__ threshold_decision s;
    threshold_terms terms = to.terms;
    if (terms.method == threshold_method::wolf) {
        wait_for_predecessor();
        terms.largest_deviation = from_ordered(to.extremes->largest_deviation[blockIdx.y]);
        terms.smallest_pixel = from_ordered(to.extremes->smallest_pixel[blockIdx.y]);
    }
    if (threadIdx.x == 0) {
        const float_rule<Kind> rule(terms);
        s.rule = {rule.a, rule.b, rule.c, rule.d};
        s.verdict = {rule.error, static_cast<u32>(to.yes), binary ? static_cast<u32>(to.mean.fill) : 0, least_of(to)};
        s.terms = terms;
    }
    for (int x = static_cast<int>(threadIdx.x); x < 256; x += static_cast<int>(blockDim.x)) {
        const unsigned bits = __ballot_sync(~0u, x > limit_of(terms, x, x, 0));
        if (x % 32 == 0) s.flat_exceeds[x / 32] = bits;
    }
    // Warps are together again: else the compiler makes all shuffles twice.
    __syncwarp();
    for_each_batch<Slide>(t, own_pixels_ahead<Slide>{t}, [&](const auto& batch) {
        own_pixels<Slide> own(t, batch);
        const auto define = [&](int j, int element, bool given, int x, const byte_moments& m) {
            store_by_definition(to, s.terms, batch.row + j, element, given, x, m.total(), as_double(m.above), m.n);
        };
        const auto verdict_of_flat = [&](int x) {
            return (s.flat_exceeds[x / 32] >> (x % 32) & 1u) != 0 ? static_cast<u8>(s.verdict.yes) : u8{0};
        };
        // All by the definition, but what it says of flat windows, which is known.
        if (!in_words || s.verdict.error == INFINITY)
            return batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
                own.take(col);
                for (int j = 0; j < rows && j < batch.valid; ++j) {
                    const byte_moments m = moments_of(w, j);
                    const int x = own.x[j], row = batch.row + j, element = col * t.channels + batch.channel;
                    const bool given = own.counts[j] & (static_cast<u32>(m.n) >= s.verdict.least);
                    if (binary & given & m.is_flat(x)) {
                        reinterpret_cast<u8*>(to.mean.data + row * to.mean.row_stride)[element] = verdict_of_flat(x);
                        if (to.count.data != nullptr) store_element(to.count, row, element, m.n);
                    } else {
                        define(j, element, given, x, m);
                    }
                }
            });
        const output_rows<u8, rows> result(to.mean, batch);
        const count_rows<rows> count(to.count, batch);
        batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
            const int element = col * t.channels;
            own.take(col);
            // All rows' before the first is written, so that they do not wait for each other.
            byte_moments m[rows];
            bool given[rows], doubtful = false;
            float margin[rows];  // by how much a threshold exceeds its pixel, as float_rule has it
            const threshold_verdict verdict = s.verdict;
            const float_rule<Kind> rule(s.rule, verdict.error);
            const auto in_doubt = [&](bool is_given, float by) { return is_given & !(fabsf(by) > verdict.error); };
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                m[j] = moments_of(w, j);
                given[j] = own.counts[j] & (static_cast<u32>(m[j].n) >= verdict.least);
                const float y = float_inverse_of(m[j].n), mean = __fmaf_rn(static_cast<float>(m[j].sum), y, 128.0f);
                float root = 0;
                if constexpr (has_root(Kind)) root = root_of(under_root<Kind>(m[j].above, m[j].total())) * y;
                margin[j] = rule.margin(mean, root, static_cast<float>(own.x[j]));
                doubtful |= in_doubt(given[j], margin[j]);
            }
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid) break;
                count.store(j, element, m[j].n);
                const u32 decided = margin[j] < 0 ? verdict.yes : 0;
                result.row[j][element] = static_cast<u8>(given[j] ? decided : verdict.fill);
            }
            if (!doubtful) return;
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if (j >= batch.valid || !in_doubt(given[j], margin[j])) continue;
                const int x = own.x[j];
                if (m[j].is_flat(x))
                    result.row[j][element] = verdict_of_flat(x);
                else
                    define(j, element + batch.channel, true, x, m[j]);
            }
        });
    });
}

/// Statistics, contrast and extremes, as above.
template <typename Slide>
__global__ __maxnreg__(counted_moment_registers) void counted_moment_kernel(const __grid_constant__ fused_view t,
                                                                            const __grid_constant__ real_finish to) {
    constexpr int rows = Slide::rows;
    using sums = typename Slide::sums;
    double largest = 0, near_largest = 0;  // variance, and what leaves room for a rounding
    int smallest = 256;
    const bool in_words = has_words(to.count) && (to.task != real_task::statistics ||
                                                  (is_none_or_float(to.mean) && is_none_or_float(to.deviation) &&
                                                   to.variance.data == nullptr && to.sum.data == nullptr));
    const u32 least = least_of(to);
    for_each_batch<Slide>(t, own_pixels_ahead<Slide>{t}, [&](const auto& batch) {
        const auto define = [&](int j, int element, bool given, int x, const byte_moments& m) {
            store_by_definition(to, to.terms, batch.row + j, element, given, x, m.total(), as_double(m.above), m.n);
        };
        const auto statistics = [&](auto narrow) {
            const output_rows<float, rows> means(to.mean, batch), deviations(to.deviation, batch);
            const count_rows<rows> count(to.count, batch);
            const auto mean_fill = static_cast<float>(to.mean.fill), fill = static_cast<float>(to.deviation.fill);
            batch.for_each_column(false, [&](int col, const sums& w) {
                const int element = col * t.channels;
                // As for thresholds.
                byte_moments m[rows];
                bool given[rows], doubtful[rows];
                float mean[rows], deviation[rows];
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    m[j] = moments_of(w, j);
                    given[j] = static_cast<u32>(m[j].n) >= least;
                    const float y = float_inverse_of(m[j].n);
                    const narrowed near = float_deviation_of(as_double(m[j].above), m[j].n, y);
                    mean[j] = given[j] ? float_mean_of<narrow()>(m[j].total(), m[j].n, y) : mean_fill;
                    deviation[j] = !given[j] ? fill : m[j].above == 0 ? 0 : __uint_as_float(near.bits);
                    doubtful[j] = given[j] & near.doubtful & (m[j].above != 0);
                }
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    if (j >= batch.valid) break;
                    means.store(j, element, mean[j]);
                    deviations.store(j, element, deviation[j]);
                    count.store(j, element, m[j].n);
                    if (doubtful[j]) define(j, element + batch.channel, true, 0, m[j]);
                }
            });
        };
        const auto contrast = [&] {
            own_pixels<Slide> own(t, batch);
            const output_rows<float, rows> result(to.mean, batch);
            const count_rows<rows> count(to.count, batch);
            const auto fill = static_cast<float>(to.mean.fill);
            batch.for_each_column(false, [&](int col, const sums& w) {
                const int element = col * t.channels;
                own.take(col);
                byte_moments m[rows];
                bool doubtful[rows];
                float contrast_of[rows];
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    m[j] = moments_of(w, j);
                    const int n = m[j].n, over = own.x[j] * n - m[j].total(), off = over < 0 ? -over : over;
                    const bool given = own.counts[j] & (static_cast<u32>(n) >= least);
                    // As float_rules of fused_moments.cu has it.
                    const double above = as_double(m[j].above), slight = to.epsilon * as_double(n),
                                 y = inverse_root_approximately(above);
                    const narrowed near(as_double(over) * __fma_rn(0.5 * y, __fma_rn(-(above * y), y, 1.0), y));
                    const bool decided =
                        (above > slight * slight * (1 + 0x1p-40)) & (off >= (n + 63) / 64) & !near.doubtful;
                    contrast_of[j] = !given ? fill : over == 0 ? 0 : __uint_as_float(near.bits);
                    doubtful[j] = given & !decided & (over != 0);
                }
#pragma unroll
                for (int j = 0; j < rows; ++j) {
                    if (j >= batch.valid) break;
                    count.store(j, element, m[j].n);
                    result.store(j, element, contrast_of[j]);
                    if (doubtful[j]) define(j, element + batch.channel, true, own.x[j], m[j]);
                }
            });
        };
        const auto extremes = [&] {
            own_pixels<Slide> own(t, batch);
            batch.for_each_column(false, [&](int col, const sums& w) {
                own.take(col);
                for (int j = 0; j < rows && j < batch.valid; ++j) {
                    const byte_moments m = moments_of(w, j);
                    if (static_cast<u32>(m.n) < least) continue;
                    const double above = as_double(m.above), n = as_double(m.n);
                    if (above > near_largest * (n * n)) {
                        const double variance = above / (n * n);
                        largest = variance > largest ? variance : largest;
                        near_largest = largest * (1 - 0x1p-50);
                    }
                    if (own.counts[j] && own.x[j] < smallest) smallest = own.x[j];
                }
            });
        };
        if (to.task == real_task::extremes) {
            extremes();
        } else if (!in_words) {
            own_pixels<Slide> own(t, batch);
            batch.for_each_column(false, [&](int col, const sums& w) {
                if (t.beside) own.take(col);
                for (int j = 0; j < rows && j < batch.valid; ++j) {
                    const byte_moments m = moments_of(w, j);
                    const bool given =
                        static_cast<u32>(m.n) >= least && (own.counts[j] || to.task == real_task::statistics);
                    define(j, col * t.channels + batch.channel, given, own.x[j], m);
                }
            });
        } else if (to.task == real_task::contrast) {
            contrast();
        } else if (t.rows.full * t.cols.full <= narrow_pixels) {
            statistics(std::true_type{});
        } else {
            statistics(std::false_type{});
        }
    });
    if (to.task != real_task::extremes) return;
    join_extremes(to.extremes, static_cast<int>(blockIdx.y), largest, smallest < 256 ? smallest : INFINITY);
}

template <typename Slide>
void launch_counted(void (*kernel)(fused_view, real_finish), const real_windows& windows, fused_sums sums,
                    const real_finish& to, stream_ref stream) {
    if (sizeof(typename Slide::columns) != static_cast<std::size_t>(fused_slot_bytes(dtype::u8, sums)))
        throw std::logic_error("counted moments: segments of another size than was planned");
    const fused_shape shape = fused_shape_of(*windows.job, sums, windows.end_row - windows.first_row);
    fused_view t = samples_on_device<u8, Slide::K>(windows, shape, windows.scratch);
    t.beside =
        sums == fused_sums::counted || to.task != real_task::statistics;  // thresholds' kernels, whatever they make
    launch_sliding<Slide>(kernel, t, shape, stream, to);
}

}  // namespace

void launch_counted_moments(const real_windows& windows, bool squares, const real_finish& to, stream_ref stream) {
    constexpr int columns = fused_columns(dtype::u8, fused_sums::counted_squares),
                  mean_columns = fused_columns(dtype::u8, fused_sums::counted);
    using moments = counted_slide<integer_slide<u8, u32, true, columns>, uncounted::asked>;
    using means = counted_integers<u8, mean_columns>;
    const fused_sums sums = squares ? fused_sums::counted_squares : fused_sums::counted;
    if (to.task != real_task::threshold && to.task != real_task::limit)
        return launch_counted<moments>(counted_moment_kernel<moments>, windows, sums, to, stream);
    visit_kind(to.terms.method, [&]<threshold_kind Kind>() {
        using slide = std::conditional_t<has_root(Kind), moments, means>;
        if (has_root(Kind) != squares) throw std::logic_error("counted moments: other sums than a threshold takes");
        launch_counted<slide>(counted_threshold_kernel<slide, Kind>, windows, sums, to, stream);
    });
}

}  // namespace boxsum::cuda
