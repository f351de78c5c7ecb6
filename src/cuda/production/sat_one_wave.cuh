#pragma once

#include "cuda/device/layers.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/tagged_words.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_geometry.hpp"
#include "cuda/production/sat_workspace.cuh"

#include <cuda/atomic>

#include <cstdint>

/// The summed area table of images whose tiles are all on the chip at once: one exchange between blocks, whatever the
/// shape, because small tables are a chain of latencies and nothing else.
///
/// A block keeps its tile in registers and publishes the sums of its rows, of its columns and of the whole tile as soon
/// as it has them. Then it adds up those of all tiles to the left, above, and above to the left:
///
///     total  total | cols          what a tile needs of the others, all of it raw: nobody waits for somebody
///     total  total | cols          who waits
///     rows   rows  | tile
///
/// A tile waits for lower tickets only, so blocks need not be resident together; they are just faster if they are.
namespace boxsum::cuda {

// Policy

template <typename Sum, int WarpRows>
struct one_wave_tile {
    static constexpr int warps = 8;
    static constexpr int threads = 32 * warps;
    static constexpr int warp_rows = WarpRows;  // 4 to 16; 32 rows of 16 bytes a lane fill the registers
    static constexpr int rows = warps * warp_rows;
    static constexpr int lane_cols = 16 / static_cast<int>(sizeof(Sum));
    static constexpr int cols = 32 * lane_cols;
    static constexpr int row_words = rows * words_of<Sum>;
    static constexpr int col_words = cols * words_of<Sum>;
};

struct one_wave_plan {
    sat_geometry g;
    unsigned tile_rows, tile_cols;  ///< of a layer
    unsigned tiles;                 ///< of a layer
    bool load_vectors, store_vectors;
};

struct one_wave_words {
    one_wave_words(workspace_slots& slots, std::int64_t tiles, int row_words, int col_words, int total_words)
        : rows(slots.take<tagged_word>(tiles * row_words)),
          cols(slots.take<tagged_word>(tiles * col_words)),
          totals(slots.take<tagged_word>(tiles * total_words)) {}

    tagged_word* rows;    ///< [tile][row]
    tagged_word* cols;    ///< [tile][col]
    tagged_word* totals;  ///< [tile]
};

// Arithmetic

/// Sums over the warp of N values a lane, N a power of two up to 32: lane l gets that of value l / (32 / N). Half of
/// the values go to the other half of the lanes in every step, so N - 1 + log2(32 / N) exchanges do instead of 5 N.
template <typename Sum, int N>
__device__ inline Sum warp_sums(Sum (&x)[N], int lane) {
    int count = N;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        if (count > 1) {
            count /= 2;
            const bool upper = (lane & distance) != 0;
#pragma unroll
            for (int i = 0; i < N / 2; ++i) {
                if (i >= count) continue;
                const Sum mine = upper ? x[i + count] : x[i], other = upper ? x[i] : x[i + count];
                x[i] = mine + __shfl_xor_sync(whole_warp, other, distance);
            }
        } else {
            x[0] += __shfl_xor_sync(whole_warp, x[0], distance);
        }
    }
    return x[0];
}

/// Sum of `count` values, `stride` words apart, in this order; waits for each. `Batch` are looked at together.
template <int Batch, typename Sum>
__device__ inline Sum gather_values(const tagged_word* where, std::size_t stride, int count, std::uint32_t tag,
                                    std::uint64_t keep) {
    Sum sum{};
    for (int first = 0; first < count; first += Batch, where += Batch * stride) {
        words_of_value<Sum> found[Batch];
        bool all;
        do {
            all = true;
#pragma unroll
            for (int i = 0; i < Batch; ++i)
                if (first + i < count) found[i].look_at(where + i * stride, keep);
#pragma unroll
            for (int i = 0; i < Batch; ++i) all = all && (first + i >= count || found[i].has(tag));
        } while (!all);
#pragma unroll
        for (int i = 0; i < Batch; ++i)
            if (first + i < count) sum += found[i].value();
    }
    return sum;
}

// Kernel

