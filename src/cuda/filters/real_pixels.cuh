#pragma once

#include "cuda/device/streaming.cuh"
#include "cuda/filters/pixel_runs.cuh"
#include "cuda/filters/real_terms.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

/// What the kernels of real_windows.cuh take, and how they read pixels and what these weigh.
namespace boxsum::cuda {

/// Where rows end of which all are there.
inline constexpr int every_row = std::numeric_limits<int>::max();

/// Windows whose sums lie in memory (large_windows.cuh). A chunk of bands has a line for each row and channel, of sums
/// by place of the extended image and one more.
struct large_view {
    void* suffixes =
        nullptr;  ///< at first what windows hold of the columns; the last is of what all windows hold on top
    void* prefixes = nullptr;
    int line = 1;
    int chunk_row = 0;               ///< the first in memory, a band's
    int first_row = 0, end_row = 0;  ///< with results

    __device__ std::int64_t line_at(int row, int channel, int channels) const {
        return (std::int64_t{row - chunk_row} * channels + channel) * (line + 1);
    }
};

struct real_view {
    filters::window_axis rows, cols;
    const char *image, *mask, *weights;  ///< null: none
    std::int64_t image_stride, mask_stride, weights_stride;
    dtype type;
    int channels, mask_channels, weights_channels;
    int first_row, end_row;      ///< with results
    int first_taken, end_taken;  ///< rows that windows hold: others are not there, and take no part
    int first_plain, end_plain;  ///< those of them that lie in the image
    int band_rows, first_band, bands, chunk_bands;
    int strip_cols, strips, block_cols;
    void* segments;  ///< null: not prepared
    int segment_count, segment_cols, first_segment;
    double outside;        ///< a pixel beyond a constant border
    float outside_weight;  ///< 0: beyond other borders, or where such a pixel does not count
    double unit;           ///< of packed sums
    double nodata;
    bool has_nodata, omits_nan;
    bool in_units;  ///< a thread's pixels, and what goes with them, can be read together
    bool asks;      ///< pixels are asked whether they count: by a mask or their values, or as there are no weights
    double pixels, inverse;              ///< of an uncut window, and 1 over that
    int first_uncut_row, end_uncut_row;  ///< of rows and columns around which windows are uncut
    int first_uncut_col, end_uncut_col;
    refused_blocks refused;
    large_view large;  ///< without memory: blocks hold the windows
    double noise;  ///< what compensated sums of squares may be off by, of the square of their number times themselves
};

// ---- pixels ---------------------------------------------------------------------------------------------------------

/// K pixels of a row that all count.
template <typename Pixel, int K>
struct real_run {
    Pixel x[K];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < K; ++i) x[i] = 0;
    }
    __device__ void set(int i, double value, float) {
        x[i] = static_cast<Pixel>(value);
    }
    __device__ float weight(int) const {
        return 1;
    }
};

/// K pixels and their weights.
template <typename Pixel, int K>
struct weighted_run {
    Pixel x[K];
    float w[K];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < K; ++i) x[i] = 0, w[i] = 0;
    }
    __device__ void set(int i, double value, float weight) {
        x[i] = static_cast<Pixel>(value);
        w[i] = weight;
    }
    __device__ float weight(int i) const {
        return w[i];
    }
};

/// K pixels of up to 32 bits with their weights. Until they are settled x begins with the bytes that memory has, and w,
/// where there are no weights, with those of a mask: nothing waits for them before. Then x are numbers, 0 where the
/// weight is.
template <int K>
struct narrow_run {
    static_assert(K == 4);
    float x[K], w[K];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < K; ++i) set(i, 0, 0);
    }
    __device__ void set(int i, double value, float weight) {
        x[i] = static_cast<float>(value);
        w[i] = weight;
    }
    __device__ float weight(int i) const {
        return w[i];
    }
};

/// K elements from aligned memory: 16 bytes of alignment serve any number.
template <typename T, int K>
__device__ void load_run(T (&to)[K], const char* from) {
    constexpr int at_once = K * sizeof(T) > 16 ? 16 / static_cast<int>(sizeof(T)) : K;
#pragma unroll
    for (int k = 0; k < K; k += at_once) {
        const auto part = *reinterpret_cast<const vector_of<T, at_once>*>(from + k * static_cast<int>(sizeof(T)));
#pragma unroll
        for (int i = 0; i < at_once; ++i) to[k + i] = part.x[i];
    }
}

/// How a kernel holds pixels: as they are in the image, 16-bit signed ones 32768 higher; or whatever their type is, in
/// double, or of up to 32 bits in float.
struct any_pixel {};
struct narrow_pixel {};

