#pragma once

#include "cuda/device/bin_tables.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram_plan.hpp"

#include <type_traits>

/// Kernel 3 of the record `fast`: writes the tables, once.
///
/// A warp walks down a strip of 128 columns of one table, 4 columns a lane, and holds the table's row above in
/// registers. To a row it adds what the row counts up to each column:
///
///     H(r, c) = H(r - 1, c) + row_carry(r) + lanes to the left in row r + own columns up to c
///
/// Counts of 4 neighbouring pixels are 4 bytes of a word: a comparison of all four bytes with the bin gives ones and
/// zeros, one multiplication their prefix sums, and one warp scan serves 4 rows at once, one a byte (128 at most).
namespace boxsum::cuda {

inline constexpr int finish_warps = 8;  ///< tables of a block: they share the bins of the tile in L1
inline constexpr int finish_threads = finish_warps * warp_size;
inline constexpr int lane_cols = strip_cols / warp_size;
static_assert(lane_cols == 4);

template <typename Entry, typename Count, typename Sum>
struct finish_task {
    histogram_cut cut;
    histogram_scratch<Count, Sum> scratch;
    bin_tables<Entry> tables;  ///< of the group
    layers<const float> weights;
    std::int64_t first_plane;  ///< of the group, in `weights`
};

/// Ones in the bytes of x that equal those of y. Exact, unlike the shorter test that borrows across bytes.
__device__ inline std::uint32_t equal_bytes(std::uint32_t x, std::uint32_t y) {
    constexpr std::uint32_t low = 0x7f7f7f7fu;
    const std::uint32_t differ = x ^ y;
    return ~(((differ & low) + low) | differ | low) >> 7;
}

/// Stores the 4 columns of a lane, or those that the table has.
template <bool Vectors, typename Entry, typename Sum>
__device__ void store_lane(Entry* to, const Sum (&h)[lane_cols], int valid) {
    Entry x[lane_cols];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Entry>(h[i]);
    if constexpr (Vectors) {
        if (valid >= lane_cols) return store_streaming(to, x);
    }
#pragma unroll
    for (int i = 0; i < lane_cols; ++i)
        if (i < valid) to[i] = x[i];
}

/// What a warp knows of its strip.
template <typename Entry, typename Count, typename Sum>
struct finish_strip {
    const std::uint8_t* bins;  ///< of the lane's first column and the tile's first row
    std::int64_t bins_step;
    const Sum* row_carries;  ///< of the tile's first row
    layer<Entry> table;
    std::int64_t row, col;  ///< of the tile, and the lane's first
    int rows;               ///< of the tile
    int valid;              ///< columns of the lane that the table has; may be negative

    __device__ std::uint32_t word(int r) const { return *reinterpret_cast<const std::uint32_t*>(bins + r * bins_step); }
    template <bool Vectors>
    __device__ void store(int r, const Sum (&h)[lane_cols]) const {
        store_lane<Vectors>(&table.at(row + r, col), h, valid);
    }
};

/// Rows of the tile, 4 at a time: counts.
template <bool Vectors, typename Entry, typename Count>
__device__ void finish_rows(const finish_strip<Entry, Count, std::uint32_t>& s, std::uint32_t (&h)[lane_cols],
                            std::uint32_t bin, const layer<const float>&, std::int64_t, std::int64_t) {
    constexpr std::uint32_t every_byte = 0x01010101u;
    const std::uint32_t wanted = bin * every_byte;
    std::uint32_t next[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) next[j] = s.word(j);
    std::uint32_t carries = 0;  // of row r / 32 * 32 + lane
    for (int r = 0; r < s.rows; r += 4) {
        if (r % warp_size == 0) carries = s.row_carries[r + lane_id()];

        std::uint32_t upto[4];  // byte i: ones up to column i of the lane
#pragma unroll
        for (int j = 0; j < 4; ++j) upto[j] = equal_bytes(next[j], wanted) * every_byte;
        if (r + 4 < s.rows)
#pragma unroll
            for (int j = 0; j < 4; ++j) next[j] = s.word(r + 4 + j);

        const std::uint32_t own =
            upto[0] >> 24 | (upto[1] >> 16 & 0xff00u) | (upto[2] >> 8 & 0xff0000u) | (upto[3] & 0xff000000u);
        const std::uint32_t left = warp_scan(own) - own;  // byte j: of row r + j; no byte borrows
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::uint32_t before = __shfl_sync(whole_warp, carries, r % warp_size + j) + (left >> 8 * j & 0xffu);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) h[i] += before + (upto[j] >> 8 * i & 0xffu);
            if (r + j < s.rows) s.template store<Vectors>(r + j, h);
        }
    }
}

