#pragma once

#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <optional>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// What a table is made of. Members that are not set are not read.
struct sat_inputs {
    const_any_view image;
    /// Where the image is a part of a larger one: what the whole tables hold around the part.
    table_carries carries = {};          ///< of `sat_outputs::sums`
    table_carries squares_carries = {};  ///< of `sat_outputs::squares`
    /// Which pixels count, as of filter_inputs and filter_options; see sat().
    const_any_view mask = {};     ///< 8u: pixels where it is 0 do not. 1 channel or the image's, 1 plane or its
    const_any_view weights = {};  ///< 32f, shapes as of masks; one that is not above 0, or not finite, is none
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};  ///< pixels of this value do not count; NaN is every NaN
};

/// What is written, and in which form. What is not set (null data) is not computed; `sums` always is.
struct sat_outputs {
    any_table_view sums;
    any_table_view squares = {};  ///< sums of squared pixels; in the same form as `sums`
    any_table_view counts = {};   ///< of pixels that count (32u, 64u) or of their weights (64f); in that form, too
};

/// Shapes of a call, and which pixels count: everything of it but its memory and its options. What plans of devices are
/// made for.
struct sat_shapes {
    view_shape image;
    view_shape sums;
    std::optional<view_shape> squares = {};
    table_form form = {};   ///< of all tables
    bool in_place = false;  ///< `sums` lies on the image (see boxsum::sat())
    carry_shapes carries = {};
    carry_shapes squares_carries = {};
    std::optional<view_shape> mask = {}, weights = {};  ///< as the below, those of `sat_inputs`
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};
    std::optional<view_shape> counts = {};  ///< of `sat_outputs`

    friend bool operator==(const sat_shapes&, const sat_shapes&) = default;
};

/// The shapes of the views of a call. Their memory is not touched, only compared; squares, counts and carries without
/// data are not wanted. For floating images nodata that is NaN becomes nan_mode::omit, which is the same. Throws
/// invalid_argument where tables have different forms.
sat_shapes shapes_of(const sat_inputs& inputs, const sat_outputs& outputs);

/// Computes the summed area table of host images on this machine's CPU, and where it is asked for, in the same pass,
/// the table of squared pixels.
///
///     boxsum::sat({image}, {{entries, boxsum::table_layout::padded}});
///     boxsum::sat({.image = image}, {.sums = table, .squares = squares});
///
/// inputs.image: planes x rows x cols x channels; every channel of every plane is summed by itself.
/// inputs.carries: nothing, or the sums around a part of a larger image (see table_carries). Algorithms without
/// `algorithm_info::carries` do not take them (unsupported).
/// outputs: same planes and channels; rows x cols, or (rows + 1) x (cols + 1) for `padded`. Every entry is written,
/// nothing else of their memory is (bytes between rows stay as they are).
/// Strides may be any (see view_shape): rows and planes are read and written where they lie. Where pixels have gaps
/// between them, or lie backwards or across rows (a column stride), sat() works on a copy without gaps, of one more
/// read and write; decide_sat() says of how many bytes. The pair of element types of image and sums must be in
/// `type_pairs()`, with squares the three in `squares_triples()`. Integer tables wrap modulo 2^bits; floating tables
/// obey the bound of docs/concepts.md and have the same bits from run to run and for any number of threads. In place
/// (the sums have the image's pointer, element size and strides, `inclusive`) works where the algorithm says so. A
/// carry may be the first row or column of the sums (see table_carries). Every other overlap is an error.
///
/// A form with an offset or an origin (see table_form) is made from the origin outwards; `simd` is the algorithm that
/// does it, on devices `outwards`. Floats are added less the offset, in the table's type. It takes no carries, and
/// squares, which are those of pixels less the offset, of floating tables only.
///
/// Where pixels may not count (mask, weights, nan, nodata), those that do not are summed as 0, whatever they are, and
/// `counts` makes means and variances of boxes those of the others (moment_views::counts):
///
///     boxsum::sat({.image = dem, .nodata = -9999}, {.sums = sums, .counts = counts});
///     const double mean = boxsum::box_mean({.sums = sums, .counts = counts}, box);
///
/// With weights w sums are of w x, squares of w x^2 and counts of w, in double: all tables are of 64f. Working memory:
/// what counts as a byte a pixel, and a copy of the image; with weights, of 8 bytes a pixel, for each table. On devices
/// it lies in the workspace. Forms with an offset, and carries, take no part in this (unsupported).
///
/// Throws invalid_argument (names the argument and its value), unsupported (types, algorithm), out_of_memory.
/// Thread-safe for distinct outputs. Source: Crow 1984; notation of Chen et al. 2018.
void sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options = {});

/// The mean of each channel of each plane, plane by plane: offsets for table_form::offsets. One read of the image.
/// Those of integers whose sum is below 2^53 are exact but for the division; of others the order of additions is fixed,
/// so that every backend finds the same bits. Throws invalid_argument for what is wrong with the view.
std::vector<double> image_means(const const_any_view& image);

/// Allocates the table (from the shared pool) and computes it: `auto t = boxsum::sat<std::uint64_t>({image});`
template <typename Entry>
table<Entry> sat(const sat_inputs& inputs, table_form form = {}, const sat_options& options = {}) {
    detail::check_image(inputs.image);
    const view_shape& s = inputs.image.shape;
    table<Entry> result(s.rows, s.cols, form, s.channels, s.planes);
    sat(inputs, {.sums = result}, options);
    return result;
}

/// The same of an image alone: `auto t = boxsum::sat<std::uint64_t>(image, boxsum::table_layout::padded);`
template <typename Entry, typename T>
table<Entry> sat(const image_view<T>& image, table_form form = {}, const sat_options& options = {}) {
    return sat<Entry>(sat_inputs{image}, form, options);
}

/// The tables of sums and of squares, in one pass:
/// `auto moments = boxsum::sat_squares<std::uint32_t, std::uint64_t>(image);`
template <typename Sum, typename Square>
moment_tables<Sum, Square> sat_squares(const sat_inputs& inputs, table_form form = {},
                                       const sat_options& options = {}) {
    detail::check_image(inputs.image);
    const view_shape& s = inputs.image.shape;
    moment_tables<Sum, Square> result{{s.rows, s.cols, form, s.channels, s.planes},
                                      {s.rows, s.cols, form, s.channels, s.planes}};
    sat(inputs, {.sums = result.sums, .squares = result.squares}, options);
    return result;
}
template <typename Sum, typename Square, typename T>
moment_tables<Sum, Square> sat_squares(const image_view<T>& image, table_form form = {},
                                       const sat_options& options = {}) {
    return sat_squares<Sum, Square>(sat_inputs{image}, form, options);
}

}  // namespace boxsum
