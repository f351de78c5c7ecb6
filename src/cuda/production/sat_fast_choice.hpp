#pragma once

#include "cuda/production/sat_fast.hpp"

/// Which kernel computes a table.
namespace boxsum::cuda {

/// Rows of a warp in the one-wave kernel, or 0: the pipeline. As few as the multiprocessors allow: at 256 x 256 pixels
/// 4 rows are fastest, at 1024 8, at 2048 16, where the tiles still fit two to a multiprocessor.
inline int one_wave_rows(const sat_geometry& g, int tile_cols, int multiprocessors) {
    const auto tiles = [&](int rows) {
        return static_cast<double>(g.planes) * g.channels * static_cast<double>((g.rows + rows - 1) / rows) *
               static_cast<double>((g.cols + tile_cols - 1) / tile_cols);
    };
    if (tiles(32) <= 0.5 * multiprocessors) return 4;
    if (tiles(64) <= 1.5 * multiprocessors) return 8;
    if (tiles(128) <= 2.0 * multiprocessors) return 16;
    return 0;
}

/// Whether the aligned kernels are faster than one wave where both compute a table: one wave reads and writes channel
/// by channel, which pays only where everything is latency. 8u32u, one wave / aligned, us: 2 channels 6.0 / 8.2 at 256
/// and 10.2 / 10.2 at 512, 4 channels 10.5 / 11.6 at 256 and 22.6 / 14.4 at 512 (H200).
inline bool aligned_rather_than_one_wave(const sat_geometry& g, int wave_rows) {
    return wave_rows == 0 || (g.channels > 1 && wave_rows > 4);
}

/// Columns of a tile: 16 bytes of sums a lane.
inline int tile_cols_of(dtype sum) {
    return 32 * 16 / static_cast<int>(size_of(sum));
}

}  // namespace boxsum::cuda
