#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/fused_windows.hpp"
#include "cuda/filters/pixel_runs.cuh"
#include "cuda/runtime/device_limits.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Windows without a table, by sums that slide: of integers, whose sums are exact, and of floats where theirs are
/// (sliding_samples.cuh).
///
/// A block owns a strip of columns of a band of rows, a thread K neighbouring columns of it. The sums of a window's
/// rows slide down the columns in registers: the row that enters is added, the row that leaves, read again, is
/// subtracted. After every `rows` rows the block scans them along the row into shared memory, and a window is the
/// difference of two prefix sums. Everything wraps; a window that fits its type is exact. One dot product of bytes
/// updates a column. Unsigned pixels are centred for it, 128 or 32768 lower, but for sums of bytes alone.
///
/// Prefix sums lie side by side, 16 bytes (`rows` rows) an entry, with a gap after a thread's K: so that neither
/// writing, K columns a thread, nor reading, one column a thread, meets in a bank, whatever the window's extents, and a
/// thread reaches all of its own, and all that its windows begin or end with, from one address.
///
/// What slides is a class of its own, `Slide` below: integer_slide, or those of sliding_samples.cuh.
namespace boxsum::cuda {

inline constexpr int most_fused_threads = 512;

/// What dot products multiply bytes by: so sums of bytes may come multiplied, for nothing.
struct byte_factors {
    /// A pixel that enters and one that leaves: an even column's are the lower bytes of a word, an odd one's the upper.
    int even = 0x0000ff01, odd = static_cast<int>(0xff010000u);
    int all = 0x01010101, minus_all = -1;

    byte_factors() = default;
    /// 0 < scale < 128
    explicit byte_factors(int scale) {
        const auto plus = static_cast<std::uint32_t>(scale), minus = 256 - plus;
        even = static_cast<int>(minus << 8 | plus);
        odd = static_cast<int>(minus << 24 | plus << 16);
        all = static_cast<int>(plus * 0x01010101u);
        minus_all = static_cast<int>(minus * 0x01010101u);
    }
    __device__ int scale() const { return all & 0xff; }
};

/// A task as the kernels take it.
struct fused_view : plane_view {
    const void* segments;
    int first_row, end_row, strip_cols, strips;
    band_rule bands;
    int segment_cols, first_segment;
    int segments_of_channel, held_segments;  ///< held: of a band's first windows
    bool few_blocks;                         ///< of a launch: no more than the device has multiprocessors
    bool beside;                             ///< results ask for `beside` of a slide that does not wait
    // Of sliding_samples.cuh.
    plane_view mask;  ///< without image: none; `outside`: whether what lies there counts
    plane_view weights;
    bool omits_nan;   ///< NaN does not count
    bool has_nodata;  ///< `nodata`, in all of a word, does not count
    std::uint32_t nodata;
    std::uint32_t* refused;  ///< of floats: a word for each block, which says that its sums may have been rounded
    double most_pixels;      ///< that a sum of a few columns, or half a window, holds; with weights all of it
    double few_pixels;       ///< that a sum of a few columns holds
    byte_factors weighted;   ///< of integer_slide, where its sums are scaled
};

template <typename Sum, bool Squares, int K>
struct column_squares {};
template <typename Sum, int K>
struct column_squares<Sum, true, K> {
    Sum square[K] = {};
};

/// Whether pixels are centred for their sums: bytes are not where products with them, and sums of sums, need no sign.
template <typename Pixel, typename Sum, bool Squares>
inline constexpr bool sums_are_centred = sizeof(Pixel) != 1 || Squares || sizeof(Sum) != 4;

/// Sums of K columns and, with Squares, of their squares. A column's sum fits 32 bits.
template <typename Pixel, typename Sum, bool Squares, int K>
struct column_sums : column_squares<Sum, Squares, K> {
    static constexpr bool centred = sums_are_centred<Pixel, Sum, Squares>;
    int sum[K] = {};

    /// Column i with a row and without another, both as they are summed. `by`: of bytes without squares.
    __device__ void slide(int i, const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out,
                          const byte_factors& by = {}) {
        int both;  // the two pixels, side by side
        int minus, plus;
        if constexpr (sizeof(Pixel) == 1) {
            both = static_cast<int>(__byte_perm(in.word[i / 4], out.word[i / 4], i % 4 < 2 ? 0x5140u : 0x7362u));
            minus = i % 2 == 0 ? by.even : by.odd;
            plus = i % 2 == 0 ? 0x00000101 : 0x01010000;
            if constexpr (!Squares) sum[i] = dot(both, minus, sum[i]);
        } else {
            both = static_cast<int>(__byte_perm(in.word[i / 2], out.word[i / 2], i % 2 == 0 ? 0x5410u : 0x7632u));
            minus = 0xff01;
            plus = 0x0101;
            if constexpr (!Squares) sum[i] = __dp2a_lo(both, minus, sum[i]);
        }
        if constexpr (Squares) {  // a^2 - b^2 = (a - b) (a + b)
            const int less = sizeof(Pixel) == 1 ? __dp4a(both, minus, 0) : __dp2a_lo(both, minus, 0);
            const int more = sizeof(Pixel) == 1 ? __dp4a(both, plus, 0) : __dp2a_lo(both, plus, 0);
            sum[i] += less;
            this->square[i] += static_cast<Sum>(static_cast<std::make_signed_t<Sum>>(less) * more);
        }
    }

    /// By how much slide() changes a column of bytes.
    __device__ static int change(int i, const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out) {
        const auto both = static_cast<int>(__byte_perm(in.word[i / 4], out.word[i / 4], i % 4 < 2 ? 0x5140u : 0x7362u));
        return dot(both, i % 2 == 0 ? 0x0000ff01 : static_cast<int>(0xff010000u), 0);
    }

    /// c + a . b of four bytes.
    __device__ static int dot(int a, int b, int c) {
        if constexpr (centred)
            return __dp4a(a, b, c);
        else
            return dot_of_unsigned(static_cast<std::uint32_t>(a), b, c);
    }

    __device__ static pixel_run<Pixel, K> as_summed(const pixel_run<Pixel, K>& x, std::uint32_t flip) {
        if constexpr (centred)
            return x.flipped(flip);
        else
            return x;
    }

    /// Adds a row.
    __device__ void enter(const pixel_run<Pixel, K>& in, const fused_view& t) { enter_summed(as_summed(in, t.flip)); }
    __device__ void enter_summed(const pixel_run<Pixel, K>& in) {
        const auto zero = pixel_run<Pixel, K>::all(0);
#pragma unroll
        for (int i = 0; i < K; ++i) slide(i, in, zero);
    }

