#pragma once

#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>

namespace boxsum BOXSUM_EXPORT {

/// The window around every pixel, for tables that exist.
struct window_query_options {
    boxsum::window window = {};  ///< 15 x 15; at the border of the image it is cut off
    int threads = 0;             ///< 0: as many as pay
};

/// Box sums, means and variances of the windows around all pixels, row by row, at a fraction of the cost of four reads
/// a window; in host memory (on a device: boxsum/cuda/window_queries.hpp). One table serves windows of any size, in a
/// call each. Results have the bits of box_sum(), box_mean() and box_variance() of the window, in every instruction set
/// and for any number of threads; variances of 32f are those of 64f, rounded; means of 32f may be the neighbour of that
/// (see window_means()).
///
///     const auto table = boxsum::sat<std::uint32_t>(image);
///     boxsum::window_means(table, means, {.window = 31});   // means: image_view<float> of the image's extents
///
/// Results have the extents, channels and planes of the image. They are written as a whole or, where an argument is
/// wrong, not at all: invalid_argument, naming it, for null or misaligned views, strides that views cannot have,
/// negative extents of windows, results of other extents or element types, results that overlap a table or each other,
/// and negative threads; unsupported for exclusive tables, which lack the sums up to the last row and column. Working
/// memory: some rows for each thread, and a copy of each view whose pixels have gaps between them.
///
/// Sums; the element type of `sums` is the table's. Integers wrap: a sum that fits the type is exact.
void window_sums(const const_any_table_view& table, const any_view& sums, const window_query_options& options = {});

/// Sums divided by the number of pixels in the window, as 64f; or as 32f from a product with its inverse in 64f, of
/// which one in 10^8 is the number beside the nearest.
void window_means(const const_any_table_view& table, const any_view& means, const window_query_options& options = {});

/// Population variances as 32f or 64f, from tables of sums and of squares of the same form and extents. How far they
/// may be off: box_variance_bound().
void window_variances(const moment_views& tables, const any_view& variances, const window_query_options& options = {});

}  // namespace boxsum
