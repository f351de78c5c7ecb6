#pragma once

#include "cuda/device/bin_tables.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram_plan.hpp"

#include <type_traits>

/// The last kernel of the record `fast`: writes the tables, once.
///
/// A warp walks down a strip of 128 columns of one table, 4 columns a lane, and holds the table's row above in
/// registers. To a row it adds what the row counts up to each column:
///
///     H(r, c) = H(r - 1, c) + row_carry(r) + lanes to the left in row r + own columns up to c
///
/// Counts of 4 neighbouring pixels are 4 bytes of a word: a comparison of all four bytes with the bin gives ones and
/// zeros, one multiplication their prefix sums, and one warp scan serves 4 rows at once, one a byte (128 at most).
///
/// Stores are all that the second-level cache has time for. So the bins of a tile are read once for 8 tables, into
/// shared memory, and so are the carries of its rows.
namespace boxsum::cuda {

inline constexpr int finish_warps = 8;  ///< tables of a block
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

/// Dynamic shared memory of a block: a tile's bins, [row][column], and carries, [warp][row].
constexpr std::size_t finish_shared_bytes(int tile_rows) {
    return static_cast<std::size_t>(tile_rows) * (strip_cols + finish_warps * 4);
}

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
    const std::uint32_t* bins;  ///< shared: of the lane's columns in the tile's rows
    const Sum* row_carries;     ///< shared: of the tile's rows
    Entry* to;                  ///< the lane's first entry
    std::int64_t step;          ///< bytes, from row to row
    std::int64_t row, col;      ///< of the tile, and the lane's first
    int rows;                   ///< of the tile
    int valid;                  ///< columns of the lane that the table has; may be negative

    __device__ std::uint32_t word(int r) const { return bins[r * warp_size]; }
    template <bool Vectors>
    __device__ void store(const Sum (&h)[lane_cols]) {
        store_lane<Vectors>(to, h, valid);
        to = &line<Entry>{to, step}[1];
    }
};

/// Sums over `count` groups of 4 counts at a constant distance.
template <typename Count, typename Sum>
__device__ void add_counts(Sum (&sums)[4], const Count* first, std::int64_t step, std::int64_t count) {
    constexpr int batch = 8;  // loads on their way together
    for (std::int64_t i = 0; i < count; i += batch) {
        vector_of<Count, 4> x[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k)
            if (i + k < count) x[k] = *reinterpret_cast<const vector_of<Count, 4>*>(first + (i + k) * step);
#pragma unroll
        for (int k = 0; k < batch; ++k)
            if (i + k < count)
#pragma unroll
                for (int e = 0; e < 4; ++e) sums[e] += static_cast<Sum>(x[k].x[e]);
    }
}

/// The table's row above a tile, 4 columns a lane, and what its rows have to the left of it.
template <typename Count, typename Sum>
__device__ void carries_of_tile(const histogram_cut& cut, const histogram_scratch<Count, Sum>& scratch,
                                std::int64_t table, std::int64_t tile, std::int64_t strip, Sum (&h)[lane_cols],
                                Sum* row_carries, int rows) {
    using four = vector_of<Sum, 4>;
    const std::int64_t band = tile << cut.tile_shift, row = band * cut.band_rows;
    const std::int64_t col = strip * strip_cols + lane_id() * lane_cols;
    const Sum* const corners = scratch.corners + table * cut.bands * cut.strips;
    const std::int64_t first_row = table * cut.strips * cut.padded_rows() + row;
    Sum corner{};
    if (cut.gathers) {
        add_counts(h, scratch.col_counts + table * cut.bands * cut.padded_cols() + col, cut.padded_cols(), band);
        for (int r = lane_id() * 4; r < rows; r += 4 * warp_size) {
            Sum left[4] = {};
            add_counts(left, scratch.row_counts + first_row + r, cut.padded_rows(), strip);
            *reinterpret_cast<four*>(row_carries + r) = {left[0], left[1], left[2], left[3]};
        }
        const auto all = static_cast<int>(band * strip), strips = static_cast<int>(strip);
        for (int i = lane_id(); i < all; i += warp_size) corner += corners[i / strips * cut.strips + i % strips];
        corner = warp_sum(corner);
    } else {
        const four above =
            *reinterpret_cast<const four*>(scratch.col_carries + (table * cut.tiles + tile) * cut.padded_cols() + col);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) h[i] = above.x[i];
        for (int r = lane_id() * 4; r < rows; r += 4 * warp_size)
            *reinterpret_cast<four*>(row_carries + r) =
                *reinterpret_cast<const four*>(scratch.row_carries + first_row + strip * cut.padded_rows() + r);
        corner = corners[band * cut.strips + strip];
    }
    warp_scan_row(h);
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) h[i] = corner + h[i];
}

