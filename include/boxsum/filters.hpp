#pragma once

#include <boxsum/export.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// Filters: what a window around every pixel says. All have one shape of arguments: what goes in, what comes out, the
/// formula of the filter where it has one, and the options that all share.
///
///     boxsum::box_filter({image}, {blurred}, {.window = 31});
///     boxsum::adaptive_threshold({page}, {ink}, {.method = boxsum::threshold_method::bradley}, {.window = 41});
///
/// - Views of host memory. Every channel of every plane is filtered by itself. The image and the results have the same
///   planes, cols and channels, and the same rows unless the image is a part (filter_inputs); strides are free.
/// - Images of 8u, 16u, 16s, 32u, 32s, 16f, 32f and 64f; every other type is `unsupported`.
/// - A pixel takes a fixed number of operations, whatever the window. What still grows: what variances of floats keep
///   of a window's rows, and beyond the cache that costs up to some 3 times as much; where a border other than
///   `shrink` continues the image, what lies beyond it, up to its own size on every side, is summed too, so windows
///   larger than a small image cost several times what small ones do.
/// - 8- and 16-bit integers: window sums and sums of squares are exact integers (32 or 64 bits, whatever the window
///   needs). The variance comes from the exact numerator n*S2 - S*S in 64 or 128 bits and is never negative.
/// - 32-bit integers are summed in double. That is exact in windows of up to 2^21 pixels (1448 x 1448), and only there
///   are results of integer type supported; means and sums in 32f and 64f, of larger windows too, have the bounds of
///   floating images, as variances always do. 16f is taken as 32f; results in 16f are rounded once. Images of these
///   three types are filtered as copies, of 8 (32u, 32s) or 4 (16f) bytes per element, all of the image at once.
/// - Floating images: sums in double, made of additions only (no running subtraction, no table), so a pixel acts on the
///   windows that contain it and on no other: a NaN, an infinity or a huge value does not leak. The mean of a window of
///   w rows and v columns is within gamma_(w+v) * (mean of |x|) of the exact one, with gamma_k = k*u / (1 - k*u) and
///   u = 2^-53, before it is rounded to the result's type and unless it underflows. What knows variances merges means
///   and squared deviations (Chan, Golub, LeVeque 1979), which do not cancel: variances are never negative, and exactly
///   0 where a window is constant. Means beside variances are within gamma_(3(w+v)) * (mean of |x|): merges round more
///   often. Variances of images of 32f or 16f whose pixels may not count, without weights and in windows of up to 2^20
///   pixels, are of squared distances from one of the n that count: the relative error is up to n gamma_(w+v).
/// - What is not finite, in every filter: a window with a NaN has NaN results. The mean of a window with infinities
///   follows the sum: inf, -inf, or NaN where both signs meet. Its variance and deviation are NaN, and so is all that
///   is made of them; a threshold that is NaN is exceeded by no pixel. Sums beyond what a double holds, of weights
///   times pixels where there are weights, are infinite and make their means so, as sums of squared distances do
///   variances.
/// - Results of integer type are rounded half up, floor(x + 1/2), or down (filter_options::rounding).
/// - Samples that do not count: `mask`, `weights`, `nan` and `nodata` take pixels out of every window, in every filter
///   here, in guided_filter() and in non_local_means(); see sampling below. convolve(), variable_blur(), box_hessian()
///   and find_blobs() take every pixel as it is.
/// - Results have the same bits for any number of threads, except which NaN a NaN is (its sign and payload).
/// - No result may overlap the image or another result: invalid_argument. There is no in-place form: windows read rows
///   whose results have long been written, so it would be a hidden copy of the image.
/// - Working memory beyond the results, per thread: a few rows for integer images, at most 100 bytes per column and
///   channel. For floating images, with w the rows of the window or, if less, twice the image's (4 times with
///   reflection), w x cols x channels bytes for means, twice that for variances, and both twice where samples may
///   not count; at most 1000 bytes per column and channel; where not all is finite variances take means' on top.
/// - Throws invalid_argument (names the argument and its value), unsupported, out_of_memory. Nothing is written when
///   an argument is wrong. Thread-safe for distinct results.
namespace boxsum BOXSUM_EXPORT {

/// What a window sees beyond the border of the image.
enum class border_mode : std::uint8_t {
    shrink,     ///< nothing: the window is cut off, n is the number of pixels left
    reflect,    ///< the mirrored image, edge pixel repeated: d c b a | a b c d | d c b a (SciPy's "reflect")
    replicate,  ///< the edge pixel: a a a a | a b c d | d d d d (SciPy's "nearest")
    constant,   ///< a given value
    mirror,     ///< the mirrored image, edge pixel not repeated: d c b | a b c d | c b a (SciPy's "mirror")
    wrap,       ///< the image again: a b c d | a b c d | a b c d (SciPy's "wrap")
};

/// "shrink", "reflect", "replicate", "constant", "mirror", "wrap"
std::string_view name_of(border_mode border) noexcept;
std::optional<border_mode> border_from_name(std::string_view name) noexcept;

/// A place in an image.
struct origin {
    std::int64_t row = 0;
    std::int64_t col = 0;