template <typename Pixel>
__device__ Pixel pixel_at(const real_view& t, const char* row, std::int64_t element) {
    const auto x = reinterpret_cast<const Pixel*>(row)[element];
    if constexpr (std::is_same_v<Pixel, u16>) return t.type == dtype::s16 ? static_cast<u16>(x ^ 0x8000) : x;
    return x;
}

__device__ inline double any_pixel_at(const real_view& t, const char* row, std::int64_t element) {
    switch (t.type) {
        case dtype::u8:
            return reinterpret_cast<const u8*>(row)[element];
        case dtype::u16:
            return reinterpret_cast<const u16*>(row)[element];
        case dtype::s16:
            return reinterpret_cast<const s16*>(row)[element];
        case dtype::f32:
            return reinterpret_cast<const f32*>(row)[element];
        default:
            return reinterpret_cast<const f64*>(row)[element];
    }
}

template <typename Pixel>
using held_pixel = std::conditional_t<std::is_same_v<Pixel, any_pixel>, double,
                                      std::conditional_t<std::is_same_v<Pixel, narrow_pixel>, float, Pixel>>;
template <typename Pixel>
inline constexpr bool of_any_type = !std::is_same_v<Pixel, held_pixel<Pixel>>;

template <typename Pixel, int K>
__device__ void load_pixels(const real_view& t, held_pixel<Pixel> (&to)[K], const char* row, std::int64_t element) {
    const auto as = [&](auto kind) {
        using T = decltype(kind);
        T x[K];
        load_run(x, row + element * static_cast<int>(sizeof(T)));
#pragma unroll
        for (int i = 0; i < K; ++i) to[i] = static_cast<held_pixel<Pixel>>(x[i]);
    };
    if constexpr (std::is_same_v<Pixel, any_pixel>) {
        switch (t.type) {
            case dtype::u8:
                return as(u8{});
            case dtype::u16:
                return as(u16{});
            case dtype::s16:
                return as(s16{});
            case dtype::f32:
                return as(f32{});
            default:
                return as(f64{});
        }
    } else {
        as(Pixel{});
        if constexpr (std::is_same_v<Pixel, u16>)
            if (t.type == dtype::s16) {
#pragma unroll
                for (int i = 0; i < K; ++i) to[i] ^= 0x8000;
            }
    }
}

/// Whether a value counts by itself. `x` as it is held.
template <typename X>
__device__ bool has_value(const real_view& t, X x) {
    if constexpr (std::is_floating_point_v<X>)
        if (x != x) return !(t.omits_nan || (t.has_nodata && t.nodata != t.nodata));
    return !(t.has_nodata && static_cast<double>(x) == t.nodata);
}

/// A weight that is not above 0, or not finite, counts for nothing.
__device__ inline bool is_weight(float given) {
    return __float_as_uint(given) - 1 < 0x7f7fffffu;  // bits of finite numbers above 0 grow with them from 1 on
}
__device__ inline float weight_of(float given) {
    return is_weight(given) ? given : 0;
}

/// Element `channel` of column `col` of row y of the image.
template <typename Pixel, typename Run>
__device__ void read_one(const real_view& t, Run& to, int i, std::int64_t y, std::int64_t col, int channel) {
    const char* const row = t.image + y * t.image_stride;
    held_pixel<Pixel> x;
    if constexpr (of_any_type<Pixel>)
        x = static_cast<held_pixel<Pixel>>(any_pixel_at(t, row, col * t.channels + channel));
    else
        x = pixel_at<Pixel>(t, row, col * t.channels + channel);
    float w = has_value(t, x) ? 1 : 0;
    if (t.mask != nullptr) {
        const auto* const mask = reinterpret_cast<const u8*>(t.mask + y * t.mask_stride);
        if (mask[t.mask_channels == 1 ? col : col * t.mask_channels + channel] == 0) w = 0;
    }
    if (t.weights != nullptr && w != 0) {
        const auto* const weights = reinterpret_cast<const float*>(t.weights + y * t.weights_stride);
        w = weight_of(weights[t.weights_channels == 1 ? col : col * t.weights_channels + channel]);
    }
    to.set(i, static_cast<double>(x), w);
}

/// K columns of row y of the image, wherever they lie.
template <typename Pixel, typename Run, int K>
__device__ __noinline__ Run read_columns_anywhere(const real_view& t, std::int64_t y, int col, int channel) {
    Run to;
    constexpr int together = of_any_type<Pixel> ? 1 : K;  // which is long enough
#pragma unroll together
    for (int i = 0; i < K; ++i) {
        const int from = sample_at(t.cols, col + i);
        if (from < 0)
            to.set(i, t.outside, t.outside_weight);
        else
            read_one<Pixel>(t, to, i, y, from, channel);
    }
    return to;
}

