#pragma once

#include "cuda/production/sat/policy.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/types.cuh"
#include "cuda/production/sat/wave.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <memory>
#include <span>

/// Launches of one wave of the record `fast`; kernels.cu.in instantiates them.
namespace boxsum::cuda {

/// Tiles of all layers.
inline std::int64_t wave_tiles(const sat_geometry& g, int tile_rows, int tile_cols) {
    return g.planes * g.channels * tiles_along(g.rows - g.origin, tile_rows) *
           tiles_along(g.cols - g.origin, tile_cols);
}

/// Sets what depends on where the geometry's image and table are.
template <typename Pixel, typename Sum>
void place_at(wave_plan& plan, const sat_geometry& g) {
    constexpr int lane_bytes = 16 / static_cast<int>(sizeof(Sum)) * static_cast<int>(sizeof(Pixel));
    plan.image = static_cast<const std::byte*>(g.image);
    plan.sums = static_cast<std::byte*>(g.first_sum(sizeof(Sum)));
    plan.load_vectors = g.channels == 1 &&
                        common_alignment({address_of(g.image), g.image_row_stride, g.image_plane_stride}) >= lane_bytes;
    plan.rows_aligned =
        g.channels == 1 && common_alignment({address_of(plan.sums), g.table_row_stride, g.table_plane_stride}) == 16;
}

template <typename Pixel, typename Sum, int WarpRows>
wave_plan make_wave_plan(const sat_geometry& g) {
    using tile = wave_tile<Sum, WarpRows>;
    const unsigned tile_rows = tiles_along(g.rows - g.origin, tile::rows);
    const unsigned tile_cols = tiles_along(g.cols - g.origin, tile::cols);
    wave_plan plan{
        .image = nullptr,
        .sums = nullptr,
        .image_row_stride = g.image_row_stride,
        .image_plane_stride = g.image_plane_stride,
        .table_row_stride = g.table_row_stride,
        .table_plane_stride = g.table_plane_stride,
        .rows = static_cast<int>(g.rows) - g.origin,
        .cols = static_cast<int>(g.cols) - g.origin,
        .channels = g.channels,
        .border = g.origin != 0,
        .load_vectors = false,
        .rows_aligned = false,
        .tile_cols = tile_cols,
        .by_tiles = divider(tile_rows * tile_cols),
        .by_tile_cols = divider(tile_cols),
        .by_channels = divider(static_cast<unsigned>(g.channels)),
    };
    place_at<Pixel, Sum>(plan, g);
    return plan;
}

template <typename Pixel, typename Sum, int WarpRows>
class prepared_wave final : public prepared_table {
    using tile = wave_tile<Sum, WarpRows>;

  public:
    prepared_wave(const sat_geometry& g, const device_limits& limits)
        : g_(g),
          plan_(make_wave_plan<Pixel, Sum, WarpRows>(g)),
          tiles_(static_cast<unsigned>(wave_tiles(g, tile::rows, tile::cols))),
          limits_(limits) {}

    bool run(const table_memory& memory, const execution& how) const override {
        sat_geometry g = g_;
        g.image = memory.image;
        g.table = memory.table;
        wave_plan plan = plan_;
        place_at<Pixel, Sum>(plan, g);
        sat_carries around = g_.carries;
        around.place_at(memory.carries, std::int64_t{g_.channels} * int{sizeof(Sum)});
        workspace_slots slots(how.workspace);
        const wave_words words(slots, tiles_, tile::row_words, tile::col_words, words_of<Sum>);
        launch(sat_wave_kernel<Pixel, Sum, WarpRows>,
               {.grid = tiles_, .block = tile::threads, .overlaps_predecessor = limits_.launches_overlap()}, how.stream,
               plan, around, words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
        return true;
    }

  private:
    sat_geometry g_;
    wave_plan plan_;
    unsigned tiles_;
    device_limits limits_;
};

template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_wave(const sat_geometry& g, dtype sum, bool square,
                                                   const device_limits& limits, int warp_rows) {
    std::unique_ptr<const prepared_table> prepared;
    visit_kernel_types<Pixel>(sum, square, [&]<typename Kind, typename Sum>() {
        if constexpr (listed_in_every_layout<Kind, Sum>) {
            if (warp_rows == 4) prepared = std::make_unique<prepared_wave<Kind, Sum, 4>>(g, limits);
            if (warp_rows == 16) prepared = std::make_unique<prepared_wave<Kind, Sum, 16>>(g, limits);
        }
        if (!prepared) prepared = std::make_unique<prepared_wave<Kind, Sum, 8>>(g, limits);
    });
    return prepared;
}

/// f(images) for as many as one launch takes, again and again.
template <typename F>
void for_each_wave_list(std::span<const sat_geometry> images, F f) {
    for (; !images.empty(); images = images.subspan(std::min<std::size_t>(images.size(), wave_list::most)))
        f(images.first(std::min<std::size_t>(images.size(), wave_list::most)));
}

/// At most wave_list::most images.
template <typename Pixel, typename Sum>
void enqueue_wave_list(std::span<const sat_geometry> images, const device_limits& limits, const execution& how) {
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
           {.grid = tiles, .block = tile::threads, .overlaps_predecessor = limits.launches_overlap()}, how.stream, list,
           words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
}

template <typename Pixel>
void enqueue_wave_lists(std::span<const sat_geometry> images, dtype sum, bool square, const device_limits& limits,
                        const execution& how) {
    for_each_wave_list(images, [&](std::span<const sat_geometry> part) {
        visit_kernel_types<Pixel>(
            sum, square, [&]<typename Kind, typename Sum>() { enqueue_wave_list<Kind, Sum>(part, limits, how); });
    });
}

}  // namespace boxsum::cuda
