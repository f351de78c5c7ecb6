#pragma once

#include "apps/window_job.hpp"

namespace boxsum::apps {

/// The box mean of a checked job into a checked result.
void box_filter(const window_job& job, const any_view& result);

}  // namespace boxsum::apps
