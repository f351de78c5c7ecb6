#include "core/visit_types.hpp"
#include "cuda/filters/guided_slides.cuh"
#include "cuda/filters/sliding_samples.cuh"

#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// Fits by sums that slide of images some of whose pixels do not count: these are zeros, and how many do is one more
/// sum, of integers.
namespace boxsum::cuda {
namespace {

/// Sums of some rows, and of how many pixels they are.
template <typename Sums>
struct sums_and_counts {
    static constexpr int rows = Sums::rows;
    Sums of;
    std::uint32_t count[rows];

    __device__ void add(const sums_and_counts& b) {
        of.add(b.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) count[j] += b.count[j];
    }
    __device__ void subtract(const sums_and_counts& b) {
        of.subtract(b.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) count[j] -= b.count[j];
    }
    __device__ sums_and_counts of_lane_before(int distance) const {
        sums_and_counts other{of.of_lane_before(distance), {}};
#pragma unroll
        for (int j = 0; j < rows; ++j) other.count[j] = __shfl_up_sync(~0u, count[j], static_cast<unsigned>(distance));
        return other;
    }
    __device__ static sums_and_counts of_warps_before(const sums_and_counts* totals, int warp, int) {
        sums_and_counts other{};
        for (int w = 0; w < warp; ++w) other.add(totals[w]);
        return other;
    }
};

}  // namespace

/// Sums, and behind all of them counts: so that neighbouring entries of each are neighbours.
template <typename Sums>
class sum_line<sums_and_counts<Sums>> {
    using all = sums_and_counts<Sums>;
    struct alignas(4 * all::rows) counts {
        std::uint32_t of[all::rows];
    };

  public:
    static constexpr int entry_bytes = sum_line<Sums>::entry_bytes + static_cast<int>(sizeof(counts));

    __device__ sum_line(void* memory, int entries)
        : sums_(memory, entries),
          counts_(reinterpret_cast<counts*>(static_cast<char*>(memory) + entries * sum_line<Sums>::entry_bytes)) {}
    __device__ sum_line from(int entry) const {
        sum_line later = *this;
        later.sums_ = sums_.from(entry);
        later.counts_ += entry;
        return later;
    }
    __device__ all load(int entry) const {
        all x{sums_.load(entry), {}};
        const counts n = counts_[entry];
#pragma unroll
        for (int j = 0; j < all::rows; ++j) x.count[j] = n.of[j];
        return x;
    }
    __device__ void store(int entry, const all& x) const {
        sums_.store(entry, x.of);
        counts n;
#pragma unroll
        for (int j = 0; j < all::rows; ++j) n.of[j] = x.count[j];
        counts_[entry] = n;
    }

  private:
    sum_line<Sums> sums_;
    counts* counts_;
};

namespace {

/// `flip` for pixels whose bytes of `counts`, of 0 or 1, are 0.
template <typename Pixel, int K>
__device__ void clear_uncounted(pixel_run<Pixel, K>& x, const pixel_run<u8, K>& counts, std::uint32_t flip) {
    constexpr int in_word = 4 / static_cast<int>(sizeof(Pixel));
#pragma unroll
    for (int w = 0; w < x.words; ++w) {
        const std::uint32_t n = counts.word[w * in_word / 4];
        std::uint32_t all;  // ones for pixels that count
        if constexpr (sizeof(Pixel) == 1)
            all = n * 0xffu;
        else if constexpr (sizeof(Pixel) == 2)
            all = __byte_perm(n, 0, w % 2 == 0 ? 0x4140 : 0x4342) * 0xffffu;
        else
            all = 0 - (n >> (8 * (w % 4)) & 1u);
        x.word[w] = ((x.word[w] ^ flip) & all) ^ flip;
    }
}
template <typename Pixel, int K, bool Guided>
__device__ void clear_uncounted(guided_row<Pixel, K, Guided>& row, const pixel_run<u8, K>& counts, std::uint32_t flip) {
    clear_uncounted(row.p, counts, flip);
    if constexpr (Guided) clear_uncounted(row.x, counts, flip);
}

/// Pixels of the emptiest window of a block for which there is a fit.
__device__ inline std::uint32_t& fewest_of_block() {
    __shared__ std::uint32_t fewest;
    return fewest;
}

/// `Slide` of the pixels for which the view's mask has 1; for others it has 0.
template <typename Slide>
class counted_slide {
  public:
    static constexpr int K = Slide::K, rows = Slide::rows;
    [[maybe_unused]] static constexpr int wide_words = 0;
    static constexpr bool wraps = Slide::wraps, real = !wraps;
    using sums = sums_and_counts<typename Slide::sums>;
    using count_columns = column_sums<u8, std::uint32_t, false, K>;

    struct row {
        typename Slide::row of;
        pixel_run<u8, K> counts;
    };

    class reader {
      public:
        __device__ reader(const fused_view& t, int col, int channel) : pixels_(t, col, channel), mask_(t, col, channel) {}
        __device__ bool inside(int first, int n) const { return pixels_.inside(first, n); }
        template <int N>
        __device__ void read(row (&to)[N], int first, int begin, int end, bool plain) const {
            typename Slide::row x[N];
            pixel_run<u8, K> counts[N];
            pixels_.read(x, first, begin, end, plain);
            mask_.read(counts, first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = {x[j], counts[j]};
        }

      private:
        typename Slide::reader pixels_;
        mask_reader<K> mask_;
    };

    struct columns {
        typename Slide::columns of;
        count_columns counts;

