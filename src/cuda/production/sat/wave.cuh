#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/divider.hpp"
#include "cuda/device/layers.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/word_gather.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/carries.cuh"
#include "cuda/production/workspace.cuh"

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
/// All loads of a tile leave together, and so do the first looks at the three kinds of words. A tile waits for lower
/// tickets only, so blocks need not be resident together; they are just faster if they are.
namespace boxsum::cuda {

// Policy

template <typename Sum, int WarpRows>
struct wave_tile {
    static constexpr int warps = 8;
    static constexpr int threads = 32 * warps;
    static constexpr int warp_rows = WarpRows;  // 4, 8 or 16
    static constexpr int rows = warps * warp_rows;
    static constexpr int lane_cols = 16 / static_cast<int>(sizeof(Sum));
    static constexpr int cols = 32 * lane_cols;
    static constexpr int row_words = rows * words_of<Sum>;
    static constexpr int col_words = cols * words_of<Sum>;
    static constexpr int col_helpers = threads / cols;  // threads that add up one column
    static constexpr int row_helpers = threads / rows;
    /// Words of a kind that a thread looks at together; more would spill registers.
    static constexpr int batch = words_of<Sum> == 1 ? (WarpRows == 16 ? 6 : 8) : (WarpRows == 16 ? 2 : 4);
};

/// All layers (planes x channels) are independent tables.
struct wave_plan {
    const std::byte* image;
    std::byte* sums;                                    ///< the first sum, right of and below a border
    std::int64_t image_row_stride, image_plane_stride;  ///< bytes
    std::int64_t table_row_stride, table_plane_stride;  ///< bytes
    int rows, cols;                                     ///< of sums, without a border
    int channels;
    bool border;                                  ///< whether zeros are above and left of the sums
    bool load_vectors;                            ///< whether a lane's pixels of a row are aligned to their size
    bool rows_aligned;                            ///< whether rows of sums start at multiples of 16 bytes, one channel
    unsigned tile_cols;                           ///< of a layer
    divider by_tiles, by_tile_cols, by_channels;  ///< tiles of a layer
};

struct wave_words {
    wave_words(workspace_slots& slots, std::int64_t tiles, int row_words, int col_words, int total_words)
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
__device__ inline Sum sums_over_warp(Sum (&x)[N], int lane) {
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

/// Words of up to Batch publishers, `stride` apart; the rest of `count` follows them.
template <typename Sum, int Batch>
struct awaited_column {
    const tagged_word* where;
    std::size_t stride;
    int count;
    words_of_value<Sum> found[Batch];

    __device__ awaited_column(const tagged_word* where, std::size_t stride, int count)
        : where(where), stride(stride), count(count), found{} {}

    /// Whether some were missing.
    __device__ bool look(std::uint32_t tag, std::uint64_t keep) {
        bool missing = false;
#pragma unroll
        for (int i = 0; i < Batch; ++i) missing |= look_at_missing(i < count, found[i], where + i * stride, tag, keep);
        return missing;
    }

    /// The sum of all of them, in their order; waits for those behind the first Batch.
    __device__ Sum sum(std::uint32_t tag, std::uint64_t keep) const {
        Sum all{};
#pragma unroll
        for (int i = 0; i < Batch; ++i)
            if (i < count) all += found[i].value();
        gather_in_order<2, words_of_value<Sum>>(where + Batch * stride, stride, count - Batch, tag, keep,
                                                [&](const words_of_value<Sum>& word) { all += word.value(); });
        return all;
    }
};

// Kernel

/// What a block starts with.
struct wave_start {
    unsigned ticket;
    std::uint32_t tag;
};

/// Draws the ticket while the predecessor still runs, whose end is what a short kernel waits for longest, so that the
/// loads of the image are the first thing behind it. The predecessor's blocks have all drawn theirs by then, because
/// none lets its successor start before; and the count is back at zero, because it wraps at the number of blocks.
__device__ inline wave_start start_wave_block(workspace_header* header) {
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = atomicInc(&header->early_ticket, gridDim.x - 1);
    __syncthreads();
    let_successor_start();
    wait_for_predecessor();  // which may have used the same workspace
    return {drawn, tag_maker(header)(0)};
}

/// What a thread has of the carries of a part of a larger table. The first threads have a column of the tile each: what
/// the whole table has above it, and left of the part above the tile's first row. The last ones have a row each: what
/// it adds left of the part.
template <typename Sum, typename Tile>
__device__ __forceinline__ Sum wave_carry_in(const sat_carries& around, const wave_plan& p, unsigned plane, int channel,
                                             unsigned tile_row, unsigned tile_col) {
    const int thread = threadIdx.x, first_row = static_cast<int>(tile_row) * Tile::rows;
    const std::int64_t above = plane * around.above_plane_stride, left = plane * around.left_plane_stride;
    const auto entry_of = [&](const std::byte* from, std::int64_t offset) {
        return from == nullptr ? Sum{} : *reinterpret_cast<const Sum*>(from + offset);
    };
    const auto above_at = [&](const std::byte* from, int col) {
        return entry_of(from, above + (std::int64_t{col} * p.channels + channel) * std::int64_t{sizeof(Sum)});
    };
    // Rows below the last one add nothing.
    const auto left_at = [&](int row) {
        if (min(row, p.rows - 1) < 0) return above_at(around.has_corner ? around.above : nullptr, -1);
        return entry_of(around.left,
                        left + min(row, p.rows - 1) * around.left_row_stride + channel * std::int64_t{sizeof(Sum)});
    };
    if (thread >= Tile::cols) {
        const int row = first_row + thread - (Tile::threads - Tile::rows);
        return row < first_row ? Sum{} : step_of(left_at(row), left_at(row - 1));
    }
    const int col = static_cast<int>(tile_col) * Tile::cols + thread;
    return step_of(left_at(first_row - 1), left_at(-1)) + above_at(col < p.cols ? around.above : nullptr, col);
}

/// The tile of a block that drew `ticket`; that of the image's first tile is `first_ticket`. Thread 0 calls
/// all_words_seen() when no thread of the block looks at words any more.
template <typename Pixel, typename Sum, int WarpRows, typename Seen>
__device__ __forceinline__ void compute_wave_tile(const wave_plan& p, const sat_carries& around, unsigned ticket,
                                                  unsigned first_ticket, std::uint32_t tag, const wave_words& words,
                                                  Seen all_words_seen) {
    using tile = wave_tile<Sum, WarpRows>;
    using value_words = words_of_value<Sum>;
    constexpr int rows = tile::warp_rows, lane_cols = tile::lane_cols;

    __shared__ __align__(16) Sum warp_cols[tile::warps][tile::cols];  // column sums of the warps' rows
    __shared__ Sum warp_totals[tile::warps];
    __shared__ Sum above[tile::col_helpers][tile::cols];  // parts of the column sums of the tiles above
    __shared__ Sum left[tile::row_helpers][tile::rows];   // parts of the row sums of the tiles to the left
    __shared__ Sum corner[tile::warps];                   // parts of the tiles above to the left
    __shared__ __align__(16) Sum above_part[tile::cols];  // see wave_carry_in()

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, thread = threadIdx.x;
    const std::uint64_t keep = keep_in_l2();
    const unsigned number = p.by_tiles.quotient(ticket - first_ticket), plane = p.by_channels.quotient(number);
    const int channel = static_cast<int>(number - plane * p.by_channels.divisor());
    const unsigned first_tile = first_ticket + number * p.by_tiles.divisor();  // of the layer
    const unsigned tile_row = p.by_tile_cols.quotient(ticket - first_tile);
    const unsigned tile_col = ticket - first_tile - tile_row * p.tile_cols;

    // The tile's pixels; zeros outside the image.
    const int first_row = static_cast<int>(tile_row) * tile::rows + warp * rows;
    const int valid_rows = p.rows - first_row;  // of the warp, and columns of the tile; both may be more than there are
    const int valid_cols = p.cols - static_cast<int>(tile_col) * tile::cols;
    const std::int64_t first_element =
        (std::int64_t{tile_col} * tile::cols + lane * lane_cols) * p.channels + channel;  // of a row
    const bool whole = static_cast<int>(tile_row + 1) * tile::rows <= p.rows && tile::cols <= valid_cols;
    // A lane's columns are there all or none.
    const bool in_chunks = tile::cols <= valid_cols || valid_cols % lane_cols == 0;
    const int lane_rows = (lane + 1) * lane_cols <= valid_cols ? valid_rows : 0;
    // A part's carries are asked for along with pixels: at the end of the chain they would be one more latency in it.
    const bool is_part = around.above != nullptr || around.left != nullptr;
    Sum x[rows][lane_cols], carry_in{};
    {
        vector_of<Pixel, lane_cols> pixels[rows];
        const std::byte* from = p.image + plane * p.image_plane_stride + first_row * p.image_row_stride +
                                first_element * std::int64_t{sizeof(Pixel)};
        if (p.load_vectors && whole) {
#pragma unroll
            for (int k = 0; k < rows; ++k)
                pixels[k] = *reinterpret_cast<const vector_of<Pixel, lane_cols>*>(from + k * p.image_row_stride);
        } else if (p.load_vectors && in_chunks) {
#pragma unroll
            for (int k = 0; k < rows; ++k) {
                pixels[k] = {};
                if (k < lane_rows)
                    pixels[k] = *reinterpret_cast<const vector_of<Pixel, lane_cols>*>(from + k * p.image_row_stride);
            }
        } else {
#pragma unroll
            for (int k = 0; k < rows; ++k, from += p.image_row_stride)
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    pixels[k].x[i] = k < valid_rows && lane * lane_cols + i < valid_cols
                                         ? reinterpret_cast<const Pixel*>(from)[i * p.channels]
                                         : Pixel{};
        }
        if (is_part) carry_in = wave_carry_in<Sum, tile>(around, p, plane, channel, tile_row, tile_col);
#pragma unroll
        for (int k = 0; k < rows; ++k)
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] = widen<Sum>(pixels[k].x[i]);
    }

    // Its sums, published for the tiles below and to the right, which look at them further down.
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
        vector_of<Sum, lane_cols> cols;
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) cols.x[i] = col[i];
        reinterpret_cast<vector_of<Sum, lane_cols>*>(warp_cols[warp])[lane] = cols;
        constexpr int lanes = 32 / rows;  // that hold the same row's sum
        Sum sum = sums_over_warp(row, lane);
        if (lane % lanes == 0)
            value_words::of(sum, tag).publish_at(
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
        value_words::of(sum, tag).publish_at(
            words.cols + std::size_t{ticket} * tile::col_words + thread * words_of<Sum>, keep);
    } else if (thread == tile::cols) {
        Sum sum = warp_totals[0];
#pragma unroll
        for (int w = 1; w < tile::warps; ++w) sum += warp_totals[w];
        value_words::of(sum, tag).publish_at(words.totals + std::size_t{ticket} * words_of<Sum>, keep);
    }

