#pragma once

#include "cuda/device/streaming.cuh"
#include "filters/window_axis.hpp"

#include <boxsum/types.hpp>

#include <cstdint>

/// How a thread reads its columns of a plane, some rows at once: K neighbouring ones from a multiple of K on, inside
/// the image or beyond its borders.
///
/// Beyond a border a thread reads what the axis says is there (window_axis::source). What `shrink` leaves out is a
/// zero. A run that lies as a whole where the image is mirrored, repeated, or begins anew is read like any other, and
/// its pixels are put in order once they are there. Runs that memory or the border cut, and rows beyond it, go through
/// a function of their own.
namespace boxsum::cuda {

/// What is read of one plane.
struct plane_view {
    filters::window_axis rows, cols;
    const char* image;  ///< null: there is none
    std::int64_t image_stride;
    int channels;
    std::uint32_t flip;     ///< XORed to a word of pixels: centred then
    std::uint32_t outside;  ///< what lies beyond a border that repeats no pixel, in all of a word
    bool in_units;          ///< a thread's columns can be read together
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

    /// The first `own` pixels, and behind them others.
    __device__ pixel_run up_to(int own, const pixel_run& others) const {
        pixel_run run;
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const int owned = own - i * (32 / bits);  // of this word
            const std::uint32_t mask = owned <= 0 ? 0 : owned >= 32 / bits ? ~0u : (1u << (owned * bits % 32)) - 1;
            run.word[i] = (word[i] & mask) | (others.word[i] & ~mask);
        }
        return run;
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

/// Bytes of a row in the word at `at` from byte First on, three of them, as far as they are the row's; the rest is 0.
template <int First>
__device__ std::uint32_t bytes_within(const char* at, const char* begin, const char* end) {
    std::uint32_t word = 0;
#pragma unroll
    for (int b = First; b < First + 3; ++b) {
        const bool there = begin != nullptr && at + b >= begin && at + b < end;
        word |= there ? std::uint32_t{static_cast<std::uint8_t>(at[b])} << (8 * b) : 0;
    }
    return word;
}

/// K neighbouring pixels of each of N rows of one channel, wherever they lie in memory, by words; those beyond a row's
/// ends are anything. Rows that are null are not read.
template <typename Pixel, int K, int N>
__device__ void read_neighbours(pixel_run<Pixel, K> (&to)[N], const char* const (&row)[N], int width, int col) {
    constexpr int words = pixel_run<Pixel, K>::words, size = static_cast<int>(sizeof(Pixel));
    std::uint32_t x[N][words + 1];
    bool begins = false, ends = false;  // whether a row does within a word
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const char *const from = row[j] + std::int64_t{col} * size, *const end = row[j] + std::int64_t{width} * size;
        const int past = size == 4 ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4);
#pragma unroll
        for (int w = 0; w <= words; ++w) {
            const char* const at = from - past + 4 * w;
            const bool wanted = row[j] != nullptr && (w < words || past > 0);
            const bool whole = wanted && at >= row[j] && at + 4 <= end;
            x[j][w] = whole ? *reinterpret_cast<const std::uint32_t*>(at) : 0;
            begins |= wanted && at < row[j] && at + 4 > row[j];
            ends |= wanted && at + 4 > end && at < end;
        }
    }
    const auto put = [&](int j, const char* place, std::uint32_t word) {
        const char* const from = row[j] + std::int64_t{col} * size;
        const int past = size == 4 ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4);
#pragma unroll
        for (int w = 0; w <= words; ++w)
            if (from - past + 4 * w == place) x[j][w] |= word;
    };
    if (begins) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const char *const head = row[j] - reinterpret_cast<std::uintptr_t>(row[j]) % 4, *const end =
                                                                                                row[j] +
                                                                                                std::int64_t{width} *
                                                                                                    size;
            if (head < row[j]) put(j, head, bytes_within<1>(head, row[j], end));
        }
    }
    if (ends) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const char *const end = row[j] + std::int64_t{width} * size, *const tail =
                                                                             end -
                                                                             reinterpret_cast<std::uintptr_t>(end) % 4;
            put(j, tail, bytes_within<0>(tail, row[j], end));
        }
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        const char* const from = row[j] + std::int64_t{col} * size;
        const unsigned past = size == 4 ? 0 : static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 4);
