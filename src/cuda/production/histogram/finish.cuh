#pragma once

#include "cuda/device/bin_tables.cuh"
#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/histogram/cut.hpp"

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
    bin_tables<Entry> tables;  ///< of the group, from the slab's first row on
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

/// Counts, or sums of weights, of 4 neighbours, and sums of such.
template <typename Count>
struct four_counts {
    using word = vector_of<Count, 4>;
    float sums[4] = {};

    __device__ void add(const word& x) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[i] += x.x[i];
    }
    __device__ vector_of<float, 4> result() const {
        return {sums[0], sums[1], sums[2], sums[3]};
    }
};

/// Bytes of a word, added up in 16 bits (histogram_cut::gathers).
template <>
struct four_counts<std::uint8_t> {
    using word = std::uint32_t;
    std::uint32_t even = 0, odd = 0;

    __device__ void add(word x) {
        even += x & 0x00ff00ffu;
        odd += x >> 8 & 0x00ff00ffu;
    }
    __device__ vector_of<std::uint32_t, 4> result() const {
        return {even & 0xffffu, odd & 0xffffu, even >> 16, odd >> 16};
    }
};

/// Sums over `na` groups of 4 counts at a distance of `step_a` counts, and over `nb` others: loads of both are on their
/// way together.
template <typename Count>
__device__ void add_counts(four_counts<Count>& a, const Count* from_a, std::int64_t step_a, int na,
                           four_counts<Count>& b, const Count* from_b, std::int64_t step_b, int nb) {
    using word = typename four_counts<Count>::word;
    constexpr int batch = 8;  // loads of each on their way together
    for (int i = 0; i < na || i < nb; i += batch) {
        word x[batch] = {}, y[batch] = {};
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            if (i + k < na) x[k] = *reinterpret_cast<const word*>(from_a);
            from_a += step_a;
        }
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            if (i + k < nb) y[k] = *reinterpret_cast<const word*>(from_b);
            from_b += step_b;
        }
#pragma unroll
        for (int k = 0; k < batch; ++k) a.add(x[k]);
#pragma unroll
        for (int k = 0; k < batch; ++k) b.add(y[k]);
    }
}

/// The table's row above a tile, 4 columns a lane, and what its rows have to the left of it.
template <typename Count, typename Sum, typename Carry>
__device__ void carries_of_tile(const histogram_cut& cut, const histogram_scratch<Count, Sum>& scratch,
                                std::int64_t table, std::int64_t tile, std::int64_t strip, Sum (&h)[lane_cols],
                                Carry* row_carries, int rows) {
    using four = vector_of<Sum, 4>;
    const auto keep = [&](int r, const four& x) {
        vector_of<Carry, 4> y;
#pragma unroll
        for (int i = 0; i < 4; ++i) y.x[i] = static_cast<Carry>(x.x[i]);
        *reinterpret_cast<vector_of<Carry, 4>*>(row_carries + r) = y;
    };
    const std::int64_t band = tile * cut.tile_bands, row = band * cut.band_rows;
    const std::int64_t col = strip * strip_cols + lane_id() * lane_cols;
    const Sum* const corners = scratch.corners + table * cut.bands * cut.strips;
    const std::int64_t first_row = table * cut.strips * cut.padded_rows() + row;
    Sum corner{};
    four above;
    if (cut.gathers) {
        const auto strips = static_cast<unsigned>(strip), all = static_cast<unsigned>(band) * strips;
        const auto corner_at = [&](unsigned i) {
            return corners[i / strips * static_cast<unsigned>(cut.strips) + i % strips];
        };
        unsigned i = static_cast<unsigned>(lane_id());
        if (i < all) corner = corner_at(i);
        int r = lane_id() * 4;
        four_counts<Count> sums, left, none;
        add_counts(sums, scratch.col_counts + table * cut.bands * cut.padded_cols() + col, cut.padded_cols(),
                   static_cast<int>(band), left, scratch.row_counts + first_row + r, cut.padded_rows(),
                   r < rows ? static_cast<int>(strip) : 0);
        above = sums.result();
        if (r < rows) keep(r, left.result());
        for (r += 4 * warp_size; r < rows; r += 4 * warp_size) {
            four_counts<Count> more;
            add_counts(more, scratch.row_counts + first_row + r, cut.padded_rows(), static_cast<int>(strip), none,
                       static_cast<const Count*>(nullptr), 0, 0);
            keep(r, more.result());
        }
        for (i += warp_size; i < all; i += warp_size) corner += corner_at(i);
        corner = warp_sum(corner);
    } else {
        above =
            *reinterpret_cast<const four*>(scratch.col_carries + (table * cut.tiles + tile) * cut.padded_cols() + col);
        corner = corners[band * cut.strips + strip];
        for (int r = lane_id() * 4; r < rows; r += 4 * warp_size) {
            const auto* const from = reinterpret_cast<const Carry*>(scratch.row_carries);
            *reinterpret_cast<vector_of<Carry, 4>*>(row_carries + r) =
                *reinterpret_cast<const vector_of<Carry, 4>*>(from + first_row + strip * cut.padded_rows() + r);
        }
    }
#pragma unroll
    for (int e = 0; e < lane_cols; ++e) h[e] = above.x[e];
    warp_scan_row(h);
#pragma unroll
    for (int e = 0; e < lane_cols; ++e) h[e] = corner + h[e];
}

