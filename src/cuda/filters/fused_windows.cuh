#pragma once

#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/filters/fused_windows.hpp"
#include "cuda/runtime/launch.cuh"

#include <cstdint>
#include <type_traits>

/// Windows of integer images without a table.
///
/// A block owns a strip of columns of a band of rows, a thread K neighbouring columns of it. The sums of a window's
/// rows slide down the columns in registers: the row that enters is added, the row that leaves, read again, is
/// subtracted. After every `rows` rows the block scans them along the row into shared memory, and a window is the
/// difference of two prefix sums. Everything wraps; a window that fits its type is exact. Pixels are centred, 128 or
/// 32768 lower, where they are unsigned: then one dot product of bytes updates a column.
///
/// Prefix sums lie in K planes by column modulo K, 16 bytes (`rows` rows) an entry, so that neither writing, K columns
/// a thread, nor reading, one column a thread, meets in a bank, whatever the window's extents.
///
/// Beyond a border a thread reads what the axis says is there (window_axis::source). What `shrink` leaves out is a
/// zero.
namespace boxsum::cuda {

inline constexpr int most_fused_threads = 512;

/// A task as the kernels take it.
struct fused_view {
    filters::window_axis rows, cols;
    const char* image;
    std::int64_t image_stride;
    const void* segments;
    int first_row, end_row, band_rows, strip_cols, strips, channels;
    int segment_cols, first_segment;
    std::uint32_t flip;     ///< XORed to a word of pixels: centred then
    std::uint32_t outside;  ///< what lies beyond a border that repeats no pixel, in all of a word
    bool in_units;          ///< a thread's columns can be read together
};

/// K pixels of a row, as they are in the image: whatever is done to them would wait for them.
template <typename Pixel, int K>
struct pixel_run {
    static constexpr int words = K * static_cast<int>(sizeof(Pixel)) / 4;
    std::uint32_t word[words];

    __device__ pixel_run flipped(std::uint32_t flip) const {
        pixel_run run;
#pragma unroll
        for (int i = 0; i < words; ++i) run.word[i] = word[i] ^ flip;
        return run;
    }

    __device__ static pixel_run all(std::uint32_t value) {
        pixel_run run;
#pragma unroll
        for (int i = 0; i < words; ++i) run.word[i] = value;
        return run;
    }
};

/// Rows of a thread's columns that are read at once.
template <typename Pixel, int K, int N>
struct pixel_runs {
    pixel_run<Pixel, K> row[N];
};

/// Rows first .. of the extended image, wherever they and the columns lie; those but begin <= j < end are zero. A
/// function of its own: it is long, and rare but for images of several channels and rows that start anywhere.
template <typename Pixel, int K, int N>
__device__ __noinline__ pixel_runs<Pixel, K, N> read_anywhere(const fused_view& t, int first, int begin, int end,
                                                              int col, int channel) {
    using run = pixel_run<Pixel, K>;
    pixel_runs<Pixel, K, N> to;
    const char* row[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
        to.row[j] = run::all(t.flip);
        row[j] = nullptr;
        if (j < begin || j >= end) continue;
        std::int64_t y = first + j;
        if (y < 0 || y >= t.rows.extent) y = t.rows.source(y);
        if (y < 0)
            to.row[j] = run::all(t.outside);
        else
            row[j] = t.image + y * t.image_stride;
    }
    if (t.in_units && col >= 0 && col + K <= t.cols.extent) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (row[j] == nullptr) continue;
            const auto units = *reinterpret_cast<const vector_of<std::uint32_t, run::words>*>(
                row[j] + std::int64_t{col} * static_cast<int>(sizeof(Pixel)));
#pragma unroll
            for (int i = 0; i < run::words; ++i) to.row[j].word[i] = units.x[i];
        }
        return to;
    }
    constexpr int bits = 8 * static_cast<int>(sizeof(Pixel)), in_word = 32 / bits;
    std::uint32_t x[N][K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
        std::int64_t from = col + i;
        if (from < 0 || from >= t.cols.extent) from = t.cols.source(from);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            x[j][i] = t.outside;
            if (from >= 0 && row[j] != nullptr)
                x[j][i] = reinterpret_cast<const Pixel*>(row[j])[from * t.channels + channel];
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        if (row[j] == nullptr) continue;
#pragma unroll
        for (int w = 0; w < run::words; ++w) {
            std::uint32_t word = 0;
#pragma unroll
            for (int i = 0; i < in_word; ++i)
                word |= (x[j][w * in_word + i] & (bits == 8 ? 0xffu : 0xffffu)) << (bits * i);
            to.row[j].word[w] = word;
        }
    }
    return to;
}