    friend bool operator==(origin, origin) = default;
};

/// How many rows and columns an image has.
struct extent {
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    friend bool operator==(extent, extent) = default;
};

/// Rows first .. end - 1.
struct row_range {
    std::int64_t first = 0;
    std::int64_t end = 0;

    friend bool operator==(row_range, row_range) = default;
};

/// What a filter reads.
///
/// The image may be a part of a larger one: some of its rows, the first of which is row `at.row` of an image of `whole`
/// rows and columns. Borders are then those of the whole image, and the results have its bits. A result has one row for
/// each row whose window lies in the part: all but the first `above` (none of them at the start of the whole image) and
/// the last `below` (none at its end). So a strip is given with a halo as high as the window reaches:
///
///     boxsum::box_filter({.image = rows_90_to_209, .at = {90, 0}, .whole = {1000, 640}}, {rows_100_to_199},
///                        {.window = boxsum::window_radius(10)});
///
/// Parts of rows are unsupported: `at.col` is 0, `whole.cols` the image's. With `wrap` the first and last rows of the
/// whole have windows at its other end, and so have results only where the image is the whole.
///
/// Sampling. A pixel of the image counts where its mask is not 0, its value is not `nodata` and, with nan_mode::omit,
/// not NaN; those that do not count might as well not be there, whatever they hold. Masks and weights belong to the
/// image's pixels and continue beyond its border as it does; pixels of a constant border count with weight 1, unless
/// their value says otherwise. Then, over the pixels of a window that count, with weights w (1 where none are given):
///
///     count = sum of w, mean = sum of w x / count, variance = sum of w (x - mean)^2 / count
///
/// - Integer images without weights stay exact. Otherwise sums are of doubles, by additions only; the mean is within
///   gamma_(w+v+1) * (sum of w |x|) / count of the exact one, and gamma_(w+v) bounds the count's relative error.
/// - Where count is below `min_count` (or `min_weight`), and where nothing counts, results are `fill`.
/// - The window's own pixel need not count for means, sums and spreads, which so fill gaps. What compares it with its
///   window, thresholds and contrast, is `fill` where it does not count.
/// - Wolf's extremes are of windows and pixels with a result.
struct filter_inputs {
    const_any_view image;
    origin at = {};
    extent whole = {};  ///< 0 x 0: the image is the whole
    /// 8u: pixels where it is 0 do not count. Rows and cols of the image, 1 channel or the image's, 1 plane or its.
    const_any_view mask = {};
    /// 32f, shapes as of masks. A weight that is not above 0, or not finite, takes its pixel out.
    const_any_view weights = {};
    /// Rows of the whole image that have results, of those whose windows lie in the part; 0 to 0: all of them.
    row_range results = {};
};

/// Where a filter with one result writes it.
struct filter_outputs {
    any_view result;
    /// If it has data, what counted in each window: the number of pixels (32u, 32f or 64f) or, with weights, their sum
    /// (32f or 64f). Never `fill`.
    any_view count = {};
};

/// How results of integer type are rounded.
enum class rounding_mode : std::uint8_t {
    half_up,  ///< floor(x + 1/2)
    floor,
};

/// What all filters can be told. The defaults cut windows off at the border.
struct filter_options {
    boxsum::window window = {};  ///< 15 x 15
    border_mode border = border_mode::shrink;
    /// With border_mode::constant. A value of the image's type (an integer in its range for integer images; rounded to
    /// it for floating ones).
    double border_value = 0;
    rounding_mode rounding = rounding_mode::half_up;
    nan_mode nan = nan_mode::propagate;
    /// Pixels of this value do not count. A value of the image's type, as border_value; NaN is every NaN.
    std::optional<double> nodata = {};
    std::int64_t min_count = 1;  ///< at least 1; not with weights
    double min_weight = 0;       ///< finite, not negative; with weights only
    /// Where too little counts. NaN if it is not given, 0 in results of integer type; of the results' types.
    std::optional<double> fill = {};
    /// Threads of the CPU. 0: chosen by size.
    int threads = 0;
};

/// Box mean (box blur): result(r, c) is the mean of the window around (r, c).
///
/// result: the image's type (integers rounded as filter_options::rounding says), 32f or 64f.
/// Windows of more than 2^46 pixels are unsupported (with `shrink`, pixels outside do not count).
/// Source: McDonnell 1981, "Box-filtering techniques" (running sums); for floats van Herk 1992, Gil and Werman 1993
/// (block prefixes and suffixes, here with + instead of max).
void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, const filter_options& options = {});