/// What a warp knows of its strip.
template <typename Entry, typename Count, typename Sum, typename Carry = Sum>
struct finish_strip {
    const std::uint32_t* bins;          ///< shared: of the lane's columns in the tile's rows
    const Carry* row_carries;           ///< shared: of the tile's rows
    Entry* to;                          ///< the lane's first entry
    std::int64_t step;                  ///< bytes, from row to row
    std::int64_t image_row, image_col;  ///< of the lane's first entry
    int rows;                           ///< of the tile
    int valid;                          ///< columns of the lane that the table has; may be negative

    __device__ std::uint32_t word(int r) const { return bins[r * warp_size]; }
};

/// Where nothing is missing, there is nothing to ask.
template <typename Entry, typename Sum>
__device__ void store_whole_lane(Entry* to, const Sum (&h)[lane_cols]) {
    Entry x[lane_cols];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Entry>(h[i]);
    store_streaming(to, x);
}

/// `Rows` rows of the tile from row r on: counts. Stores wait for memory, and whatever passes the same queue waits
/// behind them: so all that the rows need of shared memory and of other lanes comes first, their stores last. Whole:
/// nothing of them is missing in the table.
template <int Rows, bool Whole, bool Vectors, typename Entry, typename Count, typename Carry>
__device__ void finish_some_rows(finish_strip<Entry, Count, std::uint32_t, Carry>& s, std::uint32_t (&h)[lane_cols],
                                 std::uint32_t wanted, int r) {
    constexpr int words = Rows / 4;
    std::uint32_t upto[Rows];  // byte i: ones up to column i of the lane
#pragma unroll
    for (int j = 0; j < Rows; ++j) upto[j] = s.word(r + j);
    vector_of<Carry, 4> carries[words];
#pragma unroll
    for (int k = 0; k < words; ++k)
        carries[k] = *reinterpret_cast<const vector_of<Carry, 4>*>(s.row_carries + r + 4 * k);
#pragma unroll
    for (int j = 0; j < Rows; ++j) upto[j] = equal_bytes(upto[j], wanted) * 0x01010101u;
    std::uint32_t own[words], left[words];  // byte j: of row 4 k + j; no byte of left borrows
#pragma unroll
    for (int k = 0; k < words; ++k)
        own[k] = left[k] = __byte_perm(__byte_perm(upto[4 * k], upto[4 * k + 1], 0x0073),
                                       __byte_perm(upto[4 * k + 2], upto[4 * k + 3], 0x0073), 0x5410);
#pragma unroll
    for (int i = 1; i < warp_size; i *= 2)
#pragma unroll
        for (int k = 0; k < words; ++k) {
            const std::uint32_t x = __shfl_up_sync(whole_warp, left[k], i);
            if (lane_id() >= i) left[k] += x;
        }
#pragma unroll
    for (int k = 0; k < words; ++k) left[k] -= own[k];
    const int rows = s.rows - r;
#pragma unroll
    for (int j = 0; j < Rows; ++j) {
        const std::uint32_t before = carries[j / 4].x[j % 4] + (left[j / 4] >> 8 * (j % 4) & 0xffu);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) h[i] += before + (upto[j] >> 8 * i & 0xffu);
        if constexpr (Whole)
            store_whole_lane(s.to, h);
        else if (j < rows)
            store_lane<Vectors>(s.to, h, s.valid);
        s.to = &line<Entry>{s.to, s.step}[1];
    }
}

template <bool Vectors, typename Entry, typename Count, typename Carry>
__device__ void finish_rows(finish_strip<Entry, Count, std::uint32_t, Carry>& s, std::uint32_t (&h)[lane_cols],
                            std::uint32_t bin, const layer<const float>&) {
    constexpr int batch = 16;
    const std::uint32_t wanted = bin * 0x01010101u;
    int r = 0;
    if constexpr (Vectors) {
        if (__all_sync(whole_warp, s.valid >= lane_cols)) {
#pragma unroll 1
            for (; r + batch <= s.rows; r += batch) finish_some_rows<batch, true, true>(s, h, wanted, r);
        }
    }
#pragma unroll 1
    for (; r < s.rows; r += 4) finish_some_rows<4, false, Vectors>(s, h, wanted, r);
}

