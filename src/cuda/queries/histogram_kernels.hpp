#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tensor.hpp>

#include <cstdint>

/// Kernels over integral histograms that stay on the device; arguments have been checked.
namespace boxsum::cuda {

/// A grid of windows whose place is known.
struct placed_grid {
    std::int64_t first = 0;  ///< number of its first window among those of all grids
    box window;              ///< the first one
    std::int64_t row_step = 1, col_step = 1;
    std::int64_t across = 1;  ///< windows of a row
};

/// What a search keeps of a window. Both are ordered as the result is: the key by distance, distances that are not
/// numbers last; the number by grid, row and column.
struct search_candidate {
    std::uint64_t key;
    std::uint64_t number;
};

/// Candidates of a block of the selecting kernel, and how many at most come out of it.
inline constexpr std::int64_t select_block = 1024;
inline constexpr std::int64_t most_selected = select_block / 4;

/// A plane of a tensor.
struct queried_tensor {
    const void* data;
    tensor_shape shape;
    table_layout layout;
    std::int64_t plane;
};

/// `out` is count x bins. Boxes that do not lie inside the image get zeros. Windows where `boxes` is null.
void enqueue_box_histograms(const queried_tensor& tensor, const box* boxes, const placed_grid& grid, std::int64_t count,
                            void* out, stream_ref stream);

/// shares[b] = target[b] / total, and shares[bins] = total.
void enqueue_shares(const double* target, double* shares, std::int64_t bins, stream_ref stream);

/// One candidate per window of all grids.
void enqueue_window_distances(const queried_tensor& tensor, const placed_grid* grids, int grid_count,
                              std::int64_t windows, const double* shares, histogram_distance distance,
                              search_candidate* out, stream_ref stream);

/// Of each select_block candidates the `keep` first, in order, one group behind the other; of the last group as many as
/// there are, then none: keys and numbers of all ones.
void enqueue_selection(const search_candidate* in, std::int64_t count, std::int64_t keep, search_candidate* out,
                       stream_ref stream);

/// The first `count` candidates as results.
void enqueue_matches(const search_candidate* in, std::int64_t count, const placed_grid* grids, int grid_count,
                     histogram_match* out, stream_ref stream);

}  // namespace boxsum::cuda