/// Reads a thread's columns of one channel.
template <typename Pixel, int K>
class run_reader {
  public:
    using run = pixel_run<Pixel, K>;

    __device__ run_reader(const fused_view& t, int col, int channel)
        : t_(t),
          at_(t.image + std::int64_t{col} * static_cast<int>(sizeof(Pixel))),
          col_(col),
          channel_(channel),
          together_(t.in_units && col >= 0 && col + K <= t.cols.extent),
          beyond_((t.cols.border == border_mode::shrink || t.cols.border == border_mode::constant) &&
                  (col + K <= 0 || col >= t.cols.extent)) {}

    /// Whether all rows first .. first + n - 1 are the image's.
    __device__ bool inside(int first, int n) const { return first >= 0 && first + n <= t_.rows.extent; }

    /// Rows first .. of the extended image; those but begin <= j < end are zero. `plain`: none is, and all are the
    /// image's.
    template <int N>
    __device__ void read(run (&to)[N], int first, int begin, int end, bool plain) const {
        if (plain && together_) {
            const char* from = at_ + first * t_.image_stride;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const auto units = *reinterpret_cast<const vector_of<std::uint32_t, run::words>*>(from);
                from += t_.image_stride;
#pragma unroll
                for (int i = 0; i < run::words; ++i) to[j].word[i] = units.x[i];
            }
        } else if (beyond_) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = run::all(j >= begin && j < end ? t_.outside : t_.flip);
        } else {
            const auto rows = read_anywhere<Pixel, K, N>(t_, first, begin, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }

  private:
    const fused_view& t_;
    const char* at_;
    int col_, channel_;
    bool together_, beyond_;
};

template <typename Sum, bool Squares, int K>
struct column_squares {};
template <typename Sum, int K>
struct column_squares<Sum, true, K> {
    Sum square[K] = {};
};

/// Sums of K columns and, with Squares, of their squares. A column's sum fits 32 bits.
template <typename Pixel, typename Sum, bool Squares, int K>
struct column_sums : column_squares<Sum, Squares, K> {
    int sum[K] = {};

