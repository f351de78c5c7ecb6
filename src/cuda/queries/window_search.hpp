#pragma once

#include "core/window_grids.hpp"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/queries/histogram_kernels.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// The search for the nearest windows, from its arguments to the launches.
namespace boxsum::cuda {

/// Boxes or windows of one call: what one launch takes, at 32 threads each.
void check_count(std::string_view argument, std::int64_t count);

placed_grid place(const window_grid& grid, const detail::grid_extents& extents, std::int64_t first);

/// The windows of a search, and how many of them come out.
struct window_search {
    std::vector<placed_grid> grids;  ///< those that have windows
    std::int64_t windows = 0;        ///< of all grids
    std::int64_t keep = 0;
    histogram_distance distance = histogram_distance::l1;
    std::size_t sort_bytes = 0;  ///< 0: what comes out is selected block by block

    window_search() = default;

    /// Throws invalid_argument as best_windows(). With the device current.
    window_search(const histogram_shape& histograms, std::span<const window_grid> wanted, histogram_distance how,
                  std::int64_t count);
};

/// Device memory that a search works in.
struct search_scratch {
    search_candidate* all;
    search_candidate* selected;
    std::byte* sorting;

    search_scratch(workspace_slots& slots, const window_search& search);
};

/// The target as kernels take it: its shares, and their total behind them. In the order of best_windows().
std::vector<double> shares_of(std::span<const double> target);

/// `grids` are those of the search, on the device; `shares` as shares_of() gives them; `found` has room for
/// search.keep matches. Nothing happens where there is no window.
void enqueue_search(const queried_histograms& histograms, const window_search& search, const placed_grid* grids,
                    const double* shares, const search_scratch& scratch, histogram_match* found, stream_ref stream);

}  // namespace boxsum::cuda
