#pragma once

#include "cuda/production/sat_aligned.hpp"
#include "cuda/production/sat_aligned_kernel.cuh"
#include "cuda/production/sat_types.hpp"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <stdexcept>
#include <string>

/// Launches of the aligned kernels of the record `fast`. sat_aligned_*.cu instantiate enqueue_aligned() for one
/// channel, sat_channels_*.cu enqueue_aligned_channels() for several.
namespace boxsum::cuda {

/// A table that is nothing but its border has a tile, too, whose pixels do not count. And there are extents and strides
/// that a tensor map cannot have.
inline aligned_maps<1> box_maps(const sat_geometry& g, const aligned_plan& plan, int pixel_bytes, int tile_cols) {
    aligned_maps<1> maps{};
    maps.valid = common_alignment({address_of(g.image), g.image_row_stride, g.image_plane_stride}) == 16 &&
                 plan.rows > 0 && plan.cols > 0 &&
                 encode_tensor_map(maps.of_phase[0], pixel_bytes, g.image, g.planes, plan.rows, plan.cols,
                                   g.image_row_stride, g.image_plane_stride, aligned_tile<float>::rows, tile_cols);
    return maps;
}

/// The same with the pixels beside the tiles.
inline aligned_maps<1, true> box_maps_with_beside(const sat_geometry& g, const aligned_plan& plan, int pixel_bytes,
                                                  int tile_cols) {
    aligned_maps<1, true> maps{box_maps(g, plan, pixel_bytes, tile_cols), {}};
    maps.valid = maps.valid && encode_tensor_map(maps.beside, pixel_bytes, g.image, g.planes, plan.rows, plan.cols,
                                                 g.image_row_stride, g.image_plane_stride, aligned_tile<float>::rows,
                                                 16 / pixel_bytes);
    return maps;
}

/// Of rows that start anywhere. Planes have to start alike.
template <int PixelBytes>
aligned_maps<aligned_phases(aligned_load::rows, PixelBytes)> phase_maps(const sat_geometry& g, const aligned_plan& plan,
                                                                        int tile_cols) {
    constexpr int phases = aligned_phases(aligned_load::rows, PixelBytes);
    aligned_maps<phases> maps{};
    maps.valid = aligned_rows_in_boxes(PixelBytes) && plan.rows > 0 && plan.cols > 0 &&
                 common_alignment({g.planes > 1 ? g.image_plane_stride : 0}) == 16;
    for (int phase = 0; phase < phases && maps.valid; ++phase) {
        // A phase without rows has the map of the first one: what its boxes bring is outside the image.
        const int first = phase < plan.rows ? phase : 0;
        const std::byte* const row = plan.image + first * plan.image_row_stride;
        const auto skip = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) % 16);
        maps.valid = encode_tensor_map(maps.of_phase[phase], PixelBytes, row - skip, g.planes,
                                       (plan.rows - first + phases - 1) / phases, plan.cols + skip / PixelBytes,
                                       phases * plan.image_row_stride, plan.image_plane_stride,
                                       aligned_tile<float>::rows / phases, tile_cols + 16 / PixelBytes);
    }
    return maps;
}

template <typename Pixel, typename Sum, aligned_columns Columns, aligned_load Load, aligned_store Store, int Channels,
          int Panels = 1>
void enqueue_aligned_kernel(
    const aligned_plan& plan,
    const aligned_maps<aligned_phases(Load, sizeof(Pixel)), Store == aligned_store::whole_sectors>& maps,
    int multiprocessors, const execution& how) {
    using tile = aligned_tile<Sum>;
    workspace_slots slots(how.workspace);
    const aligned_words words(slots, plan, Columns, Channels * tile::row_words, Panels * tile::col_words);
    if (slots.bytes() > how.workspace_bytes)
        throw std::logic_error("words take " + std::to_string(slots.bytes()) + " bytes of a workspace of " +
                               std::to_string(how.workspace_bytes));
    const auto kernel = sat_aligned_kernel<Pixel, Sum, Columns, Load, Store, Channels, Panels>;
    // 128 more, for the kernel aligns the slots itself.
    using roles = aligned_roles<Pixel, Sum, Columns, Load, Store, Channels, Panels>;
    constexpr int shared_bytes = roles::tile_slots * static_cast<int>(roles::slot_bytes) + 128;
    BOXSUM_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    int resident = 0;
    BOXSUM_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, tile::threads, shared_bytes));
    const auto blocks = static_cast<unsigned>(std::max(1, resident) * multiprocessors);
    launch(kernel,
           {.grid = std::min(blocks, plan.tiles),
            .block = tile::threads,
            .shared_bytes = shared_bytes,
            .overlaps_predecessor = true},
           how.stream, plan, maps, words, how.header, static_cast<std::byte*>(how.workspace), how.workspace_bytes);
}

