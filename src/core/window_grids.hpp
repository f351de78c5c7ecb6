#pragma once

#include <boxsum/histogram_search.hpp>

#include <cstdint>

namespace boxsum::detail {

struct grid_extents {
    box region;
    std::int64_t rows = 0;  ///< of windows
    std::int64_t cols = 0;
};

/// Throws invalid_argument for windows without pixels, steps below 1 and regions outside the image.
grid_extents checked_extents(const window_grid& g, std::int64_t image_rows, std::int64_t image_cols);

}  // namespace boxsum::detail