/// Rows of the tile, one by one: sums of weights, which are read only where the pixel is in the bin.
template <bool Vectors, typename Entry, typename Count>
__device__ void finish_rows(finish_strip<Entry, Count, float>& s, float (&h)[lane_cols], std::uint32_t bin,
                            const layer<const float>& weights) {
    for (int r = 0; r < s.rows; ++r) {
        const std::uint32_t word = s.word(r);
        float x[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            x[i] = 0;
            if ((word >> 8 * i & 0xffu) == bin) x[i] = weights.at(s.image_row + r, s.image_col + i);
        }
        warp_scan_row(x);
        const float before = s.row_carries[r];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) h[i] += before + x[i];
        store_lane<Vectors>(s.to, h, s.valid);
        s.to = &line<Entry>{s.to, s.step}[1];
    }
}

/// A block owns the tile blockIdx.x, tiles strip by strip, of the 8 bins blockIdx.y of plane blockIdx.z of the group, a
/// warp per bin. After the kernels before. Vectors: every row starts at a multiple of 4 entries.
template <bool Vectors, typename Entry, typename Count, typename Sum>
__global__ void __launch_bounds__(finish_threads, 2) finish_tables_kernel(finish_task<Entry, Count, Sum> task) {
    using vector = vector_of<std::uint32_t, 4>;
    wait_for_predecessor();
    let_successor_start();  // not earlier: the next group writes where the one before this has read
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
    const auto bins_at = [&](int i) {
        return reinterpret_cast<const vector*>(from + i / vectors_of_row * cut.padded_cols())[i % vectors_of_row];
    };
    const int all = rows * vectors_of_row, t = static_cast<int>(threadIdx.x);
    vector first[2];  // on their way while the carries come
#pragma unroll
    for (int k = 0; k < 2; ++k)
        if (t + k * finish_threads < all) first[k] = bins_at(t + k * finish_threads);

    Sum h[lane_cols] = {};
    const bool exists = bin < task.tables.bins;
    if (exists) carries_of_tile(cut, task.scratch, plane * task.tables.bins + bin, tile, strip, h, row_carries, rows);
#pragma unroll
    for (int k = 0; k < 2; ++k)
        if (t + k * finish_threads < all) bins[t + k * finish_threads] = first[k];
#pragma unroll 2
    for (int i = t + 2 * finish_threads; i < all; i += finish_threads) bins[i] = bins_at(i);
    __syncthreads();
    if (!exists) return;

    finish_strip<Entry, Count, Sum> s;
    s.bins = reinterpret_cast<const std::uint32_t*>(bins) + lane_id();
    s.row_carries = row_carries;
    const std::int64_t lane_col = col + lane_id() * lane_cols;
    s.image_row = row + cut.image_row;
    s.image_col = lane_col + cut.image_col;
    s.rows = static_cast<int>(cut.rows - row < tile_rows ? cut.rows - row : tile_rows);
    s.valid = static_cast<int>(cut.cols - lane_col < lane_cols ? cut.cols - lane_col : lane_cols);
    const layer<Entry> table = task.tables.table(plane, bin);
    s.to = &table.at(row, lane_col);
    s.step = table.row_stride;

    layer<const float> weights{};
    if constexpr (std::is_floating_point_v<Sum>) weights = task.weights[task.first_plane + plane];
    finish_rows<Vectors>(s, h, static_cast<std::uint32_t>(bin), weights);
}

/// Dynamic shared memory of a block of the kernel below: a tile's bins, [row][column], and carries, [bin][row].
constexpr std::size_t wave_shared_bytes(int tile_rows, int bins) {
    return static_cast<std::size_t>(tile_rows) * static_cast<std::size_t>(strip_cols + bins * 2);
}