    // Row scans, while the words travel.
#pragma unroll
    for (int k = 0; k < rows; ++k) warp_scan_row(x[k]);

    // Sums of the other tiles. Every word was published above, by a block with a lower ticket.
    {
        const int col = thread % tile::cols, col_helper = thread / tile::cols;
        const int row = thread % tile::rows, row_helper = thread / tile::rows;
        // Threads share the publishers by turns: helper h has those numbered h, h + helpers, ...
        const auto share = [](unsigned publishers, int helper, int helpers) {
            return (static_cast<int>(publishers) - helper + helpers - 1) / helpers;
        };
        awaited_column<Sum, tile::batch> cols(
            words.cols + std::size_t{first_tile + col_helper * p.tile_cols + tile_col} * tile::col_words +
                col * words_of<Sum>,
            std::size_t{tile::col_helpers} * p.tile_cols * tile::col_words,
            share(tile_row, col_helper, tile::col_helpers));
        awaited_column<Sum, tile::batch> carries(
            words.rows + std::size_t{first_tile + tile_row * p.tile_cols + row_helper} * tile::row_words +
                row * words_of<Sum>,
            std::size_t{tile::row_helpers} * tile::row_words, share(tile_col, row_helper, tile::row_helpers));
        // Above to the left: one tile a thread, and the next one 256 further on where there are more.
        const unsigned corners = tile_row * tile_col;
        const auto total_at = [&](unsigned i) {
            const unsigned r = tile_col == 0 ? 0 : i / tile_col;
            return words.totals + std::size_t{first_tile + r * p.tile_cols + i - r * tile_col} * words_of<Sum>;
        };
        value_words total{};
        const bool has_total = static_cast<unsigned>(thread) < corners;
        const tagged_word* const total_where = total_at(has_total ? thread : 0);
        bool missing;
        do {
            missing = cols.look(tag, keep);
            missing |= carries.look(tag, keep);
            missing |= look_at_missing(has_total, total, total_where, tag, keep);
        } while (missing);
        above[col_helper][col] = cols.sum(tag, keep);
        Sum row_sum = carries.sum(tag, keep);
        if (is_part) {
            if (thread < tile::cols) above_part[thread] = carry_in;
            if (thread >= tile::threads - tile::rows) row_sum += carry_in;
        }
        left[row_helper][row] = row_sum;
        Sum sum = has_total ? total.value() : Sum{};
        for (unsigned i = thread + tile::threads; i < corners; i += tile::threads)
            gather_in_order<1, value_words>(total_at(i), 0, 1, tag, keep,
                                            [&](const value_words& word) { sum += word.value(); });
        __syncwarp();
        sum = warp_sum(sum);
        if (lane == 0) corner[warp] = sum;
    }
    __syncthreads();
    if (thread == 0) all_words_seen();

