#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/production/sat_geometry.hpp"
#include "cuda/production/sat_wave.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <span>

namespace boxsum::cuda {

/// Tiles of all layers.
inline std::int64_t wave_tiles(const sat_geometry& g, int tile_rows, int tile_cols) {
    return g.planes * g.channels * tiles_along(g.rows - g.origin, tile_rows) *
           tiles_along(g.cols - g.origin, tile_cols);
}

template <typename Pixel, typename Sum, int WarpRows>
wave_plan make_wave_plan(const sat_geometry& g) {
    using tile = wave_tile<Sum, WarpRows>;
    std::byte* const sums = static_cast<std::byte*>(g.first_sum(sizeof(Sum)));
    const unsigned tile_rows = tiles_along(g.rows - g.origin, tile::rows);
    const unsigned tile_cols = tiles_along(g.cols - g.origin, tile::cols);
    return {
        .image = static_cast<const std::byte*>(g.image),
        .sums = sums,
        .image_row_stride = g.image_row_stride,
        .image_plane_stride = g.image_plane_stride,
        .table_row_stride = g.table_row_stride,
        .table_plane_stride = g.table_plane_stride,
        .rows = static_cast<int>(g.rows) - g.origin,
        .cols = static_cast<int>(g.cols) - g.origin,
        .channels = g.channels,
        .border = g.origin != 0,
        .load_vectors =
            g.channels == 1 && common_alignment({address_of(g.image), g.image_row_stride, g.image_plane_stride}) >=
                                   tile::lane_cols * static_cast<int>(sizeof(Pixel)),
        .rows_aligned =
            g.channels == 1 && common_alignment({address_of(sums), g.table_row_stride, g.table_plane_stride}) == 16,
        .tile_cols = tile_cols,
        .by_tiles = divider(tile_rows * tile_cols),
        .by_tile_cols = divider(tile_cols),
        .by_channels = divider(static_cast<unsigned>(g.channels)),
    };
}

template <typename Pixel, typename Sum, int WarpRows>
void enqueue_wave(const sat_geometry& g, const execution& how) {
    using tile = wave_tile<Sum, WarpRows>;
    const auto tiles = static_cast<unsigned>(wave_tiles(g, tile::rows, tile::cols));
    workspace_slots slots(how.workspace);
    const wave_words words(slots, tiles, tile::row_words, tile::col_words, words_of<Sum>);
    launch(sat_wave_kernel<Pixel, Sum, WarpRows>,
           {.grid = tiles, .block = tile::threads, .overlaps_predecessor = overlapping_launches()}, how.stream,
           make_wave_plan<Pixel, Sum, WarpRows>(g), words, how.header, static_cast<std::byte*>(how.workspace),
           how.workspace_bytes);
}

/// f(images) for as many as one launch takes, again and again.
template <typename F>
void for_each_wave_list(std::span<const sat_geometry> images, F f) {
    for (; !images.empty(); images = images.subspan(std::min<std::size_t>(images.size(), wave_list::most)))
        f(images.first(std::min<std::size_t>(images.size(), wave_list::most)));
}

/// At most wave_list::most images.
template <typename Pixel, typename Sum>
void enqueue_wave_list(std::span<const sat_geometry> images, const execution& how) {
    using tile = wave_tile<Sum, wave_list::warp_rows>;
    wave_list list{};
    unsigned tiles = 0;
    for (const sat_geometry& g : images) {
        list.first_ticket[list.count] = tiles;
        list.plans[list.count++] = make_wave_plan<Pixel, Sum, wave_list::warp_rows>(g);
        tiles += static_cast<unsigned>(wave_tiles(g, tile::rows, tile::cols));
    }
    workspace_slots slots(how.workspace);
    const wave_words words(slots, tiles, tile::row_words, tile::col_words, words_of<Sum>);
    launch(sat_wave_list_kernel<Pixel, Sum>,
           {.grid = tiles, .block = tile::threads, .overlaps_predecessor = overlapping_launches()}, how.stream, list,
           words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
}

}  // namespace boxsum::cuda
