#pragma once

#include "core/visit_types.hpp"

#include <boxsum/filters.hpp>

#include <cstdint>
#include <tuple>

/// The inner loops of the filters: one row (or a piece of one) per call. They are compiled once per instruction set
/// (row_kernels_*.cpp) and chosen when the program runs. `n` counts elements (columns times channels).
namespace boxsum::filters {

/// Vertical running sums of x (or of x * x) over columns of an integer image. Signed 16-bit pixels are taken as
/// unsigned ones, 32768 higher: `flip` is XORed to every pixel (0 or 0x8000). Everything wraps; a window sum that fits
/// A is exact.
template <typename T, typename A>
struct accumulate_kernels {
    void (*add)(A* sums, const T* x, T flip, A weight, std::int64_t n);          ///< sums += weight * x
    void (*slide)(A* sums, const T* in, const T* out, T flip, std::int64_t n);   ///< sums += in - out
    void (*add_squares)(A* sums, const T* x, T flip, A weight, std::int64_t n);  ///< the same of x * x
    void (*slide_squares)(A* sums, const T* in, const T* out, T flip, std::int64_t n);
};

/// From column sums to results.
template <typename A>
struct window_kernels {
    /// totals[k] = sum of x[i * channels + k] over cols columns
    void (*total)(A* totals, const A* x, std::int64_t cols, std::int64_t channels);
    /// w[i] = w[i - channels] + high[i] - low[i]: the next window is the last one with the column that enters and
    /// without the one that leaves. w[-channels .. -1] is given.
    void (*slide)(A* w, const A* high, const A* low, std::int64_t n, std::int64_t channels);
    /// out = floor(w / count + 1/2) ^ flip, with one count, or with rows * cols[i]. `half` has all bits; with none of
    /// them the half is left out.
    void (*mean_8u)(u8* out, const A* w, A count, A half, u8 flip, std::int64_t n);
    void (*mean_16u)(u16* out, const A* w, A count, A half, u16 flip, std::int64_t n);
    void (*mean_8u_each)(u8* out, const A* w, A rows, const A* cols, A half, u8 flip, std::int64_t n);
    void (*mean_16u_each)(u16* out, const A* w, A rows, const A* cols, A half, u16 flip, std::int64_t n);
    /// out = w / (rows * cols[i]) - offset
    void (*mean_32f)(f32* out, const A* w, A rows, const A* cols, A offset, std::int64_t n);
    void (*mean_64f)(f64* out, const A* w, A rows, const A* cols, A offset, std::int64_t n);
    /// As mean_16u of windows of which count[i] pixels count; `fill` where they are fewer than `least`, at least 1.
    void (*mean_16u_some)(u16* out, const A* w, const u32* count, u32 least, A half, u16 flip, u16 fill,
                          std::int64_t n);
};

/// Mean and spread of windows of count = rows * cols[i] pixels from their sums s and sums of squares q: the quotients
/// and the root are rounded to double, then to `Out`.
template <typename S, typename Q, typename Out>
struct moment_kernel {
    using function = void (*)(Out* mean, Out* spread, const S* s, const Q* q, S rows, const S* cols, S offset,
                              std::int64_t n);
    function
        narrow;  ///< windows of less than 2^24 pixels; the numerator count * q - s * s fits 64 bits (53 where Q has 32)
    function wide;  ///< it needs 128
};
template <typename S, typename Q>
struct moment_kernels {
    moment_kernel<S, Q, f64> variances, deviations;
    moment_kernel<S, Q, f32> deviations_32f;
};

/// Windows of eight rows, or eight columns, at a time (group_windows_impl.hpp): of `width` samples, where that is more
/// than eight 8 (whole + 1) + rest + 1. Values between one eight and the next, `stride` of them: `part`, of `rest`
/// samples; `slots`, one for each whole group; `prefix`. `phase` slots belong to the next block of groups. Of moments
/// the first half of `stride` are means.
struct group_windows {
    std::int64_t width, rest, whole, stride, phase;
    f64 *part, *slots, *prefix;
};

/// What sums of eight rows are multiplied by: 1 / (rows[r] * cols[c]), `full` in the columns from first_full to
/// end_full. Nothing where `cols` is null.
struct mean_factors {
    const f64 *rows, *cols, *full;
    std::int64_t first_full, end_full;
    bool streaming = false;  ///< means are stored past the caches, where a kernel can
};

/// b's shares of a merge: part = nb / (na + nb), scale = na * nb / (na + nb).
struct merge_shares {
    f64 part, scale;
};

/// Shares of the merges that eight windows take: in the order of group_windows_impl.hpp, then with whole groups of two
/// blocks, of the next block's prefix with a group, and of a closed block's suffix with the group's own slot.
struct group_merges {
    const merge_shares* of_eight;
    merge_shares whole, prefix, closing;
};
constexpr int merges_of_eight = 38;

struct moments_down {
    const group_merges* shares;
    const f64* inverse_rows;  ///< 1 / rows of each of the eight windows
    merge_shares beyond;
    std::int64_t plane;  ///< between a line of means and that of squared deviations
};

struct moments_along {
    const group_merges* groups;  ///< for each eight columns, and as many behind them as two blocks have
    const merge_shares* begin;   ///< of the first groups
    const f64* inverse_cols;     ///< 1 / cols of each window, for cols rounded up to 16
    merge_shares beyond;
    std::int64_t plane;  ///< of the line
    bool deviations;     ///< instead of variances
    bool streaming;      ///< results are stored past the caches, where a kernel can
};

/// Floating rows: sums, and (mean, sum of squared deviations) pairs merged as in Chan, Golub, LeVeque 1979, eq. 2.1:
/// with b's shares f and g, mean = a + f * (b - a), m2 = a2 + b2 + g * (b - a)^2.
template <typename T>
struct sample_kernels {
    void (*load)(f64* to, const T* x, std::int64_t n);
    void (*add)(f64* to, const f64* a, const T* x, std::int64_t n);
    /// Sums of eight neighbouring windows, which begin with the rows `first` and end with the rows `last`, plus
    /// `beyond` unless it is null: line[8 * i + row] for n elements.
    void (*down)(f64* line, const T* const* first, const T* const* last, const group_windows& windows,
                 const f64* beyond, std::int64_t n);
    void (*merge)(f64* to, f64* to2, const f64* a, const f64* a2, const T* x, f64 f, f64 g, std::int64_t n);
    /// The same of moments, whose squared deviations are those of one row.
    void (*down_moments)(f64* line, const T* const* first, const T* const* last, const group_windows& windows,
                         const f64* beyond, const moments_down& how, std::int64_t n);
    /// As `down` of rows that are clean. Counts are read by whole vectors.
    void (*counted_down)(f64* line, const T* const* first, const T* const* last, const u8* const* first_counts,
                         const u8* const* last_counts, const group_windows& windows, const f64* beyond, std::int64_t n);
};

/// A row of pixels and their weights or, where these are 1 or 0, of bytes that say so. What has weight 0 is nothing,
/// whatever the pixel.
template <typename T>
struct weighted_row {
    const T* x;
    const f32* weight;
    const u8* counts;
};

/// Eight rows of results each; none, or those that are null, are not wanted. Means and spreads of windows of less
/// weight than `least` are `fill`.
struct weighted_results {
    f64 *const *weight = nullptr, *const *sum = nullptr, *const *mean = nullptr, *const *spread = nullptr;
    f32 *const *weight_32f = nullptr, *const *mean_32f = nullptr, *const *spread_32f = nullptr;
    s32* const* count = nullptr;  ///< weights that are numbers below 2^31
    bool deviations = false;      ///< instead of variances
    bool streaming = false;       ///< results are stored past the caches, where a kernel can
    f64 least = 0, fill = 0;
};

/// Windows of weighted samples (weighted_windows_impl.hpp): weights and sums, or with them means and sums of squared
/// deviations. A value's parts lie `plane` doubles apart, a row of values in whole vectors.
template <typename T>
struct weighted_kernels {
    std::int64_t parts;  ///< of a value
    bool counted;        ///< rows have counts instead of weights
    /// to = a with b; `to` may be either.
    void (*join)(f64* to, const f64* a, const f64* b, std::int64_t plane, std::int64_t n);
    /// to = to with a row of samples, or just these.
    void (*add)(f64* to, const weighted_row<T>& x, bool alone, std::int64_t plane, std::int64_t n);
    /// As sample_kernels::down; `plane` is the line's.
    void (*down)(f64* line, std::int64_t plane, const weighted_row<T>* first, const weighted_row<T>* last,
                 const group_windows& windows, const f64* beyond, std::int64_t n);
    /// As block_kernels::along_means.
    void (*along)(const weighted_results& results, const f64* line, std::int64_t plane, group_windows windows,
                  const f64* beyond, std::int64_t cols, std::int64_t channels);
};

struct weighted_windows {
    std::tuple<weighted_kernels<f32>, weighted_kernels<f64>> sums, moments;
    weighted_kernels<f32> counted_moments;                       ///< of weights that are 1 or 0
    void (*weights)(f32* to, const u8* counts, std::int64_t n);  ///< of numbers
};

/// Sums and moments of rows.
struct block_kernels {
    void (*add)(f64* to, const f64* a, const f64* b, std::int64_t n);
    void (*merge)(f64* to, f64* to2, const f64* a, const f64* a2, const f64* b, const f64* b2, f64 f, f64 g,
                  std::int64_t n);
    /// out = x / (rows * cols[i])
    void (*divide_64f)(f64* out, const f64* x, f64 rows, const f64* cols, std::int64_t n);
    void (*square_root)(f64* out, const f64* x, std::int64_t n);
    void (*convert_32f)(f32* out, const f64* x, std::int64_t n);
    void (*number_32u)(u32* out, const u32* x, std::int64_t n, bool streaming);  ///< past the caches, where it can
    bool (*any_below)(const u32* x, u32 least, std::int64_t n);                  ///< of numbers below 2^31
    void (*number_32f)(f32* out, const u32* x, std::int64_t n);
    void (*number_64f)(f64* out, const u32* x, std::int64_t n);
    /// After the last slot of a block: slots become its suffixes.
    void (*close_block)(f64* slots, std::int64_t whole, std::int64_t stride, std::int64_t n);
    /// Windows along eight rows of a line, from its first column on, plus `beyond` (8 * channels) unless it is null.
    /// Rows that are null are left out. Means have one rounding to 32 bits; that of the factor in 64 bits matters to
    /// one result in 10^8.
    void (*along_means)(f32* const* rows, const f64* line, group_windows windows, const f64* beyond,
                        const mean_factors& factors, std::int64_t cols, std::int64_t channels);
    void (*along_sums)(f64* const* rows, const f64* line, group_windows windows, const f64* beyond,
                       const mean_factors& factors, std::int64_t cols, std::int64_t channels);
    /// Means, unless they are null, and variances or deviations. Where a mean is not finite, both are NaN: an infinity
    /// among the pixels leaves one or the other, by its place in the window. Whether there may be such a mean.
    bool (*along_moments_32f)(f32* const* means, f32* const* spreads, const f64* line, group_windows windows,
                              const f64* beyond, const moments_along& how, std::int64_t cols, std::int64_t channels);
    bool (*along_moments_64f)(f64* const* means, f64* const* spreads, const f64* line, group_windows windows,
                              const f64* beyond, const moments_along& how, std::int64_t cols, std::int64_t channels);
    /// Numbers down the columns, as sample_kernels::down, of rows of 1 or 0, read by whole vectors: `sums` of the first
    /// window's rows but its last become those of the next eight's.
    void (*numbers_down)(s32* line, s32* sums, const u8* const* first, const u8* const* last, std::int64_t n);
    /// As along_means, each sum over its number, where that is at least `results.least`, which is above 0. Numbers of
    /// the line are below 2^31, and it has one column more.
    void (*counted_means)(const weighted_results& results, const f64* line, group_windows windows, const f64* beyond,
                          const s32* number_line, const s32* numbers_beyond, std::int64_t cols, std::int64_t channels);
};

/// The numbers in the threshold formulas of filters.hpp.
struct threshold_terms {
    threshold_method method;
    f64 k;
    f64 range;                     ///< R
    f64 p, q;                      ///< phansalkar's
    const f64* largest_deviation;  ///< wolf, per channel
    const f64* smallest_pixel;     ///< wolf, per channel
};

template <typename T>
struct pixel_kernels {
    void (*clean)(T* to, const T* x, const u8* counts, T none, std::int64_t n);  ///< `none` where counts, 1 or 0, are 0
    void (*thresholds)(f64* out, const T* x, const f64* mean, const f64* deviation, const threshold_terms& terms,
                       std::int64_t cols, std::int64_t channels);
    /// Of deviations and pixels and of what is given, by channel. NaN does not count.
    void (*extremes)(f64* largest, f64* smallest, const T* x, const f64* deviation, std::int64_t cols,
                     std::int64_t channels);
    /// `yes` where x > limit, else 0
    void (*exceeds)(u8* out, const T* x, const f64* limit, u8 yes, std::int64_t n);
    void (*contrast)(f32* out, const T* x, const f64* mean, const f64* deviation, f64 epsilon, std::int64_t n);
};

/// A row of windows of an 8-bit image (byte_windows_impl.hpp), over planes of even and odd elements. Its arrays are
/// read, and `running` is written, by whole blocks.
struct byte_windows {
    /// What the windows of even and of odd pixels gain and lose against those one pixel before.
    const u16 *in_even, *in_odd, *out_even, *out_odd;
    std::int64_t channels = 1;
    bool wide = false;   ///< differences of what planes hold do not fit 16 signed bits
    u32 before[4] = {};  ///< the windows before the first, or their changes
    u32* running;  ///< in lane order: planes are changes, and are added to these windows; null: planes are column sums
};

/// A row of windows whose pixels may not count.
struct byte_samples {
    byte_windows numbers;  ///< of those that do
    u32 least;             ///< so many at least, or there is no result; at least 1
    u32* counted;          ///< gets the numbers unless it is null
    bool streaming;        ///< past the caches, where a kernel can
    u8 fill;               ///< of bytes, where there is no result
    f32 fill_real;
    /// What byte_kernels::numbers finds, in lane order, by whole blocks: numbers, and inverses of those from 1 on.
    u32* cols;
    f32* reciprocals;
};

/// What windows divide by: rows * cols, `cols` in lane order; rows * full in the blocks from first_full to end_full.
struct byte_counts {
    u32 rows;
    const u32* cols;
    const f32* col_reciprocals;  ///< 1 / cols
    u32 full;
    std::int64_t first_full, end_full;
    const byte_samples* samples;  ///< null where all windows have results
};

/// A threshold's numbers in 32 bits; byte_windows_impl.hpp says which.
struct byte_threshold {
    const threshold_terms* definition;
    const pixel_kernels<u8>* pixels;  ///< by the definition
    f32 scale, square, bound_of_difference, bound;
    u8 yes;
    f32 smallest = 0, shift = 0, bound_of_mean = 0, least_bound = 0;  ///< wolf
    f32 whole = 0, most = 0;                                          ///< singh
    f32 decay = 0, weight = 0;                                        ///< phansalkar
    const u8* flat = nullptr;  ///< phansalkar: 255 where pixels are above windows that are all of their value, else 0
};

constexpr u32 most_column_rows = 180;

struct byte_kernels {
    std::int64_t block;  ///< pixels
    /// What counts of x, by a mask unless it is null, and is not `nodata`: 1 or 0, and x or 0. Written by whole blocks.
    void (*sample)(u8* values, u8* counts, const u8* x, const u8* mask, int nodata, std::int64_t n);
    void (*change)(u16* even, u16* odd, const u8* in, const u8* out, bool keep, std::int64_t n);
    void (*change_both)(u16* even, u16* odd, u16* p_even, u16* p_odd, const u8* in, const u8* out, bool keep,
                        std::int64_t n);
    /// The sums of `count` columns from `first` on, for each channel; where windows run, planes are signed.
    void (*totals)(u32* totals, const u16* even, const u16* odd, std::int64_t first, std::int64_t count,
                   std::int64_t channels, bool is_signed);
    /// Whether some windows have no result.
    bool (*numbers)(const byte_samples& samples, std::int64_t n);
    void (*means)(u8* out, const byte_windows& sums, const byte_counts& counts, bool half_up, std::int64_t n);
    /// Of windows of one column: planes of sums of so many rows, more than one and at most most_column_rows.
    void (*column_means)(u8* out, const u16* even, const u16* odd, u32 rows, bool half_up, std::int64_t n);
    /// `yes` where x > limit, else 0
    void (*above)(u8* out, const u8* x, const u8* limit, u8 yes, std::int64_t n);
    /// `spreads` are of P = x (255 - x) / 2, and not read for bradley and singh.
    void (*decide)(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                   const byte_counts& counts, const byte_threshold& rule, std::int64_t n);
    /// `mean` may be null.
    void (*deviations)(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                       const byte_counts& counts, std::int64_t n);
    /// Of the row's windows and `largest`.
    f64 (*largest_variance)(f64 largest, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                            const byte_counts& counts, std::int64_t n);
    u8 (*smallest)(const u8* x, std::int64_t n);  ///< 255 of none
    void (*contrast)(f32* out, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                     const byte_counts& counts, f64 epsilon, std::int64_t n);
};

struct row_kernels {
    std::tuple<accumulate_kernels<u8, u32>, accumulate_kernels<u8, u64>, accumulate_kernels<u16, u32>,
               accumulate_kernels<u16, u64>>
        accumulate;
    std::tuple<window_kernels<u32>, window_kernels<u64>> window;
    std::tuple<moment_kernels<u32, u32>, moment_kernels<u32, u64>, moment_kernels<u64, u64>> moment;
    std::tuple<sample_kernels<f32>, sample_kernels<f64>> sample;
    block_kernels block;
    std::tuple<pixel_kernels<u8>, pixel_kernels<u16>, pixel_kernels<s16>, pixel_kernels<f32>, pixel_kernels<f64>> pixel;
    const byte_kernels* byte;
    const weighted_windows* weighted;
};

/// The best set for this machine.
const row_kernels& rows_of_this_machine();

namespace baseline {
extern const row_kernels rows;
extern const byte_kernels byte_rows;
extern const weighted_windows weighted_rows;
}
#if defined(__x86_64__)
namespace avx2 {
extern const row_kernels rows;
extern const byte_kernels byte_rows;
extern const weighted_windows weighted_rows;
}
namespace avx512 {
extern const row_kernels rows;
extern const byte_kernels byte_rows;
extern const weighted_windows weighted_rows;
}
#endif

}  // namespace boxsum::filters