    /// Column i with a row and without another, both centred.
    __device__ void slide(int i, const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out) {
        int both;  // the two pixels, side by side
        int minus, plus;
        if constexpr (sizeof(Pixel) == 1) {
            both = static_cast<int>(__byte_perm(in.word[i / 4], out.word[i / 4], i % 4 < 2 ? 0x5140u : 0x7362u));
            minus = i % 2 == 0 ? 0x0000ff01 : static_cast<int>(0xff010000u);
            plus = i % 2 == 0 ? 0x00000101 : 0x01010000;
            if constexpr (!Squares) sum[i] = __dp4a(both, minus, sum[i]);
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

    /// Adds a row.
    __device__ void enter(const pixel_run<Pixel, K>& in, std::uint32_t flip) {
        const auto centred = in.flipped(flip), zero = pixel_run<Pixel, K>::all(0);
#pragma unroll
        for (int i = 0; i < K; ++i) slide(i, centred, zero);
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
    __device__ static Sum total_change(const pixel_run<Pixel, K>& in, const pixel_run<Pixel, K>& out) {
        int change = 0;
#pragma unroll
        for (int w = 0; w < in.words; ++w) {
            const auto a = static_cast<int>(in.word[w]), b = static_cast<int>(out.word[w]);
            change = sizeof(Pixel) == 1 ? __dp4a(a, 0x01010101, change) : __dp2a_lo(a, 0x0101, change);
            change = sizeof(Pixel) == 1 ? __dp4a(b, -1, change) : __dp2a_lo(b, 0xffff, change);
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

    __device__ void subtract(const column_sums& other) {
#pragma unroll
        for (int i = 0; i < K; ++i) {
            sum[i] = static_cast<int>(static_cast<std::uint32_t>(sum[i]) - static_cast<std::uint32_t>(other.sum[i]));
            if constexpr (Squares) this->square[i] -= other.square[i];
        }
    }
};

/// 16 bytes of sums of `rows` rows, and of their squares.
template <typename Sum, bool Squares>
struct alignas(16) window_sums {
    static constexpr int values = 16 / static_cast<int>(sizeof(Sum));
    static constexpr int rows = Squares ? values / 2 : values;
    Sum value[values];  ///< sums, then squares

    __device__ Sum sum(int row) const { return value[row]; }
    __device__ Sum squares(int row) const { return value[rows + row]; }
};

/// Windows of `valid` rows around the columns of a strip, begin .. end - 1. There are two ways through them. A thread
/// may own K neighbouring columns: it then works on all of them at once and writes them together. Or threads take one
/// column after the other, in turn: those of a warp write side by side wherever rows start. With the first, columns
/// that cannot be owned, since a side cuts their windows or K of them do not fit, are left to the second.
template <typename Sum, bool Squares, int K>
struct window_batch {
    using sums = window_sums<Sum, Squares>;
    const sums* planes;
    const sums *high, *low;  ///< ends of the first window that the thread owns
    int high_wraps, low_wraps;
    int pitch, threads, thread, channel;
    int row, valid;
    int begin, begin_owned, end_owned, end;
    int begin_whole, end_whole;  ///< columns whose windows no side cuts
    int high_at, low_at;         ///< places of the ends of the window of `begin` among the columns read
    bool plain;                  ///< no window is cut at the top or bottom, and all rows are valid
    int height[sums::rows];      ///< rows that each row's windows hold

    __device__ int own() const { return begin + K * thread; }
    __device__ bool owns() const { return own() >= begin_owned && own() < end_owned; }
    __device__ bool whole(int col) const { return col >= begin_whole && col < end_whole; }

    /// The windows around own() + i.
    __device__ sums own_window(int i) const {
        const int step = i * pitch, back = 1 - K * pitch;
        return difference(high[step + (i < high_wraps ? 0 : back)], low[step + (i < low_wraps ? 0 : back)]);
    }

    /// f(column, sums) for a thread's share of the columns, but for those that are owned where `owned` says so.
    template <typename F>
    __device__ void for_each_column(bool owned, F f) const {
        const int before = begin_owned - begin, skipped = owned ? end_owned - begin_owned : 0;
#pragma unroll 1
        for (int i = thread; i < end - begin - skipped; i += threads) {
            const int at = owned && i >= before ? i + skipped : i, h = high_at + at, l = low_at + at;
            f(begin + at, difference(planes[(h & (K - 1)) * pitch + h / K], planes[(l & (K - 1)) * pitch + l / K]));
        }
    }

  private:
    __device__ static sums difference(const sums& a, const sums& b) {
        sums w;
#pragma unroll
        for (int k = 0; k < sums::values; ++k) w.value[k] = a.value[k] - b.value[k];
        return w;
    }
};

/// Adds rows first .. end - 1.
template <typename Pixel, typename Sum, bool Squares, int K>
__device__ void add_rows(column_sums<Pixel, Sum, Squares, K>& sums, const run_reader<Pixel, K>& reader, int first,
                         int end, std::uint32_t flip) {
    constexpr int together = 4;
    for (int y = first; y < end; y += together) {
        pixel_run<Pixel, K> rows[together];
        reader.read(rows, y, 0, end - y, y + together <= end && reader.inside(y, together));
#pragma unroll
        for (int j = 0; j < together; ++j) sums.enter(rows[j], flip);
    }
}

/// Sums of the rows of a segment, for the bands: even ones reach from where a band's first windows begin to where
/// those of an earlier band end, odd ones from there to where the next band's begin.
template <typename Pixel, typename Sum, bool Squares, int K>
__global__ __launch_bounds__(128) void segment_kernel(const __grid_constant__ fused_view t) {
    using columns = column_sums<Pixel, Sum, Squares, K>;
    const int slot = static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x);
    if (slot * K >= t.segment_cols) return;
    const int segment = static_cast<int>(blockIdx.y), channel = static_cast<int>(blockIdx.z);
    const int taken = static_cast<int>(t.rows.before + t.rows.after);  // rows of a band's first windows but the last
    const int rest = taken % t.band_rows,
              begin = t.first_row + segment / 2 * t.band_rows - static_cast<int>(t.rows.before);
    const int first = segment % 2 == 0 ? begin : begin + rest,
              end = segment % 2 == 0 ? begin + rest : begin + t.band_rows;
    columns sums;
    add_rows(sums, run_reader<Pixel, K>(t, t.first_segment + slot * K, channel), first, end, t.flip);
    auto* const to = static_cast<columns*>(const_cast<void*>(t.segments));
    to[(static_cast<std::int64_t>(channel) * gridDim.y + segment) * (t.segment_cols / K) + slot] = sums;
}

/// Makes sums of segments the sums of all segments up to them, which wrap. Grid: units of 8 bytes of a segment by 32,
/// channels. The last `narrow` of every `period` units hold two sums of 32 bits, the others one of 64.
inline constexpr int prefix_chunks = 16;
__global__ __launch_bounds__(32 * prefix_chunks) inline void prefix_segments_kernel(std::uint64_t* sums, int units,
                                                                                    int segments, int period,
                                                                                    int narrow) {
    __shared__ std::uint64_t totals[prefix_chunks][32];
    const int lane = static_cast<int>(threadIdx.x) % 32, chunk = static_cast<int>(threadIdx.x) / 32;
    const int unit = static_cast<int>(blockIdx.x) * 32 + lane, each = (segments + prefix_chunks - 1) / prefix_chunks;
    const int first = chunk * each < segments ? chunk * each : segments;
    const int end = first + each < segments ? first + each : segments;
    const bool wide = unit % period < period - narrow;
    const auto add = [wide](std::uint64_t a, std::uint64_t b) {
        if (wide) return a + b;
        constexpr std::uint64_t low = 0xffffffff;
        return ((a & ~low) + (b & ~low)) | ((a + b) & low);
    };
    std::uint64_t* const from = sums + static_cast<std::int64_t>(blockIdx.y) * segments * units + unit;
    constexpr int together = 8;
    const auto run = [&](std::uint64_t total, auto store) {
        for (int s = first; s < end; s += together) {
            std::uint64_t x[together];
#pragma unroll
            for (int i = 0; i < together; ++i) x[i] = s + i < end ? from[static_cast<std::int64_t>(s + i) * units] : 0;
#pragma unroll
            for (int i = 0; i < together; ++i) {
                total = add(total, x[i]);
                if (s + i < end) store(s + i, total);
            }
        }
        return total;
    };
    if (unit < units) totals[chunk][lane] = run(0, [](int, std::uint64_t) {});
    __syncthreads();
    if (unit >= units) return;
    std::uint64_t before = 0;
    for (int c = 0; c < chunk; ++c) before = add(before, totals[c][lane]);
    run(before, [&](int s, std::uint64_t total) { from[static_cast<std::int64_t>(s) * units] = total; });
}

/// The sums of the rows that the windows of row `row` hold but the last.
template <typename Pixel, typename Sum, bool Squares, int K>
__device__ column_sums<Pixel, Sum, Squares, K> first_columns(const fused_view& t, int band, int row, int col,
                                                             int channel) {
    using columns = column_sums<Pixel, Sum, Squares, K>;
    columns sums;
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    if (t.segments == nullptr) {
        add_rows(sums, run_reader<Pixel, K>(t, col, channel), row - before, row + after, t.flip);
        return sums;
    }
    const int bands = (t.end_row - t.first_row + t.band_rows - 1) / t.band_rows,
              in_band = (before + after) / t.band_rows;
    const int segments = 2 * (bands - 1 + in_band) + 1, slots = t.segment_cols / K;
    const auto* from = static_cast<const columns*>(t.segments) +
                       (static_cast<std::int64_t>(channel) * segments + 2 * band) * slots + (col - t.first_segment) / K;
    sums = from[static_cast<std::int64_t>(2 * in_band) * slots];
    if (band > 0) sums.subtract(from[-static_cast<std::int64_t>(slots)]);
    return sums;
}

/// Calls emit(window_batch) of all windows of a block in all threads. Grid: strips * bands, channels.
template <typename Pixel, typename Sum, bool Squares, int K, typename Emit>
__device__ void for_each_batch(const fused_view& t, Emit emit) {
    using sums = window_sums<Sum, Squares>;
    using run = pixel_run<Pixel, K>;
    using columns_type = column_sums<Pixel, Sum, Squares, K>;
    constexpr int rows = sums::rows;
    auto* const planes = dynamic_shared<sums>();
    const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    const int pitch = threads + 1;  // of planes: then neighbouring columns lie in different banks, too
    auto* const warp_totals = planes + K * pitch;
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
    const bool reads = read_col < end_col + right;
    const int first_row = t.first_row + band * t.band_rows;
    const int end_row = first_row + t.band_rows < t.end_row ? first_row + t.band_rows : t.end_row;

    window_batch<Sum, Squares, K> batch;
    batch.planes = planes;
    batch.pitch = pitch;
    batch.threads = threads;
    batch.thread = thread;
    batch.channel = channel;
    batch.begin = first_col;
    batch.end = end_col;
    batch.high_at = first_col + right - first_read;
    batch.low_at = first_col - left - 1 - first_read;
    batch.high = planes + (batch.high_at & (K - 1)) * pitch + batch.high_at / K + thread;
    batch.low = planes + (batch.low_at & (K - 1)) * pitch + batch.low_at / K + thread;
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

    columns_type columns;
    if (reads) columns = first_columns<Pixel, Sum, Squares, K>(t, band, first_row, read_col, channel);
    Sum total = columns.total(), total_squares = columns.total_squares();

    const run_reader<Pixel, K> reader(t, read_col, channel);
    run in[rows], out[rows];
#pragma unroll
    for (int j = 0; j < rows; ++j) in[j] = out[j] = run::all(t.flip);
    const auto load = [&](int row) {
        if (!reads) return;
        const bool plain = row > first_row && row + rows <= end_row && row > before && row + rows + after <= height;
        reader.read(in, row + after, 0, end_row - row, plain);
        reader.read(out, row - before - 1, first_row + 1 - row, end_row - row, plain);
    };
    load(first_row);
    for (int row = first_row; row < end_row; row += rows) {
        // What each thread's columns come to, row by row, and those of the threads before it.
        Sum mine[sums::values], until[sums::values];
#pragma unroll
        for (int j = 0; j < rows; ++j) {
            in[j] = in[j].flipped(t.flip);
            out[j] = out[j].flipped(t.flip);
            mine[j] = total += columns_type::total_change(in[j], out[j]);
            if constexpr (Squares) mine[rows + j] = total_squares += columns_type::total_squares_change(in[j], out[j]);
        }
#pragma unroll
        for (int k = 0; k < sums::values; ++k) until[k] = mine[k];
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
#pragma unroll
            for (int k = 0; k < sums::values; ++k) {
                const Sum other = __shfl_up_sync(~0u, until[k], static_cast<unsigned>(distance));
                if (lane >= distance) until[k] += other;
            }
        }
        if (threads > 32 && lane == 31) {
#pragma unroll
            for (int k = 0; k < sums::values; ++k) warp_totals[warp].value[k] = until[k];
        }
        __syncthreads();  // totals are there, and the batch before has been read
        if (threads > 32) {
            sums other{};
            if constexpr (sizeof(Sum) == 4) {
                if (lane < warp) other = warp_totals[lane];
#pragma unroll
                for (int k = 0; k < sums::values; ++k) other.value[k] = __reduce_add_sync(~0u, other.value[k]);
            } else {
                for (int w = 0; w < warp; ++w) {
#pragma unroll
                    for (int k = 0; k < sums::values; ++k) other.value[k] += warp_totals[w].value[k];
                }
            }
#pragma unroll
            for (int k = 0; k < sums::values; ++k) until[k] += other.value[k];
        }
#pragma unroll
        for (int k = 0; k < sums::values; ++k) until[k] -= mine[k];
#pragma unroll
        for (int i = 0; i < K; ++i) {
            sums entry;
#pragma unroll
            for (int j = 0; j < rows; ++j) {
                columns.slide(i, in[j], out[j]);
                entry.value[j] = until[j] += columns_type::widened(columns.sum[i]);
                if constexpr (Squares) entry.value[rows + j] = until[rows + j] += columns.square[i];
            }
            planes[i * pitch + thread] = entry;
        }
        if (row + rows < end_row) load(row + rows);
        batch.row = row;
        batch.valid = end_row - row < rows ? end_row - row : rows;
        batch.plain = batch.valid == rows && (!cut || (row >= before && row + rows + after <= height));
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
        __syncthreads();  // the batch's prefix sums are there
        emit(batch);
    }
}

/// Columns that the window of column x holds.
__device__ inline int fused_width(const fused_view& t, int x) {
    return static_cast<int>(t.cols.count(x));
}

// ---- launches -------------------------------------------------------------------------------------------------------

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
    t.band_rows = shape.band_rows;
    t.strip_cols = shape.strip_cols;
    t.strips = shape.strips;
    t.channels = static_cast<int>(s.channels);
    t.segment_cols = shape.segment_cols;
    t.first_segment = shape.first_segment;
    // Unsigned pixels are centred, and what counts for nothing is a centred zero.
    t.flip = sizeof(Pixel) == 1 ? 0x80808080u : s.type == dtype::s16 ? 0 : 0x80008000u;
    t.outside = t.flip;
    if (job.rows.border == border_mode::constant) {
        const auto value = static_cast<std::uint32_t>(static_cast<int>(job.border_value));
        t.outside = sizeof(Pixel) == 1 ? value * 0x01010101u : (value & 0xffffu) * 0x00010001u;
    }
    constexpr std::int64_t unit = K * sizeof(Pixel);
    t.in_units = s.channels == 1 && reinterpret_cast<std::uintptr_t>(t.image) % unit == 0 && s.row_stride % unit == 0;
    return t;
}

/// Launches segment_kernel where it is wanted, and `kernel`, whose first parameter is the view.
template <typename Pixel, typename Sum, bool Squares, int K, typename... Parameters, typename... Arguments>
void launch_fused(void (*kernel)(fused_view, Parameters...), const fused_task& task, const fused_shape& shape,
                  stream_ref stream, const Arguments&... arguments) {
    const fused_view t = on_device<Pixel, K>(task, shape);
    const auto channels = static_cast<unsigned>(t.channels);
    if (shape.prepared) {
        const auto blocks = static_cast<unsigned>((shape.segment_cols / K + 127) / 128);
        launch(segment_kernel<Pixel, Sum, Squares, K>,
               {.grid = {blocks, static_cast<unsigned>(shape.segments), channels}, .block = 128}, stream, t);
        using columns = column_sums<Pixel, Sum, Squares, K>;
        constexpr int period = static_cast<int>(sizeof(columns) / 8), wide = Squares && sizeof(Sum) == 8 ? K : 0;
        const int units = shape.segment_cols / K * period;
        launch(prefix_segments_kernel,
               {.grid = {static_cast<unsigned>((units + 31) / 32), channels}, .block = 32 * prefix_chunks}, stream,
               static_cast<std::uint64_t*>(task.scratch), units, shape.segments, period, period - wide);
    }
    launch(kernel,
           {.grid = {static_cast<unsigned>(shape.strips * shape.bands), channels, 1},
            .block = static_cast<unsigned>(shape.threads),
            .shared_bytes = static_cast<std::size_t>(K * (shape.threads + 1) + 32) * 16},
           stream, t, arguments...);
}

}  // namespace boxsum::cuda
