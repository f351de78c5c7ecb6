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

/// What a guided filter is given, without memory.
struct guided_shapes {
    view_shape image;
    std::optional<view_shape> guide;
    view_shape result;
    bool counts = false;  ///< a count is asked for
};

/// Whether there is a guide.
bool has_guide(const guided_inputs& inputs) noexcept;

inline constexpr const char* guided_on_devices = "a guided filter on devices";

/// Of shapes alone, on devices, where every pixel counts. Throws invalid_argument or unsupported, and names argument
/// and value, as all of these do.
guided_job guided_job_of(const guided_shapes& given, const guided_rule& rule, const filter_options& options);

/// Well-formed memory of image, guide and result that does not overlap.
void check_memory(const guided_inputs& inputs, const filter_outputs& outputs);

/// A call on the CPU.
struct guided_call {
    guided_job job;
    window_job samples;  ///< which pixels count in the windows of the fits, and for how much
    bool sampled = false;
};
guided_call make_guided_call(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                             const filter_options& options);

}  // namespace boxsum::filters
