// Which tables the kernels of sat_aligned_kernel.cuh take, and what they need.

#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_tile.cuh"

#include <algorithm>
#include <cmath>

namespace boxsum::cuda {

bool aligned_kernels_fit(const sat_geometry& g, int tile_cols) {
    if (g.rows <= g.origin || g.cols <= g.origin || g.planes == 0) return false;
    // Tiles are counted in 32 bits, with those that fill up groups.
    return static_cast<double>(g.planes) * std::ceil(static_cast<double>(g.rows) / 64) *
               std::ceil(static_cast<double>(g.cols) * g.channels / tile_cols) <=
           2e8;
}

std::size_t aligned_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    const int cols = aligned_tile_cols(sum_bytes);
    const int words = sum_bytes / 4;
    constexpr int rows = aligned_tile<float>::rows;
    const aligned_columns columns = aligned_columns_of(g, pixel_bytes, sum_bytes);
    const int in_flight = aligned_tiles_in_flight(multiprocessors, pixel_bytes, sum_bytes, g.channels);
    const auto bytes_with = [&](int panels, aligned_store store) {
        workspace_slots slots;
        const aligned_plan plan = make_aligned_plan(g, pixel_bytes, sum_bytes, columns, in_flight, panels, store);
        (void)aligned_words(slots, plan, columns, g.channels * rows * words, panels * cols * words);
        return slots.bytes();
    };
    // Where image and table start, which may be in the way of panels and of straight rows, is not known yet.
    using enum aligned_store;
    return std::max({bytes_with(1, anywhere), bytes_with(1, straight),
                     bytes_with(aligned_panels(g, pixel_bytes, sum_bytes, multiprocessors), anywhere)});
}

std::size_t aligned_squares_workspace_bytes(const sat_geometry& sums, const sat_geometry& squares, int pixel_bytes,
                                            int sum_bytes, int squares_bytes, int multiprocessors) {
    const int value_words = 2 * std::max(sum_bytes, squares_bytes) / 4;
    const int in_flight = aligned_tiles_in_flight(multiprocessors, pixel_bytes, 8, 1, true);
    const auto bytes_with = [&](int panels) {
        workspace_slots slots;
        const aligned_plan plan = make_aligned_plan(sums, pixel_bytes, sum_bytes, aligned_columns::groups, in_flight,
                                                    panels, aligned_store::straight, {&squares, squares_bytes});
        (void)aligned_words(slots, plan, aligned_columns::groups, aligned_tile<float>::rows * value_words,
                            panels * aligned_squares_cols * value_words);
        return slots.bytes();
    };
    return std::max(bytes_with(1), bytes_with(aligned_squares_panels(squares, pixel_bytes, multiprocessors)));
}

}  // namespace boxsum::cuda
