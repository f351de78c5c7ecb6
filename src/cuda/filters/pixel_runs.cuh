#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/streaming.cuh"
#include "filters/window_axis.hpp"

#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

/// How a thread reads its columns of a plane, some rows at once: K neighbouring ones from a multiple of K on, inside
/// the image or beyond its borders.
///
/// Beyond a border a thread reads what the axis says is there (window_axis::source). What `shrink` leaves out is a
/// zero. A run that lies as a whole where the image is mirrored, repeated, or begins anew is read like any other, and
/// its pixels are put in order once they are there. Runs that memory or the border cut, and rows beyond it, go through
/// a function of their own. Where columns beyond the sides may hold anything, none of this happens.
namespace boxsum::cuda {

/// Whether elements of one channel, so many bytes of them, can be moved together wherever they begin at such a unit.
inline bool lies_in_units(const const_any_view& v, std::int64_t unit) {
    return v.shape.channels == 1 && reinterpret_cast<std::uintptr_t>(v.data) % static_cast<std::uintptr_t>(unit) == 0 &&
           v.shape.row_stride % unit == 0;
}

/// 1 for each byte that is not 0.
__device__ inline std::uint32_t nonzero_bytes(std::uint32_t x) {
    return (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) >> 7 & 0x01010101u;
}

/// What is read of one plane.
struct plane_view {
    filters::window_axis rows, cols;
    const char* image;  ///< null: there is none
    std::int64_t image_stride;
    int channels;
    std::uint32_t flip;     ///< XORed to a word of pixels: centred then
    std::uint32_t outside;  ///< what lies beyond a border that repeats no pixel, in all of a word
    bool in_units;          ///< a thread's columns can be read together
    bool any_beyond;  ///< whatever is read of columns beyond the sides will do: runs are read whole, or not at all
    int first_read, last_read;  ///< rows: before the first one's pixels memory may begin, behind the last one's end
};

/// K pixels of a row, as they are in the image: whatever is done to them would wait for them.
template <typename Pixel, int K>
struct pixel_run {
    static constexpr int words = K * static_cast<int>(sizeof(Pixel)) / 4, bits = 8 * static_cast<int>(sizeof(Pixel));
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

    /// All are the first pixel of a word.
    __device__ static pixel_run all_one(std::uint32_t pixel) {
        if constexpr (bits == 32)
            return all(pixel);
        else
            return all(__byte_perm(pixel, 0, bits == 8 ? 0x0000 : 0x1010));
    }

    /// The last pixel first.
    __device__ pixel_run turned() const {
        pixel_run run;
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const std::uint32_t x = word[words - 1 - i];
            run.word[i] = bits == 32 ? x : __byte_perm(x, 0, bits == 8 ? 0x0123 : 0x1032);
        }
        return run;
    }

    /// From memory that is aligned to all of it, or to 16 bytes.
    __device__ static pixel_run at(const char* from) {
        constexpr int at_once = words < 4 ? words : 4;
        pixel_run run;
#pragma unroll
        for (int k = 0; k < words; k += at_once) {
            const auto part = reinterpret_cast<const vector_of<std::uint32_t, at_once>*>(from)[k / at_once];
#pragma unroll
            for (int i = 0; i < at_once; ++i) run.word[k + i] = part.x[i];
        }
        return run;
    }

    /// To memory that is aligned like that.
    __device__ void put(char* to) const {
        constexpr int at_once = words < 4 ? words : 4;
        static_assert(words == at_once);
        vector_of<std::uint32_t, at_once> all;
#pragma unroll
        for (int i = 0; i < words; ++i) all.x[i] = word[i];
        *reinterpret_cast<vector_of<std::uint32_t, at_once>*>(to) = all;
    }

    /// So many pixels from there, behind which nothing is read.
    __device__ static pixel_run first_of(const char* from, int pixels) {
        pixel_run run;
#pragma unroll
        for (int w = 0; w < words; ++w) {
            std::uint32_t word = 0;
#pragma unroll
            for (int i = 0; i < 32 / bits; ++i)
                if (w * (32 / bits) + i < pixels)
                    word |= std::uint32_t{reinterpret_cast<const Pixel*>(from)[w * (32 / bits) + i]} << (bits * i);
            run.word[w] = word;
        }
        return run;
    }
};

/// Rows of a thread's columns that are read at once.
template <typename Pixel, int K, int N>
struct pixel_runs {
    pixel_run<Pixel, K> row[N];
};