/// Reads a thread's columns of one channel.
template <typename Pixel, typename Run, int K, bool Sampled>
class real_reader {
  public:
    __device__ real_reader(const real_view& t, int col, int channel, bool reads)
        : t_(t),
          col_(col),
          channel_(channel),
          reads_(reads),
          together_(t.in_units && col >= 0 && col + K <= t.cols.extent),
          beyond_((t.cols.border == border_mode::shrink || t.cols.border == border_mode::constant) &&
                  (col + K <= 0 || col >= t.cols.extent)) {}

    /// Row y of the extended image.
    __device__ void read(Run& to, int y) const {
        if (!reads_ || y < t_.first_taken || y >= t_.end_taken) return to.clear();
        const std::int64_t row = sample_at(t_.rows, y);
        if (row < 0 || beyond_) {
#pragma unroll
            for (int i = 0; i < K; ++i) to.set(i, t_.outside, t_.outside_weight);
        } else if (together_) {
            load_pixels<Pixel>(t_, to.x, t_.image + row * t_.image_stride, col_);
            if constexpr (Sampled) {
                float given[K];
#pragma unroll
                for (int i = 0; i < K; ++i) given[i] = 1;
                if (t_.weights != nullptr)
                    load_run(given, t_.weights + row * t_.weights_stride + std::int64_t{col_} * 4);
                u8 mask[K];
#pragma unroll
                for (int i = 0; i < K; ++i) mask[i] = 1;
                if (t_.mask != nullptr) load_run(mask, t_.mask + row * t_.mask_stride + col_);
#pragma unroll
                for (int i = 0; i < K; ++i) to.w[i] = mask[i] != 0 && has_value(t_, to.x[i]) ? weight_of(given[i]) : 0;
            }
        } else {
            to = read_columns_anywhere<Pixel, Run, K>(t_, row, col_, channel_);
        }
    }

    /// Rows from `first` on, of which those before `end` are there.
    template <int N>
    __device__ void read(Run (&to)[N], int first, int end = every_row) const {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (first + j < end)
                read(to[j], first + j);
            else
                to[j].clear();
        }
    }
    /// The same rows, which are summed next.
    template <int N>
    __device__ void settle(Run (&)[N], int, int = every_row) const {}

  private:
    const real_view& t_;
    int col_, channel_;
    bool reads_, together_, beyond_;
};

template <int N, int K>
struct narrow_runs {
    narrow_run<K> row[N];
};

template <int N, int K>
__device__ __noinline__ narrow_runs<N, K> read_rows_anywhere(const real_view& t, int first, int end, int col,
                                                             int channel);

/// The same of pixels in float. Rows that lie in the image are read without questions, and as memory has them until
/// they are summed.
template <int K>
class real_reader<narrow_pixel, narrow_run<K>, K, true> {
  public:
    using run = narrow_run<K>;

    __device__ real_reader(const real_view& t, int col, int channel, bool reads)
        : t_(t),
          col_(col),
          channel_(channel),
          together_(reads && t.in_units && col >= 0 && col + K <= t.cols.extent),
          beyond_((t.cols.border == border_mode::shrink || t.cols.border == border_mode::constant) &&
                  (col + K <= 0 || col >= t.cols.extent)),
          nothing_(!reads || (beyond_ && t.outside_weight == 0)) {}

    template <int N>
    __device__ void read(run (&to)[N], int first, int end = every_row) const {
        if (plain(first, first + N, end)) {
            switch (t_.type) {
                case dtype::u8:
                    load_bytes<u8>(to, first);
                    break;
                case dtype::u16:
                case dtype::s16:
                    load_bytes<u16>(to, first);
                    break;
                default:
                    load_bytes<f32>(to, first);
            }
            if (t_.weights != nullptr) {
                const char* from = t_.weights + first * t_.weights_stride + std::int64_t{col_} * 4;
#pragma unroll
                for (int j = 0; j < N; ++j, from += t_.weights_stride) load_run(to[j].w, from);
            } else {
#pragma unroll
                for (int j = 0; j < N; ++j) {
#pragma unroll
                    for (int i = 0; i < K; ++i) to[j].w[i] = 1;
                    if (t_.mask != nullptr) to[j].w[0] = __uint_as_float(mask_of(first + j));
                }
            }
        } else if (nothing_) {
#pragma unroll
            for (int j = 0; j < N; ++j) to[j].clear();
        } else {
            const auto rows = read_rows_anywhere<N, K>(t_, first, end, col_, channel_);
#pragma unroll
            for (int j = 0; j < N; ++j) to[j] = rows.row[j];
        }
    }
    __device__ void read(run& to, int y) const {
        run rows[1];
        read(rows, y);
        settle(rows, y);
        to = rows[0];
    }