        __device__ void enter(row in, const fused_view& t) {
            clear_uncounted(in.of, in.counts, t.flip);
            of.enter(in.of, t);
            counts.enter_summed(in.counts);
        }
        __device__ void add(const columns& other) {
            of.add(other.of);
            counts.add(other.counts);
        }
        __device__ void subtract(const columns& other) {
            of.subtract(other.of);
            counts.subtract(other.counts);
        }
    };

    __device__ counted_slide(const fused_view& t, const columns& first)
        : t_(t), slide_(t, first.of), counts_(first.counts), total_(first.counts.total()) {}

    __device__ static row nothing(const fused_view& t) { return {Slide::nothing(t), pixel_run<u8, K>::all(0)}; }

    __device__ bool begins() const {
        if (real && threadIdx.x == 0) fewest_of_block() = ~0u;
        return slide_.begins();
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            clear_uncounted(in[j].of, in[j].counts, t_.flip);
            clear_uncounted(out[j].of, out[j].counts, t_.flip);
            mine.count[j] = total_ += count_columns::total_change(in[j].counts, out[j].counts);
        }
        pixels enter(in), leave(out);
        mine.of = slide_.advance(enter.of, leave.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            in[j].of = enter.of[j];
            out[j].of = leave.of[j];
        }
        return mine;
    }

    __device__ void watch(const sums& until) { slide_.watch(until.of); }

    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
        const pixels enter(in), leave(out);
        slide_.pass(until.of, i, enter.of, leave.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            counts_.slide(i, in[j].counts, out[j].counts);
            until.count[j] += static_cast<std::uint32_t>(counts_.sum[i]);
        }
    }

    __device__ void ends() const {
        if constexpr (real) {
            __syncthreads();  // all windows have been looked at
            const auto full = static_cast<double>(t_.rows.full * t_.cols.full);
            const std::uint32_t fewest = fewest_of_block();
            slide_.ends(fewest < ~0u ? full / fewest : 1);
        }
    }

  private:
    struct pixels {
        typename Slide::row of[rows];
        __device__ explicit pixels(const row (&from)[rows]) {
#pragma unroll
            for (int j = 0; j < rows; ++j) of[j] = from[j].of;
        }
    };

    const fused_view& t_;
    Slide slide_;
    count_columns counts_;
    std::uint32_t total_;
};

// ---- fits -----------------------------------------------------------------------------------------------------------

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

template <typename Slide, bool Guided>
constexpr int counted_registers = Slide::wraps ? 128 : 168;

/// A column a thread, as for fits where all pixels count of bytes.
template <typename Slide, bool Guided>
__global__ __maxnreg__((counted_registers<Slide, Guided>)) void counted_fit_kernel(const __grid_constant__ fused_view t,
                                                                                   const __grid_constant__ counted_fits to) {
    for_each_batch<Slide>(t, [&](const auto& batch) {
        batch.for_each_column(false, [&](int col, const typename Slide::sums& w) {
            const std::int64_t element = std::int64_t{col} * t.channels + batch.channel;
#pragma unroll
            for (int j = 0; j < Slide::rows; ++j) {
                if (j >= batch.valid) break;
                const std::uint32_t count = w.count[j];
                const auto n = static_cast<double>(count);
                const double noise = n * n * to.fits.epsilon, inverse = count == to.all ? to.inverse : 1 / n;
                fit one;
                if constexpr (Guided) {
                    const pair_moments m = moments_of(w.of, n);
                    one = fit_of(m.variance, m.covariance, m.x, m.p, noise, inverse);
                } else {
                    const own_moments m = own_moments_of(w.of, j, n);
                    one = fit_of_itself(m.variance, m.x, noise, inverse);
                }
                to.fits.store(batch.row + j, element, one, n);
                if constexpr (Slide::real)
                    if (count > 0 && n >= to.fits.least && count < fewest_of_block())
                        atomicMin(&fewest_of_block(), count);
            }
        });
    });
}

/// f<Slide, its pixels, Guided>().
template <typename F>
void visit_counted(const guided_windows& windows, F&& f) {
    if (is_of_bytes(windows)) return f.template operator()<byte_squares, u8, false>();
    if (is_byte_pair(windows)) return f.template operator()<byte_slide, u8, true>();
    visit_type(type_list<u8, u16, f32>{}, windows.image.shape.type, [&]<typename T>() {
        using Pixel = std::conditional_t<std::is_same_v<T, f32>, std::uint32_t, T>;
        if (windows.guide.shape.rows != 0)
            f.template operator()<moment_slide<Pixel, true>, Pixel, true>();
        else
            f.template operator()<moment_slide<Pixel, false>, Pixel, false>();
    });
}

/// Windows as kernels of bytes or of sums in double have them.
template <typename Slide>
filters::window_job job_for(const guided_windows& windows) {
    return Slide::wraps ? of_bytes(*windows.job) : *windows.job;
}
template <typename Slide>
fused_shape shape_for(const filters::window_job& job) {
    return Slide::wraps ? fused_shape_of(job, fused_sums::squares, job.end_row - job.first_row) : guided_shape_of(job);
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
        void* const segments =
            static_cast<std::byte*>(fits.scratch) + (Slide::wraps ? 0 : refused_bytes(job, shape));
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
        launch_sliding<slide>(counted_fit_kernel<slide, Guided>, t, shape, stream,
                              counted_fits{sampled_fit_output(fits), static_cast<std::uint32_t>(all),
                                           1 / static_cast<double>(all)});
        if (!Slide::wraps) refused = {words, shape.strip_cols, shape.strips, shape.band_rows, shape.bands};
    });
    return refused;
}

}  // namespace boxsum::cuda
