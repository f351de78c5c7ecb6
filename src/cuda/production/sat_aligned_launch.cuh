#pragma once

#include "core/visit_types.hpp"
#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_kernel.cuh"
#include "cuda/production/sat_aligned_wave.cuh"
#include "cuda/production/sat_fast_choice.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>

/// The launches of the record `fast-aligned`; sat_aligned_*.cu instantiate enqueue_aligned().
namespace boxsum::cuda {

/// False, and nothing is enqueued, where the copy engine cannot describe the image.
template <typename Pixel, typename Sum, aligned_columns Columns>
bool enqueue_aligned_pipeline(const problem& problem, const sat_geometry& g, int multiprocessors, int tiles_in_flight,
                              const execution& how) {
    using tile = aligned_tile<Sum>;
    aligned_plan plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), Columns, tiles_in_flight);
    if (!encode_tensor_map(plan.map, sizeof(Pixel), g.image, g.planes, problem.image.rows, problem.image.cols,
                           g.image_row_stride, g.image_plane_stride, tile::rows, tile::cols))
        return false;
    workspace_slots slots(how.workspace);
    const aligned_words words(slots, plan, Columns, tile::row_words, tile::col_words);

    const auto kernel = sat_aligned_kernel<Pixel, Sum, Columns>;
    // 128 more, for the kernel aligns the slots itself.
    constexpr int shared_bytes = tile::slots * aligned_pixels<Pixel, Sum>::bytes + 128;
    BOXSUM_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    int resident = 0;
    BOXSUM_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, tile::threads, shared_bytes));
    const auto blocks = static_cast<unsigned>(std::max(1, resident) * multiprocessors);
    launch(kernel, {.grid = std::min(blocks, plan.tiles), .block = tile::threads, .shared_bytes = shared_bytes},
           how.stream, plan, words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
    return true;
}

template <typename Pixel, typename Sum, int WarpRows>
bool enqueue_aligned_wave(const problem& problem, const sat_geometry& g, const execution& how) {
    using tile = aligned_wave_tile<Sum, WarpRows>;
    const unsigned tile_rows = aligned_tiles_along(g.rows - g.origin, tile::rows);
    const unsigned tile_cols = aligned_tiles_along(g.cols - g.origin, tile::cols);
    const aligned_wave_plan plan{.image = static_cast<const std::byte*>(g.image),
                                 .table = static_cast<std::byte*>(g.table),
                                 .image_row_stride = g.image_row_stride,
                                 .image_plane_stride = g.image_plane_stride,
                                 .table_row_stride = g.table_row_stride,
                                 .table_plane_stride = g.table_plane_stride,
                                 .image_rows = static_cast<int>(problem.image.rows),
                                 .image_cols = static_cast<int>(problem.image.cols),
                                 .rows = static_cast<int>(g.rows),
                                 .cols = static_cast<int>(g.cols),
                                 .border = g.origin,
                                 .tile_cols = tile_cols,
                                 .by_tiles = divider(tile_rows * tile_cols),
                                 .by_tile_cols = divider(tile_cols)};
    const unsigned tiles = static_cast<unsigned>(g.planes) * tile_rows * tile_cols;
    workspace_slots slots(how.workspace);
    const aligned_wave_words words(slots, tiles, tile::row_words, tile::col_words, words_of<Sum>);
    launch(sat_aligned_wave_kernel<Pixel, Sum, WarpRows>, {.grid = tiles, .block = tile::threads}, how.stream, plan,
           words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
    return true;
}

template <typename Pixel, typename Sum>
bool enqueue_aligned_table(const problem& problem, const sat_geometry& g, int multiprocessors, const execution& how) {
    switch (one_wave_rows(g, aligned_tile<Sum>::cols, multiprocessors)) {
        case 4:
            return enqueue_aligned_wave<Pixel, Sum, 4>(problem, g, how);
        case 8:
            return enqueue_aligned_wave<Pixel, Sum, 8>(problem, g, how);
        case 16:
            return enqueue_aligned_wave<Pixel, Sum, 16>(problem, g, how);
        default:
            break;
    }
    const int in_flight = aligned_tiles_in_flight(multiprocessors);
    if (aligned_columns_of(g.cols, sizeof(Pixel), sizeof(Sum)) == aligned_columns::chain)
        return enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::chain>(problem, g, multiprocessors, in_flight,
                                                                            how);
    return enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::groups>(problem, g, multiprocessors, in_flight, how);
}

/// Pixels as wide as the sum become sums: then 32s32s and 32u32u are the same kernel.
template <typename Input, typename Table>
using aligned_pixel_of =
    std::conditional_t<std::is_integral_v<Input> && sizeof(Input) == sizeof(Table), sum_type<Table>, Input>;

template <typename Pixel, typename... Pairs>
bool enqueue_aligned_pair(type_list<Pairs...>, const problem& p, const sat_geometry& g, int multiprocessors,
                          const execution& how) {
    bool enqueued = false;
    const auto visit = [&]<typename Pair>() {
        if constexpr (std::is_same_v<aligned_pixel_of<typename Pair::input, typename Pair::table>, Pixel>)
            if (dtype_of<typename Pair::table> == p.table.type) {
                enqueued = enqueue_aligned_table<Pixel, sum_type<typename Pair::table>>(p, g, multiprocessors, how);
                return true;
            }
        return false;
    };
    (void)(visit.template operator()<Pairs>() || ...);
    return enqueued;
}

template <typename Pixel>
bool enqueue_aligned(const problem& p, const sat_geometry& g, int multiprocessors, const execution& how) {
    return enqueue_aligned_pair<Pixel>(cuda_type_pairs{}, p, g, multiprocessors, how);
}

}  // namespace boxsum::cuda
