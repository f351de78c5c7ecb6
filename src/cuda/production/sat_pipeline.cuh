#pragma once

#include "cuda/device/role_registers.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/sat_pipeline_sum.cuh"

#include <cuda/atomic>

#include <cstdint>

/// The single-pass summed area table for images that do not fit on the chip at once: one read, one write per element.
///
/// The table is cut into tiles of 64 rows. Persistent blocks draw tiles by ticket, row by row of tiles. Five roles,
/// each a warp or four, work on a block's tiles one after another, so that a tile is loaded while others wait for their
/// neighbours and one is stored:
///
///     sum      draws the ticket, loads the tile, publishes its row sums and column sums as soon as it has landed
///     left     adds the row sums of the tiles to the left within a group of tiles; the last of a group publishes the
///              group's
///     carry    adds those of whole groups to the left: now the row carries are known; publishes their total
///     above    adds column sums and carry totals of the tiles above within a group of tile rows to the finished table
///              row above the group; the last tile row of a group publishes the table row below itself
///     finish   (4 warps) scans the tile, adds carries and the table row above, stores
///
///     sums of a tile ---> left ---> carry ---> finish        so a carry is two hops away from the loads,
///          |                          |          ^           whatever the width; the only chain runs downwards and
///          +-------> above <----------+          |           has one hop per group of tile rows
///                      +-------------------------+
///
/// Emoto et al. 2018 carry everything through one look-back per tile; here nothing that a tile waits for was itself
/// waiting for a row of tiles. No block needs another to be resident: every wait is for lower tickets, which are drawn
/// in the order in which blocks run.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, bool Square>
struct pipeline_block : pipeline_sum<Pixel, Sum, Square> {
    using roles = pipeline_sum<Pixel, Sum, Square>;
    using roles::arrive;
    using roles::header;
    using roles::keep;
    using roles::lane;
    using roles::lane_cols;
    using roles::load_lane;
    using roles::next_slot;
    using roles::p;
    using roles::parity;
    using roles::pipeline_sum;
    using roles::shared;
    using roles::slot;
    using roles::store_lane;
    using roles::tag_of_lap;
    using roles::words;
    using typename roles::col_sum_words;
    using typename roles::row_sum_words;
    using typename roles::tile;
    using typename roles::value_words;

    // Role `left`