    // The table row above the warp's rows: column sums of the tiles and warps above, scanned; the corner; and the
    // carries of the warps' rows above.
    Sum top[lane_cols];
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) {
        top[i] = above[0][lane * lane_cols + i];
#pragma unroll
        for (int h = 1; h < tile::col_helpers; ++h) top[i] += above[h][lane * lane_cols + i];
#pragma unroll
        for (int w = 0; w < tile::warps - 1; ++w)
            if (w < warp) top[i] += warp_cols[w][lane * lane_cols + i];
    }
    warp_scan_row(top);
    const auto carry_of = [&](int row) {
        Sum sum = left[0][row];
#pragma unroll
        for (int h = 1; h < tile::row_helpers; ++h) sum += left[h][row];
        return sum;
    };
    Sum corners{};
#pragma unroll
    for (int w = 0; w < tile::warps; ++w) corners += corner[w];
    Sum carries_above{};
    for (int row = lane; row < warp * rows; row += 32) carries_above += carry_of(row);
    corners += warp_sum(carries_above);
#pragma unroll
    for (int i = 0; i < lane_cols; ++i) top[i] += corners;

    const Sum carry = carry_of(warp * rows + lane % rows);
    if (is_part) {
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) top[i] += above_part[lane * lane_cols + i];
    }
    std::byte* to = p.sums + plane * p.table_plane_stride + first_row * p.table_row_stride +
                    (std::int64_t{tile_col} * tile::cols * p.channels + channel) * std::int64_t{sizeof(Sum)};
    if (p.border) {
        if (first_row == 0) {
            Sum* const above_tile = reinterpret_cast<Sum*>(to - p.table_row_stride);
            if (around.above == nullptr)
                store_zeros<lane_cols>(above_tile, valid_cols, lane, p.channels);
            else
                for (int i = 0; i < lane_cols && lane * lane_cols + i < valid_cols; ++i)
                    store_streaming(above_tile + std::int64_t{lane * lane_cols + i} * p.channels,
                                    carry_above<Sum>(around, plane, first_element + std::int64_t{i} * p.channels));
            if (tile_col == 0 && lane == 0)
                store_streaming(above_tile - p.channels, carry_above<Sum>(around, plane, channel - p.channels));
        }
        if (tile_col == 0 && lane < rows && lane < valid_rows)
            store_streaming(reinterpret_cast<Sum*>(to + lane * p.table_row_stride) - p.channels,
                            carry_left<Sum>(around, plane, first_row + lane, channel, p.channels));
    }
    const auto next_sums = [&](int k) {
        const Sum row_carry = __shfl_sync(whole_warp, carry, k);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) top[i] += x[k][i] + row_carry;
    };
    // A loop for each kind of rows, short and without branches: code of this kernel runs once, straight from memory.
    if (p.rows_aligned && whole) {
        to += lane * 16;
#pragma unroll
        for (int k = 0; k < rows; ++k, to += p.table_row_stride) {
            next_sums(k);
            store_streaming(reinterpret_cast<Sum*>(to), top);
        }
    } else if (p.rows_aligned && in_chunks) {
        to += lane * 16;
#pragma unroll
        for (int k = 0; k < rows; ++k, to += p.table_row_stride) {
            next_sums(k);
            store_streaming_if(k < lane_rows, reinterpret_cast<Sum*>(to), top);
        }
    } else if (p.channels == 1 && tile::cols <= valid_cols) {
        using row_ends = cuda::row_ends<Sum, lane_cols, 32>;
        __shared__ typename row_ends::memory ends_of_warps[tile::warps];
        const row_ends ends(ends_of_warps[warp], lane);
        row_piece<Sum, lane_cols> piece(to, lane);
#pragma unroll
        for (int k = 0; k < rows; ++k, piece.move(p.table_row_stride)) {
            next_sums(k);
            Sum sums[lane_cols];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sums[i] = top[i];
            store_row(piece, sums, ends, k, k < valid_rows, (lane + 1) % 32);
            // The ends of as many rows as there is memory for, the last ones too.
            constexpr int together = row_ends::rows < rows ? row_ends::rows : rows;
            if ((k + 1) % together == 0)
                ends.store(piece.row(lane) - (together - 1) * p.table_row_stride, p.table_row_stride,
                           min(together, valid_rows - (k + 1 - together)), lane);
        }
    } else {
#pragma unroll
        for (int k = 0; k < rows; ++k, to += p.table_row_stride) {
            next_sums(k);
            Sum* const row = reinterpret_cast<Sum*>(to) + std::int64_t{lane * lane_cols} * p.channels;
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (k < valid_rows && lane * lane_cols + i < valid_cols)
                    store_streaming(row + std::int64_t{i} * p.channels, top[i]);
        }
    }
}