/// What local_statistics writes; those without data are not computed. At least one.
struct window_outputs {
    any_view mean = {};       ///< the image's type (rounded), 32f or 64f
    any_view variance = {};   ///< 32f or 64f; the population's: sum of (x - mean)^2 over n
    any_view deviation = {};  ///< 32f or 64f; its square root
    any_view sum = {};        ///< 32s or 64s (integer images without weights, windows whose sums fit), 32f or 64f
    any_view count = {};      ///< as of filter_outputs
};

/// Mean, variance, standard deviation and sum of the window around every pixel. A mean alone is box_filter's.
///
/// Variances of 16-bit images are unsupported for windows of more than 2^32 pixels, of others for more than 2^46.
void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, const filter_options& options = {});

/// With m and s the mean and standard deviation of the window, the threshold T of a pixel is
enum class threshold_method : std::uint8_t {
    bradley,     ///< m (1 - k); Bradley and Roth 2007; k = 0.15
    niblack,     ///< m + k s; Niblack 1986; k = -0.2 (scikit-image's k has the opposite sign)
    sauvola,     ///< m (1 + k (s / R - 1)); Sauvola and Pietikainen 2000; k = 0.2
    wolf,        ///< m - k (1 - s / s_max) (m - I_min); Wolf and Jolion 2004; k = 0.5
    nick,        ///< m + k sqrt(s^2 + m^2); Khurshid, Siddiqi, Faure and Vincent 2009 (as doxapy); k = -0.2
    singh,       ///< m (1 + k (d / (2 R - d) - 1)), d = |x - m|, at most 254/255 of 2 R; T. R. Singh et al. 2011 (as
                 ///< doxapy); k = 0.2
    phansalkar,  ///< m (1 + p exp(-q m / (2 R)) + k (s / R - 1)); Phansalkar et al. 2011; k = 0.25, p = 2, q = 10
};

/// "bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar"
std::string_view name_of(threshold_method method) noexcept;
std::optional<threshold_method> threshold_from_name(std::string_view name) noexcept;

/// The k that is used when none is given: 0.15, -0.2, 0.2, 0.5, -0.2, 0.2, 0.25.
double default_k(threshold_method method) noexcept;

/// R when none is given: half the range of the type, 127.5 for 8u, 32767.5 for 16u and 16s, 2147483647.5 for 32u and
/// 32s; 0.5 for 16f, 32f and 64f, whose images are taken to lie in 0..1 (scikit-image takes -1..1, hence 1).
double default_range(dtype image);

