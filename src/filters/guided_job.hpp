#pragma once

#include "filters/window_job.hpp"

#include <boxsum/guided_filter.hpp>

#include <cstdint>
#include <optional>

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

/// What a guided filter is given, without memory. What has no value is not given.
struct guided_shapes {
    view_shape image;
    std::optional<view_shape> guide;
    view_shape result;
    std::optional<view_shape> mask = {}, weights = {}, count = {};

    guided_shapes(const view_shape& p, const std::optional<view_shape>& by, const view_shape& to)
        : image(p), guide(by), result(to) {}
    /// A count without rows is not wanted.
    guided_shapes(const guided_inputs& inputs, const filter_outputs& outputs);
};

/// Whether there is a guide.
bool has_guide(const guided_inputs& inputs) noexcept;

/// A filter, checked.
struct guided_call {
    guided_job job;
    window_job samples;  ///< which pixels count in the windows of the fits, and for how much
    bool sampled = false;
};

/// Of shapes alone. Throws invalid_argument or unsupported, and names argument and value, as all of these do.
guided_call guided_call_of(const guided_shapes& given, const guided_rule& rule, const filter_options& options);

/// Well-formed memory of which no result overlaps another argument.
void check_memory(const guided_inputs& inputs, const filter_outputs& outputs);

/// Of a call, whose memory is checked, too.
guided_call make_guided_call(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                             const filter_options& options);

}  // namespace boxsum::filters
