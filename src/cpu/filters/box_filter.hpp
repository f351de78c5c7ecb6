#pragma once

#include "cpu/filters/row_job.hpp"

namespace boxsum::filters {

/// The box mean of a checked job into a checked result.
void box_filter(const row_job& job, const any_view& result);

}  // namespace boxsum::filters
