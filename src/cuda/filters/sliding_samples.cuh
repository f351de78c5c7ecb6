#pragma once

#include "cuda/filters/fused_windows.cuh"
#include "cuda/filters/real_windows.hpp"

#include <cstdint>
#include <type_traits>

/// What slides, beside integers that all count (fused_windows.cuh): integers of which some may not count, floats, and
/// products of pixels and weights.
///
/// Floats and products slide in double. A sum that loses a row may only do so where nothing was ever rounded, so a
/// block keeps the largest magnitude and the finest bit of all pixels that it takes. All its sums are multiples of that
/// bit. Where they are below 2^53 times that bit, too, all of them are exact, and so are parts of a column and sums of
/// neighbouring whole columns of a window: an additions-only kernel that adds nothing else (real_windows.cuh) has the
/// same bits. Other blocks say that they are
/// refused, and leave their windows to that kernel. So who makes a window, which depends on the cut into strips and
/// bands, does not change its result. NaN, infinities and huge values are refused like any other.
namespace boxsum::cuda {

// ---- which pixels count ---------------------------------------------------------------------------------------------

/// K pixels and a byte for each, not 0 where there is one that the mask lets pass; once settled, pixels are centred, 0
/// where they do not count, and bytes are how many count.
template <typename Pixel, int K>
struct sample_row {
    pixel_run<Pixel, K> x;
    pixel_run<u8, K> counts;
};

__device__ inline std::uint32_t nonzero_halves(std::uint32_t x) {
    return (((x & 0x7fff7fffu) + 0x7fff7fffu) | x) >> 15 & 0x00010001u;
}

template <typename Pixel, int K>
__device__ void settle(sample_row<Pixel, K>& row, const fused_view& t) {
#pragma unroll
    for (int w = 0; w < row.counts.words; ++w) {
        std::uint32_t n = nonzero_bytes(row.counts.word[w]);
        if constexpr (sizeof(Pixel) == 1) {
            std::uint32_t& x = row.x.word[w];
            if (t.has_nodata) n &= nonzero_bytes(x ^ t.nodata);
            x = (x ^ t.flip) & (n * 0xffu);
        } else if constexpr (sizeof(Pixel) == 2) {
            std::uint32_t of[2];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                std::uint32_t& x = row.x.word[2 * w + k];
                of[k] = __byte_perm(n, 0, k == 0 ? 0x4140 : 0x4342);
                if (t.has_nodata) of[k] &= nonzero_halves(x ^ t.nodata);
                x = (x ^ t.flip) & (of[k] * 0xffffu);
            }
            n = __byte_perm(of[0], of[1], 0x6420);
        } else {
            const float nodata = __uint_as_float(t.nodata);
            std::uint32_t all = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                std::uint32_t& x = row.x.word[4 * w + k];
                const float value = __uint_as_float(x);
                bool one = (n >> (8 * k) & 1u) != 0;
                if (value != value ? t.omits_nan : t.has_nodata && value == nodata) one = false;
                if (!one) x = 0;
                all |= (one ? 1u : 0u) << (8 * k);
            }
            n = all;
        }
        row.counts.word[w] = n;
    }
}

/// Reads which of a thread's columns are there: bytes that are 0 where none is, or the mask has 0. Beside a reader of
/// pixels registers are few: no run_reader.
template <int K>
class mask_reader {
  public:
    using run = pixel_run<u8, K>;

    /// `always`: also asked where there is no mask.
    __device__ mask_reader(const fused_view& t, int col, int channel, bool always = true)
        : t_(t), col_(col), channel_(channel), inside_(run::all(0x01010101u)) {
        if (!always || t.mask.image != nullptr || t.mask.outside != 0) return;
#pragma unroll
        for (int i = 0; i < K; ++i)
            if (sample_at(t.cols, col + i) < 0) inside_.word[i / 4] &= ~(1u << (8 * (i % 4)));
    }

