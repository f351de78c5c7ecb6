#pragma once

#include "cuda/filters/fused_windows.cuh"

#include <cstdint>
#include <type_traits>

/// What slides, beside integers that all count (fused_windows.cuh): integers of which some may not count, and floats.
///
/// Floats slide in double. A sum that loses a row may only do so where nothing was ever rounded, so a block keeps the
/// largest magnitude and the finest bit of all pixels that it takes. All its sums are multiples of that bit. Where they
/// are below 2^53 times that bit, too, all of them are exact, and so is every sum of the windows in whichever order: an
/// additions-only kernel (real_windows.cuh) has the same bits. Other blocks say that they are refused, and leave their
/// windows to that kernel. So who makes a window, which depends on the cut into strips and bands, does not change its
/// result. NaN, infinities and huge values are refused like any other.
namespace boxsum::cuda {

// ---- which pixels count ---------------------------------------------------------------------------------------------

/// K pixels and a byte for each, not 0 where there is one that the mask lets pass; once settled, pixels are centred, 0
/// where they do not count, and bytes are how many count.
template <typename Pixel, int K>
struct sample_row {
    pixel_run<Pixel, K> x;
    pixel_run<u8, K> counts;
};

/// 1 for each byte that is not 0.
__device__ inline std::uint32_t nonzero_bytes(std::uint32_t x) {
    return (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) >> 7 & 0x01010101u;
}
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

/// Bytes of the mask of rows first .., wherever they and the columns lie; 0 but for begin <= j < end.
template <int K, int N>
__device__ __noinline__ pixel_runs<u8, K, N> read_mask_anywhere(const fused_view& t, int first, int begin, int end,
                                                                int col, int channel) {
    pixel_runs<u8, K, N> to;
    const std::uint32_t outside = t.outside_counts ? 1 : 0;
    const int step = t.mask_channels, place = step == 1 ? 0 : channel;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        to.row[j] = pixel_run<u8, K>::all(0);
        if (j < begin || j >= end) continue;
        std::int64_t y = first + j;
        if (y < 0 || y >= t.rows.extent) y = t.rows.source(y);
#pragma unroll
        for (int i = 0; i < K; ++i) {
            std::int64_t from = col + i;
            if (from < 0 || from >= t.cols.extent) from = t.cols.source(from);
            std::uint32_t there = outside;
            if (y >= 0 && from >= 0)
                there = t.mask == nullptr
                            ? 1u
                            : reinterpret_cast<const u8*>(t.mask + y * t.mask_stride)[from * step + place];
            to.row[j].word[i / 4] |= there << (8 * (i % 4));
        }
    }
    return to;
}

/// Reads a thread's columns of one channel, and which of them are there.
template <typename Pixel, int K>
class sample_reader {
  public:
    __device__ sample_reader(const fused_view& t, int col, int channel)
        : t_(t),
          pixels_(t, col, channel),
          col_(col),
          channel_(channel),
          together_(t.mask_in_units && col >= 0 && col + K <= t.cols.extent) {}

    __device__ bool inside(int first, int n) const { return pixels_.inside(first, n); }

