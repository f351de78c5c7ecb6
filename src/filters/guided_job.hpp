#pragma once

#include <boxsum/guided_filter.hpp>

#include <cstdint>

namespace boxsum::filters {

/// A guided filter's arguments, checked, for all backends.
struct guided_job {
    double epsilon = 0;
    window fits;   ///< of the linear functions
    window means;  ///< those of the functions whose windows contain a pixel
    border_mode border = border_mode::shrink;
    rounding_mode rounding = rounding_mode::half_up;
    int threads = 0;
    std::int64_t strip = 0;  ///< rows that are computed at a time
};

/// Throws invalid_argument or unsupported, and names argument and value.
guided_job make_guided_job(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                           const filter_options& options);

}  // namespace boxsum::filters