    /// As run_reader does.
    template <int N>
    __device__ void read(run (&to)[N], int first, int begin, int end, bool plain) const {
        const int width = static_cast<int>(t_.cols.extent), height = static_cast<int>(t_.rows.extent);
        const bool rows_inside =
            plain || (first + (begin > 0 ? begin : 0) >= 0 && first + (end < N ? end : N) <= height);
        if (t_.mask.image == nullptr && plain) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = inside_;
        } else if (t_.mask.image == nullptr) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const bool there = rows_inside || sample_at(t_.rows, first + j) >= 0;
                to[j] = j < begin || j >= end ? run::all(0) : there ? inside_ : run::all(t_.mask.outside);
            }
        } else if ((rows_inside || !t_.rows.continues()) && t_.mask.in_units && col_ >= 0 && col_ + K <= width) {
            const char* from = t_.mask.image + first * t_.mask.image_stride + col_;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j] = run::all(0);
                const bool there = rows_inside || static_cast<unsigned>(first + j) < static_cast<unsigned>(height);
                if (plain || (j >= begin && j < end)) to[j] = there ? run::at(from) : run::all(t_.mask.outside);
                from += t_.mask.image_stride;
            }
        } else if (!t_.cols.continues() && (col_ + K <= 0 || col_ >= width)) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = run::all(j >= begin && j < end ? t_.mask.outside : 0);
        } else {
            const auto rows =
                read_anywhere<u8, K, N>(t_.mask, first, begin, end, col_, t_.mask.channels == 1 ? 0 : channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }

  private:
    const fused_view& t_;
    int col_, channel_;
    run inside_;  ///< where there is no mask
};

/// Reads a thread's columns of one channel, and which of them are there.
template <typename Pixel, int K>
class sample_reader {
  public:
    __device__ sample_reader(const fused_view& t, int col, int channel)
        : pixels_(t, col, channel), mask_(t, col, channel) {}

    __device__ bool inside(int first, int n) const { return pixels_.inside(first, n); }

    /// As run_reader does.
    template <int N>
    __device__ void read(sample_row<Pixel, K> (&to)[N], int first, int begin, int end, bool plain) const {
        pixel_run<Pixel, K> x[N];
        pixel_run<u8, K> there[N];
        pixels_.read(x, first, begin, end, plain);
        mask_.read(there, first, begin, end, plain);
#pragma unroll
        for (int j = 0; j < N; ++j) to[j] = {x[j], there[j]};
    }

  private:
    run_reader<Pixel, K> pixels_;
    mask_reader<K> mask_;
};

/// Pixels and their weights; once settled, weights are 0 where pixels do not count, and floats are, too. Integers may
/// be anything there.
template <typename Pixel, int K>
struct weighted_row : sample_row<Pixel, K> {
    pixel_run<std::uint32_t, K> weights;
};

/// What lies beyond a border has a weight, 0 where it does not count: only masks and values are asked, where they may
/// say something else.
template <typename Pixel, int K>
__device__ void settle(weighted_row<Pixel, K>& row, const fused_view& t) {
    constexpr bool real = sizeof(Pixel) == 4;
    if (t.mask.image != nullptr || t.has_nodata || (real && t.omits_nan)) {
        if (t.mask.image == nullptr) row.counts = pixel_run<u8, K>::all(0x01010101u);
        settle<Pixel, K>(static_cast<sample_row<Pixel, K>&>(row), t);
#pragma unroll
        for (int i = 0; i < K; ++i)
            if ((row.counts.word[i / 4] >> (8 * (i % 4)) & 1u) == 0) row.weights.word[i] = 0;
    } else if (sizeof(Pixel) == 2) {
        row.x = row.x.flipped(t.flip);
    }
#pragma unroll
    for (int i = 0; i < K; ++i) {
        // Also NaN is 0 then. Sums of what is infinite are refused, and others know that it does not count.
        const float weight = fmaxf(__uint_as_float(row.weights.word[i]), 0.0f);
        row.weights.word[i] = __float_as_uint(weight);
        if (real && !(weight > 0)) row.x.word[i] = 0;
    }
}

/// Reads a thread's columns of one channel and their weights, and where there is a mask also what it has.
template <typename Pixel, int K>
class weighted_reader {
  public:
    __device__ weighted_reader(const fused_view& t, int col, int channel)
        : pixels_(t, col, channel),
          mask_(t, col, channel, false),
          weights_(t.weights, col, t.weights.channels == 1 ? 0 : channel),
          masked_(t.mask.image != nullptr),
          together_(!masked_ && pixels_.together() && weights_.together()) {}

    __device__ bool inside(int first, int n) const { return pixels_.inside(first, n); }

