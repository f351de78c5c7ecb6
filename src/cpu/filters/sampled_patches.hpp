#pragma once

#include "filters/non_local_call.hpp"

namespace boxsum::filters {

/// Non-local means where pixels may not count, or what does is wanted, by the definition in double. Plain views.
void sampled_non_local_means(const non_local_call& call, const non_local_inputs& inputs, const filter_outputs& outputs);

}  // namespace boxsum::filters