/// In tiles of two panels; false if there is no kernel for the rows of the image or of one channel's table, and nothing
/// is enqueued.
template <typename Pixel, typename Sum, int Channels>
bool enqueue_in_panels(const sat_geometry& g, int multiprocessors, int tiles_in_flight, const execution& how) {
    constexpr auto columns = aligned_columns::groups;
    constexpr auto store = Channels == 1 ? aligned_store::straight : aligned_store::anywhere;
    const aligned_plan plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), columns, tiles_in_flight, 2);
    if (store == aligned_store::straight && !plan.rows_aligned) return false;
    const auto maps = box_maps(g, plan, sizeof(Pixel), aligned_tile<Sum>::cols);
    if (!maps.valid) return false;
    enqueue_aligned_kernel<Pixel, Sum, columns, aligned_load::box, store, Channels, 2>(plan, maps, multiprocessors,
                                                                                       how);
    return true;
}

/// In tiles that store whole sectors; false if tiles share none, or the image's rows are not at multiples of 16 bytes,
/// and nothing is enqueued.
template <typename Pixel, typename Sum>
bool enqueue_in_whole_sectors(const sat_geometry& g, int multiprocessors, int tiles_in_flight, const execution& how) {
    constexpr auto columns = aligned_columns::groups;
    constexpr auto store = aligned_store::whole_sectors;
    const aligned_plan plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), columns, tiles_in_flight, 1, store);
    if (plan.rows_aligned || plan.one_behind) return false;
    const auto maps = box_maps_with_beside(g, plan, sizeof(Pixel), aligned_tile<Sum>::cols);
    if (!maps.valid) return false;
    enqueue_aligned_kernel<Pixel, Sum, columns, aligned_load::box, store, 1>(plan, maps, multiprocessors, how);
    return true;
}

/// `Channels`: those of the geometry.
template <typename Pixel, typename Sum, aligned_columns Columns, int Channels = 1>
void enqueue_aligned_pipeline(const sat_geometry& g, int multiprocessors, int tiles_in_flight, const execution& how) {
    using tile = aligned_tile<Sum>;
    if constexpr (aligned_may_have_panels(sizeof(Pixel), sizeof(Sum), Channels))
        if (aligned_panels(g, sizeof(Pixel), sizeof(Sum), multiprocessors) == 2 &&
            enqueue_in_panels<Pixel, Sum, Channels>(g, multiprocessors, tiles_in_flight, how))
            return;
    if constexpr (aligned_has_whole_sectors<Pixel, Sum, Channels>)
        if (aligned_whole_sectors_pay(g, sizeof(Sum)) &&
            enqueue_in_whole_sectors<Pixel, Sum>(g, multiprocessors, tiles_in_flight, how))
            return;
    aligned_plan plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), Columns, tiles_in_flight);
    const auto enqueue = [&]<aligned_load Load, aligned_store Store>(const auto& maps) {
        plan = make_aligned_plan(g, sizeof(Pixel), sizeof(Sum), Columns, tiles_in_flight, 1, Store);
        enqueue_aligned_kernel<Pixel, Sum, Columns, Load, Store, Channels>(plan, maps, multiprocessors, how);
    };
    const auto enqueue_unless_straight = [&]<aligned_load Load>(const auto& maps) {
        if constexpr (Channels == 1 && !aligned_pairs_take_left(Load, sizeof(Sum)))
            if (plan.one_behind) return enqueue.template operator()<Load, aligned_store::one_behind>(maps);
        enqueue.template operator()<Load, aligned_store::anywhere>(maps);
    };
    const auto maps = box_maps(g, plan, sizeof(Pixel), tile::cols);
    if (!maps.valid)
        return enqueue_unless_straight.template operator()<aligned_load::rows>(
            phase_maps<sizeof(Pixel)>(g, plan, tile::cols));
    if constexpr (Channels == 1)
        if (plan.rows_aligned) return enqueue.template operator()<aligned_load::box, aligned_store::straight>(maps);
    enqueue_unless_straight.template operator()<aligned_load::box>(maps);
}

/// f<Channels>() for this many, which is more than one.
template <typename F>
void visit_channels(int channels, F&& f) {
    if (channels == 2)
        f.template operator()<2>();
    else if (channels == 3)
        f.template operator()<3>();
    else
        f.template operator()<4>();
}