/// A block computes one tile. The header's ticket and finished count are zero before; tags of this call's epoch are
/// nowhere in the workspace.
template <typename Pixel, typename Sum, bool Square, int WarpRows>
__global__ void __launch_bounds__(one_wave_tile<Sum, WarpRows>::threads, WarpRows == 16 ? 2 : 3)
    sat_one_wave_kernel(const __grid_constant__ one_wave_plan p, const __grid_constant__ one_wave_words words,
                        workspace_header* header, std::byte* workspace, std::size_t workspace_bytes) {
    using tile = one_wave_tile<Sum, WarpRows>;
    constexpr int rows = tile::warp_rows, lane_cols = tile::lane_cols;
    constexpr int col_helpers = tile::threads / tile::cols;  // threads that add up one column
    constexpr int row_helpers = tile::threads / tile::rows;
    constexpr int batch = words_of<Sum> == 1 ? 8 : 4;

    __shared__ __align__(16) Sum warp_cols[tile::warps][tile::cols];  // column sums of the warps' rows
    __shared__ Sum warp_totals[tile::warps];
    __shared__ Sum above[col_helpers][tile::cols];  // parts of the column sums of the tiles above
    __shared__ Sum left[row_helpers][tile::rows];   // parts of the row sums of the tiles to the left
    __shared__ Sum corner[tile::warps];             // parts of the tiles above to the left
    __shared__ unsigned drawn;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, thread = threadIdx.x;
    const std::uint64_t keep = keep_in_l2();
    if (thread == 0) drawn = atomicAdd(&header->ticket, 1u);
    const std::uint32_t tag = tag_maker(header)(0);
    __syncthreads();
    const unsigned ticket = drawn;
    const unsigned number = ticket / p.tiles, place = ticket - number * p.tiles;
    const unsigned plane = number / p.g.channels;
    const int channel = static_cast<int>(number - plane * p.g.channels);
    const unsigned tile_row = place / p.tile_cols, tile_col = place - tile_row * p.tile_cols;

    // The tile's pixels; zeros outside the image.
    const std::int64_t first_row = std::int64_t{tile_row} * tile::rows + warp * rows;
    const std::int64_t first_col = std::int64_t{tile_col} * tile::cols + lane * lane_cols;
    Sum x[rows][lane_cols];
    {
        const layer<const Pixel> image{
            reinterpret_cast<const Pixel*>(static_cast<const std::byte*>(p.g.image) + plane * p.g.image_plane_stride) +
                channel,
            p.g.rows - p.g.origin, p.g.cols - p.g.origin, p.g.image_row_stride,
            p.g.channels * std::int64_t{sizeof(Pixel)}};
        vector_of<Pixel, lane_cols> pixels[rows];
        const bool whole = p.load_vectors && first_col + lane_cols <= image.cols;
#pragma unroll
        for (int k = 0; k < rows; ++k) {
            const std::int64_t r = first_row + k - p.g.origin;
            const bool inside = r >= 0 && r < image.rows;
            if (whole) {
                if (inside)
                    pixels[k] = *reinterpret_cast<const vector_of<Pixel, lane_cols>*>(&image.at(r, first_col));
                else
                    pixels[k] = {};
            } else {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    const std::int64_t c = first_col + i - p.g.origin;
                    pixels[k].x[i] = inside && c >= 0 && c < image.cols ? image.at(r, c) : Pixel{};
                }
            }
        }
#pragma unroll
        for (int k = 0; k < rows; ++k)
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const Sum value = widen<Sum>(pixels[k].x[i]);
                x[k][i] = Square ? value * value : value;
            }
    }

    // Its sums, published for the tiles below and to the right, which gather them further down.
    {
        Sum row[rows], col[lane_cols]{};
#pragma unroll
        for (int k = 0; k < rows; ++k) {
            row[k] = x[k][0];
#pragma unroll
            for (int i = 1; i < lane_cols; ++i) row[k] += x[k][i];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) col[i] += x[k][i];
        }
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) warp_cols[warp][lane * lane_cols + i] = col[i];
        constexpr int lanes = 32 / rows;  // that hold the same row's sum
        Sum sum = warp_sums(row, lane);
        if (lane % lanes == 0)
            words_of_value<Sum>::of(sum, tag).publish_at(
                words.rows + std::size_t{ticket} * tile::row_words + (warp * rows + lane / lanes) * words_of<Sum>,
                keep);