    /// Adds rows of bytes, four at once.
    template <int N>
    __device__ void enter(pixel_run<Pixel, K> (&rows)[N], const fused_view& t) requires(sizeof(Pixel) == 1) {
#pragma unroll
        for (int j = 0; j < N; ++j) rows[j] = as_summed(rows[j], t.flip);
        enter_summed(rows);
    }
    template <int N>
    __device__ void enter_summed(const pixel_run<Pixel, K> (&rows)[N]) requires(sizeof(Pixel) == 1) {
        static_assert(N % 4 == 0);
#pragma unroll
        for (int j = 0; j < N; j += 4)
#pragma unroll
            for (int w = 0; w < rows[0].words; ++w)
                enter_turned(w, rows[j].word[w], rows[j + 1].word[w], rows[j + 2].word[w], rows[j + 3].word[w]);
    }

    /// Word w of four rows of bytes: turned, so that a product adds four pixels of a column.
    __device__ void enter_turned(int w, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::uint32_t selector = half == 0 ? 0x5140u : 0x7362u;
            const std::uint32_t upper = __byte_perm(a, b, selector), lower = __byte_perm(c, d, selector);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const auto x = static_cast<int>(__byte_perm(upper, lower, i == 0 ? 0x5410u : 0x7632u));
                const int col = 4 * w + 2 * half + i;
                sum[col] = dot(x, 0x01010101, sum[col]);
                if constexpr (Squares) this->square[col] += static_cast<Sum>(__dp4a(x, x, 0));
            }
        }
    }

    __device__ static Sum widened(int sum) {
        return static_cast<Sum>(static_cast<std::make_signed_t<Sum>>(sum));
    }

    __device__ Sum total() const {
        Sum all = 0;
#pragma unroll
        for (int i = 0; i < K; ++i) all += widened(sum[i]);
        return all;
    }
    __device__ Sum total_squares() const {
        Sum all = 0;
        if constexpr (Squares) {
#pragma unroll
            for (int i = 0; i < K; ++i) all += this->square[i];
        }
        return all;
    }

    /// By how much slide() of all columns changes total().
    __device__ static Sum total_change(const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out,
                                       const byte_factors& by = {}) {
        int change = 0;
#pragma unroll
        for (int w = 0; w < in.words; ++w) {
            const auto a = static_cast<int>(in.word[w]), b = static_cast<int>(out.word[w]);
            change = sizeof(Pixel) == 1 ? dot(a, by.all, change) : __dp2a_lo(a, 0x0101, change);
            change = sizeof(Pixel) == 1 ? dot(b, by.minus_all, change) : __dp2a_lo(b, 0xffff, change);
        }
        return widened(change);
    }
    __device__ static Sum total_squares_change(const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out) {
        Sum change = 0;
#pragma unroll
        for (int w = 0; w < in.words; ++w) {
            const auto a = static_cast<int>(in.word[w]), b = static_cast<int>(out.word[w]);
            if constexpr (sizeof(Pixel) == 1) {
                change += static_cast<Sum>(__dp4a(a, a, 0) - __dp4a(b, b, 0));
            } else {
                const auto square = [](int x) { return static_cast<Sum>(static_cast<std::uint32_t>(x * x)); };
                change += square(static_cast<std::int16_t>(a)) + square(a >> 16);
                change -= square(static_cast<std::int16_t>(b)) + square(b >> 16);
            }
        }
        return change;
    }

    __device__ column_sums times(int n) const {
        column_sums product = *this;
#pragma unroll
        for (int i = 0; i < K; ++i)
            product.sum[i] = static_cast<int>(static_cast<std::uint32_t>(sum[i]) * static_cast<std::uint32_t>(n));
        return product;
    }
    __device__ void add(const column_sums& other) {
#pragma unroll
        for (int i = 0; i < K; ++i) {
            sum[i] += other.sum[i];
            if constexpr (Squares) this->square[i] += other.square[i];
        }
    }
    __device__ void subtract(const column_sums& other) {
#pragma unroll
        for (int i = 0; i < K; ++i) {
            sum[i] = static_cast<int>(static_cast<std::uint32_t>(sum[i]) - static_cast<std::uint32_t>(other.sum[i]));
            if constexpr (Squares) this->square[i] -= other.square[i];
        }
    }
};

/// 16 bytes of sums of `rows` rows, and of their squares.
///
/// With Deltas, of windows of at most deltas_width columns of bytes, they are the first row's and, two in a word, by
/// how much each later one differs from the row before: +-32640, so that of a window, which is what words are
/// subtracted for, one number below + 2^16 times one above says both. Seven rows where four sums would be.
template <typename Sum, bool Squares, bool Deltas = false>
struct alignas(16) window_sums {
    static_assert(!Deltas || (sizeof(Sum) == 4 && !Squares));
    static constexpr int values = 16 / static_cast<int>(sizeof(Sum));
    static constexpr int rows = Deltas ? 2 * values - 1 : Squares ? values / 2 : values;
    Sum value[values];  ///< sums, then squares

    /// By how much raised_sum() is larger than the sum.
    __device__ static constexpr std::uint32_t raise(int row) {
        return Deltas ? static_cast<std::uint32_t>(row) << 15 : 0;
    }
    /// Of a window.
    __device__ Sum raised_sum(int row) const {
        if constexpr (!Deltas) {
            return value[row];
        } else {
            Sum sum = value[0];
#pragma unroll
            for (int k = 1; k < values; ++k) {  // differences are positive with 2^15 on top
                if (2 * k - 1 > row) break;
                sum = __dp2a_lo(value[k] + 0x80008000u, 2 * k > row ? 0x0001u : 0x0101u, sum);
            }
            return sum;
        }
    }
    __device__ Sum sum(int row) const {
        if constexpr (Deltas)
            return raised_sum(row) - raise(row);
        else
            return value[row];
    }
    __device__ Sum squares(int row) const {
        return value[rows + row];
    }

