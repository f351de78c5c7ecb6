#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_table.hpp>

#include <cstddef>
#include <cstdint>

/// Kernels over integral histograms that stay on the device; arguments have been checked.
namespace boxsum::cuda {

/// A plane of histograms.
struct queried_histograms {
    const void* data;
    histogram_shape shape;
    std::int64_t plane;
};

/// A grid of windows whose place is known.
struct placed_grid {
    std::int64_t first = 0;  ///< number of its first window among those of all grids
    box window;              ///< the first one
    std::int64_t row_step = 1, col_step = 1;
    std::int64_t across = 1;  ///< windows of a row
};

/// Boxes on the device: an array of them, or the places in an array of matches.
struct box_array {
    const box* first = nullptr;
    std::int64_t stride = sizeof(box);  ///< bytes
};

/// `out` is count x bins. Boxes that do not lie inside the image get zeros.
void enqueue_box_histograms(const queried_histograms& histograms, const box_array& boxes, std::int64_t count, void* out,
                            stream_ref stream);

/// The first `count` windows of a grid.
void enqueue_window_histograms(const queried_histograms& histograms, const placed_grid& grid, std::int64_t count,
                               void* out, stream_ref stream);

/// What a search keeps of a window. Both are ordered as the result is: the key by distance, distances that are not
/// numbers last; the number by grid, row and column.
struct search_candidate {
    std::uint64_t key;
    std::uint64_t number;
};

/// shares[b] = target[b] / total, and shares[bins] = total.
void enqueue_shares(const double* target, double* shares, std::int64_t bins, stream_ref stream);

/// One candidate per window of all grids.
void enqueue_window_distances(const queried_histograms& histograms, const placed_grid* grids, int grid_count,
                              std::int64_t windows, const double* shares, histogram_distance distance,
                              search_candidate* out, stream_ref stream);

/// Candidates of a block of the selecting kernel, and how many at most come out of it.
inline constexpr std::int64_t select_block = 1024;
inline constexpr std::int64_t most_selected = select_block / 4;

/// Of each select_block candidates the `keep` first, in order, one group behind the other; of the last group as many as
/// there are, then none: keys and numbers of all ones.
void enqueue_selection(const search_candidate* in, std::int64_t count, std::int64_t keep, search_candidate* out,
                       stream_ref stream);

/// Sorts all candidates where they are, in scratch memory of sort_bytes(count) bytes.
std::size_t sort_bytes(std::int64_t count);
void enqueue_sort(search_candidate* candidates, std::int64_t count, void* scratch, stream_ref stream);

/// The first `count` candidates as results.
void enqueue_matches(const search_candidate* in, std::int64_t count, const placed_grid* grids, int grid_count,
                     histogram_match* out, stream_ref stream);

}  // namespace boxsum::cuda