    /// A row that may be anywhere, as it counts; nothing from `end` on.
    __device__ void read_anywhere(run& to, int y, int end) const {
        to.clear();
        if (y >= end || y < t_.first_taken || y >= t_.end_taken) return;
        const int row = sample_at(t_.rows, y);
        if (row < 0 || beyond_) {
#pragma unroll
            for (int i = 0; i < K; ++i) to.set(i, t_.outside, t_.outside_weight);
        } else {
            to = read_columns_anywhere<narrow_pixel, run, K>(t_, row, col_, channel_);
        }
    }

    /// Rows that are plain are as memory has them, others as they count.
    template <int N>
    __device__ void settle(run (&rows)[N], int first, int end = every_row) const {
        if (plain(first, first + N, end)) {
            switch (t_.type) {
                case dtype::u8:
                    make_floats<u8>(rows);
                    break;
                case dtype::u16:
                case dtype::s16:
                    make_floats<u16>(rows);
                    break;
                default:
                    break;
            }
            if (t_.asks) {
#pragma unroll
                for (int j = 0; j < N; ++j) {
                    run& r = rows[j];
                    const bool weighted = t_.weights != nullptr;
                    std::uint32_t there = ~0u;
                    if (t_.mask != nullptr) there = weighted ? mask_of(first + j) : __float_as_uint(r.w[0]);
#pragma unroll
                    for (int i = 0; i < K; ++i) {
                        if (!weighted) r.w[i] = 1;
                        if ((there >> (8 * i) & 0xff) == 0 || !has_value(t_, r.x[i])) r.w[i] = 0;
                    }
                }
            }
        }
#pragma unroll
        for (run& r : rows)
#pragma unroll
            for (int i = 0; i < K; ++i)
                if (!is_weight(r.w[i])) r.x[i] = r.w[i] = 0;
    }

  private:
    __device__ std::uint32_t mask_of(int row) const {
        return *reinterpret_cast<const std::uint32_t*>(t_.mask + row * t_.mask_stride + col_);
    }

    /// Whether all rows before `last` lie in the image.
    __device__ bool plain(int first, int last, int end) const {
        return together_ && first >= t_.first_plain && last <= t_.end_plain && last <= end;
    }

    template <typename T, int N>
    __device__ void load_bytes(run (&to)[N], int first) const {
        constexpr int words = K * static_cast<int>(sizeof(T)) / 4;
        const char* from = t_.image + first * t_.image_stride + col_ * static_cast<std::int64_t>(sizeof(T));
#pragma unroll
        for (int j = 0; j < N; ++j, from += t_.image_stride) {
            std::uint32_t word[words];
            load_run(word, from);
#pragma unroll
            for (int k = 0; k < K; ++k) to[j].x[k] = k < words ? __uint_as_float(word[k < words ? k : 0]) : 0;
        }
    }

    /// Integers behind the bits of 2^23: conversions take several turns.
    template <typename T, int N>
    __device__ void make_floats(run (&rows)[N]) const {
        constexpr int in_word = 4 / static_cast<int>(sizeof(T));
        const bool negative = sizeof(T) == 2 && t_.type == dtype::s16;
        const std::uint32_t flip = negative ? 0x80008000u : 0;
        const float above = negative ? 0x1p23f + 32768 : 0x1p23f;
#pragma unroll
        for (run& r : rows) {
#pragma unroll
            for (int i = K - 1; i >= 0; --i) {
                const auto at = static_cast<std::uint32_t>(i % in_word);
                const std::uint32_t place = sizeof(T) == 1 ? 0x7440 + at : at == 0 ? 0x7410 : 0x7432;
                r.x[i] =
                    __uint_as_float(__byte_perm(__float_as_uint(r.x[i / in_word]) ^ flip, 0x4b000000u, place)) - above;
            }
        }
    }

    const real_view& t_;
    int col_, channel_;
    bool together_, beyond_, nothing_;
};

/// Rows from `first` on, of which those before `end` are there, wherever they lie.
template <int N, int K>
__device__ __noinline__ narrow_runs<N, K> read_rows_anywhere(const real_view& t, int first, int end, int col,
                                                             int channel) {
    narrow_runs<N, K> to;
    const real_reader<narrow_pixel, narrow_run<K>, K, true> reader(t, col, channel, true);
#pragma unroll 1
    for (int j = 0; j < N; ++j) reader.read_anywhere(to.row[j], first + j, end);
    return to;
}

}  // namespace boxsum::cuda