/// Sums and squares at once; false if there is no kernel for the rows of the image or of the tables, and nothing is
/// enqueued. `panels`: at most.
template <typename Pixel, typename Sum, typename Squares>
bool enqueue_with_squares(const sat_geometry& sums, const sat_geometry& squares, int panels, int multiprocessors,
                          const execution& how) {
    using pixel = with_square<Pixel>;
    using both = sum_and_squares<Sum, Squares>;
    using enum aligned_store;
    constexpr auto columns = aligned_columns::groups;
    const int in_flight = aligned_tiles_in_flight(multiprocessors, sizeof(Pixel), 8, 1, true);
    const auto plan_of = [&](int in_panels) {
        return make_aligned_plan(sums, sizeof(Pixel), sizeof(Sum), columns, in_flight, in_panels, straight,
                                 {&squares, sizeof(Squares)});
    };
    const aligned_plan plan = plan_of(1);
    if (!plan.rows_aligned && !plan.one_behind) return false;
    const auto maps = box_maps(sums, plan, sizeof(Pixel), aligned_tile<both>::cols);
    if (!maps.valid) return false;
    const auto enqueue = [&]<aligned_store Store, int Panels>() {
        enqueue_aligned_kernel<pixel, both, columns, aligned_load::box, Store, 1, Panels>(plan_of(Panels), maps,
                                                                                          multiprocessors, how);
    };
    if constexpr (aligned_may_have_panels(sizeof(Pixel), 8, 1))
        if (plan.rows_aligned && panels == 2) return enqueue.template operator()<straight, 2>(), true;
    if (plan.rows_aligned)
        enqueue.template operator()<straight, 1>();
    else
        enqueue.template operator()<one_behind, 1>();
    return true;
}

template <typename Pixel>
bool enqueue_aligned_squares(const sat_geometry& sums, const sat_geometry& squares, squares_triple types,
                             int multiprocessors, const execution& how) {
    const int panels = aligned_squares_panels(squares, sizeof(Pixel), multiprocessors);
    bool enqueued = false;
    visit_squares_triple(cuda_squares_triples{}, types, [&]<typename Input, typename Table, typename Squares>() {
        constexpr squares_triple compiled{dtype_of<Input>, dtype_of<Table>, dtype_of<Squares>};
        if constexpr (std::is_same_v<Input, Pixel> && aligned_kernels_have_squares(compiled))
            enqueued = enqueue_with_squares<Pixel, sum_type<Table>, sum_type<Squares>>(sums, squares, panels,
                                                                                       multiprocessors, how);
    });
    return enqueued;
}

template <typename Pixel, typename Sum>
void enqueue_aligned_table(const sat_geometry& g, int multiprocessors, const execution& how) {
    const int in_flight = aligned_tiles_in_flight(multiprocessors, sizeof(Pixel), sizeof(Sum), g.channels);
    if constexpr (!aligned_narrow(sizeof(Pixel)))
        if (aligned_columns_of(g, sizeof(Pixel), sizeof(Sum)) == aligned_columns::chain)
            return enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::chain>(g, multiprocessors, in_flight, how);
    enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::groups>(g, multiprocessors, in_flight, how);
}

/// Several channels go by groups whatever the size, which spares the compiler half of the kernels.
template <typename Pixel, typename Sum>
void enqueue_channels_table(const sat_geometry& g, int multiprocessors, const execution& how) {
    const int in_flight = aligned_tiles_in_flight(multiprocessors, sizeof(Pixel), sizeof(Sum), g.channels);
    visit_channels(g.channels, [&]<int Channels>() {
        enqueue_aligned_pipeline<Pixel, Sum, aligned_columns::groups, Channels>(g, multiprocessors, in_flight, how);
    });
}

/// f<Pixel, Sum>() for the kernel's types.
template <typename Pixel, typename F>
void visit_aligned_types(dtype sum, bool square, F&& f) {
    if (square)
        visit_squares_of<Pixel>(cuda_squares_triples{}, sum,
                                [&]<typename Sum>() { f.template operator()<squared<Pixel>, Sum>(); });
    else
        visit_sums_of<Pixel>(cuda_type_pairs{}, sum, [&]<typename Sum>() { f.template operator()<Pixel, Sum>(); });
}

template <typename Pixel>
void enqueue_aligned(const sat_geometry& g, dtype sum, bool square, int multiprocessors, const execution& how) {
    if (g.channels > 1) return enqueue_aligned_channels<Pixel>(g, sum, square, multiprocessors, how);
    visit_aligned_types<Pixel>(
        sum, square, [&]<typename Kind, typename Sum>() { enqueue_aligned_table<Kind, Sum>(g, multiprocessors, how); });
}

template <typename Pixel>
void enqueue_aligned_channels(const sat_geometry& g, dtype sum, bool square, int multiprocessors,
                              const execution& how) {
    visit_aligned_types<Pixel>(sum, square, [&]<typename Kind, typename Sum>() {
        enqueue_channels_table<Kind, Sum>(g, multiprocessors, how);
    });
}

}  // namespace boxsum::cuda