    /// As run_reader does. Most rows have nothing to ask for: what both readers would ask is a fifth of a batch's
    /// instructions.
    template <int N>
    __device__ void read(weighted_row<Pixel, K> (&to)[N], int first, int begin, int end, bool plain) const {
        if (plain && together_) {
            const char *x = pixels_.row(first), *w = weights_.row(first);
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j].x = pixel_run<Pixel, K>::at(x);
                to[j].weights = pixel_run<std::uint32_t, K>::at(w);
                x += pixels_.stride();
                w += weights_.stride();
            }
        } else {
            const auto rows = read_others<N>(first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }

  private:
    template <int N>
    struct some_rows {
        weighted_row<Pixel, K> row[N];
    };

    template <int N>
    __device__ __noinline__ some_rows<N> read_others(int first, int begin, int end, bool plain) const {
        pixel_run<Pixel, K> x[N];
        pixel_run<u8, K> there[N];
        pixel_run<std::uint32_t, K> weights[N];
        pixels_.read(x, first, begin, end, plain);
        weights_.read(weights, first, begin, end, plain);
        if (masked_) mask_.read(there, first, begin, end, plain);
        some_rows<N> to;
#pragma unroll
        for (int j = 0; j < N; ++j)
            to.row[j] = {{x[j], masked_ ? there[j] : pixel_run<u8, K>::all(0x01010101u)}, weights[j]};
        return to;
    }

    run_reader<Pixel, K> pixels_;
    mask_reader<K> mask_;
    run_reader<std::uint32_t, K> weights_;
    bool masked_, together_;
};

// ---- integers of which some may not count ---------------------------------------------------------------------------

/// A sum of centred pixels, and in the upper bits how many they are.
template <typename Pixel>
struct packed_count {
    static constexpr int bits = sizeof(Pixel) == 1 ? 32 : 40;  ///< of the sum, which has a sign

    __device__ static std::uint64_t of(std::uint64_t sum, std::uint64_t count) { return sum + (count << bits); }
    __device__ static std::uint32_t count(std::uint64_t both) {
        return static_cast<std::uint32_t>((both + (std::uint64_t{1} << (bits - 1))) >> bits);
    }
    __device__ static std::int64_t sum(std::uint64_t both) {
        return static_cast<std::int64_t>(both - (std::uint64_t{count(both)} << bits));
    }
};

template <typename PixelType, int Columns>
class counted_integers {
  public:
    static constexpr int K = Columns;
    static constexpr bool wraps = true;
    static constexpr int wide_words = 0;
    using Pixel = PixelType;
    using row = sample_row<Pixel, K>;
    using reader = sample_reader<Pixel, K>;
    using sums = window_sums<std::uint64_t, false>;
    static constexpr int rows = sums::rows;

    struct columns {
        column_sums<Pixel, std::uint64_t, false, K> pixels;
        column_sums<u8, std::uint64_t, false, K> counts;

        template <int N>
        __device__ void enter(row (&rows)[N], const fused_view& t) {
            pixel_run<Pixel, K> x[N];
            pixel_run<u8, K> there[N];
#pragma unroll
            for (int j = 0; j < N; ++j) {
                settle(rows[j], t);
                x[j] = rows[j].x;
                there[j] = rows[j].counts;
            }
            counts.enter_summed(there);
            if constexpr (sizeof(Pixel) == 1) {
                pixels.enter_summed(x);
            } else {
#pragma unroll
                for (int j = 0; j < N; ++j) pixels.enter_summed(x[j]);
            }
        }
        __device__ void subtract(const columns& other) {
            pixels.subtract(other.pixels);
            counts.subtract(other.counts);
        }
    };

    __device__ counted_integers(const fused_view& t, const columns& first)
        : t_(t), columns_(first), total_(packed_count<Pixel>::of(first.pixels.total(), first.counts.total())) {}

    __device__ static row nothing(const fused_view& t) {
        return {pixel_run<Pixel, K>::all(t.flip), pixel_run<u8, K>::all(0)};
    }

    __device__ bool begins() const {
        return true;
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            settle(in[j], t_);
            settle(out[j], t_);
            mine.value[j] = total_ +=
                packed_count<Pixel>::of(columns_.pixels.total_change(in[j].x, out[j].x),
                                        columns_.counts.total_change(in[j].counts, out[j].counts));
        }
        return mine;
    }

    __device__ void watch(const sums&) {}

    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            columns_.pixels.slide(i, in[j].x, out[j].x);
            columns_.counts.slide(i, in[j].counts, out[j].counts);
            until.value[j] += packed_count<Pixel>::of(columns_.pixels.widened(columns_.pixels.sum[i]),
                                                      columns_.counts.widened(columns_.counts.sum[i]));
        }
    }

    __device__ void ends() const {}

  private:
    const fused_view& t_;
    columns columns_;
    std::uint64_t total_;
};