/// What a block of the kernel below has read, it alone: would be in the way of the stores, and go to memory in the end.
/// And a share of the counts, which the kernel in between has read.
template <int Warps, typename Entry>
__device__ void discard_tile(const finish_task<Entry, std::uint8_t, std::uint32_t>& task, std::int64_t plane,
                             std::int64_t tile, std::int64_t strip, int rows) {
    const histogram_cut& cut = task.cut;
    const auto& scratch = task.scratch;
    const std::int64_t t = threadIdx.x, row = tile * cut.tile_rows(), threads = Warps * warp_size;
    std::uint8_t* const bins =
        scratch.bins + (plane * cut.padded_rows() + row) * cut.padded_cols() + strip * strip_cols;
    static_assert(strip_cols == line_bytes);
    for (std::int64_t r = t; r < rows; r += threads) discard_line(bins + r * cut.padded_cols());
    for (int bin = warp_id(); bin < task.tables.bins; bin += Warps) {
        const std::int64_t table = plane * task.tables.bins + bin;
        auto* const row_carries = reinterpret_cast<std::uint16_t*>(scratch.row_carries);
        discard_lines(row_carries + (table * cut.strips + strip) * cut.padded_rows() + row, rows * 2, lane_id(),
                      warp_size);
        discard_lines(scratch.col_carries + (table * cut.tiles + tile) * cut.padded_cols() + strip * strip_cols,
                      strip_cols * 4, lane_id(), warp_size);
    }
    const std::int64_t block = blockIdx.x + gridDim.x * std::int64_t{blockIdx.y};
    discard_lines(scratch.counts.first, scratch.counts.bytes, block * threads + t,
                  std::int64_t{gridDim.x} * gridDim.y * threads);
}

/// As finish_tables_kernel, for all bins of the group, 32 at most: a block reads all that it needs, then does nothing
/// but store, so that memory need not turn from writing to reading before the wave ends. A block of Warps warps owns
/// the tile blockIdx.x of plane blockIdx.y.
template <int Warps, bool Vectors, typename Entry>
__global__ void __launch_bounds__(Warps* warp_size, 16 / Warps)
    finish_bins_kernel(finish_task<Entry, std::uint8_t, std::uint32_t> task) {
    using vector = vector_of<std::uint32_t, 4>;
    using carry = std::uint16_t;
    constexpr int most = counted_bins / Warps;
    wait_for_predecessor();
    let_successor_start();
    const histogram_cut& cut = task.cut;
    const int tile_rows = cut.tile_rows(), t = static_cast<int>(threadIdx.x);
    const std::int64_t plane = blockIdx.y;
    const std::int64_t tile = blockIdx.x / static_cast<unsigned>(cut.strips), strip = blockIdx.x - tile * cut.strips;
    const std::int64_t row = tile * tile_rows, col = strip * strip_cols;
    const int rows = static_cast<int>(cut.padded_rows() - row < tile_rows ? cut.padded_rows() - row : tile_rows);

    auto* const bins = dynamic_shared<vector>();
    constexpr int vectors_of_row = strip_cols / static_cast<int>(sizeof(vector));
    auto* const carries = reinterpret_cast<carry*>(bins + tile_rows * vectors_of_row);
    const std::uint8_t* const from = task.scratch.bins + (plane * cut.padded_rows() + row) * cut.padded_cols() + col;
#pragma unroll 8
    for (int i = t; i < rows * vectors_of_row; i += Warps * warp_size)
        bins[i] = reinterpret_cast<const vector*>(from + i / vectors_of_row * cut.padded_cols())[i % vectors_of_row];
    std::uint32_t h[most][lane_cols] = {};
#pragma unroll
    for (int k = 0; k < most; ++k) {
        const int bin = warp_id() + k * Warps;
        if (bin < task.tables.bins)
            carries_of_tile(cut, task.scratch, plane * task.tables.bins + bin, tile, strip, h[k],
                            carries + bin * tile_rows, rows);
    }
    __syncthreads();
    discard_tile<Warps>(task, plane, tile, strip, rows);

    finish_strip<Entry, std::uint8_t, std::uint32_t, carry> s;
    s.bins = reinterpret_cast<const std::uint32_t*>(bins) + lane_id();
    const std::int64_t lane_col = col + lane_id() * lane_cols;
    s.rows = static_cast<int>(cut.rows - row < tile_rows ? cut.rows - row : tile_rows);
    s.valid = static_cast<int>(cut.cols - lane_col < lane_cols ? cut.cols - lane_col : lane_cols);
    s.step = task.tables.row_stride;
#pragma unroll 1
    for (int k = 0; k < most; ++k) {
        const int bin = warp_id() + k * Warps;
        if (bin >= task.tables.bins) return;
        s.row_carries = carries + bin * tile_rows;
        s.to = &task.tables.table(plane, bin).at(row, lane_col);
        std::uint32_t above[lane_cols];
#pragma unroll
        for (int e = 0; e < lane_cols; ++e) {
            above[e] = 0;
#pragma unroll
            for (int j = 0; j < most; ++j) above[e] = j == k ? h[j][e] : above[e];
        }
        finish_rows<Vectors>(s, above, static_cast<std::uint32_t>(bin), layer<const float>{});
    }
}

}  // namespace boxsum::cuda