    __device__ void add(const window_sums& b) {
#pragma unroll
        for (int k = 0; k < values; ++k) value[k] += b.value[k];
    }
    __device__ void subtract(const window_sums& b) {
#pragma unroll
        for (int k = 0; k < values; ++k) value[k] -= b.value[k];
    }
    __device__ void multiply(int n) {
        using signed_sum =
            typename std::conditional_t<std::is_integral_v<Sum>, std::make_signed<Sum>, std::type_identity<Sum>>::type;
#pragma unroll
        for (int k = 0; k < values; ++k) value[k] *= static_cast<Sum>(static_cast<signed_sum>(n));
    }
    /// Those of the lane `distance` before this one.
    __device__ window_sums of_lane_before(int distance) const {
        window_sums other;
#pragma unroll
        for (int k = 0; k < values; ++k)
            other.value[k] = __shfl_up_sync(~0u, value[k], static_cast<unsigned>(distance));
        return other;
    }
    /// The sum of the first `warp` of `totals`.
    __device__ static window_sums of_warps_before(const window_sums* totals, int warp, int lane) {
        window_sums other{};
        if constexpr (sizeof(Sum) == 4) {
            if (lane < warp) other = totals[lane];
#pragma unroll
            for (int k = 0; k < values; ++k) other.value[k] = __reduce_add_sync(~0u, other.value[k]);
        } else {
            for (int w = 0; w < warp; ++w) other.add(totals[w]);
        }
        return other;
    }
};

/// The line of prefix sums, from some entry on.
template <typename Sums>
class sum_line {
  public:
    static constexpr int entry_bytes = sizeof(Sums);

    __device__ sum_line(void* memory, int) : at_(static_cast<Sums*>(memory)) {}
    __device__ sum_line from(int entry) const { return sum_line(at_ + entry, 0); }
    __device__ Sums load(int entry) const { return at_[entry]; }
    __device__ void store(int entry, const Sums& sums) const { at_[entry] = sums; }

  private:
    Sums* at_;
};

/// Windows of `valid` rows around the columns of a strip, begin .. end - 1. There are two ways through them, the second
/// of which for_each_owned_column() goes without looking for sides. A thread may own K neighbouring columns: it then
/// works on all of them at once and writes them together. Or threads take one column after the other, in turn: those of
/// a warp write side by side wherever rows start. With the first, columns that cannot be owned, since a side cuts their
/// windows or K of them do not fit, are left to the second.
template <typename Sums, int K>
struct window_batch {
    using sums = Sums;
    sum_line<Sums> line;
    sum_line<Sums> high, low;  ///< ends of the first window that the thread owns
    int high_wraps, low_wraps;
    int threads, thread, channel;
    int row, valid;
    int begin, begin_owned, end_owned, end;
    bool owner;                  ///< whether the thread owns columns
    int begin_whole, end_whole;  ///< columns whose windows no side cuts
    int high_at, low_at;         ///< places of the ends of the window of `begin` among the columns read
    bool plain;                  ///< no window is cut at the top or bottom, and all rows are valid
    char* beside;                ///< where results ask for it: shared memory for a thread's columns of a row,
    int apart;                   ///< so many bytes from that of the row before
    int height[Sums::rows];      ///< rows that each row's windows hold

    __device__ explicit window_batch(const sum_line<Sums>& prefixes) : line(prefixes), high(prefixes), low(prefixes) {}

    /// f(pixels of a window of `width` columns) of each row, into `to`. For whole warps: a lane works for a row.
    template <typename T, typename F>
    __device__ void for_rows(T (&to)[Sums::rows], int width, F f) const {
        static_assert(sizeof(T) % 4 == 0);
        constexpr int words = sizeof(T) / 4;
        int rows_held = 0;
#pragma unroll
        for (int j = 0; j < Sums::rows; ++j) rows_held |= height[j] & -static_cast<int>(thread % 32 % Sums::rows == j);
        const T mine = f(rows_held * width);
        std::uint32_t word[words];
        memcpy(word, &mine, sizeof mine);
#pragma unroll
        for (int j = 0; j < Sums::rows; ++j) {
            std::uint32_t x[words];
#pragma unroll
            for (int w = 0; w < words; ++w) x[w] = __shfl_sync(~0u, word[w], j);
            memcpy(static_cast<void*>(&to[j]), x, sizeof(T));
        }
    }

    __device__ int own() const {
        return begin + K * thread;
    }
    __device__ bool owns() const {
        return owner;
    }
    /// Whether for_each_column(owned, ...) has none to do. All threads say the same.
    __device__ bool none_left(bool owned) const {
        return (owned ? end_owned - begin_owned : 0) == end - begin;
    }
    __device__ bool whole(int col) const {
        return col >= begin_whole && col < end_whole;
    }

    /// The windows around own() + i.
    __device__ sums own_window(int i) const {
        return own_windows(i, i);
    }
    /// All columns of the windows around own() + first .. own() + last.
    __device__ sums own_windows(int first, int last) const {
        sums window = (last < high_wraps ? high : high.from(1)).load(last);
        window.subtract((first < low_wraps ? low : low.from(1)).load(first));
        return window;
    }

    /// f(column, sums) for a thread's share of the columns, but for those that are owned where `owned` says so.
    template <typename F>
    __device__ void for_each_column(bool owned, F f) const {
        const int before = begin_owned - begin, skipped = owned ? end_owned - begin_owned : 0;
#pragma unroll 1
        for (int i = thread; i < end - begin - skipped; i += threads) {
            const int at = owned && i >= before ? i + skipped : i;
            sums window = line.load(entry(high_at + at));
            window.subtract(line.load(entry(low_at + at)));
            f(begin + at, window);
        }
    }

    /// The same for those that are owned, whose windows no side cuts, in turn.
    template <typename F>
    __device__ void for_each_owned_column(F f) const {
        int h = entry(high_at + begin_owned - begin + thread), l = entry(low_at + begin_owned - begin + thread);
#pragma unroll 1
        for (int col = begin_owned + thread; col < end_owned; col += threads) {
            sums window = line.load(h);
            window.subtract(line.load(l));
            f(col, window);
            h += threads / K * (K + 1);
            l += threads / K * (K + 1);
        }
    }

    /// Where the prefix sum of a column read is.
    __device__ static int entry(int place) {
        return place + static_cast<int>(static_cast<unsigned>(place) / static_cast<unsigned>(K));
    }
};