// ---- floats ---------------------------------------------------------------------------------------------------------

/// The largest magnitude of some floats, and the finest bit of those that are not 0.
struct float_range {
    std::uint32_t largest = 0;  ///< as a float's bits, which grow with it
    std::int32_t finest = 0;    ///< minus the finest bit, as bits of a float, which grow with that bit: zeros come last

    __device__ void add(std::uint32_t bits) {
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
        // Without its last bit. Of a power of two that takes the exponent's: what is left is half of it at most, and
        // the difference at least half of what it should be.
        const float rest = __uint_as_float(magnitude & (magnitude - 1));
        const auto bit = static_cast<std::int32_t>(__float_as_uint(rest - __uint_as_float(magnitude)));
        finest = bit < finest ? bit : finest;
    }
    __device__ void add(const float_range& other) {
        largest = other.largest > largest ? other.largest : largest;
        finest = other.finest < finest ? other.finest : finest;
    }
    /// Grows as the finest bit becomes finer, from which finest_of() has that bit again.
    __device__ std::uint32_t fineness() const { return ~static_cast<std::uint32_t>(finest) ^ 0x80000000u; }
    __device__ static std::uint32_t finest_of(std::uint32_t fineness) { return ~fineness & 0x7fffffffu; }
};

/// Bits of a prefix that is exact, two less than a double has: a window is the difference of two prefixes, and those
/// within a thread's columns may be twice as large as those behind them.
inline constexpr double exact_sums = 0x1p51;

/// Sums of two rows, and how many pixels they hold, or what those weigh.
template <typename Count>
struct counted_sums {
    static constexpr int rows = 2;
    window_sums<double, false> of;
    Count count[rows];

    __device__ double sum(int row) const { return of.value[row]; }

    __device__ void add(const counted_sums& b) {
        of.add(b.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) count[j] += b.count[j];
    }
    __device__ void subtract(const counted_sums& b) {
        of.subtract(b.of);
#pragma unroll
        for (int j = 0; j < rows; ++j) count[j] -= b.count[j];
    }
    __device__ counted_sums of_lane_before(int distance) const {
        counted_sums other{of.of_lane_before(distance), {}};
#pragma unroll
        for (int j = 0; j < rows; ++j) other.count[j] = __shfl_up_sync(~0u, count[j], static_cast<unsigned>(distance));
        return other;
    }
    __device__ static counted_sums of_warps_before(const counted_sums* totals, int warp, int) {
        counted_sums other{};
        for (int w = 0; w < warp; ++w) other.add(totals[w]);
        return other;
    }
};

/// Sums, and behind all of them counts: so that neighbouring entries of each are neighbours.
template <typename Count>
class sum_line<counted_sums<Count>> {
    struct alignas(2 * sizeof(Count)) counts {
        Count of[2];
    };

  public:
    static constexpr int entry_bytes = sizeof(window_sums<double, false>) + sizeof(counts);

    __device__ sum_line(void* memory, int entries)
        : sums_(static_cast<window_sums<double, false>*>(memory)),
          counts_(reinterpret_cast<counts*>(sums_ + entries)),
          entries_(entries) {}

    __device__ sum_line from(int entry) const {
        sum_line later = *this;
        later.sums_ += entry;
        later.counts_ += entry;
        return later;
    }
    __device__ counted_sums<Count> load(int entry) const {
        const counts n = *count(entry);
        return {sums_[entry], {n.of[0], n.of[1]}};
    }
    __device__ void store(int entry, const counted_sums<Count>& sums) const {
        sums_[entry] = sums.of;
        *count(entry) = {{sums.count[0], sums.count[1]}};
    }

  private:
    /// Of one size, both are found from one address.
    __device__ counts* count(int entry) const {
        if constexpr (sizeof(counts) == sizeof(*sums_))
            return reinterpret_cast<counts*>(sums_ + entries_ + entry);
        else
            return counts_ + entry;
    }

    window_sums<double, false>* sums_;
    counts* counts_;
    int entries_;
};

