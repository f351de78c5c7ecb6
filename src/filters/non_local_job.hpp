#pragma once

#include <boxsum/filters.hpp>

#include <cstdint>

namespace boxsum::filters {

/// The arguments of non-local means, checked, for all backends.
struct non_local_job {
    window search, patch;  ///< not larger than the image has other pixels, where it ends at its border
    border_mode border = border_mode::shrink;
    double border_value = 0;
    rounding_mode rounding = rounding_mode::half_up;
    double scale = 1;  ///< 1 / strength^2
    double noise = 0;  ///< twice its variance
    int threads = 0;
};

}  // namespace boxsum::filters
