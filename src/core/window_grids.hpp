#pragma once

#include <boxsum/histogram_search.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace boxsum::detail {

struct grid_extents {
    box region;
    std::int64_t rows = 0;  ///< of windows
    std::int64_t cols = 0;
};

/// Throws invalid_argument for windows without pixels, steps below 1 and regions outside the image.
grid_extents checked_extents(const window_grid& g, std::int64_t image_rows, std::int64_t image_cols);

/// Throws invalid_argument for finite values of which no shares can be made: their total overflows, or is so small that
/// dividing by it does.
void check_total(std::string_view argument, std::span<const double> values);

/// Throws invalid_argument for a target of another number of bins, a value that is negative or not finite, and what
/// check_total() refuses.
void check_target(std::span<const double> target, std::int64_t bins);

/// Throws invalid_argument for what is not 0 to 1.
void check_largest_overlap(double largest_overlap);

/// Takes the next best window, unless its intersection with one taken before is more of their union. 1: takes all.
void take_apart(std::vector<histogram_match>& taken, const histogram_match& next, double largest_overlap);

/// Throws invalid_argument for what is no histogram_distance.
void check_distance(histogram_distance distance);

}  // namespace boxsum::detail