#pragma unroll
        for (int distance = lanes; distance < 32; distance *= 2) sum += __shfl_xor_sync(whole_warp, sum, distance);
        if (lane == 0) warp_totals[warp] = sum;
    }
    __syncthreads();
    if (thread < tile::cols) {
        Sum sum = warp_cols[0][thread];
#pragma unroll
        for (int w = 1; w < tile::warps; ++w) sum += warp_cols[w][thread];
        words_of_value<Sum>::of(sum, tag).publish_at(
            words.cols + std::size_t{ticket} * tile::col_words + thread * words_of<Sum>, keep);
    } else if (thread == tile::cols) {
        Sum sum = warp_totals[0];
#pragma unroll
        for (int w = 1; w < tile::warps; ++w) sum += warp_totals[w];
        words_of_value<Sum>::of(sum, tag).publish_at(words.totals + std::size_t{ticket} * words_of<Sum>, keep);
    }

    // Row scans, while the words travel.
#pragma unroll
    for (int k = 0; k < rows; ++k) warp_scan_row(x[k]);

    // Sums of the other tiles. Every word was published above, by a block with a lower ticket.
    const std::size_t first_tile = std::size_t{number} * p.tiles;  // of the layer
    {
        const int col = thread % tile::cols, helper = thread / tile::cols;
        above[helper][col] = gather_values<batch, Sum>(
            words.cols + (first_tile + std::size_t(helper) * p.tile_cols + tile_col) * tile::col_words +
                col * words_of<Sum>,
            std::size_t{col_helpers} * p.tile_cols * tile::col_words,
            (static_cast<int>(tile_row) - helper + col_helpers - 1) / col_helpers, tag, keep);
    }
    {
        const int row = thread % tile::rows, helper = thread / tile::rows;
        left[helper][row] = gather_values<batch, Sum>(
            words.rows + (first_tile + std::size_t{tile_row} * p.tile_cols + helper) * tile::row_words +
                row * words_of<Sum>,
            std::size_t{row_helpers} * tile::row_words,
            (static_cast<int>(tile_col) - helper + row_helpers - 1) / row_helpers, tag, keep);
    }
    {
        Sum sum{};
        for (unsigned i = thread; i < tile_row * tile_col; i += tile::threads) {
            const unsigned r = i / tile_col, c = i - r * tile_col;
            sum += gather_values<1, Sum>(words.totals + (first_tile + std::size_t{r} * p.tile_cols + c) * words_of<Sum>,
                                         0, 1, tag, keep);
        }
        sum = warp_sum(sum);
        if (lane == 0) corner[warp] = sum;
    }
    __syncthreads();

    // The table row above the warp's rows: column sums of the tiles and warps above, scanned; the corner; and the
    // carries of the warps' rows above.
    Sum top[lane_cols];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) {
        top[i] = above[0][lane * lane_cols + i];
#pragma unroll
        for (int h = 1; h < col_helpers; ++h) top[i] += above[h][lane * lane_cols + i];
#pragma unroll
        for (int w = 0; w < tile::warps - 1; ++w)
            if (w < warp) top[i] += warp_cols[w][lane * lane_cols + i];
    }
    warp_scan_row(top);
    const auto carry_of = [&](int row) {
        Sum sum = left[0][row];
#pragma unroll
        for (int h = 1; h < row_helpers; ++h) sum += left[h][row];
        return sum;
    };
    Sum carries_above{};
    for (int row = lane; row < warp * rows; row += 32) carries_above += carry_of(row);
    carries_above = warp_sum(carries_above);
    Sum all_corners = corner[0];
#pragma unroll
    for (int w = 1; w < tile::warps; ++w) all_corners += corner[w];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) top[i] += all_corners + carries_above;

    const Sum carry = carry_of(warp * rows + lane % rows);
    std::byte* to = static_cast<std::byte*>(p.g.table) + plane * p.g.table_plane_stride +
                    first_row * p.g.table_row_stride +
                    (first_col * p.g.channels + channel) * static_cast<std::int64_t>(sizeof(Sum));
#pragma unroll
    for (int k = 0; k < rows; ++k, to += p.g.table_row_stride) {
        const Sum row_carry = __shfl_sync(whole_warp, carry, k);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            top[i] += x[k][i] + row_carry;
            x[k][i] = top[i];
        }
        if (first_row + k >= p.g.rows) continue;
        if (p.store_vectors && first_col + lane_cols <= p.g.cols) {
            store_streaming(reinterpret_cast<Sum*>(to), x[k]);
        } else {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (first_col + i < p.g.cols)
                    store_streaming(reinterpret_cast<Sum*>(to) + std::int64_t{i} * p.g.channels, x[k][i]);
        }
    }
    leave_workspace(header, workspace, workspace_bytes, ::cuda::memory_order_relaxed);
}

}  // namespace boxsum::cuda