/// Adds rows first .. end - 1, so many `together`. With Beyond, the last time rows behind them may be read, too.
template <typename Slide, int Together, bool Beyond>
__device__ void add_rows(typename Slide::columns& sums, const fused_view& t, const typename Slide::reader& reader,
                         int first, int end) {
    for (int y = first; y < end; y += Together) {
        typename Slide::row rows[Together];
        reader.read(rows, y, 0, end - y, (Beyond || y + Together <= end) && reader.inside(y, Together));
        if constexpr (requires { sums.enter(rows, t); }) {
#pragma unroll
            for (int j = 0; j < Together; ++j)
                if (Beyond && y + j >= end) rows[j] = Slide::nothing(t);
            sums.enter(rows, t);
        } else {
#pragma unroll
            for (int j = 0; j < Together; ++j)
                if (!Beyond || y + j < end) sums.enter(rows[j], t);
        }
    }
}

/// Sums of segments, of which neighbouring threads read and write neighbouring words of 8 bytes: [segment][word][slot].
template <typename Columns>
class segment_words {
  public:
    static constexpr int words = sizeof(Columns) / 8;
    static_assert(words * 8 == sizeof(Columns));

    __device__ segment_words(const void* memory, int slots)
        : words_(static_cast<std::uint64_t*>(const_cast<void*>(memory))), slots_(slots) {}

    __device__ Columns load(std::int64_t segment, int slot) const {
        const std::uint64_t* const from = words_ + segment * words * slots_ + slot;
        std::uint64_t x[words];
#pragma unroll
        for (int w = 0; w < words; ++w) x[w] = from[w * slots_];
        Columns sums;
        memcpy(static_cast<void*>(&sums), x, sizeof sums);
        return sums;
    }
    __device__ void store(std::int64_t segment, int slot, const Columns& sums) const {
        std::uint64_t* const to = words_ + segment * words * slots_ + slot;
        std::uint64_t x[words];
        memcpy(x, static_cast<const void*>(&sums), sizeof sums);
#pragma unroll
        for (int w = 0; w < words; ++w) to[w * slots_] = x[w];
    }

  private:
    std::uint64_t* words_;
    int slots_;
};

/// Slides whose first windows can be sums of segments.
template <typename Slide>
inline constexpr bool adds_segments = requires(typename Slide::columns sums) {
    sums.add(sums);
};

/// Blocks of 128 threads that make segments at once: they wait for memory, and do better with few registers where those
/// hold all sums.
template <typename Slide>
inline constexpr int segment_blocks = adds_segments<Slide> && sizeof(typename Slide::columns) <= 64 ? 8 : 1;

/// Sums of the rows of a segment: one reaches from where a band's first windows begin to where the next band's do.
/// Where no bands' end there, it is two: up to where those of an earlier band end, and from there on.
template <typename Slide, typename View>
__global__ __launch_bounds__(128, segment_blocks<Slide>) void segment_kernel(const __grid_constant__ View t) {
    constexpr int K = Slide::K;
    wait_for_predecessor();
    const int slot = static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x);
    const int segment = static_cast<int>(blockIdx.y), channel = static_cast<int>(blockIdx.z);
    const int each = t.bands.segments, band = segment / each;
    const int begin = t.first_row + t.bands.begin(band) - static_cast<int>(t.rows.before),
              next = t.first_row + t.bands.begin(band + 1) - static_cast<int>(t.rows.before);
    const int taken = static_cast<int>(t.rows.before + t.rows.after);  // rows of a band's first windows but the last
    const int middle = begin + (each == 2 ? taken % (next - begin) : 0);
    const int first = segment % each == 0 ? begin : middle, end = segment % each == each - 1 ? next : middle;
    typename Slide::columns sums;
    constexpr int together = sizeof(typename Slide::row) <= 8 ? 8 : 4;
    add_rows<Slide, together, true>(sums, t, typename Slide::reader(t, t.first_segment + slot * K, channel), first,
                                    end);
    const segment_words<typename Slide::columns> segments(t.segments, t.segment_cols / K);
    if (slot * K < t.segment_cols) segments.store(channel * static_cast<std::int64_t>(gridDim.y) + segment, slot, sums);
}

/// Makes sums of segments the sums of all segments up to them, which wrap. Grid: words of a segment by prefix_words,
/// channels. The first `wide_words` hold one sum of 64 bits each, the others two of 32. A thread adds a chunk of a
/// word's segments, a warp the chunks of a word.
inline constexpr int prefix_words = 16, prefix_chunks = 32;
__global__ __launch_bounds__(prefix_words* prefix_chunks) inline void prefix_segments_kernel(std::uint64_t* sums,
                                                                                             int words, int segments,
                                                                                             int wide_words) {
    static_assert(prefix_chunks == warp_size);
    __shared__ std::uint64_t totals[prefix_chunks][prefix_words + 1];  // a warp reads a word's without conflicts
    wait_for_predecessor();
    const auto add = [](std::uint64_t a, std::uint64_t b, bool wide) {
        constexpr std::uint64_t low = 0xffffffff;
        return wide ? a + b : ((a & ~low) + (b & ~low)) | ((a + b) & low);
    };
    const int lane = static_cast<int>(threadIdx.x) % prefix_words, chunk = static_cast<int>(threadIdx.x) / prefix_words;
    const int first_word = static_cast<int>(blockIdx.x) * prefix_words, word = first_word + lane;
    const int each = (segments + prefix_chunks - 1) / prefix_chunks;
    const int first = chunk * each < segments ? chunk * each : segments;
    const int number = word >= words ? 0 : first + each < segments ? each : segments - first;
    const bool wide = word < wide_words;
    std::uint64_t* const from = sums + (static_cast<std::int64_t>(blockIdx.y) * segments + first) * words + word;
    // The first are kept: most images have no more.
    constexpr int kept = 16, together = 8;
    std::uint64_t x[kept], total = 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) x[i] = i < number ? from[static_cast<std::int64_t>(i) * words] : 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) total = add(total, x[i], wide);
    const auto run_others = [&](const auto& store) {
        for (int s = kept; s < number; s += together) {
            std::uint64_t y[together];
#pragma unroll
            for (int i = 0; i < together; ++i)
                y[i] = s + i < number ? from[static_cast<std::int64_t>(s + i) * words] : 0;
#pragma unroll
            for (int i = 0; i < together; ++i) {
                total = add(total, y[i], wide);
                if (s + i < number) store(s + i);
            }
        }
    };
    run_others([](int) {});
    totals[chunk][lane] = total;
    __syncthreads();  // the totals of all chunks of a word, stored above, are there for the word's warp
    std::uint64_t& mine = totals[lane_id()][warp_id()];
    std::uint64_t sum = mine;
