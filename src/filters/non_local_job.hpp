#pragma once

#include <boxsum/non_local_means.hpp>

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

inline constexpr const char* non_local_on_devices = "non-local means on devices";

/// On devices, where every pixel counts. Of shapes that are checked by themselves. Throws invalid_argument or
/// unsupported, and names argument and value, as all of these do.
non_local_job make_non_local_job(const view_shape& image, const view_shape& result, bool counts,
                                 const non_local_rule& rule, const filter_options& options);

/// Of a call, whose memory is checked, too.
non_local_job make_non_local_job(const non_local_inputs& inputs, const filter_outputs& outputs,
                                 const non_local_rule& rule, const filter_options& options);

}  // namespace boxsum::filters
