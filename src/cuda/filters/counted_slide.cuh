#pragma once

#include "cuda/filters/sliding_samples.cuh"

#include <cstdint>
#include <type_traits>

/// What slides of images some of whose pixels do not count (fused_windows.cuh): these are zeros, and how many do is one
/// more sum, of integers.
namespace boxsum::cuda {

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
/// Pixels that count of the emptiest window of a block that is looked at.
__device__ inline std::uint32_t& fewest_of_block() {
    __shared__ std::uint32_t fewest;
    return fewest;
}

/// What the rows of a counted_slide are before they slide.
enum class uncounted {
    cleared,  ///< the mask has 1 or 0, and pixels are zeros where it has 0
    told,     ///< the mask has 1 or 0; there is a clear_uncounted() of the rows
    asked,    ///< bytes of which all count but those where the mask has 0, or that are the view's `nodata`
};

/// `Slide` of the pixels that count.
template <typename Slide, uncounted Which = uncounted::told>
class counted_slide {
  public:
    static constexpr int K = Slide::K, rows = Slide::rows;
    [[maybe_unused]] static constexpr int wide_words = 0;
    static constexpr bool wraps = Slide::wraps;
    /// Whether errors depend on how few pixels of a window count.
    static constexpr bool watches = requires { requires Slide::real; };
    using sums = sums_and_counts<typename Slide::sums>;
    using count_columns = column_sums<u8, std::uint32_t, false, K>;

    struct row {
        typename Slide::row of;
        pixel_run<u8, K> counts;
    };

    class reader {
      public:
        __device__ reader(const fused_view& t, int col, int channel)
            : pixels_(t, col, channel), mask_(t, col, channel) {}
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
            clear(in, t);
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

    __device__ static row nothing(const fused_view& t) {
        return {Slide::nothing(t), pixel_run<u8, K>::all(0)};
    }

    __device__ bool begins() const {
        if (watches && threadIdx.x == 0) fewest_of_block() = ~0u;
        return slide_.begins();
    }

    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            clear(in[j], t_);
            clear(out[j], t_);
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

    __device__ void watch(const sums& until) {
        slide_.watch(until.of);
    }

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
        if constexpr (watches) {
            __syncthreads();  // all windows have been looked at
            const auto full = static_cast<double>(t_.rows.full * t_.cols.full);
            const std::uint32_t fewest = fewest_of_block();
            slide_.ends(fewest < ~0u ? full / fewest : 1);
        } else {
            slide_.ends();
        }
    }

  private:
    __device__ static void clear(row& r, const fused_view& t) {
        if constexpr (Which == uncounted::asked) {
#pragma unroll
            for (int w = 0; w < r.counts.words; ++w) {
                r.counts.word[w] = nonzero_bytes(r.counts.word[w]);
                if (t.has_nodata) r.counts.word[w] &= nonzero_bytes(r.of.word[w] ^ t.nodata);
            }
        }
        if constexpr (Which != uncounted::cleared) clear_uncounted(r.of, r.counts, t.flip);
    }

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

}  // namespace boxsum::cuda
