#pragma once

#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/types.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// How far apart two histograms are. Both are divided by their totals first, so that windows of different sizes can be
/// compared; p and q are the results (all zero for an empty histogram). Every distance is 0 for equal p and q,
/// except that sums of shares are rounded: bhattacharyya may be up to 3e-8 * sqrt(bins), intersection 1e-15 * bins.
enum class histogram_distance : std::uint8_t {
    l1,             ///< sum |p - q|, 0 to 2
    l2,             ///< sqrt(sum (p - q)^2), 0 to sqrt(2)
    chi_square,     ///< 1/2 sum (p - q)^2 / (p + q) over the bins where p + q > 0, 0 to 1
    intersection,   ///< 1 - sum min(p, q), 0 to 1 (Swain and Ballard 1991)
    bhattacharyya,  ///< sqrt(1 - sum sqrt(p q)), 0 to 1 (Comaniciu et al. 2003)
};

/// "l1", "l2", "chi-square", "intersection", "bhattacharyya"
std::string_view name_of(histogram_distance distance) noexcept;
std::optional<histogram_distance> histogram_distance_from_name(std::string_view name) noexcept;

/// The distance between two histograms of the same number of bins, not normalised. Two empty histograms are at distance
/// 0, an empty and another one at the largest; a value that is not finite gives a distance that is not a number. Throws
/// invalid_argument when the sizes differ, and for finite values whose total overflows or is below 1e-290 without being
/// 0, because shares of it cannot be computed.
double distance_between(histogram_distance distance, std::span<const double> a, std::span<const double> b);

/// All windows of one size on a grid: their corners are (region.row + i * row_step, region.col + j * col_step), and
/// each lies inside the region.
struct window_grid {
    std::int64_t rows = 0;  ///< of a window
    std::int64_t cols = 0;
    std::int64_t row_step = 1;
    std::int64_t col_step = 1;
    std::optional<box> region = {};  ///< nothing: the whole image
};

/// Number of windows of a grid in an image of rows x cols, row by row; 0 when the window is larger than the region.
/// Throws invalid_argument for windows without pixels, steps below 1, regions outside the image and numbers that 64
/// bits do not hold.
std::int64_t window_count(const window_grid& grid, std::int64_t image_rows, std::int64_t image_cols);

/// The i-th window of a grid in an image with that many columns, unchecked.
box window_at(const window_grid& grid, std::int64_t image_cols, std::int64_t i);

/// Histograms of all windows: `out` is window_count() x bins. T is the element type of the histograms.
/// Throws invalid_argument as window_count, and for a wrong size of `out`, a plane that the histograms lack, another
/// type.
template <typename T>
BOXSUM_EXPORT void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid,
                                     std::span<T> out, std::int64_t plane = 0);

extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint16_t>,
                                       std::int64_t);
extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint32_t>,
                                       std::int64_t);
extern template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<float>,
                                       std::int64_t);

/// A window, and how far its histogram is from the target.
struct histogram_match {
    box where;
    double distance = 0;

    friend bool operator==(const histogram_match&, const histogram_match&) = default;
};

/// Exhaustive search: the `count` windows nearest to `target` (bins values, not normalised), best first; fewer when the
/// grids have fewer windows. Several grids make a multi-scale search. Equal distances go to the earlier grid, then to
/// the upper, then to the left window; a distance that is not a number comes last.
///
/// The neighbours of a good window are as good. `largest_overlap` below 1 leaves them out (non-maximum suppression): in
/// that order, a window is taken where the pixels that it has in common with each one taken before are at most that
/// part of the pixels of both (intersection over union); 0 takes windows without a common pixel. All windows are kept
/// until then, in 24 bytes each for each thread.
///
/// Throws invalid_argument as window_histograms, for a count below 1, no grid, a target of another number of bins or
/// with a value that is negative or not finite, or with a total that distance_between() refuses, and for a largest
/// overlap outside 0 to 1.
std::vector<histogram_match> best_windows(const const_any_histogram_view& histograms,
                                          std::span<const window_grid> grids, std::span<const double> target,
                                          histogram_distance distance, std::int64_t count, std::int64_t plane = 0,
                                          double largest_overlap = 1);

}  // namespace boxsum