/// The image's sample at a place of an extended axis that windows reach; some sample at places beyond, -1 where there
/// is none. Fused windows reach less than twice the image (fused_supports()), so nothing is divided.
__device__ inline int sample_at(const filters::window_axis& axis, int i) {
    const int n = static_cast<int>(axis.extent);
    if (i >= 0 && i < n) return i;
    if (!axis.continues()) return -1;
    if (axis.border == border_mode::wrap) i += i < 0 ? n : -n;
    if (axis.border == border_mode::reflect || axis.border == border_mode::mirror) {
        const int repeated_edge = axis.border == border_mode::reflect ? 1 : 0;
        if (i < 0) i = -repeated_edge - i;
        if (i >= n) i = 2 * n - 2 + repeated_edge - i;
        if (i < 0) i = -repeated_edge - i;
    }
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/// What K columns of the extended image, from a multiple of K on, are made of: first so many of the image's `own`, then
/// of K neighbouring ones from `low` on those in the same places, or in the same places from the end.
template <int K>
struct run_parts {
    enum class beyond { nothing, one, neighbours, neighbours_turned, anything };
    int own, low;
    beyond rest;

    __device__ run_parts(const filters::window_axis& axis, int col) : low(0) {
        const int n = static_cast<int>(axis.extent);
        own = col < 0 ? 0 : n - col < 0 ? 0 : n - col < K ? n - col : K;
        switch (axis.border) {
            case border_mode::shrink:
            case border_mode::constant:
                rest = beyond::nothing;
                return;
            case border_mode::replicate:
                rest = beyond::one;
                low = col < 0 ? 0 : n - 1;
                return;
            case border_mode::wrap:
                rest = beyond::neighbours;
                low = col < 0 ? col + n : col - n;
                break;
            case border_mode::reflect:
            case border_mode::mirror: {
                rest = beyond::neighbours_turned;
                const int repeated_edge = axis.border == border_mode::reflect ? 1 : 0;
                low = (col < 0 ? -repeated_edge : 2 * n - 2 + repeated_edge) - (col + K - 1);
                break;
            }
        }
        // Before `own` they may lie beyond the image.
        const int before = rest == beyond::neighbours ? own : 0, behind = rest == beyond::neighbours ? 0 : own;
        if (low + before < 0 || low + K - behind > n) rest = beyond::anything;
    }
};

/// Rows first .. of the extended image, wherever they and the columns lie; those but begin <= j < end are zero. A
/// function of its own: it is long, and rare but for images of several channels and rows that start anywhere.
template <typename Pixel, int K, int N>
__device__ __noinline__ pixel_runs<Pixel, K, N> read_anywhere(const plane_view& t, int first, int begin, int end,
                                                              int col, int channel) {
    using run = pixel_run<Pixel, K>;
    using beyond = typename run_parts<K>::beyond;
    constexpr int bits = run::bits, in_word = 32 / bits;
    const int width = static_cast<int>(t.cols.extent);
    pixel_runs<Pixel, K, N> to;
    const char* row[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
        to.row[j] = run::all(t.flip);
        row[j] = nullptr;
        if (j < begin || j >= end) continue;
        const int y = sample_at(t.rows, first + j);
        if (y < 0)
            to.row[j] = run::all(t.outside);
        else
            row[j] = t.image + y * t.image_stride;
    }
    const bool over = t.any_beyond && bits < 32;
    if (t.in_units && col >= 0 && col + (over ? 1 : K) <= width) {
        const std::int64_t at = std::int64_t{col} * static_cast<int>(sizeof(Pixel));
        const char* const last = t.image + t.last_read * t.image_stride;
        bool ends = false;
#pragma unroll
        for (int j = 0; j < N; ++j) ends |= row[j] == last;
        ends = ends && col + K > width;
        run tail;
        if (ends) tail = run::first_of(last + at, width - col);
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (row[j] != nullptr) to.row[j] = ends && row[j] == last ? tail : run::at(row[j] + at);
        return to;
    }
    std::uint32_t x[N][K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
        const int from = sample_at(t.cols, col + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            x[j][i] = t.outside;
            if (from >= 0 && row[j] != nullptr)
                x[j][i] = reinterpret_cast<const Pixel*>(row[j])[std::int64_t{from} * t.channels + channel];
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        if (row[j] == nullptr) continue;
#pragma unroll
        for (int w = 0; w < run::words; ++w) {
            std::uint32_t word = 0;
#pragma unroll
            for (int i = 0; i < in_word; ++i) word |= (x[j][w * in_word + i] & (~0u >> (32 - bits))) << (bits * i);
            to.row[j].word[w] = word;
        }
    }
    return to;
}

/// The same of whole runs from `column` on in row 0, where the border repeats no row. Short, so that a small image,
/// which waits for its first and last rows, does not wait for the code above; a function of its own for the others'
/// registers.
template <typename Pixel, int K, int N>
__device__ __noinline__ pixel_runs<Pixel, K, N> read_cut(const plane_view& t, const char* column, int first, int begin,
                                                         int end) {
    using run = pixel_run<Pixel, K>;
    pixel_runs<Pixel, K, N> to;
    const char* from = column + first * t.image_stride;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        to.row[j] = run::all(t.flip);
        const bool there = static_cast<unsigned>(first + j) < static_cast<unsigned>(t.rows.extent);
        if (j >= begin && j < end) to.row[j] = there ? run::at(from) : run::all(t.outside);
        from += t.image_stride;
    }
    return to;
}

/// Reads a thread's columns of one channel.
template <typename Pixel, int K>
class run_reader {
  public:
    using run = pixel_run<Pixel, K>;

    __device__ run_reader(const plane_view& t, int col, int channel) : t_(t), col_(col), channel_(channel) {
        using beyond = typename run_parts<K>::beyond;
        const int width = static_cast<int>(t.cols.extent);
        const run_parts<K> parts(t.cols, col);
        lie_ = columns::anywhere;
        if (parts.own == 0 && (t.any_beyond || parts.rest == beyond::nothing)) {
            lie_ = columns::beyond;
        } else if (t.in_units && parts.own == K) {
            lie_ = columns::together;
        } else if (run::bits == 32 && t.channels == 1 && parts.own > 0 &&
                   (parts.own == K || t.any_beyond || parts.rest == beyond::nothing)) {
            lie_ = columns::apart;
        } else if (t.in_units && t.any_beyond) {
            lie_ = columns::over;
        } else if (t.in_units && parts.own == 0) {  // where a whole run can be read
            const int from = parts.rest == beyond::one && parts.low > 0 ? width - K : parts.low;
            if (parts.rest != beyond::anything && from >= 0 && from + K <= width && from % K == 0) {
                col_ = from;
                lie_ = parts.rest == beyond::neighbours          ? columns::together
                       : parts.rest == beyond::neighbours_turned ? columns::turned
                       : parts.low > 0                           ? columns::last
                                                                 : columns::first;
            }
        }
        at_ = t.image + std::int64_t{col_} * static_cast<int>(sizeof(Pixel));
    }

    /// The same columns of an image that lies like that of another reader.
    __device__ run_reader(const run_reader& like, const plane_view& t)
        : t_(t), at_(like.at_ + (t.image - like.t_.image)), col_(like.col_), channel_(like.channel_), lie_(like.lie_) {}

    /// Whether all rows first .. first + n - 1 are the image's, and in memory.
    __device__ bool inside(int first, int n) const { return first >= t_.first_read && first + n - 1 <= t_.last_read; }

    /// Whether the columns lie side by side, in the order that they have, and can be moved together; where those of one
    /// of the image's rows are then, and how far from those of the next.
    __device__ bool together() const { return lie_ == columns::together; }
    __device__ const char* row(int y) const { return at_ + y * t_.image_stride; }
    __device__ std::int64_t stride() const { return t_.image_stride; }

    /// Rows first .. of the extended image; those but begin <= j < end are zero. `plain`: none is, and all are the
    /// image's.
    template <int N>
    __device__ void read(run (&to)[N], int first, int begin, int end, bool plain) const {
        const int from_row = first + (begin > 0 ? begin : 0), to_row = first + (end < N ? end : N);
        const bool some = from_row >= 0 && to_row <= (lie_ == columns::over ? t_.last_read : t_.rows.extent);
        if (lie_ == columns::over) plain = plain && first + N <= t_.last_read;  // also the rows behind `end` are read
        const char* from = at_ + first * t_.image_stride;
        if (lie_ == columns::beyond) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = run::all(j >= begin && j < end ? t_.outside : t_.flip);
        } else if (plain && lie_ < columns::apart) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j] = run::at(from);
                from += t_.image_stride;
            }
        } else if (some && lie_ < columns::apart) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j] = run::all(t_.flip);
                if (j >= begin && j < end) to[j] = run::at(from);
                from += t_.image_stride;
            }
        } else if (lie_ < columns::over && !t_.rows.continues()) {
            const auto rows = read_cut<Pixel, K, N>(t_, at_, first, begin, end);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        } else if (plain && lie_ == columns::apart) {  // pixels of a word each
            const int own = static_cast<int>(t_.cols.extent) - col_;
#pragma unroll
            for (int j = 0; j < N; ++j) {
#pragma unroll
                for (int w = 0; w < run::words; ++w)
                    to[j].word[w] = w < own ? reinterpret_cast<const std::uint32_t*>(from)[w] : t_.outside;
                from += t_.image_stride;
            }
        } else {
            const auto rows = read_anywhere<Pixel, K, N>(t_, first, begin, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
        if (lie_ < columns::turned || lie_ > columns::last) return;
#pragma unroll
        for (int j = 0; j < N; ++j)
            to[j] = lie_ == columns::turned  ? to[j].turned()
                    : lie_ == columns::first ? run::all_one(to[j].word[0])
                                             : run::all_one(to[j].word[run::words - 1] >> (32 - run::bits));
    }

    /// The same, on their way to rows of shared memory that lie `apart` bytes from each other: the thread waits for
    /// them with wait_for_copies().
    template <int N>
    __device__ void start(char* to, int apart, int first, int begin, int end, bool plain) const {
        if (plain && lie_ == columns::together) {
            const char* from = at_ + first * t_.image_stride;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                copy_async<static_cast<int>(sizeof(run))>(to + j * apart, from);
                from += t_.image_stride;
            }
        } else {
            run rows[N];
            read(rows, first, begin, end, plain);
#pragma unroll
            for (int j = 0; j < N; ++j) rows[j].put(to + j * apart);
        }
    }

  private:
    enum class columns { together, over, turned, first, last, apart, beyond, anywhere };

    const plane_view& t_;
    const char* at_;
    int col_, channel_;
    columns lie_;
};

