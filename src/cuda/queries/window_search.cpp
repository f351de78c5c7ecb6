#include "cuda/queries/window_search.hpp"

#include "core/distance_terms.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace boxsum::cuda {
namespace {

constexpr std::int64_t most_boxes = std::int64_t{std::numeric_limits<std::int32_t>::max()} * 8;

std::int64_t blocks_of(std::int64_t candidates) {
    return (candidates + select_block - 1) / select_block;
}

}  // namespace

void check_count(std::string_view argument, std::int64_t count) {
    if (count < 0 || count > most_boxes)
        throw invalid_argument(std::string(argument) + ": is " + std::to_string(count) + ", must be 0 to " +
                               std::to_string(most_boxes));
}

placed_grid place(const window_grid& grid, const detail::grid_extents& extents, std::int64_t first) {
    return {first,
            {extents.region.row, extents.region.col, grid.rows, grid.cols},
            grid.row_step,
            grid.col_step,
            extents.cols};
}

window_search::window_search(const histogram_shape& histograms, std::span<const window_grid> wanted,
                             histogram_distance how, std::int64_t count)
    : distance(how) {
    if (count < 1) throw invalid_argument("count: is " + std::to_string(count) + ", must be at least 1");
    if (wanted.empty()) throw invalid_argument("grids: there is none");
    for (const window_grid& g : wanted) {
        const detail::grid_extents e = detail::checked_extents(g, histograms.image_rows(), histograms.image_cols());
        const std::int64_t of_grid = window_count(g, histograms.image_rows(), histograms.image_cols());
        check_count("grids: number of windows", of_grid);
        if (of_grid > 0) grids.push_back(place(g, e, windows));
        windows += of_grid;
        check_count("grids: number of windows", windows);
    }
    keep = std::min(count, windows);
    if (keep > most_selected) sort_bytes = cuda::sort_bytes(windows);
}

search_scratch::search_scratch(workspace_slots& slots, const window_search& search)
    : all(slots.take<search_candidate>(search.windows)),
      selected(slots.take<search_candidate>(search.sort_bytes > 0 ? 0 : blocks_of(search.windows) * search.keep)),
      sorting(slots.take<std::byte>(static_cast<std::int64_t>(search.sort_bytes))) {}

std::vector<double> shares_of(std::span<const double> target) {
    const double total = std::accumulate(target.begin(), target.end(), 0.0);
    std::vector<double> shares(target.begin(), target.end());
    for (double& share : shares) share *= share_factor(total);
    shares.push_back(total);
    return shares;
}

void enqueue_search(const queried_histograms& histograms, const window_search& search, const placed_grid* grids,
                    const double* shares, const search_scratch& scratch, histogram_match* found, stream_ref stream) {
    if (search.windows == 0) return;
    const int grid_count = static_cast<int>(search.grids.size());
    enqueue_window_distances(histograms, grids, grid_count, search.windows, shares, search.distance, scratch.all,
                             stream);
    search_candidate *from = scratch.all, *to = scratch.selected;
    if (search.sort_bytes > 0) {
        enqueue_sort(from, search.windows, scratch.sorting, stream);
        to = from;
    } else {
        // Each level leaves at most a quarter, so it ends with one block; the second one on fits where the first began.
        for (std::int64_t left = search.windows;; std::swap(from, to)) {
            const std::int64_t blocks = blocks_of(left);
            enqueue_selection(from, left, search.keep, to, stream);
            if (blocks == 1) break;
            left = blocks * search.keep;
        }
    }
    enqueue_matches(to, search.keep, grids, grid_count, found, stream);
}

}  // namespace boxsum::cuda