#pragma unroll
        for (int w = 0; w < words; ++w) to[j].word[w] = __funnelshift_r(x[j][w], x[j][w + 1], 8 * past);
    }
}

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
    if (t.in_units && col >= 0 && col + K <= width) {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (row[j] != nullptr) to.row[j] = run::at(row[j] + std::int64_t{col} * static_cast<int>(sizeof(Pixel)));
        }
        return to;
    }
    const run_parts<K> parts(t.cols, col);
    if (t.channels == 1 && parts.rest != beyond::anything) {
        run x[N];
#pragma unroll
        for (int j = 0; j < N; ++j) x[j] = run::all(t.outside);
        if (parts.rest == beyond::one && parts.own < K) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
                if (row[j] != nullptr) x[j] = run::all_one(reinterpret_cast<const Pixel*>(row[j])[parts.low]);
            }
        } else if (parts.rest != beyond::nothing && parts.own < K) {
            read_neighbours<Pixel, K>(x, row, width, parts.low);
            if (parts.rest == beyond::neighbours_turned) {
#pragma unroll
                for (int j = 0; j < N; ++j) x[j] = x[j].turned();
            }
        }
        if (parts.own > 0) {
            run own[N];
            read_neighbours<Pixel, K>(own, row, width, col);
#pragma unroll
            for (int j = 0; j < N; ++j) x[j] = own[j].up_to(parts.own, x[j]);
        }
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (row[j] != nullptr) to.row[j] = x[j];
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
        if (parts.own == 0 && parts.rest == beyond::nothing) {
            lie_ = columns::beyond;
        } else if (t.in_units && parts.own == K) {
            lie_ = columns::together;
        } else if (t.in_units && parts.rest == beyond::nothing && parts.own * run::bits % 32 == 0) {
            lie_ = columns::cut;
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

    /// Whether all rows first .. first + n - 1 are the image's.
    __device__ bool inside(int first, int n) const { return first >= 0 && first + n <= t_.rows.extent; }

    /// Rows first .. of the extended image; those but begin <= j < end are zero. `plain`: none is, and all are the
    /// image's. They are to be settled before they are used, and as late: that waits for memory.
    template <int N>
    __device__ void fetch(run (&to)[N], int first, int begin, int end, bool plain) const {
        if (plain && lie_ <= columns::last) {
            const char* from = at_ + first * t_.image_stride;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                to[j] = run::at(from);
                from += t_.image_stride;
            }
        } else if (lie_ == columns::beyond) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = run::all(j >= begin && j < end ? t_.outside : t_.flip);
        } else if (plain && lie_ == columns::cut) {  // between words
            const int own = static_cast<int>(t_.cols.extent) - col_;
#pragma unroll
            for (int j = 0; j < N; ++j) {
                const auto* const from = reinterpret_cast<const std::uint32_t*>(at_ + (first + j) * t_.image_stride);
#pragma unroll
                for (int w = 0; w < run::words; ++w) to[j].word[w] = w * (32 / run::bits) < own ? from[w] : t_.outside;
            }
        } else {
            const auto rows = read_anywhere<Pixel, K, N>(t_, first, begin, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }

    /// Whether fetched rows are not yet what they are taken for.
    __device__ bool settles() const {
        return lie_ > columns::together && lie_ <= columns::last;
    }
    template <int N>
    __device__ void settle(run (&rows)[N]) const {
#pragma unroll
        for (int j = 0; j < N; ++j)
            rows[j] = lie_ == columns::turned  ? rows[j].turned()
                      : lie_ == columns::first ? run::all_one(rows[j].word[0])
                                               : run::all_one(rows[j].word[run::words - 1] >> (32 - run::bits));
    }

    template <int N>
    __device__ void read(run (&to)[N], int first, int begin, int end, bool plain) const {
        fetch(to, first, begin, end, plain);
        if (settles()) settle(to);
    }

  private:
    enum class columns { together, turned, first, last, cut, beyond, anywhere };

    const plane_view& t_;
    const char* at_;
    int col_, channel_;
    columns lie_;
};

/// Rows that need not be settled before they are used: where a reader does both at once.
template <typename Reader>
inline constexpr bool settles_late = requires(const Reader& reader) {
    reader.settles();
};

template <typename Reader, typename Row, int N>
__device__ void fetch(const Reader& reader, Row (&to)[N], int first, int begin, int end, bool plain) {
    if constexpr (settles_late<Reader>)
        reader.fetch(to, first, begin, end, plain);
    else
        reader.read(to, first, begin, end, plain);
}

}  // namespace boxsum::cuda
