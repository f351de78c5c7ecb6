#pragma once

#include "cuda/production/sat_geometry.hpp"
#include "cuda/production/tensor_map.hpp"
#include "cuda/workspace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// The policy of the pipeline kernel: tile shapes, and what follows from a problem. Host-only.
namespace boxsum::cuda {

template <typename Sum>
struct pipeline_tile {
    static constexpr int rows = 64;
    static constexpr int lane_cols = 16 / static_cast<int>(sizeof(Sum));  // a lane stores 16 bytes of a row
    static constexpr int cols = 32 * lane_cols;
    static constexpr int finish_warps = 4;
    static constexpr int warp_rows = rows / finish_warps;
    static constexpr int slots = 2;  // tiles in shared memory; a third is in the registers of `finish`
    static constexpr int threads = 32 * (finish_warps + 4);
    static constexpr int blocks_per_multiprocessor = 3;
    static constexpr int row_words = rows * static_cast<int>(sizeof(Sum)) / 4;  // see device/tagged_words.cuh
    static constexpr int col_words = cols * static_cast<int>(sizeof(Sum)) / 4;
};

/// How a tile reaches shared memory, by the alignment of the image and the device.
enum class tile_load : std::uint8_t {
    box,        ///< copy engine, tensor map: rows of tiles start at multiples of 16 bytes
    chunks_16,  ///< no copy engine: asynchronous copies of 16 bytes
    chunks_4,   ///< of 4 bytes: rows of tiles start between multiples of 16 bytes
    words,      ///< elements smaller than 4 bytes at any alignment: copies of aligned words, then shifted into place
    elements,   ///< interleaved channels: element by element
};

/// How a lane stores its 16 bytes of a row, by the alignment of the table.
enum class tile_store : std::uint8_t {
    chunks,    ///< 16 bytes at once
    shifted,   ///< rows start anywhere: 16 aligned bytes at once, some of them the left neighbour's
    elements,  ///< interleaved channels
};

struct pipeline_plan {
    CUtensorMap map;  ///< of the image, for tile_load::box
    sat_geometry g;
    unsigned tile_rows, tile_cols;   ///< of a layer
    unsigned rows_of_plane;          ///< tile_rows, rounded up to whole groups
    unsigned columns;                ///< tile_cols x channels: the tiles of a row of tiles
    unsigned groups;                 ///< of tiles along a row of tiles, of one channel
    unsigned tiles;                  ///< of all layers
    int group_cols = 8, group_rows;  ///< tiles of a group along a row, rows of tiles of a group
    unsigned ring_rows;              ///< rows of tiles whose words exist at a time, a multiple of group_rows
    unsigned rows_per_counter;       ///< rows of tiles that share a counter of finished readers
    tile_load load;
    tile_store store;
};

/// Words of the header that count, for the rows of tiles that share one, tiles whose words nobody needs any more. They
/// fill the header's second line of 128 bytes: they are looked at all the time, and the ticket is in the first.
inline constexpr unsigned pipeline_counters = 32, pipeline_first_counter = 28;
static_assert(offsetof(workspace_header, reserved) + pipeline_first_counter * sizeof(std::uint32_t) == 128);

inline std::uint64_t ceil_div_u(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

/// Tiles that the pipeline has under way at once, on this many multiprocessors.
inline int pipeline_tiles_in_flight(int multiprocessors) {
    using tile = pipeline_tile<float>;
    return multiprocessors * tile::blocks_per_multiprocessor * (tile::slots + 1);
}

/// For a geometry that is not empty and has less than 2^31 tiles. `copy_engine`: the device has compute capability 9.0.
inline pipeline_plan make_pipeline_plan(const sat_geometry& g, int pixel_bytes, int tile_rows, int tile_cols,
                                        int tiles_in_flight, bool copy_engine) {
    pipeline_plan p{};
    p.g = g;
    p.tile_rows =
        static_cast<unsigned>(ceil_div_u(static_cast<std::uint64_t>(g.rows), static_cast<unsigned>(tile_rows)));
    p.tile_cols =
        static_cast<unsigned>(ceil_div_u(static_cast<std::uint64_t>(g.cols), static_cast<unsigned>(tile_cols)));
    p.columns = p.tile_cols * static_cast<unsigned>(g.channels);
    p.tiles = static_cast<unsigned>(g.planes) * p.tile_rows * p.columns;

    // 8 tiles a group, two hops: 7 to 12 are alike at 16384 columns. Wider images take longer groups, so that a tile
    // reads about as many words within its group as of whole groups.
    p.group_cols = std::max(8, static_cast<int>(std::ceil(std::sqrt(p.tile_cols / 2.0))));
    p.groups = static_cast<unsigned>(ceil_div_u(p.tile_cols, static_cast<unsigned>(p.group_cols)));
    // The chain down the image has a hop per group. 8 rows fill a line of carry totals.
    p.group_rows = p.tile_rows >= 5 ? 8 : p.tile_rows >= 3 ? 4 : static_cast<int>(p.tile_rows);
    const auto group = static_cast<unsigned>(p.group_rows);
    p.rows_of_plane = static_cast<unsigned>(ceil_div_u(p.tile_rows, group)) * group;

    // The ring holds the rows of tiles in flight and the group above them; more of it leaves the second-level cache.
    const auto all_rows = static_cast<unsigned>(g.planes) * p.rows_of_plane;
    const auto needed =
        static_cast<unsigned>(ceil_div_u(static_cast<unsigned>(tiles_in_flight), p.columns)) + group + 2;
    if (needed <= pipeline_counters / group * group) {
        p.rows_per_counter = 1;
        p.ring_rows = static_cast<unsigned>(ceil_div_u(needed, group)) * group;
    } else {
        // A counter is waited for as a whole, so two more of them than are needed.
        p.rows_per_counter = std::bit_ceil(static_cast<unsigned>(ceil_div_u(needed, pipeline_counters - 16)));
        const unsigned unit = std::max(p.rows_per_counter, group);
        p.ring_rows = static_cast<unsigned>(ceil_div_u(needed + 2 * p.rows_per_counter, unit)) * unit;
    }
    if (p.ring_rows >= all_rows) {  // no position is reused
        p.ring_rows = all_rows;
        p.rows_per_counter = static_cast<unsigned>(ceil_div_u(all_rows, pipeline_counters));
    }

    const auto image = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(g.image));
    const auto table = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(g.table));
    const int tiles_aligned =
        common_alignment({image, g.image_row_stride, g.image_plane_stride, std::int64_t{g.origin} * pixel_bytes});
    if (g.channels > 1)
        p.load = tile_load::elements;
    else if (copy_engine && tiles_aligned == 16 &&
             encode_tensor_map(p.map, pixel_bytes, g.image, g.planes, g.rows - g.origin, g.cols - g.origin,
                               g.image_row_stride, g.image_plane_stride, tile_rows, tile_cols))
        p.load = tile_load::box;
    else
        p.load = tiles_aligned == 16  ? tile_load::chunks_16
                 : tiles_aligned >= 4 ? tile_load::chunks_4
                                      : tile_load::words;
    p.store = g.channels > 1                                                              ? tile_store::elements
              : common_alignment({table, g.table_row_stride, g.table_plane_stride}) == 16 ? tile_store::chunks
                                                                                          : tile_store::shifted;
    return p;
}

}  // namespace boxsum::cuda