#pragma unroll
    for (int step = 1; step < warp_size; step *= 2) {
        const std::uint64_t left = shuffle_up(sum, step);
        if (lane_id() >= step) sum = add(left, sum, first_word + warp_id() < wide_words);
    }
    mine = sum;
    __syncthreads();  // the sums of chunks, stored above, are there for the threads of the next chunks
    total = chunk > 0 ? totals[chunk - 1][lane] : 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        total = add(total, x[i], wide);
        if (i < number) from[static_cast<std::int64_t>(i) * words] = total;
    }
    run_others([&](int s) { from[static_cast<std::int64_t>(s) * words] = total; });
}

/// Whether sums of segments are made sums of all up to them, so that a band's first windows are a difference of two
/// instead of a sum of so many.
template <typename Slide>
BOXSUM_HOST_DEVICE constexpr bool are_prefixes(int held) {
    return Slide::wraps && (held > 8 || !adds_segments<Slide>);
}

/// The sums of the rows that the windows of row `row` hold but the last.
template <typename Slide>
__device__ typename Slide::columns first_columns(const fused_view& t, const typename Slide::reader& reader, int band,
                                                 int row, int col, int channel) {
    typename Slide::columns sums;
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    if (t.segments == nullptr) {
        // Each lot waits for memory. With more than four rows, kernels but those of sums of bytes spill.
        constexpr bool of_bytes =
            sizeof(typename Slide::row) == Slide::K && sizeof(typename Slide::columns) == 4 * Slide::K;
        constexpr int together = of_bytes ? 8 : 4;
        // Integers that all count gain up to a tenth by rows read beyond; with lots of eight they lose at radius 15.
        constexpr bool beyond = Slide::wraps && adds_segments<Slide> && together == 4;
        add_rows<Slide, together, beyond>(sums, t, reader, row - before, row + after);
        return sums;
    }
    const segment_words<typename Slide::columns> segments(t.segments, t.segment_cols / Slide::K);
    const std::int64_t first = std::int64_t{channel} * t.segments_of_channel + t.bands.segments * band;
    const int slot = (col - t.first_segment) / Slide::K;
    if constexpr (Slide::wraps) {
        if (are_prefixes<Slide>(t.held_segments)) {
            sums = segments.load(first + t.held_segments - 1, slot);
            if (band > 0) sums.subtract(segments.load(first - 1, slot));
            return sums;
        }
    }
    if constexpr (adds_segments<Slide>)
        for (int g = 0; g < t.held_segments; ++g) sums.add(segments.load(first + g, slot));
    return sums;
}

/// Integers that all count. Scaled: sums of bytes come multiplied by the view's `weighted`.
template <typename Pixel, typename Sum, bool Squares, int Columns, bool Deltas = false, bool Shifted = false,
          bool Scaled = false>
class integer_slide {
    static_assert(!Scaled || (sizeof(Pixel) == 1 && !sums_are_centred<Pixel, Sum, Squares> && !Deltas));

  public:
    static constexpr int K = Columns;
    static constexpr bool wraps = true;  ///< sums of any rows are differences of prefix sums
    static constexpr int wide_words = Squares && sizeof(Sum) == 8 ? K : 0;  ///< of `columns`, which begin with them
    static constexpr bool shifted = Shifted;
    using pixel = Pixel;
    using row = pixel_run<Pixel, K>;
    using reader = std::conditional_t<Shifted, shifted_reader<Pixel, K>, run_reader<Pixel, K>>;
    using columns = column_sums<Pixel, Sum, Squares, K>;
    using sums = window_sums<Sum, Squares, Deltas>;
    static constexpr int rows = sums::rows;

    __device__ integer_slide(const fused_view& t, const columns& first)
        : t_(t), columns_(scaled_columns(t, first)), total_(columns_.total()), total_squares_(first.total_squares()) {}

    __device__ static row nothing(const fused_view& t) { return row::all(t.flip); }

    /// A column of windows beyond a border that repeats no pixel.
    __device__ static sums outside(const fused_view& t) {
        const auto height = static_cast<int>(t.rows.full);
        const row pixels = columns::as_summed(row::all(t.outside), t.flip), none = row::all(0);
        sums x{};
        columns one{};
        one.slide(0, pixels, none);
#pragma unroll
        for (int j = 0; j < (Deltas ? 1 : rows); ++j) {
            x.value[j] = columns::widened(one.sum[0] * (Scaled ? height * t.weighted.scale() : height));
            if constexpr (Squares) x.value[rows + j] = one.square[0] * static_cast<Sum>(height);
        }
        return x;
    }

    __device__ bool begins() const {
        return true;
    }

    /// Rows enter and leave: what all columns come to then, row by row.
    __device__ sums advance(row (&in)[rows], row (&out)[rows]) {
        sums mine;
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            in[j] = columns::as_summed(in[j], t_.flip);
            out[j] = columns::as_summed(out[j], t_.flip);
            const Sum change =
                Scaled ? columns::total_change(in[j], out[j], t_.weighted) : columns::total_change(in[j], out[j]);
            total_ += change;
            if constexpr (!Deltas)
                mine.value[j] = total_;
            else if (j % 2 == 0)  // above the change of the row before
                mine.value[j / 2] = j == 0 ? total_ : mine.value[j / 2] + (change << 16);
            else
                mine.value[j / 2 + 1] = change;
            if constexpr (Squares)
                mine.value[rows + j] = total_squares_ += columns::total_squares_change(in[j], out[j]);
        }
        return mine;
    }

    /// Looks at prefix sums.
    __device__ void watch(const sums&) {}

    /// Moves `until`, the sums before column i, behind it. For one column after the other.
    __device__ void pass(sums& until, int i, const row (&in)[rows], const row (&out)[rows]) {
        if constexpr (Deltas) {
            columns_.slide(i, in[0], out[0]);
            until.value[0] += static_cast<Sum>(columns_.sum[i]);
#pragma unroll
            for (int k = 1; k < sums::values; ++k) {
                const int first = columns::change(i, in[2 * k - 1], out[2 * k - 1]),
                          second = columns::change(i, in[2 * k], out[2 * k]);
                until.value[k] += static_cast<Sum>(first) + (static_cast<Sum>(second) << 16);
                columns_.sum[i] += first + second;
            }
        } else {
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                if constexpr (Scaled)
                    columns_.slide(i, in[j], out[j], t_.weighted);
                else
                    columns_.slide(i, in[j], out[j]);
                until.value[j] += columns::widened(columns_.sum[i]);
                if constexpr (Squares) until.value[rows + j] += columns_.square[i];
            }
        }
    }

    __device__ void ends() const {}

  private:
    __device__ static columns scaled_columns(const fused_view& t, const columns& first) {
        if constexpr (Scaled)
            return first.times(t.weighted.scale());
        else
            return first;
    }

    const fused_view& t_;
    columns columns_;
    Sum total_, total_squares_;
};