/// What is kept beside sums: nothing, how many pixels count, or what they weigh; or, beside sums of squares, sums.
enum class counts_as { all, samples, weights, squares };

template <counts_as How, typename Pixel, int K>
struct float_columns {
    double sum[K] = {};
    float_range range;
};
template <typename Pixel, int K>
struct float_columns<counts_as::samples, Pixel, K> {
    double sum[K] = {};
    float_range range;
    column_sums<u8, std::uint32_t, false, K> counts;
};
template <typename Pixel, int K>
struct float_columns<counts_as::weights, Pixel, K> {
    double sum[K] = {};
    double weight[K] = {};
    float_range weights;
};
template <int K>
struct float_columns<counts_as::weights, std::uint32_t, K> {
    double sum[K] = {};
    float_range range;
    double weight[K] = {};
    float_range weights;
};

template <typename Pixel, int K>
struct float_columns<counts_as::squares, Pixel, K> {
    double sum[K] = {};
    float_range range;
    double weight[K] = {};
};

/// The first 32 bits of a magnitude, which grow with it.
__device__ inline std::uint32_t upper_magnitude(double x) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(__double_as_longlong(x)) >> 32) & 0x7fffffffu;
}

/// Products with weights, of 24 bits each, are exact in double, and multiples of the product of both finest bits: so
/// they are added and taken away without a rounding of their own. For squares pixels are their own weights. Integers
/// may have weights, too; they are not looked at: the finest bit is 1, the largest what their type has.
template <counts_as How, int Columns, typename PixelType = std::uint32_t>
class exact_floats {
  public:
    static constexpr int K = Columns;
    static constexpr bool wraps = false;
    static constexpr bool counted = How == counts_as::samples, weighted = How == counts_as::weights,
                          squared = How == counts_as::squares, paired = weighted || squared;
    using Pixel = PixelType;  ///< as memory has it: 32 bits are a float's
    static constexpr bool real = sizeof(Pixel) == 4;
    static_assert(real || weighted);
    using run = pixel_run<Pixel, K>;
    using row = std::conditional_t<weighted, weighted_row<Pixel, K>,
                                   std::conditional_t<counted, sample_row<Pixel, K>, pixel_run<Pixel, K>>>;
    using reader = std::conditional_t<weighted, weighted_reader<Pixel, K>,
                                      std::conditional_t<counted, sample_reader<Pixel, K>, run_reader<Pixel, K>>>;
    using sums =
        std::conditional_t<paired, counted_sums<double>,
                           std::conditional_t<counted, counted_sums<std::uint32_t>, window_sums<double, false>>>;
    static constexpr int rows = sums::rows;