/// What adaptive_threshold writes.
enum class threshold_output : std::uint8_t {
    zero_255,   ///< 255 where pixel > T and 0 elsewhere; 8u
    zero_one,   ///< 1 where pixel > T and 0 elsewhere; 8u
    threshold,  ///< T itself; 32f or 64f
};

/// A threshold's formula.
struct threshold_rule {
    threshold_method method = threshold_method::sauvola;
    std::optional<double> k = {};      ///< finite; default_k(method)
    std::optional<double> range = {};  ///< R: finite, above 0; sauvola, singh, phansalkar; default_range(type)
    std::optional<double> p = {};      ///< phansalkar's: finite
    std::optional<double> q = {};      ///< phansalkar's: finite
    threshold_output output = threshold_output::zero_255;
};

/// Adaptive threshold: which pixels exceed T, or T itself. T is computed in double; its exp, by additions and
/// multiplications in a fixed order, is within 4 units in the last place and the same everywhere.
///
/// result: as threshold_rule::output says. Wolf's s_max (largest deviation of all windows) and I_min (smallest pixel)
/// are those of the plane and channel; NaN does not count; where s_max is 0, s / s_max is taken as 0. Wolf takes two
/// passes over the image, and so does not take a part of one (unsupported). Windows as in local_statistics; Bradley's
/// and Singh's as in box_filter.
void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, const threshold_rule& rule = {},
                        const filter_options& options = {});

/// The formula of local_contrast().
struct contrast_rule {
    /// Smallest divisor, in the image's units: finite, above 0.
    double epsilon = 1e-6;
};

/// Local contrast normalisation: (x - m) / max(s, epsilon), computed in double.
///
/// result: 32f. Windows as in local_statistics.
void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, const contrast_rule& rule = {},
                    const filter_options& options = {});

/// What a filter with a radius per pixel reads.
struct variable_inputs {
    const_any_view image;
    /// In pixels: 8u, 16u, 32u or 32s, 1 channel, rows and cols of the result; 1 plane (for all) or the image's.
    const_any_view radius;
    /// No radius exceeds it: a larger one is invalid_argument, as a negative one is. Needed for a part of an image,
    /// whose halo it is.
    std::optional<std::int64_t> largest_radius = {};
    origin at = {};               ///< as of filter_inputs
    extent whole = {};            ///< as of filter_inputs
    const_any_view mask = {};     ///< as of filter_inputs
    const_any_view weights = {};  ///< as of filter_inputs
};

/// Box mean with a radius per pixel: the window of (r, c) has 2*radius(r, c) + 1 rows and as many columns. Four reads
/// of a summed area table per pixel (Crow 1984), whatever the radius. `options.window` has no meaning here and must be
/// left alone.
///
/// Sampling is that of filter_inputs, count and all, with a table of what counts beside that of the image. Numbers of
/// pixels are exact, and so are means of integers without weights. Where there are weights all is of 64f tables, and a
/// count has an absolute error of up to 4 gamma_(rows+cols) * (sum of the weights of the image) where it is not exact,
/// as it is of weights that are multiples of a power of two and add up to less than 2^53 of them; where no pixel counts
/// it is 0. What does not count is no part of the sums, however large it is. Memory: a copy of one plane of the image
/// (of 8 bytes with weights), a byte, and 8 bytes of tables (16 with weights) per pixel and channel on top.
///
/// result: the image's type (integers rounded as filter_options::rounding says), 32f or 64f.
/// Integer images give exact sums as everywhere. Floating images go through a 64f table: every mean carries an absolute
/// error of up to gamma_(rows+cols) * (4 / n) * (sum of |x| over the image), and that for every time that a window
/// repeats the image beyond its border; the bits for a part of an image are those of the part's table. A
/// pixel that is not finite acts on the windows that contain it and on no other. Memory: a padded table of 4 or 8 bytes
/// per pixel and channel of one plane, whatever the border; where a floating plane has pixels that are not finite also
/// its copy, a mask of bytes, and one table for each of NaN, inf and -inf that occurs. Windows of more than 2^46 pixels
/// are unsupported. 32-bit integers have exact sums, in windows of up to 2^30 pixels; 16f is a copy as everywhere.
void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs,
                         const filter_options& options = {});

}  // namespace boxsum