/// Rows of the tile, 8 at a time: counts.
template <bool Vectors, typename Entry, typename Count>
__device__ void finish_rows(finish_strip<Entry, Count, std::uint32_t>& s, std::uint32_t (&h)[lane_cols],
                            std::uint32_t bin, const layer<const float>&, std::int64_t, std::int64_t) {
    constexpr std::uint32_t every_byte = 0x01010101u;
    const std::uint32_t wanted = bin * every_byte;
    const auto four_rows = [&](int r) {
        std::uint32_t upto[4];  // byte i: ones up to column i of the lane
#pragma unroll
        for (int j = 0; j < 4; ++j) upto[j] = equal_bytes(s.word(r + j), wanted) * every_byte;
        const auto carries = *reinterpret_cast<const vector_of<std::uint32_t, 4>*>(s.row_carries + r);
        const std::uint32_t own =
            __byte_perm(__byte_perm(upto[0], upto[1], 0x0073), __byte_perm(upto[2], upto[3], 0x0073), 0x5410);
        const std::uint32_t left = warp_scan(own) - own;  // byte j: of row r + j; no byte borrows
        const int rows = s.rows - r;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const std::uint32_t before = carries.x[j] + (left >> 8 * j & 0xffu);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) h[i] += before + (upto[j] >> 8 * i & 0xffu);
            if (j < rows) s.template store<Vectors>(h);
        }
    };
#pragma unroll 2
    for (int r = 0; r < s.rows; r += 4) four_rows(r);
}

/// Rows of the tile, one by one: sums of weights, which are read only where the pixel is in the bin.
template <bool Vectors, typename Entry, typename Count>
__device__ void finish_rows(finish_strip<Entry, Count, float>& s, float (&h)[lane_cols], std::uint32_t bin,
                            const layer<const float>& weights, std::int64_t first_row, std::int64_t first_col) {
    for (int r = 0; r < s.rows; ++r) {
        const std::uint32_t word = s.word(r);
        float x[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            x[i] = 0;
            if ((word >> 8 * i & 0xffu) == bin) x[i] = weights.at(s.row + r - first_row, s.col + i - first_col);
        }
        warp_scan_row(x);
        const float before = s.row_carries[r];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) h[i] += before + x[i];
        s.template store<Vectors>(h);
    }
}

/// A block owns the tile blockIdx.x, tiles strip by strip, of the 8 bins blockIdx.y of plane blockIdx.z of the group, a
/// warp per bin. After the kernels before. Vectors: every row starts at a multiple of 4 entries.
template <bool Vectors, typename Entry, typename Count, typename Sum>
__global__ void __launch_bounds__(finish_threads) finish_tables_kernel(finish_task<Entry, Count, Sum> task) {
    using vector = vector_of<std::uint32_t, 4>;
    wait_for_predecessor();
    const histogram_cut& cut = task.cut;
    const int bin = static_cast<int>(blockIdx.y) * finish_warps + warp_id(), tile_rows = cut.tile_rows();
    const std::int64_t plane = blockIdx.z;
    const std::int64_t tile = blockIdx.x / static_cast<unsigned>(cut.strips), strip = blockIdx.x - tile * cut.strips;
    const std::int64_t row = tile * tile_rows, col = strip * strip_cols;
    // Bins and counts exist to the end of the last band
    const int rows = static_cast<int>(cut.padded_rows() - row < tile_rows ? cut.padded_rows() - row : tile_rows);

    auto* const bins = dynamic_shared<vector>();
    constexpr int vectors_of_row = strip_cols / static_cast<int>(sizeof(vector));
    auto* const row_carries = reinterpret_cast<Sum*>(bins + tile_rows * vectors_of_row) + warp_id() * tile_rows;
    const std::uint8_t* const from = task.scratch.bins + (plane * cut.padded_rows() + row) * cut.padded_cols() + col;
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x); i < rows * vectors_of_row; i += finish_threads)
        bins[i] = reinterpret_cast<const vector*>(from + i / vectors_of_row * cut.padded_cols())[i % vectors_of_row];

    Sum h[lane_cols] = {};
    const bool exists = bin < task.tables.bins;
    if (exists) carries_of_tile(cut, task.scratch, plane * task.tables.bins + bin, tile, strip, h, row_carries, rows);
    __syncthreads();
    if (!exists) return;

    finish_strip<Entry, Count, Sum> s;
    s.bins = reinterpret_cast<const std::uint32_t*>(bins) + lane_id();
    s.row_carries = row_carries;
    s.row = row;
    s.col = col + lane_id() * lane_cols;
    s.rows = static_cast<int>(cut.rows - s.row < tile_rows ? cut.rows - s.row : tile_rows);
    s.valid = static_cast<int>(cut.cols - s.col < lane_cols ? cut.cols - s.col : lane_cols);
    const layer<Entry> table = task.tables.table(plane, bin);
    s.to = &table.at(s.row, s.col);
    s.step = table.row_stride;

    layer<const float> weights{};
    if constexpr (std::is_floating_point_v<Sum>) weights = task.weights[task.first_plane + plane];
    finish_rows<Vectors>(s, h, static_cast<std::uint32_t>(bin), weights, cut.rows - task.weights.rows,
                         cut.cols - task.weights.cols);
}

}  // namespace boxsum::cuda