    __device__ void run_left() {
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) {
                arrive(shared.left_added[slot]);
                break;
            }
            const std::uint32_t tag = tag_of_lap(at.lap);
            const int before = static_cast<int>(at.col - at.group * p.group_cols);
            // Own rows first: by then those of the neighbours are there, and nothing is looked at twice.
            shared.rows_added[slot].wait(parity);
            Sum left[2]{};
            // The words of publish_rows() in tiles with lower tickets.
            gather<4 / words_of<Sum>, row_sum_words>(
                words.row_sums + (std::size_t{at.ring_row} * p.columns + at.column - before) * tile::row_words +
                    2 * lane,
                tile::row_words, before, tag, keep, left);
            if (before == p.group_cols - 1 && at.col + 1 < p.tile_cols) {
                const Sum total[2] = {left[0] + shared.own_rows[slot][2 * lane],
                                      left[1] + shared.own_rows[slot][2 * lane + 1]};
                row_sum_words::of(total, tag).publish_at(group_words(at, at.group), keep);
            }
            shared.left[slot][2 * lane] = left[0];
            shared.left[slot][2 * lane + 1] = left[1];
            arrive(shared.left_added[slot]);
            arrive(shared.read[slot]);
        }
    }

    __device__ tagged_word* group_words(const tile_position& at, unsigned group) const {
        const std::size_t place = (std::size_t{at.ring_row} * p.g.channels + at.channel) * p.groups + group;
        return words.group_sums + place * tile::row_words + 2 * lane;
    }

    __device__ std::size_t group_of_rows(const tile_position& at) const {
        return std::size_t{at.ring_row / p.group_rows} * p.columns + at.column;
    }

    // Role `carry`

    __device__ void run_carry() {
        for (;; next_slot()) {
            shared.left_added[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            Sum carry[2] = {shared.left[slot][2 * lane], shared.left[slot][2 * lane + 1]};
            arrive(shared.read[slot]);
            const std::uint32_t tag = tag_of_lap(at.lap);
            // The words that run_left() publishes in the last tiles of the groups to the left.
            gather<4 / words_of<Sum>, row_sum_words>(group_words(at, 0), tile::row_words, static_cast<int>(at.group),
                                                     tag, keep, carry);
            const Sum downwards = warp_scan(carry[0] + carry[1]);
            if (lane == 31) {
                tagged_word* const where = words.carry_totals + group_of_rows(at) * 16 + at.in_group * words_of<Sum>;
                value_words::of(downwards, tag).publish_at(where, keep);
            }
            const Sum upper = exclusive_of(downwards) + carry[0];
            shared.finished[slot].wait(parity ^ 1);
            shared.carry[slot][2 * lane] = upper;
            shared.carry[slot][2 * lane + 1] = downwards;
            arrive(shared.carried[slot]);
        }
    }

    // Role `above`

    __device__ void run_above() {
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            const std::uint32_t tag = tag_of_lap(at.lap);
            const int before = static_cast<int>(at.in_group);
            const unsigned group_ring_row = at.ring_row - at.in_group;
            const bool publishes = before == p.group_rows - 1 && at.row + 1 < p.tile_rows;
            const bool below_group = at.row > at.in_group;

            // First looks at everything, for the words are usually there and a look takes long.
            // The words of run_carry() in the tiles above; for the table row that this tile publishes, its own too.
            const tagged_word* const totals = words.carry_totals + group_of_rows(at) * 16 + lane * words_of<Sum>;
            const bool has_total = lane < before + (publishes ? 1 : 0);
            value_words total;
            if (has_total) total.look_at(totals, keep);
            // The words that this role publishes in the last row of tiles of the group above, perhaps a lap before.
            const bool same_lap = group_ring_row > 0;
            const unsigned group_above = (same_lap ? group_ring_row : p.ring_rows) / p.group_rows - 1;
            const std::uint32_t tag_above = same_lap ? tag : tag_of_lap(at.lap - 1);
            const tagged_word* const row_above =
                words.table_rows + (std::size_t{group_above} * p.columns + at.column) * tile::col_words + 2 * lane;
            col_sum_words top;
            if (below_group) top.look_at(row_above, keep);

            Sum cols[lane_cols]{};
            // The words of run_sum() in the tiles above.
            gather<3, col_sum_words>(
                words.col_sums + (std::size_t{group_ring_row} * p.columns + at.column) * tile::col_words + 2 * lane,
                p.columns * tile::col_words, before, tag, keep, cols);
            shared.cols_added[slot].wait(parity);
            Sum own[lane_cols];
            load_lane(own, shared.own_cols[slot], lane);
            arrive(shared.read[slot]);
            warp_scan_row(cols);
            if (publishes) warp_scan_row(own);
            if (has_total)
                while (!total.has(tag)) total.look_at(totals, keep);
            __syncwarp();
            const Sum carry = has_total ? total.value() : Sum{};
            const Sum above = warp_sum(lane < before ? carry : Sum{});
            const Sum own_carry = __shfl_sync(whole_warp, carry, before);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) cols[i] += above;
            if (below_group) {
                while (!top.has(tag_above)) top.look_at(row_above, keep);
                top.add_to(cols);
            }
            if (publishes) {
                Sum below[lane_cols];
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) below[i] = cols[i] + (own[i] + own_carry);
                col_sum_words::of(below, tag)
                    .publish_at(words.table_rows + group_of_rows(at) * tile::col_words + 2 * lane, keep);
            }
            shared.finished[slot].wait(parity ^ 1);
            store_lane(shared.top[slot], cols);
            arrive(shared.topped[slot]);
        }
    }

    // Role `finish`

    /// By one thread, behind all looks at the ring for this tile: `left`, `carry` and `above` arrived, after theirs, at
    /// barriers that it waited for. See wait_for_readers().
    __device__ void count_as_read(const tile_position& at) const {
        const unsigned counters = p.ring_rows / p.rows_per_counter;
        const unsigned virtual_row = at.lap * p.ring_rows + at.ring_row;
        // The last row of tiles of a plane counts for the rows that fill up its group.
        const unsigned end = at.row + 1 < p.tile_rows ? virtual_row + 1 : (at.plane + 1) * p.rows_of_plane;
        for (unsigned v = virtual_row; v < end; ++v) {
            ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> count(
                header->reserved[pipeline_first_counter + v / p.rows_per_counter % counters]);
            count.fetch_add(1, ::cuda::memory_order_relaxed);
        }
    }

    __device__ void run_finish() {
        constexpr int rows = tile::warp_rows;
        const int warp = threadIdx.x / 32;
        int turn = 0;
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            Sum x[rows][lane_cols];
#pragma unroll
            for (int k = 0; k < rows; ++k) {
                const auto from = load_lane(slot, warp * rows + k);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) x[k][i] = summand<Sum, Square>(from.x[i]);
            }
            arrive(shared.read[slot]);
#pragma unroll
            for (int k = 0; k < rows; ++k) {
                warp_scan_row(x[k]);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k > 0) x[k][i] += x[k - 1][i];
            }
            if (warp < tile::finish_warps - 1) store_lane(shared.bottom[turn][warp], x[rows - 1]);
            sync_warps(1, 32 * tile::finish_warps);
            Sum top[lane_cols]{};
