#pragma once

#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>

namespace boxsum::cpu {

enum class window_result { sums, means, variances };

/// A checked query: `squares` has entries for variances only.
struct window_query {
    window_result wanted;
    const_any_table_view sums;
    const_any_table_view squares;
    any_view out;
    boxsum::window window;
};

/// `threads` as in window_query_options.
void answer_windows(const window_query& query, int threads);

}  // namespace boxsum::cpu
