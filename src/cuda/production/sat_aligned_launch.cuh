#pragma once

#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_kernel.cuh"
#include "cuda/production/sat_types.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>

/// Launches of the record `fast` for one channel; sat_aligned_*.cu instantiate enqueue_aligned().
namespace boxsum::cuda {

template <typename Pixel, typename Sum, aligned_columns Columns, aligned_load Load>
void enqueue_aligned_kernel(const aligned_plan& plan, int multiprocessors, const execution& how) {
    using tile = aligned_tile<Sum>;
    workspace_slots slots(how.workspace);
    const aligned_words words(slots, plan, Columns, tile::row_words, tile::col_words);
    const auto kernel = sat_aligned_kernel<Pixel, Sum, Columns, Load>;
    // 128 more, for the kernel aligns the slots itself.
    constexpr int shared_bytes = aligned_slots(sizeof(Pixel)) * aligned_pixels<Pixel, Sum, Load>::bytes + 128;
    BOXSUM_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    int resident = 0;
    BOXSUM_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, tile::threads, shared_bytes));
    const auto blocks = static_cast<unsigned>(std::max(1, resident) * multiprocessors);
    launch(kernel,
           {.grid = std::min(blocks, plan.tiles),
            .block = tile::threads,
            .shared_bytes = shared_bytes,
            .overlaps_predecessor = true},
           how.stream, plan, words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
}

template <typename Pixel, typename Sum, aligned_columns Columns>
void enqueue_aligned_pipeline(const sat_geometry& g, int multiprocessors, int tiles_in_flight, const execution& how) {
    using tile = aligned_tile<Sum>;
    aligned_plan plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), Columns, tiles_in_flight);
    // A table that is nothing but its border has a tile, too, whose pixels do not count. And there are extents and
    // strides that a tensor map cannot have.
    const bool box = common_alignment({address_of(g.image), g.image_row_stride, g.image_plane_stride}) == 16 &&
                     plan.rows > 0 && plan.cols > 0 &&
                     encode_tensor_map(plan.map, sizeof(Pixel), g.image, g.planes, plan.rows, plan.cols,
                                       g.image_row_stride, g.image_plane_stride, tile::rows, tile::cols);
    if (box)
        enqueue_aligned_kernel<Pixel, Sum, Columns, aligned_load::box>(plan, multiprocessors, how);
    else
        enqueue_aligned_kernel<Pixel, Sum, Columns, aligned_load::rows>(plan, multiprocessors, how);
}

template <typename Pixel, typename Sum>
void enqueue_aligned_table(const sat_geometry& g, int multiprocessors, const execution& how) {
    const int in_flight = aligned_tiles_in_flight(multiprocessors, sizeof(Pixel));
    if (aligned_columns_of(g.cols, sizeof(Pixel), sizeof(Sum)) == aligned_columns::chain)
        enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::chain>(g, multiprocessors, in_flight, how);
    else
        enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::groups>(g, multiprocessors, in_flight, how);
}

template <typename Pixel>
void enqueue_aligned(const sat_geometry& g, dtype sum, bool square, int multiprocessors, const execution& how) {
    if (square)
        visit_squares_of<Pixel>(cuda_squares_triples{}, sum, [&]<typename Sum>() {
            enqueue_aligned_table<squared<Pixel>, Sum>(g, multiprocessors, how);
        });
    else
        visit_sums_of<Pixel>(cuda_type_pairs{}, sum,
                             [&]<typename Sum>() { enqueue_aligned_table<Pixel, Sum>(g, multiprocessors, how); });
}

}  // namespace boxsum::cuda