#pragma unroll
            for (int w = 0; w < tile::finish_warps - 1; ++w) {
                if (w >= warp) break;
                Sum bottom[lane_cols];
                load_lane(bottom, shared.bottom[turn][w], lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) top[i] += bottom[i];
            }
            turn ^= 1;
            shared.carried[slot].wait(parity);
            const Sum carries = shared.carry[slot][warp * rows + lane % rows];
            shared.topped[slot].wait(parity);
            {
                Sum above[lane_cols];
                load_lane(above, shared.top[slot], lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) top[i] += above[i];
            }
            arrive(shared.finished[slot]);
            if (threadIdx.x == 0) count_as_read(at);
            store(at, warp, x, top, carries);
        }
    }

    __device__ void store(const tile_position& at, int warp, Sum (&x)[tile::warp_rows][lane_cols],
                          const Sum (&top)[lane_cols], Sum carries) const {
        constexpr int rows = tile::warp_rows;
        const std::int64_t row = std::int64_t{at.row} * tile::rows + warp * rows;
        const std::int64_t col = std::int64_t{at.col} * tile::cols + lane * lane_cols;
        std::byte* to = static_cast<std::byte*>(p.g.table) + at.plane * p.g.table_plane_stride +
                        row * p.g.table_row_stride +
                        (col * p.g.channels + at.channel) * static_cast<std::int64_t>(sizeof(Sum));
        const int valid_rows = static_cast<int>(p.g.rows - row < rows ? p.g.rows - row : rows);
        const int valid_cols =
            static_cast<int>(p.g.cols - col < lane_cols ? (p.g.cols > col ? p.g.cols - col : 0) : lane_cols);
        const bool whole = p.g.cols - std::int64_t{at.col} * tile::cols >= tile::cols;
#pragma unroll
        for (int k = 0; k < rows; ++k) {
            const Sum carry = __shfl_sync(whole_warp, carries, k);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] += top[i] + carry;
        }
        if (p.store == tile_store::chunks && (whole || valid_cols == lane_cols)) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride)
                if (k < valid_rows) store_streaming(reinterpret_cast<Sum*>(to), x[k]);
        } else if (whole && p.store == tile_store::shifted) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride) {
                if (k >= valid_rows) break;
                store_shifted(reinterpret_cast<Sum*>(to), x[k]);
            }
        } else {
            const std::int64_t step = p.g.channels;
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride) {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k < valid_rows && i < valid_cols)
                        store_streaming(reinterpret_cast<Sum*>(to) + i * step, x[k][i]);
            }
        }
    }

    /// A row whose start is not aligned to 16 bytes: a lane stores the aligned 16 bytes in which its first element
    /// lies, some of which come from the lane before; both ends of the row go element by element.
    __device__ void store_shifted(Sum* to, const Sum (&x)[lane_cols]) const {
        const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Sum) % lane_cols);
        if (shift == 0) {
            store_streaming(to, x);
            return;
        }
        Sum chunk[lane_cols];
#pragma unroll
        for (int s = 1; s < lane_cols; ++s)
            if (s == shift) {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    chunk[i] = i < s ? __shfl_up_sync(whole_warp, x[(i - s + lane_cols) % lane_cols], 1)
                                     : x[(i - s + lane_cols) % lane_cols];
            }
        if (lane > 0) {
            store_streaming(to - shift, chunk);
        } else {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (i >= shift) store_streaming(to - shift + i, chunk[i]);
        }
        if (lane == 31) {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (i >= lane_cols - shift) store_streaming(to + i, x[i]);
        }
    }
};

// Kernel

/// Computes all tiles of the plan. The header's ticket, finished count and counters are zero before, as every call on
/// the workspace leaves them; tags of this call's epoch are nowhere in the workspace.
template <typename Pixel, typename Sum, bool Square>
__global__ void __launch_bounds__(pipeline_tile<Sum>::threads, pipeline_tile<Sum>::blocks_per_multiprocessor)
    sat_pipeline_kernel(const __grid_constant__ pipeline_plan plan, const __grid_constant__ pipeline_words words,
                        workspace_header* header, std::byte* workspace, std::size_t workspace_bytes) {
    using tile = pipeline_tile<Sum>;
    extern __shared__ __align__(128) std::byte pixels[];
    __shared__ pipeline_shared<Sum> shared;
    if (threadIdx.x == 0) {
        for (int s = 0; s < tile::slots; ++s) {
            shared.loaded[s].initialize(arrivals_at_loaded(plan.load));
            shared.read[s].initialize(tile::finish_warps + 4);
            for (phase_barrier* one :
                 {shared.rows_added, shared.cols_added, shared.left_added, shared.carried, shared.topped})
                one[s].initialize(1);
            shared.finished[s].initialize(tile::finish_warps);
        }
    }
    __syncthreads();
    pipeline_block<Pixel, Sum, Square> block(plan, words, header, shared, pixels);
    // Registers move from the helpers to `finish`, which holds a tile in 64 of them.
    const int warp = threadIdx.x / 32;
    if (warp < tile::finish_warps) {
        take_registers<96>();
        block.run_finish();
    } else {
        give_registers<64>();
        if (warp == tile::finish_warps) {
            block.run_sum();
        } else if (warp == tile::finish_warps + 1) {
            block.run_left();
        } else if (warp == tile::finish_warps + 2) {
            block.run_carry();
        } else {
            block.run_above();
        }
    }
    leave_workspace(header, workspace, workspace_bytes, ::cuda::memory_order_acq_rel);
}

}  // namespace boxsum::cuda