    /// As run_reader does.
    template <int N>
    __device__ void read(sample_row<Pixel, K> (&to)[N], int first, int begin, int end, bool plain) const {
        pixel_run<Pixel, K> x[N];
        pixels_.read(x, first, begin, end, plain);
#pragma unroll
        for (int j = 0; j < N; ++j) to[j].x = x[j];
        if (plain && together_) {
            const char* from = t_.mask + first * t_.mask_stride + col_;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j].counts = t_.mask == nullptr ? pixel_run<u8, K>::all(0x01010101u) : pixel_run<u8, K>::at(from);
                from += t_.mask_stride;
            }
        } else {
            const auto rows = read_mask_anywhere<K, N>(t_, first, begin, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j].counts = rows.row[j];
        }
    }

  private:
    const fused_view& t_;
    run_reader<Pixel, K> pixels_;
    int col_, channel_;
    bool together_;
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
    static constexpr int wide_units = 0;
    using Pixel = PixelType;
    using row = sample_row<Pixel, K>;
    using reader = sample_reader<Pixel, K>;
    using sums = window_sums<std::uint64_t, false>;
    static constexpr int rows = sums::rows;

    struct columns {
        column_sums<Pixel, std::uint64_t, false, K> pixels;
        column_sums<u8, std::uint64_t, false, K> counts;

        __device__ void enter(row in, const fused_view& t) {
            settle(in, t);
            pixels.enter_centred(in.x);
            counts.enter_centred(in.counts);
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

    __device__ bool begins() const { return true; }

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
    std::uint32_t largest = 0;   ///< as a float's bits, which grow with it
    std::uint32_t finest = ~0u;  ///< its value as a float's bits, less one, so that zeros come last

    __device__ void add(std::uint32_t bits) {
        const std::uint32_t magnitude = bits & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
        // Without its last bit. Of a power of two that takes the exponent's: what is left is half of it at most, and
        // the difference at least half of what it should be.
        const float rest = __uint_as_float(magnitude & (magnitude - 1));
        const std::uint32_t bit = __float_as_uint(__uint_as_float(magnitude) - rest) - 1;
        finest = bit < finest ? bit : finest;
    }
    __device__ void add(const float_range& other) {
        largest = other.largest > largest ? other.largest : largest;
        finest = other.finest < finest ? other.finest : finest;
    }
};

/// Bits of a sum that is exact, two less than a double has: a window is the difference of two prefixes, and prefixes
/// are made of sums that may be twice as large as they.
inline constexpr double exact_sums = 0x1p51;

/// Sums of two rows, and how many pixels they hold.
struct counted_sums {
    static constexpr int rows = 2;
    window_sums<double, false> of;
    std::uint32_t count[rows];

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
template <>
class sum_planes<counted_sums> {
    struct alignas(8) counts {
        std::uint32_t of[counted_sums::rows];
    };

  public:
    static constexpr int entry_bytes = sizeof(window_sums<double, false>) + sizeof(counts);

    __device__ sum_planes(void* memory, int entries)
        : sums_(static_cast<window_sums<double, false>*>(memory)),
          counts_(reinterpret_cast<counts*>(sums_ + entries)) {}

    __device__ sum_planes from(int entry) const {
        sum_planes later = *this;
        later.sums_ += entry;
        later.counts_ += entry;
        return later;
    }
    __device__ counted_sums load(int entry) const {
        const counts n = counts_[entry];
        return {sums_[entry], {n.of[0], n.of[1]}};
    }
    __device__ void store(int entry, const counted_sums& sums) const {
        sums_[entry] = sums.of;
        counts_[entry] = {{sums.count[0], sums.count[1]}};
    }

  private:
    window_sums<double, false>* sums_;
    counts* counts_;
};

template <bool Counted, int K>
struct float_columns {
    double sum[K] = {};
    float_range range;
};
template <int K>
struct float_columns<true, K> {
    double sum[K] = {};
    float_range range;
    column_sums<u8, std::uint32_t, false, K> counts;
};

template <bool Counted, int Columns>
class exact_floats {
  public:
    static constexpr int K = Columns;
    static constexpr bool wraps = false;
    static constexpr bool counted = Counted;
    using Pixel = std::uint32_t;  ///< a float's bits
    using run = pixel_run<Pixel, K>;
    using row = std::conditional_t<Counted, sample_row<Pixel, K>, run>;
    using reader = std::conditional_t<Counted, sample_reader<Pixel, K>, run_reader<Pixel, K>>;
    using sums = std::conditional_t<Counted, counted_sums, window_sums<double, false>>;
    static constexpr int rows = sums::rows;

    struct columns : float_columns<Counted, K> {
        __device__ void enter(row in, const fused_view& t) {
            if constexpr (Counted) {
                settle(in, t);
                this->counts.enter_centred(in.counts);
            }
#pragma unroll
            for (int i = 0; i < K; ++i) {
                this->range.add(pixels(in).word[i]);
                this->sum[i] += value(in, i);
            }
        }
        __device__ void add(const columns& other) {
            this->range.add(other.range);
#pragma unroll
            for (int i = 0; i < K; ++i) this->sum[i] += other.sum[i];
            if constexpr (Counted) this->counts.add(other.counts);
        }
    };

    __device__ exact_floats(const fused_view& t, const columns& first) : t_(t), columns_(first) {
        if constexpr (Counted) total_count_ = columns_.counts.total();
    }

    __device__ static row nothing(const fused_view& t) {
        if constexpr (Counted)
            return {run::all(t.flip), pixel_run<u8, K>::all(0)};
        else
            return run::all(t.flip);
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
            if constexpr (Counted) {
                settle(in[j], t_);
                settle(out[j], t_);
                mine.count[j] = total_count_ += columns_.counts.total_change(in[j].counts, out[j].counts);
            }
            double before = 0;
#pragma unroll
            for (int i = 0; i < K; ++i) {
                columns_.range.add(pixels(in[j]).word[i]);
                columns_.sum[i] = (columns_.sum[i] + value(in[j], i)) - value(out[j], i);
                before = i == 0 ? columns_.sum[0] : before + columns_.sum[i];
                until_[j][i] = before;
            }
            values(mine)[j] = before;
        }
        return mine;
    }

    __device__ void watch(const sums& until) {
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            const auto bits = static_cast<std::uint64_t>(__double_as_longlong(until.sum(j)));
            const std::uint32_t magnitude = static_cast<std::uint32_t>(bits >> 32) & 0x7fffffffu;
            largest_prefix_ = magnitude > largest_prefix_ ? magnitude : largest_prefix_;
        }
    }

    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            if (i == 0) first_[j] = until.sum(j);
            values(until)[j] = first_[j] + until_[j][i];
            if constexpr (Counted) {
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
        if constexpr (Counted)
            return r.x;
        else
            return r;
    }
    __device__ static double value(const row& r, int i) {
        return static_cast<double>(__uint_as_float(pixels(r).word[i]));
    }
    __device__ static auto& values(sums& s) {
        if constexpr (Counted)
            return s.of.value;
        else
            return s.value;
    }

    __device__ void refuse(std::uint32_t refused) const {
        if (threadIdx.x == 0) t_.refused[blockIdx.y * gridDim.x + blockIdx.x] = refused;
    }

    /// Sums of a few columns hold at most t.most_pixels pixels, and so do windows. Prefixes are looked at: after each
    /// thread's columns they are at most exact_sums times the finest bit, so that sums between two of them are at most
    /// twice that, and so are prefixes within a thread's columns. Were one larger and rounded, what is looked at would
    /// be off by some 2^-50 of it and still too large.
    __device__ bool is_exact() const {
        float_range range = columns_.range;
        std::uint32_t prefix = largest_prefix_;
        range.largest = __reduce_max_sync(~0u, range.largest);
        range.finest = __reduce_min_sync(~0u, range.finest);
        prefix = __reduce_max_sync(~0u, prefix);
        if (blockDim.x > 32) {
            __shared__ std::uint32_t of_warps[3][most_fused_threads / 32];
            if (threadIdx.x % 32 == 0) {
                of_warps[0][threadIdx.x / 32] = range.largest;
                of_warps[1][threadIdx.x / 32] = range.finest;
                of_warps[2][threadIdx.x / 32] = prefix;
            }
            __syncthreads();
            for (unsigned w = 0; w < blockDim.x / 32; ++w) {
                range.add(float_range{of_warps[0][w], of_warps[1][w]});
                prefix = of_warps[2][w] > prefix ? of_warps[2][w] : prefix;
            }
        }
        const double largest = static_cast<double>(__uint_as_float(range.largest));  // NaN and infinities are refused
        const double most = exact_sums * static_cast<double>(__uint_as_float(range.finest + 1));
        const double high = __longlong_as_double(static_cast<long long>(std::uint64_t{prefix} << 32 | 0xffffffffu));
        return largest * t_.most_pixels <= most && (prefix == 0 || high <= most);
    }

    const fused_view& t_;
    columns columns_;
    double until_[rows][K], first_[rows];
    std::uint32_t largest_prefix_ = 0, total_count_ = 0;
};

}  // namespace boxsum::cuda
