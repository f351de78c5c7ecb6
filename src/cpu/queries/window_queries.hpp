#pragma once

#include "core/window_query.hpp"

namespace boxsum::cpu {

/// `threads` as in window_query_options.
void answer_windows(const window_query& query, int threads);

}  // namespace boxsum::cpu
