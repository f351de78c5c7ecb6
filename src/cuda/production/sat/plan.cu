// What the kernels need of the workspace, and which tables are for one wave.

#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/block.cuh"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/wave_launch.cuh"

#include <algorithm>
#include <cmath>

namespace boxsum::cuda {

int one_wave_rows(const sat_geometry& g, int tile_cols, int multiprocessors, bool every_height) {
    const auto tiles = [&](int rows) {
        return static_cast<double>(g.planes) * g.channels * static_cast<double>((g.rows + rows - 1) / rows) *
               static_cast<double>((g.cols + tile_cols - 1) / tile_cols);
    };
    if (!every_height) return tiles(64) <= 1.5 * multiprocessors ? 8 : 0;
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

namespace {

std::size_t bytes_of_tile_words(const sat_geometry& g, tile_types types, tile_kernel k, int multiprocessors,
                                const sat_geometry* squares = nullptr) {
    workspace_slots slots;
    const tile_plan plan = make_tile_plan(g, types, k, tiles_in_flight_of(multiprocessors, types, k), squares);
    const int words = (types.both() ? 2 * std::max(types.sum_bytes, types.squares_bytes) : types.sum_bytes) / 4;
    const int cols = types.both() ? squares_panel_cols : panel_cols_of(types.sum_bytes);
    (void)exchange_words(slots, plan, k.columns, k.channels * tile_shape<float>::rows * words, k.panels * cols * words);
    return slots.bytes();
}

}  // namespace

std::size_t tiles_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    using enum tile_store;
    const tile_types types{pixel_bytes, sum_bytes};
    const auto bytes_with = [&](tile_kernel k) { return bytes_of_tile_words(g, types, k, multiprocessors); };
    // Where image and table start, on which the kernel depends, is not known yet.
    std::size_t bytes = bytes_with({tile_load::rows, anywhere, g.channels});
    if (g.channels == 1) bytes = std::max(bytes, bytes_with({}));
    if (g.channels == 1 && chain_pays(g.cols, types))
        bytes = std::max(bytes, bytes_with({.columns = tile_columns::chain}));
    if (may_have_panels(types, g.channels) && panels_pay_for(g, sum_bytes, multiprocessors))
        bytes = std::max(bytes, bytes_with({tile_load::box, g.channels == 1 ? straight : anywhere, g.channels, 2}));
    return bytes;
}

std::size_t outwards_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors) {
    std::size_t bytes = 0;
    for (const tile_store store : {tile_store::straight, tile_store::one_behind, tile_store::anywhere})
        bytes = std::max(bytes, bytes_of_tile_words(g, {pixel_bytes, sum_bytes}, {.store = store, .outwards = true},
                                                    multiprocessors));
    return bytes;
}

std::size_t both_tables_workspace_bytes(const sat_geometry& sums, const sat_geometry& squares, int pixel_bytes,
                                        int sum_bytes, int squares_bytes, int multiprocessors) {
    const tile_types types{pixel_bytes, sum_bytes, squares_bytes};
    const auto bytes_with = [&](tile_kernel k) {
        return bytes_of_tile_words(sums, types, k, multiprocessors, &squares);
    };
    const bool panels = panels_of_both_pay_for(squares, multiprocessors);
    return panels ? std::max(bytes_with({}), bytes_with({.panels = 2})) : bytes_with({});
}

}  // namespace boxsum::cuda