    struct columns : float_columns<How, Pixel, K> {
        __device__ void enter(row in, const fused_view& t) {
            if constexpr (counted || weighted) settle(in, t);
            if constexpr (counted) this->counts.enter_summed(in.counts);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                look_at(in, i);
                this->sum[i] = with(this->sum[i], in, i);
                if constexpr (paired) this->weight[i] += weight(in, i);
            }
        }
        __device__ void look_at(const row& in, int i) {
            if constexpr (real) this->range.add(pixels(in).word[i]);
            if constexpr (weighted) this->weights.add(in.weights.word[i]);
        }
        __device__ void add(const columns& other) {
            if constexpr (real) this->range.add(other.range);
            if constexpr (counted) this->counts.add(other.counts);
            if constexpr (weighted) this->weights.add(other.weights);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                this->sum[i] += other.sum[i];
                if constexpr (paired) this->weight[i] += other.weight[i];
            }
        }
    };

    __device__ exact_floats(const fused_view& t, const columns& first) : t_(t), columns_(first) {
        if constexpr (counted) total_count_ = columns_.counts.total();
    }

    __device__ static row nothing(const fused_view& t) {
        if constexpr (weighted)
            return {{run::all(0), pixel_run<u8, K>::all(0)}, pixel_run<std::uint32_t, K>::all(0)};
        else if constexpr (counted)
            return {run::all(0), pixel_run<u8, K>::all(0)};
        else
            return run::all(t.flip);
    }

    /// Columns beyond a border that repeats no pixel are read.
    __device__ static sums outside(const fused_view&) requires(How == counts_as::all) {
        return {};
    }

    /// Whether the first windows are exact. Of the whole block, as ends() is.
    __device__ bool begins() const {
        const bool exact = is_exact();
        if (!exact) refuse(1);
        return exact;
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine{};
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            if constexpr (counted || weighted) {
                settle(in[j], t_);
                settle(out[j], t_);
            }
            if constexpr (counted)
                mine.count[j] = total_count_ += columns_.counts.total_change(in[j].counts, out[j].counts);
            [[maybe_unused]] double weight_before = 0;
            double before = 0;
#pragma unroll
            for (int i = 0; i < K; ++i) {
                columns_.look_at(in[j], i);
                columns_.sum[i] = without(with(columns_.sum[i], in[j], i), out[j], i);
                before = i == 0 ? columns_.sum[0] : before + columns_.sum[i];
                until_[j][i] = before;
                if constexpr (paired) {
                    columns_.weight[i] = (columns_.weight[i] + weight(in[j], i)) - weight(out[j], i);
                    weight_before = i == 0 ? columns_.weight[0] : weight_before + columns_.weight[i];
                    weight_until_[j][i] = weight_before;
                }
            }
            values(mine)[j] = before;
            if constexpr (paired) mine.count[j] = weight_before;
        }
        return mine;
    }

    __device__ void watch(const sums& until) {
        const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            largest_prefix_ = larger(upper_magnitude(until.sum(j)), largest_prefix_);
            if constexpr (paired) largest_weight_ = larger(upper_magnitude(until.count[j]), largest_weight_);
        }
    }

    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
        if (i == 0) first_ = until;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            values(until)[j] = first_.sum(j) + until_[j][i];
            if constexpr (paired) until.count[j] = first_.count[j] + weight_until_[j][i];
            if constexpr (counted) {
                columns_.counts.slide(i, in[j].counts, out[j].counts);
                until.count[j] += columns_.counts.widened(columns_.counts.sum[i]);
            }
        }
    }

    __device__ void ends() const {
        refuse(is_exact() ? 0 : 1);
    }

  private:
    __device__ static const run& pixels(const row& r) {
        if constexpr (counted || weighted)
            return r.x;
        else
            return r;
    }
    __device__ static double weight(const row& r, int i) {
        if constexpr (weighted)
            return static_cast<double>(__uint_as_float(r.weights.word[i]));
        else
            return static_cast<double>(__uint_as_float(r.word[i]));
    }
    __device__ static double pixel(const row& r, int i) {
        if constexpr (real) {
            return static_cast<double>(__uint_as_float(pixels(r).word[i]));
        } else {
            constexpr int in_word = 32 / run::bits;
            const auto at = static_cast<std::uint32_t>(i % in_word);
            const std::uint32_t place = run::bits == 8 ? 0x4440 + at : at == 0 ? 0x4410 : 0x4432;
            return static_cast<double>(__byte_perm(pixels(r).word[i / in_word], 0, place));
        }
    }
    /// A sum with a row's pixel, and without.
    __device__ static double with(double sum, const row& r, int i) {
        if constexpr (paired)
            return __fma_rn(weight(r, i), pixel(r, i), sum);
        else
            return sum + pixel(r, i);
    }
    __device__ static double without(double sum, const row& r, int i) {
        if constexpr (paired)
            return __fma_rn(-weight(r, i), pixel(r, i), sum);
        else
            return sum - pixel(r, i);
    }
    __device__ static auto& values(sums& s) {
        if constexpr (counted || paired)
            return s.of.value;
        else
            return s.value;
    }

    __device__ void refuse(std::uint32_t refused) const {
        if (threadIdx.x == 0) t_.refused[blockIdx.y * gridDim.x + blockIdx.x] = refused;
    }

    /// Sums of up to K columns, in a thread, hold at most t.few_pixels pixels, so that they are at most exact_sums
    /// times the finest bit f. Prefixes are looked at: behind each thread's columns they are no larger, so that those
    /// between are at most 2^52 f, and sums of neighbouring columns, of which prefixes are made and which parts of
    /// windows are, at most 2^53 f. Were one larger and rounded, the largest would be off by less than 2^-40 of it
    /// where it is looked at, and still too large.
    ///
    /// Prefixes beyond a side follow from others (write_beyond): they are larger by the sum of at most a window's
    /// columns, which may be 2^52 f then and hold at most 2 t.most_pixels pixels. Of sums with weights windows hold
    /// t.most_pixels.
    __device__ double most_pixels() const {
        if constexpr (paired) return t_.most_pixels;
        const int first = static_cast<int>(blockIdx.x) % t_.strips * t_.strip_cols;
        const bool beyond = first < t_.cols.before || first + t_.strip_cols + t_.cols.after > t_.cols.extent;
        return t_.any_beyond && beyond ? t_.most_pixels : t_.few_pixels;
    }
    __device__ bool is_exact() const {
        constexpr int of_range = paired ? 2 : 1, of_weights = of_range + (real ? 2 : 0),
                      seen = of_weights + (weighted ? 2 : 0);
        std::uint32_t most[seen] = {largest_prefix_};
        if constexpr (paired) most[1] = largest_weight_;
        if constexpr (real) {
            most[of_range] = columns_.range.largest;
            most[of_range + 1] = columns_.range.fineness();
        }
        if constexpr (weighted) {
            most[of_weights] = columns_.weights.largest;
            most[of_weights + 1] = columns_.weights.fineness();
        }
#pragma unroll
        for (std::uint32_t& x : most) x = __reduce_max_sync(~0u, x);
        if (blockDim.x > 32) {
            __shared__ std::uint32_t of_warps[most_fused_threads / 32][seen];
#pragma unroll
            for (int k = 0; k < seen; ++k)
                if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][k] = most[k];
            __syncthreads();
            for (unsigned w = 0; w < blockDim.x / 32; ++w) {
#pragma unroll
                for (int k = 0; k < seen; ++k) most[k] = of_warps[w][k] > most[k] ? of_warps[w][k] : most[k];
            }
        }
        const double pixels = most_pixels();
        // Also where they are NaN or infinite the first is false.
        const auto fits = [&](double largest, double finest, std::uint32_t prefix) {
            const double high = __longlong_as_double(static_cast<long long>(std::uint64_t{prefix} << 32 | 0xffffffffu));
            return largest * pixels <= exact_sums * finest && (prefix == 0 || high <= exact_sums * finest);
        };
        const auto of = [](std::uint32_t bits) { return static_cast<double>(__uint_as_float(bits)); };
        double largest = sizeof(Pixel) == 1 ? 255 : 65535, finest = 1;
        if constexpr (real) largest = of(most[of_range]), finest = of(float_range::finest_of(most[of_range + 1]));
        double weight = largest, finest_weight = finest;
        if constexpr (weighted)
            weight = of(most[of_weights]), finest_weight = of(float_range::finest_of(most[of_weights + 1]));
        if constexpr (paired)
            return fits(weight, finest_weight, most[1]) && fits(largest * weight, finest * finest_weight, most[0]);
        else
            return fits(largest, finest, most[0]);
    }

    const fused_view& t_;
    columns columns_;
    double until_[rows][K], weight_until_[rows][paired ? K : 1];
    sums first_;
    std::uint32_t largest_prefix_ = 0, largest_weight_ = 0, total_count_ = 0;
};

