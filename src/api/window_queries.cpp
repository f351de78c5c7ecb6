#include "cpu/queries/window_queries.hpp"

#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"

#include <boxsum/window_queries.hpp>

namespace boxsum {
namespace {

/// Rows and planes in any order; pixels with gaps between them through copies.
void answer(window_query query, int threads) {
    const packed_input sums(query.sums.entries, has_packed_pixels), squares(query.squares.entries, has_packed_pixels);
    const packed_output out(query.out, has_packed_pixels);
    query.sums.entries = sums.view();
    query.squares.entries = squares.view();
    query.out = out.view();
    cpu::answer_windows(query, threads);
    out.unpack();
}

}  // namespace

void window_sums(const const_any_table_view& table, const any_view& sums, const window_query_options& options) try {
    answer(checked_window_sums(table, sums, options), options.threads);
} catch (...) {
    rethrow_as_ours();
}

void window_means(const const_any_table_view& table, const any_view& means, const window_query_options& options) try {
    answer(checked_window_means(table, means, options), options.threads);
} catch (...) {
    rethrow_as_ours();
}

void window_variances(const moment_views& tables, const any_view& variances, const window_query_options& options) try {
    answer(checked_window_variances(tables, variances, options), options.threads);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
