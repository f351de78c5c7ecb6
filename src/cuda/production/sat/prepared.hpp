#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/production/sat/geometry.hpp"
#include "cuda/runtime/device_limits.hpp"

#include <boxsum/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// Between the record `fast` and its kernels, which are compiled in several files, one for some pixel types each.
namespace boxsum::cuda {

/// Null where there is none.
struct table_memory {
    const void* image = nullptr;
    void* table = nullptr;    ///< of sums, or of squares where there are no others
    void* squares = nullptr;  ///< where one launch computes both
    carry_data carries = {};  ///< of `table`
    carry_data squares_carries = {};
};

/// A launch that computes a table, or two, ready but for its memory: run() does what depends on pointers, and launches.
/// What depends on how pointers are aligned is done when memory of that kind comes for the first time. Any number of
/// threads may run one.
class prepared_table {
  public:
    virtual ~prepared_table() = default;

    /// False, and nothing is enqueued, where there is no kernel for where this memory starts.
    virtual bool run(const table_memory& memory, const execution& how) const = 0;
};

// One wave

/// Rows of a warp in the one-wave kernel, or 0: the table is too large for it. As few as the multiprocessors allow,
/// where there are kernels of every height (listed_in_every_layout); else 8.
// H200, 13.0: 4 rows are fastest at 256 x 256, 8 at 1024, 16 at 2048, where tiles still fit two to a multiprocessor
int one_wave_rows(const sat_geometry& g, int tile_cols, int multiprocessors, bool every_height);

/// Words in bytes, with so many rows a warp. `sum_bytes`: of an entry of the table.
std::size_t wave_workspace_bytes(const sat_geometry& g, int sum_bytes, int warp_rows);

/// Words of a list, in bytes.
std::size_t wave_list_workspace_bytes(std::span<const sat_geometry> images, int sum_bytes);

/// A table of sums, or of sums of squares, for pixels of this type (integers as wide as the sum are unsigned).
template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_wave(const sat_geometry& g, dtype sum, bool square,
                                                   const device_limits& limits, int warp_rows);

/// Enqueues images of any shapes, in as few launches as kernel parameters allow.
template <typename Pixel>
void enqueue_wave_lists(std::span<const sat_geometry> images, dtype sum, bool square, const device_limits& limits,
                        const execution& how);

// Tiles

/// Whether tiles of a table with these extents can be counted.
bool tiles_can_be_counted(const view_shape& table);

/// Words in bytes, wherever image and table start.
std::size_t tiles_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors);

/// The same where one kernel computes sums and squares at once.
std::size_t both_tables_workspace_bytes(const sat_geometry& sums, const sat_geometry& squares, int pixel_bytes,
                                        int sum_bytes, int squares_bytes, int multiprocessors);

/// A table of sums, or of sums of squares, of one channel for pixels of this type (integers as wide as the sum are
/// unsigned).
template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles(const sat_geometry& g, dtype sum, bool square,
                                                    const device_limits& limits);

/// The same of a table that grows from an origin, of pixels less an offset (sat_geometry::up). Null where there are no
/// kernels for these types.
template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_outwards(const sat_geometry& g, dtype sum, bool square,
                                                       const device_limits& limits);

/// Words in bytes, wherever its table starts.
std::size_t outwards_workspace_bytes(const sat_geometry& g, int pixel_bytes, int sum_bytes, int multiprocessors);

/// The same for several channels.
template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles_of_channels(const sat_geometry& g, dtype sum, bool square,
                                                                const device_limits& limits);

/// Whether there are kernels that compute tables of sums and of squares of these types at once: for pixels of 8 bits,
/// and for 32f where both tables are. Others would have more than 64 registers of sums in a lane of `finish`.
constexpr bool kernels_have_squares(squares_triple types) {
    return types.input == dtype::u8 || types == squares_triple{dtype::f32, dtype::f32, dtype::f32};
}

/// Both tables, of one channel, with one launch that reads the image once.
template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles_with_squares(const sat_geometry& sums, const sat_geometry& squares,
                                                                 squares_triple types, const device_limits& limits);

}  // namespace boxsum::cuda
