#pragma once

#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>
#include <boxsum/window_queries.hpp>

#include <cstdint>

namespace boxsum {

enum class window_result : std::uint8_t { sums, means, variances };

/// A checked query of the windows around all pixels: `squares` has entries for variances only.
struct window_query {
    window_result wanted;
    const_any_table_view sums;
    const_any_table_view squares;
    any_view out;
    boxsum::window window;
};

/// The queries of window_sums(), window_means() and window_variances() and their namesakes on devices. Throw what those
/// promise for wrong arguments. Look at no memory.
window_query checked_window_sums(const const_any_table_view& table, const any_view& sums,
                                 const window_query_options& options);
window_query checked_window_means(const const_any_table_view& table, const any_view& means,
                                  const window_query_options& options);
window_query checked_window_variances(const moment_views& tables, const any_view& variances,
                                      const window_query_options& options);

}  // namespace boxsum