/// The same of rows that start anywhere in memory, where columns beyond the sides may hold anything. Of whole warps: a
/// thread reads the words from that on in which its first pixel lies, and the word behind them is the next thread's.
template <typename Pixel, int K>
class shifted_reader {
  public:
    static constexpr bool shifts = true;
    using run = pixel_run<Pixel, K>;

    __device__ shifted_reader(const plane_view& t, int col, int channel) : t_(t), col_(col), channel_(channel) {
        constexpr int size = static_cast<int>(sizeof(Pixel));
        const int own = static_cast<int>(t.cols.extent) - col;
        own_bytes_ = (col < 0 || own < 0 ? 0 : own < K ? own : K) * size;
        alone_ = threadIdx.x % 32 == 31 || own <= K;
        at_ = t.image + std::int64_t{col} * size;
    }

    __device__ bool inside(int first, int n) const { return first >= t_.first_read && first + n - 1 <= t_.last_read; }

    /// As run_reader does. They are to be shifted before they are used, and as late: that waits for memory.
    template <int N>
    __device__ void fetch(run (&to)[N], int first, int begin, int end, bool) const {
        if (own_bytes_ == 0) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = run::all(j >= begin && j < end ? t_.outside : t_.flip);
        } else if (in_words(first, begin, end, N)) {
            const char* from = at_ + first * t_.image_stride;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const auto* const words = reinterpret_cast<const std::uint32_t*>(from - phase(from));
#pragma unroll
                for (int w = 0; w < run::words; ++w) to[j].word[w] = j >= begin && j < end ? words[w] : t_.flip;
                from += t_.image_stride;
            }
        } else {
            const auto rows = read_anywhere<Pixel, K, N>(t_, first, begin, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }

    template <int N>
    __device__ void shift(run (&rows)[N], int first, int begin, int end) const {
        if (!in_words(first, begin, end, N)) return;
        const char* from = at_ + first * t_.image_stride;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int past = phase(from);
            const bool there = own_bytes_ > 0 && j >= begin && j < end;
            std::uint32_t next = __shfl_down_sync(~0u, rows[j].word[0], 1);
            if (there && alone_ && past + own_bytes_ > 4 * run::words)  // a byte of its own is in it
                next = reinterpret_cast<const std::uint32_t*>(from - past)[run::words];
            if (there) {
#pragma unroll
                for (int w = 0; w < run::words; ++w)
                    rows[j].word[w] = __funnelshift_r(rows[j].word[w], w + 1 < run::words ? rows[j].word[w + 1] : next,
                                                      8 * static_cast<unsigned>(past));
            }
            from += t_.image_stride;
        }
    }

    template <int N>
    __device__ void read(run (&to)[N], int first, int begin, int end, bool plain) const {
        fetch(to, first, begin, end, plain);
        shift(to, first, begin, end);
    }

  private:
    /// Whether words of the rows are the image's memory, though they reach beyond the rows.
    __device__ bool in_words(int first, int begin, int end, int n) const {
        return first + (begin > 0 ? begin : 0) > t_.first_read && first + (end < n ? end : n) <= t_.last_read;
    }
    __device__ static int phase(const char* at) {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 4);
    }

    const plane_view& t_;
    const char* at_;
    int col_, channel_, own_bytes_;
    bool alone_;
};

/// Rows that need not be shifted before they are used: where a reader does both at once.
template <typename Reader>
inline constexpr bool shifts_late = requires {
    Reader::shifts;
};
static_assert(shifts_late<shifted_reader<u8, 8>> && !shifts_late<run_reader<u8, 8>>);

template <typename Reader, typename Row, int N>
__device__ void fetch(const Reader& reader, Row (&to)[N], int first, int begin, int end, bool plain) {
    if constexpr (shifts_late<Reader>)
        reader.fetch(to, first, begin, end, plain);
    else
        reader.read(to, first, begin, end, plain);
}

}  // namespace boxsum::cuda