// ---- launches -------------------------------------------------------------------------------------------------------

/// Windows with all that says which pixels count.
template <typename Pixel, int K>
fused_view samples_on_device(const real_windows& windows, const fused_shape& shape, void* segments) {
    const filters::window_job& job = *windows.job;
    fused_view t = on_device<Pixel, K>({&job, windows.image, windows.first_row, windows.end_row, segments}, shape);
    const double nodata = job.nodata.value_or(0), outside = job.border_value;
    t.omits_nan = job.nan == nan_mode::omit || nodata != nodata;
    t.has_nodata = job.nodata.has_value() && nodata == nodata;
    t.nodata = t.has_nodata ? word_of<Pixel>(nodata) : 0;
    const bool outside_counts = job.rows.border == border_mode::constant &&
                                !(outside != outside ? t.omits_nan : t.has_nodata && outside == nodata);
    const auto beside = [&](const const_any_view& view, std::int64_t unit, std::uint32_t counts) {
        plane_view plane = t;
        plane.image = static_cast<const char*>(view.data);
        plane.image_stride = view.shape.row_stride;
        plane.channels = static_cast<int>(view.shape.channels);
        plane.flip = 0;
        plane.outside = outside_counts ? counts : 0;
        plane.in_units = t.channels == 1 && view.data != nullptr && lies_in_units(view, unit);
        return plane;
    };
    t.mask = beside(windows.mask, K, 0x01010101u);
    t.weights = beside(windows.weights, 16, word_of<std::uint32_t>(1));
    return t;
}

}  // namespace boxsum::cuda