/// A block computes one tile. The header's ticket and finished count are zero before; tags of this call's epoch are
/// nowhere in the workspace.
template <typename Pixel, typename Sum, int WarpRows>
__global__ void __launch_bounds__(wave_tile<Sum, WarpRows>::threads, 2)
    sat_wave_kernel(const __grid_constant__ wave_plan p, const __grid_constant__ sat_carries around,
                    const __grid_constant__ wave_words words, workspace_header* header, std::byte* workspace,
                    std::size_t workspace_bytes) {
    const wave_start start = start_wave_block(header);
    bool last = false;
    compute_wave_tile<Pixel, Sum, WarpRows>(p, around, start.ticket, 0, start.tag, words,
                                            [&] { last = is_last_block(header, ::cuda::memory_order_relaxed); });
    leave_workspace_as(last, header, workspace, workspace_bytes);
}

/// Images of any shapes, as many as kernel parameters carry.
struct wave_list {
    static constexpr int most = 128;
    static constexpr int warp_rows = 8;  ///< whatever the shapes: between the best for small ones and for large ones

    int count = 0;
    unsigned first_ticket[most];
    wave_plan plans[most];

    /// The image of a tile.
    __device__ int image_of(unsigned ticket) const {
        int low = 0, high = count;  // first_ticket[low] <= ticket < first_ticket[high]
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (first_ticket[middle] <= ticket)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
};

/// The same for a list: a tile waits for tiles of its own image only.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(wave_tile<Sum, wave_list::warp_rows>::threads, 2)
    sat_wave_list_kernel(const __grid_constant__ wave_list list, const __grid_constant__ wave_words words,
                         workspace_header* header, std::byte* workspace, std::size_t workspace_bytes) {
    const wave_start start = start_wave_block(header);
    const int image = list.image_of(start.ticket);
    bool last = false;
    compute_wave_tile<Pixel, Sum, wave_list::warp_rows>(
        list.plans[image], sat_carries{}, start.ticket, list.first_ticket[image], start.tag, words,
        [&] { last = is_last_block(header, ::cuda::memory_order_relaxed); });
    leave_workspace_as(last, header, workspace, workspace_bytes);
}

}  // namespace boxsum::cuda