/// Rows of the tile, one by one: sums of weights, which are read only where the pixel is in the bin.
template <bool Vectors, typename Entry, typename Count>
__device__ void finish_rows(const finish_strip<Entry, Count, float>& s, float (&h)[lane_cols], std::uint32_t bin,
                            const layer<const float>& weights, std::int64_t first_row, std::int64_t first_col) {
    std::uint32_t next = s.word(0);
    float carries = 0;  // of row r / 32 * 32 + lane
    for (int r = 0; r < s.rows; ++r) {
        if (r % warp_size == 0) carries = s.row_carries[r + lane_id()];
        const std::uint32_t word = next;
        if (r + 1 < s.rows) next = s.word(r + 1);

        float x[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            x[i] = 0;
            if ((word >> 8 * i & 0xffu) == bin) x[i] = weights.at(s.row + r - first_row, s.col + i - first_col);
        }
        warp_scan_row(x);
        const float before = __shfl_sync(whole_warp, carries, r % warp_size);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) h[i] += before + x[i];
        s.template store<Vectors>(r, h);
    }
}

/// A block owns the tile blockIdx.x, tiles strip by strip, of the 8 bins blockIdx.y of plane blockIdx.z of the group, a
/// warp per bin. After kernel 2. Vectors: every row starts at a multiple of 4 entries.
template <bool Vectors, typename Entry, typename Count, typename Sum>
__global__ void __launch_bounds__(finish_threads) finish_tables_kernel(finish_task<Entry, Count, Sum> task) {
    wait_for_predecessor();
    const histogram_cut& cut = task.cut;
    const std::int64_t bin = std::int64_t{blockIdx.y} * finish_warps + warp_id(), plane = blockIdx.z;
    if (bin >= task.tables.bins) return;
    const std::int64_t strip = blockIdx.x % cut.strips, tile = blockIdx.x / cut.strips;
    const std::int64_t table = plane * task.tables.bins + bin;
    const std::int64_t tile_rows = band_rows << cut.tile_shift;

    finish_strip<Entry, Count, Sum> s;
    s.row = tile * tile_rows;
    s.col = strip * strip_cols + lane_id() * lane_cols;
    s.rows = static_cast<int>(cut.rows - s.row < tile_rows ? cut.rows - s.row : tile_rows);
    s.valid = static_cast<int>(cut.cols - s.col < lane_cols ? cut.cols - s.col : lane_cols);
    s.bins = task.scratch.bins + (plane * cut.padded_rows() + s.row) * cut.padded_cols() + s.col;
    s.bins_step = cut.padded_cols();
    s.row_carries = task.scratch.row_carries + (table * cut.strips + strip) * cut.padded_rows() + s.row;
    s.table = task.tables.table(plane, bin);

    // The row above the tile: columns to the left of the strip, then those of the strip
    const vector_of<Sum, lane_cols> above = *reinterpret_cast<const vector_of<Sum, lane_cols>*>(
        task.scratch.col_carries + (table * cut.tiles + tile) * cut.padded_cols() + s.col);
    const Sum corner = task.scratch.corners[(table * cut.bands + (tile << cut.tile_shift)) * cut.strips + strip];
    Sum h[lane_cols];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) h[i] = above.x[i];
    warp_scan_row(h);
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) h[i] = corner + h[i];

    layer<const float> weights{};
    if constexpr (std::is_floating_point_v<Sum>) weights = task.weights[task.first_plane + plane];
    finish_rows<Vectors>(s, h, static_cast<std::uint32_t>(bin), weights, cut.rows - task.weights.rows,
                         cut.cols - task.weights.cols);
}

}  // namespace boxsum::cuda
