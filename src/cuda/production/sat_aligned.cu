// Which tables the kernels of sat_aligned_kernel.cuh take, and what they need.

#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_tile.cuh"
#include "cuda/production/sat_fast_choice.hpp"

#include <algorithm>
#include <cmath>

namespace boxsum::cuda {

bool aligned_kernels_fit(const sat_geometry& g, dtype sum) {
    if (g.rows <= g.origin || g.cols <= g.origin || g.planes == 0) return false;
    // Tiles are counted in 32 bits, with those that fill up groups.
    return static_cast<double>(g.planes) * std::ceil(static_cast<double>(g.rows) / 64) *
               std::ceil(static_cast<double>(g.cols) * g.channels / tile_cols_of(sum)) <=
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

}  // namespace boxsum::cuda