/// Writes the prefix sums of columns beyond a side, 1 or -1, behind those up to column `edge`, from which they follow:
/// nothing that was read there is part of a prefix sum before. So that of column n - 1 + m of `reflect`, P(n - 1) and
/// what the last m columns come to, is 2 P(n - 1) - P(n - 1 - m). For all threads, between barriers. A function of its
/// own: few blocks want it, and the others' registers are all taken.
template <typename Slide>
__device__ __noinline__ void write_beyond(const fused_view& t, const sum_line<typename Slide::sums> line,
                                          int first_read, int edge, int side, int places) {
    using sums = typename Slide::sums;
    constexpr int K = Slide::K;
    const auto entry = [&](int col) { return col - first_read + (col - first_read) / K; };
    const border_mode border = t.cols.border;
    const bool repeats = border != border_mode::reflect && border != border_mode::mirror;
    const int from = border == border_mode::reflect ? edge : edge - side;
    const sums all = line.load(entry(edge));
    sums one = line.load(entry(from));
    if (border == border_mode::replicate) {
        one.subtract(all);
        one.multiply(-1);
    } else if (repeats) {
        one = Slide::outside(t);
    }
#pragma unroll 1
    for (int m = 1 + static_cast<int>(threadIdx.x); m <= places; m += static_cast<int>(blockDim.x)) {
        sums x = one;
        if (repeats)
            x.multiply(m);
        else
            x.subtract(line.load(entry(from - side * m)));
        x.add(all);
        line.store(entry(edge + side * m), x);
    }
}

/// A slide whose rows wait in shared memory, rather than in registers, for the batch that they enter or leave with:
/// results want registers meanwhile. With Beside there is room for as much of each row of a batch again, which its
/// results may want. What shared memory takes the first-level cache lacks, where leaving rows may still be.
template <typename Slide, bool Beside>
class waiting : public Slide {
  public:
    using Slide::Slide;
};

/// How many rows of all have a place in shared memory, and how slides without are called.
template <typename Slide>
struct waiting_rows {
    using slide = Slide;
    static constexpr int beside = 0, all = 0;
};
template <typename Slide, bool Beside>
struct waiting_rows<waiting<Slide, Beside>> {
    using slide = Slide;
    static constexpr int beside = Beside ? Slide::rows : 0, all = beside + 2 * Slide::rows;
};
template <typename Slide>
inline constexpr bool waits = waiting_rows<Slide>::all > 0;

