// What the kernels need of the workspace, and which tables are for one wave.

#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/shared.cuh"
#include "cuda/production/sat/wave_launch.cuh"

#include <algorithm>
#include <cmath>

namespace boxsum::cuda {

int one_wave_rows(const sat_geometry& g, int tile_cols, int multiprocessors) {
    const auto tiles = [&](int rows) {
        return static_cast<double>(g.planes) * g.channels * static_cast<double>((g.rows + rows - 1) / rows) *
               static_cast<double>((g.cols + tile_cols - 1) / tile_cols);
    };
    if (tiles(32) <= 0.5 * multiprocessors) return 4;
    if (tiles(64) <= 1.5 * multiprocessors) return 8;
    if (tiles(128) <= 2.0 * multiprocessors) return 16;
    return 0;
}

namespace {

std::size_t bytes_of_wave_words(std::int64_t tiles, int sum_bytes, int warp_rows) {
    const int words = sum_bytes / 4;
    workspace_slots slots;
    (void)wave_words(slots, tiles, 8 * warp_rows * words, panel_cols_of(sum_bytes) * words, words);
    return slots.bytes();
}

}  // namespace

std::size_t wave_workspace_bytes(const sat_geometry& g, int sum_bytes, int warp_rows) {
    return bytes_of_wave_words(wave_tiles(g, 8 * warp_rows, panel_cols_of(sum_bytes)), sum_bytes, warp_rows);
}

std::size_t wave_list_workspace_bytes(std::span<const sat_geometry> images, int sum_bytes) {
    std::size_t bytes = 0;
    for_each_wave_list(images, [&](std::span<const sat_geometry> part) {
        std::int64_t tiles = 0;
        for (const sat_geometry& g : part) tiles += wave_tiles(g, 8 * wave_list::warp_rows, panel_cols_of(sum_bytes));
        bytes = std::max(bytes, bytes_of_wave_words(tiles, sum_bytes, wave_list::warp_rows));
    });
    return bytes;
}

bool tiles_can_be_counted(const view_shape& table) {
    // In 32 bits, with those that fill up groups.
    return static_cast<double>(table.planes) * std::ceil(static_cast<double>(table.rows) / 64) *
               std::ceil(static_cast<double>(table.cols) * static_cast<double>(table.channels) /
                         panel_cols_of(static_cast<int>(size_of(table.type)))) <=
           2e8;
}

std::size_t tiles_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    const int cols = panel_cols_of(sum_bytes);
    const int words = sum_bytes / 4;
    constexpr int rows = tile_shape<float>::rows;
    const tile_columns columns = columns_of(g, pixel_bytes, sum_bytes);
    const int in_flight = tiles_in_flight_of(multiprocessors, pixel_bytes, sum_bytes, g.channels);
    const auto bytes_with = [&](int panels, tile_store store) {
        workspace_slots slots;
        const tile_plan plan = make_tile_plan(g, pixel_bytes, sum_bytes, columns, in_flight, panels, store);
        (void)exchange_words(slots, plan, columns, g.channels * rows * words, panels * cols * words);
        return slots.bytes();
    };
    // Where image and table start, which may be in the way of panels and of straight rows, is not known yet.
    using enum tile_store;
    return std::max({bytes_with(1, anywhere), bytes_with(1, straight),
                     bytes_with(panels_of(g, pixel_bytes, sum_bytes, multiprocessors), anywhere)});
}

std::size_t both_tables_workspace_bytes(const sat_geometry& sums, const sat_geometry& squares, int pixel_bytes,
                                        int sum_bytes, int squares_bytes, int multiprocessors) {
    const int value_words = 2 * std::max(sum_bytes, squares_bytes) / 4;
    const int in_flight = tiles_in_flight_of(multiprocessors, pixel_bytes, 8, 1, true);
    const auto bytes_with = [&](int panels) {
        workspace_slots slots;
        const tile_plan plan = make_tile_plan(sums, pixel_bytes, sum_bytes, tile_columns::groups, in_flight, panels,
                                              tile_store::straight, {&squares, squares_bytes});
        (void)exchange_words(slots, plan, tile_columns::groups, tile_shape<float>::rows * value_words,
                             panels * squares_panel_cols * value_words);
        return slots.bytes();
    };
    return std::max(bytes_with(1), bytes_with(panels_of_both(squares, pixel_bytes, multiprocessors)));
}

}  // namespace boxsum::cuda
