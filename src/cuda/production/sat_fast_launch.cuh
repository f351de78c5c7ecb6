#pragma once

#include "cuda/production/sat_fast.hpp"
#include "cuda/production/sat_fast_choice.hpp"
#include "cuda/production/sat_pipeline.cuh"
#include "cuda/production/sat_squares.cuh"
#include "cuda/production/sat_types.hpp"
#include "cuda/production/sat_wave_launch.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>

/// Launches of the record `fast` for anything; sat_fast_*.cu instantiate enqueue_fast().
namespace boxsum::cuda {

template <typename Pixel, typename Sum, bool Square>
void enqueue_pipeline(const sat_geometry& g, const fast_limits& limits, const execution& how) {
    using tile = pipeline_tile<Sum>;
    const pipeline_plan plan = make_pipeline_plan(g, sizeof(Pixel), tile::rows, tile::cols,
                                                  pipeline_tiles_in_flight(limits.multiprocessors), limits.copy_engine);
    workspace_slots slots(how.workspace);
    const pipeline_words words(slots, plan, tile::row_words, tile::col_words);

    const auto kernel = sat_pipeline_kernel<Pixel, Sum, Square>;
    constexpr int shared_bytes = tile::slots * pipeline_block<Pixel, Sum, Square>::slot_bytes;
    BOXSUM_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    int resident = 0;
    BOXSUM_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, tile::threads, shared_bytes));
    const auto blocks = static_cast<unsigned>(std::max(1, resident) * limits.multiprocessors);
    launch(kernel, {.grid = std::min(blocks, plan.tiles), .block = tile::threads, .shared_bytes = shared_bytes},
           how.stream, plan, words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
}

template <typename Pixel, typename Sum, bool Square>
void enqueue_table(const sat_geometry& g, const fast_limits& limits, const execution& how) {
    using wave_pixel = std::conditional_t<Square, squared<Pixel>, Pixel>;
    switch (one_wave_rows(g, pipeline_tile<Sum>::cols, limits.multiprocessors)) {
        case 4:
            return enqueue_wave<wave_pixel, Sum, 4>(g, how);
        case 8:
            return enqueue_wave<wave_pixel, Sum, 8>(g, how);
        case 16:
            return enqueue_wave<wave_pixel, Sum, 16>(g, how);
        default:
            return enqueue_pipeline<Pixel, Sum, Square>(g, limits, how);
    }
}

template <typename Pixel>
void enqueue_fast(const sat_geometry& g, dtype sum, bool square, const fast_limits& limits, const execution& how) {
    if (square)
        visit_squares_of<Pixel>(cuda_squares_triples{}, sum,
                                [&]<typename Sum>() { enqueue_table<Pixel, Sum, true>(g, limits, how); });
    else
        visit_sums_of<Pixel>(cuda_type_pairs{}, sum,
                             [&]<typename Sum>() { enqueue_table<Pixel, Sum, false>(g, limits, how); });
}

template <typename Pixel>
void enqueue_fast_list(std::span<const sat_geometry> images, dtype sum, bool square, const execution& how) {
    for_each_wave_list(images, [&](std::span<const sat_geometry> part) {
        if (square)
            visit_squares_of<Pixel>(cuda_squares_triples{}, sum,
                                    [&]<typename Sum>() { enqueue_wave_list<squared<Pixel>, Sum>(part, how); });
        else
            visit_sums_of<Pixel>(cuda_type_pairs{}, sum,
                                 [&]<typename Sum>() { enqueue_wave_list<Pixel, Sum>(part, how); });
    });
}

}  // namespace boxsum::cuda