/// Calls emit(window_batch) of all windows of a block in all threads, and ahead(batch) before, when nothing but `row`,
/// `valid` and places along the row is known: to start copies to `beside`. Of a slide that waits emit() waits for its
/// thread's with wait_for_copies<1>(); of another `ahead` says that it `awaits` them, and all threads' are there. Grid:
/// strips * bands, channels. A kernel that touches memory before waits for its predecessor itself.
template <typename Slide, typename Ahead, typename Emit>
__device__ void for_each_batch(const fused_view& t, Ahead ahead, Emit emit) {
    // Blocks that start before their predecessors end are shared out among the multiprocessors that have room by then,
    // and wait there: for few, which have one each, that is no matter.
    if (t.few_blocks) let_successor_start();
    wait_for_predecessor();
    using sums = typename Slide::sums;
    constexpr int rows = Slide::rows, K = Slide::K;
    constexpr bool awaits = !waits<Slide> && requires {
        requires Ahead::awaits;
    };
    const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    const int entries = (K + 1) * threads;
    const sum_line<sums> line(dynamic_shared<unsigned char>(), entries);
    auto* const warp_totals = reinterpret_cast<sums*>(dynamic_shared<unsigned char>() + entries * line.entry_bytes);
    const int lane = thread % 32, warp = thread / 32;
    const int strip = static_cast<int>(blockIdx.x) % t.strips, band = static_cast<int>(blockIdx.x) / t.strips;
    const int channel = static_cast<int>(blockIdx.y);
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    const int left = static_cast<int>(t.cols.before), right = static_cast<int>(t.cols.after);
    const int width = static_cast<int>(t.cols.extent), height = static_cast<int>(t.rows.extent);
    const bool cut = t.rows.border == border_mode::shrink;

    const int first_col = strip * t.strip_cols;
    const int end_col = first_col + t.strip_cols < width ? first_col + t.strip_cols : width;
    const int first_read = (first_col - left - 1) & ~(K - 1);  // a multiple of K, also below 0
    const int read_col = first_read + K * thread;
    constexpr bool whole_warps = shifts_late<typename Slide::reader>;
    const bool reads = whole_warps || read_col < end_col + right;
    const int first_row = t.first_row + t.bands.begin(band), end_band = t.first_row + t.bands.begin(band + 1);
    const int end_row = end_band < t.end_row ? end_band : t.end_row;

    window_batch<sums, K> batch(line);
    batch.threads = threads;
    batch.thread = thread;
    batch.channel = channel;
    batch.begin = first_col;
    batch.end = end_col;
    batch.high_at = first_col + right - first_read;
    batch.low_at = first_col - left - 1 - first_read;
    batch.high = line.from(batch.high_at + batch.high_at / K + (K + 1) * thread);
    batch.low = line.from(batch.low_at + batch.low_at / K + (K + 1) * thread);
    batch.high_wraps = K - (batch.high_at & (K - 1));
    batch.low_wraps = K - (batch.low_at & (K - 1));
    batch.begin_whole = cut ? left : 0;
    batch.end_whole = cut ? width - right : width;
    {  // whole runs of K columns from first_col on
        const int first = batch.begin_whole > first_col ? batch.begin_whole - first_col : 0;
        const int last = (batch.end_whole < end_col ? batch.end_whole : end_col) - first_col;
        const int begin = (first + K - 1) / K * K, end = last / K * K;
        batch.begin_owned = end > begin ? first_col + begin : first_col;
        batch.end_owned = end > begin ? first_col + end : first_col;
    }
    batch.owner = batch.own() >= batch.begin_owned && batch.own() < batch.end_owned;

    // Batches from the first of these rows to before the second: all rows that enter and leave are the image's; no
    // window is cut.
    const auto least = [](int a, int b) { return a < b ? a : b; };
    const int first_plain = 1 + (first_row > before ? first_row : before);
    const int end_plain = 1 - rows + least(end_row, height - after);
    const int first_uncut = cut && before > first_row ? before : first_row;
    const int end_uncut = 1 - rows + (cut ? least(end_row, height - after) : end_row);

    const sum_line<sums> own = line.from((K + 1) * thread);

    const typename Slide::reader reader(t, read_col, channel);
    typename Slide::row in[rows], out[rows];
    constexpr int row_bytes = static_cast<int>(sizeof(typename Slide::row));
    const int apart = row_bytes * threads;
    batch.beside = reinterpret_cast<char*>(warp_totals + 32) + row_bytes * thread;
    batch.apart = apart;
    [[maybe_unused]] char* const waiting = batch.beside + waiting_rows<Slide>::beside * apart;
    if constexpr (waits<Slide>) {
        if (!reads)
#pragma unroll
            for (int j = 0; j < 2 * rows; ++j) Slide::nothing(t).put(waiting + j * apart);
    } else {
#pragma unroll
        for (int j = 0; j < rows; ++j) in[j] = out[j] = Slide::nothing(t);
    }
    const auto enter = [&](int row, bool plain) {
        if constexpr (waits<Slide>)
            reader.template start<rows>(waiting, apart, row + after, 0, end_row - row, plain);
        else
            fetch(reader, in, row + after, 0, end_row - row, plain);
    };
    const auto leave = [&](int row, bool plain) {
        if constexpr (waits<Slide>)
            reader.template start<rows>(waiting + rows * apart, apart, row - before - 1, first_row + 1 - row,
                                        end_row - row, plain);
        else
            fetch(reader, out, row - before - 1, first_row + 1 - row, end_row - row, plain);
    };
    const auto next = [&](int row) {
        if (!reads || row >= end_row) return;
        const bool plain = row >= first_plain && row < end_plain;
        enter(row, plain);
        leave(row, plain);
    };
    // Entering rows are not waited for while those of the first windows are read.
    if (reads) enter(first_row, first_row < end_plain);
    typename Slide::columns first{};
    if (reads && (t.segments == nullptr || read_col < end_col + right))
        first = first_columns<Slide>(t, reader, band, first_row, read_col, channel);
    Slide slide(t, first);
    if (!slide.begins()) {
        if constexpr (waits<Slide>) {  // no copy ends in memory that another block has by then
            group_copies();
            wait_for_copies<0>();
        }
        return;
    }
    if (reads) leave(first_row, false);
    if constexpr (waits<Slide>) group_copies();
    for (int row = first_row; row < end_row; row += rows) {
        if constexpr (shifts_late<typename Slide::reader>) {
            reader.shift(in, row + after, 0, end_row - row);
            reader.shift(out, row - before - 1, first_row + 1 - row, end_row - row);
        }
        if constexpr (waits<Slide>) {
            wait_for_copies<0>();
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                in[j] = Slide::row::at(waiting + j * apart);
                out[j] = Slide::row::at(waiting + (rows + j) * apart);
            }
        }
        // What each thread's columns come to, row by row, and those of the threads before it.
        const sums mine = slide.advance(in, out);
        batch.row = row;
        batch.valid = end_row - row < rows ? end_row - row : rows;
        if constexpr (waits<Slide>) {
            ahead(batch);
            group_copies();
            next(row + rows);
            group_copies();
        }
        sums until = mine;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            const sums other = until.of_lane_before(distance);
            if (lane >= distance) until.add(other);
        }
        if (threads > 32 && lane == 31) warp_totals[warp] = until;
        __syncthreads();  // totals are there, and the batch before has been read
        if constexpr (awaits) {
            ahead(batch);
            group_copies();
        }
        if (threads > 32) until.add(sums::of_warps_before(warp_totals, warp, lane));
        slide.watch(until);
        until.subtract(mine);
#pragma unroll
        for (int i = 0; i < K; ++i) {
            slide.pass(until, i, in, out);
            own.store(i, until);
        }
        if constexpr (requires { Slide::outside(t); }) {  // before rows are read, which need registers
            const int before_first = t.cols.continues() ? left - first_col : 0, behind_last = end_col + right - width;
            if (t.any_beyond && (before_first > 0 || behind_last > 0)) {
                __syncthreads();  // the prefix sums of columns inside are there
                if (before_first > 0) write_beyond<Slide>(t, line, first_read, -1, -1, before_first);
                if (behind_last > 0) write_beyond<Slide>(t, line, first_read, width - 1, 1, behind_last);
            }
        }
        if constexpr (!waits<Slide>) next(row + rows);
        batch.plain = row >= first_uncut && row < end_uncut;
#pragma unroll
        for (int j = 0; j < rows; ++j) batch.height[j] = static_cast<int>(t.rows.full);
        if (cut && !batch.plain) {
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                const int y = row + j < end_row ? row + j : end_row - 1;
                const int top = y > before ? y - before : 0, bottom = y + after < height ? y + after : height - 1;
                batch.height[j] = bottom - top + 1;
            }
        }
        if constexpr (awaits) wait_for_copies<0>();
        __syncthreads();  // the batch's prefix sums are there, and what was copied
        emit(batch);
    }
    slide.ends();
}

template <typename Slide, typename Emit>
__device__ void for_each_batch(const fused_view& t, Emit emit) {
    for_each_batch<Slide>(
        t, [](const auto&) {}, emit);
}

template <typename Pixel, typename Sum, bool Squares, int K, typename Emit>
__device__ void for_each_batch(const fused_view& t, Emit emit) {
    for_each_batch<integer_slide<Pixel, Sum, Squares, K>>(t, emit);
}

/// Columns that the window of column x holds.
__device__ inline int fused_width(const fused_view& t, int x) {
    return static_cast<int>(t.cols.count(x));
}

// ---- launches -------------------------------------------------------------------------------------------------------

/// A pixel's value, in all of a word. Pixels of four bytes are floats.
template <typename Pixel>
std::uint32_t word_of(double pixel) {
    if constexpr (sizeof(Pixel) == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(pixel));
    const auto value = static_cast<std::uint32_t>(static_cast<int>(pixel));
    return sizeof(Pixel) == 1 ? value * 0x01010101u : (value & 0xffffu) * 0x00010001u;
}

