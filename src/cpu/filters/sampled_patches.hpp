#pragma once

#include "filters/non_local_call.hpp"
#include "filters/sample_row.hpp"

namespace boxsum::filters {

/// Non-local means where pixels may not count, or what does is wanted. Plain views.
void sampled_non_local_means(const non_local_call& call, const non_local_inputs& inputs, const filter_outputs& outputs);

/// The same without weights.
void counted_non_local_means(const non_local_call& call, const sampled_image& from, const filter_outputs& outputs,
                             int threads);

}  // namespace boxsum::filters