template <typename Pixel, int K>
fused_view on_device(const fused_task& task, const fused_shape& shape) {
    const filters::window_job& job = *task.job;
    const view_shape& s = task.image.shape;
    fused_view t{};
    t.rows = job.rows;
    t.cols = job.cols;
    t.image = static_cast<const char*>(task.image.data);
    t.image_stride = s.row_stride;
    t.segments = shape.prepared ? task.scratch : nullptr;
    t.first_row = static_cast<int>(task.first_row);
    t.end_row = static_cast<int>(task.end_row);
    t.bands = shape.parts > 0 ? band_rule{shape.period, shape.parts, shape.unit, 1} : band_rule{shape.band_rows};
    t.segments_of_channel = shape.segments;
    t.held_segments =
        shape.parts > 0 ? shape.parts : 2 * static_cast<int>((job.rows.before + job.rows.after) / shape.band_rows) + 1;
    t.strip_cols = shape.strip_cols;
    t.strips = shape.strips;
    t.channels = static_cast<int>(s.channels);
    t.segment_cols = shape.segment_cols;
    t.first_segment = shape.first_segment;
    // Unsigned pixels are centred, and what counts for nothing is a centred zero.
    t.flip = sizeof(Pixel) == 1 ? 0x80808080u : sizeof(Pixel) == 2 && s.type == dtype::u16 ? 0x80008000u : 0;
    t.outside = t.flip;
    if (job.rows.border == border_mode::constant) t.outside = word_of<Pixel>(job.border_value);
    constexpr std::int64_t unit = K * sizeof(Pixel) < 16 ? K * sizeof(Pixel) : 16;
    t.in_units = lies_in_units(task.image, unit);
    t.first_read = static_cast<int>(std::max<std::int64_t>(0, task.first_row - job.rows.before));
    t.last_read = static_cast<int>(std::min(job.rows.extent, task.end_row + job.rows.after) - 1);
    return t;
}

/// Whether a block at a side reads all columns that those beyond are taken from. Windows that reach about as far to
/// both sides do.
inline bool sides_follow(const filters::window_axis& cols, const fused_shape& shape) {
    if (cols.border == border_mode::wrap) return false;
    const std::int64_t n = cols.extent, apart = cols.border == border_mode::mirror ? 1 : 0;
    const std::int64_t first = std::min<std::int64_t>(n, shape.strip_cols),
                       last = n - std::int64_t{shape.strips - 1} * shape.strip_cols;  // columns of these strips
    return std::max(cols.before, cols.after) + apart <= n && cols.before - cols.after + apart <= first &&
           cols.after - cols.before + apart <= last;
}

/// Whether a shifted_reader can read the image: of one channel, wherever its rows start.
template <typename Pixel, int K>
bool can_be_shifted(const fused_task& task, const fused_shape& shape) {
    const view_shape& s = task.image.shape;
    return s.channels == 1 && s.cols >= K && s.row_stride >= s.cols * std::int64_t{sizeof(Pixel)} &&
           sides_follow(task.job->cols, shape);
}

/// Launches segment_kernel where it is wanted, and `kernel`, whose first parameter is the view.
template <typename Slide, typename View, typename... Parameters, typename... Arguments>
void launch_sliding(void (*kernel)(View, Parameters...), View t, const fused_shape& shape, stream_ref stream,
                    const Arguments&... arguments) {
    constexpr int K = Slide::K, entry_bytes = sum_line<typename Slide::sums>::entry_bytes;
    const auto channels = static_cast<unsigned>(t.channels);
    const device_limits limits = limits_of_device();
    const bool overlap = limits.launches_overlap();
    const auto rows_held = static_cast<std::size_t>(t.beside ? Slide::rows : waiting_rows<Slide>::all);
    t.few_blocks = std::int64_t{shape.strips} * shape.bands * t.channels <= limits.multiprocessors;
    if (shape.prepared) {
        const auto blocks = static_cast<unsigned>((shape.segment_cols / K + 127) / 128);
        launch(segment_kernel<typename waiting_rows<Slide>::slide, View>,
               {.grid = {blocks, static_cast<unsigned>(shape.segments), channels},
                .block = 128,
                .overlaps_predecessor = overlap},
               stream, t);
        if constexpr (Slide::wraps) {
            const int slots = shape.segment_cols / K, words = slots * segment_words<typename Slide::columns>::words;
            if (are_prefixes<Slide>(t.held_segments))
                launch(prefix_segments_kernel,
                       {.grid = {static_cast<unsigned>((words + prefix_words - 1) / prefix_words), channels},
                        .block = prefix_words * prefix_chunks,
                        .overlaps_predecessor = overlap},
                       stream, static_cast<std::uint64_t*>(const_cast<void*>(t.segments)), words, shape.segments,
                       slots * Slide::wide_words);
        }
    }
    launch(kernel,
           {.grid = {static_cast<unsigned>(shape.strips * shape.bands), channels, 1},
            .block = static_cast<unsigned>(shape.threads),
            .shared_bytes = static_cast<std::size_t>((K + 1) * shape.threads * entry_bytes) +
                            32 * sizeof(typename Slide::sums) +
                            rows_held * sizeof(typename Slide::row) * static_cast<std::size_t>(shape.threads),
            .overlaps_predecessor = overlap},
           stream, t, arguments...);
}

/// Slide: an integer_slide.
template <typename Slide, typename... Parameters, typename... Arguments>
void launch_fused(void (*kernel)(fused_view, Parameters...), const fused_task& task, const fused_shape& shape,
                  stream_ref stream, const Arguments&... arguments) {
    using Pixel = typename Slide::pixel;
    constexpr int K = Slide::K;
    fused_view t = on_device<Pixel, K>(task, shape);
    t.weighted = byte_factors(task.scale);
    if (!Slide::columns::centred) {
        if (task.job->rows.border != border_mode::constant) t.outside = 0;
        t.flip = 0;
    }
    t.any_beyond = shifts_late<typename Slide::reader> ||
                   (t.in_units && (t.cols.continues() || t.cols.extent % K != 0) && sides_follow(t.cols, shape));
    launch_sliding<Slide>(kernel, t, shape, stream, arguments...);
}

template <typename Pixel, typename Sum, bool Squares, int K, typename... Parameters, typename... Arguments>
void launch_fused(void (*kernel)(fused_view, Parameters...), const fused_task& task, const fused_shape& shape,
                  stream_ref stream, const Arguments&... arguments) {
    launch_fused<integer_slide<Pixel, Sum, Squares, K>>(kernel, task, shape, stream, arguments...);
}

}  // namespace boxsum::cuda
