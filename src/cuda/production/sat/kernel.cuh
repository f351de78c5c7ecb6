#pragma once

#include "cuda/device/dependent_launch.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/role_registers.cuh"
#include "cuda/production/sat/finish.cuh"

#include <cstdint>

/// The single-pass summed area table: one read, one write per element. A row of interleaved channels is a row of
/// elements of which every C-th are summed along the row (device/channels.cuh), so that a tile's row has C sums and C
/// carries; everything downwards is by element anyway. Rows of the image and of the table start at any element;
/// "aligned" are the tiles, whose pixels and sums move 16 aligned bytes at a time all the same.
///
/// The table is cut into tiles of 64 rows and one or two panels of columns, which each role works on one after another
/// (may_have_panels() says why). Persistent blocks draw tiles by ticket, row by row of tiles. Roles, each a
/// warp, work on a block's tiles one after another, so that a tile is loaded while others wait for their neighbours and
/// one is stored:
///
///     sum      draws the ticket, lets the copy engine load the tile, publishes its row sums as soon as it has landed;
///              rows of an image that start anywhere are then where everybody else expects them
///     left     publishes its column sums; adds the row sums of the tiles to the left within a group of tiles; the last
///              of a group publishes the group's
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
/// With tile_columns::chain there is no role `above`, nobody needs column sums, and `left` has two warps: `finish`
/// takes the table row above from the tile above and publishes its own last row, a hop per row of tiles but less to add
/// up.
///
/// Sums and squares are computed at once where a value is a sum_and_squares: every role adds up and hands on both, and
/// `finish` stores to two tables.
///
/// A part of a larger table is seeded where tiles learn of others: `carry` adds what is left of the part, `above` takes
/// what is above it for the table row above the first group.
///
/// No block needs another to be resident: every wait is for lower tickets, which are drawn in the order in which blocks
/// run, or for an earlier role on the same tile.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, tile_kernel K>
struct tile_block : tile_finish<Pixel, Sum, K> {
    using roles = tile_finish<Pixel, Sum, K>;
    static constexpr tile_store Store = K.store;
    static constexpr int Channels = K.channels;
    using channels = typename roles::channels;
    using tile = typename roles::tile;
    using tile_counter = typename roles::tile_counter;
    using value_words = typename roles::value_words;
    using col_sum_words = typename roles::col_sum_words;
    using table_row_words = typename roles::table_row_words;
    using sum_in_tile = typename roles::sum_in_tile;
    using scanned = typename roles::scanned;
    using roles::col_words;
    using roles::keep;
    using roles::lane;
    using roles::lane_cols;
    using roles::p;
    using roles::panels;
    using roles::panels_unrolled;
    using roles::shared;
    using roles::tile_finish;
    using roles::words;

    // Role `above`

    /// Adds the last of a panel's scanned column sums of every channel to what is left of the next panel, which starts
    /// with channel `first`.
    __device__ static void go_on_across(Sum (&left)[Channels], const sum_in_tile (&x)[lane_cols], unsigned first) {
        constexpr int last = tile::cols - Channels;
        Sum across[Channels];
#pragma unroll
        for (int c = 0; c < Channels; ++c)
            across[c] = static_cast<Sum>(shuffle(x[(last + c) % lane_cols], (last + c) / lane_cols));
        if constexpr (tile::cols % Channels != 0) turn_back<1>(across, first);
#pragma unroll
        for (int c = 0; c < Channels; ++c) left[c] += across[c];
    }

    /// Values that all lanes have alike, one a lane: registers are short between the panels.
    __device__ static Sum one_a_lane(const Sum (&a)[Channels], const Sum (&b)[Channels]) {
        const int lane = threadIdx.x % 32;
        Sum by_lane{};
#pragma unroll
        for (int c = 0; c < Channels; ++c) {
            if (lane == c) by_lane = a[c];
            if (lane == Channels + c) by_lane = b[c];
        }
        return by_lane;
    }
    __device__ static void spread(Sum (&a)[Channels], Sum (&b)[Channels], Sum by_lane) {
#pragma unroll
        for (int c = 0; c < Channels; ++c) {
            a[c] = shuffle(by_lane, c);
            b[c] = shuffle(by_lane, Channels + c);
        }
    }

    __device__ void run_above() const {
        const std::size_t cols_stride = std::size_t{p.tile_cols} * col_words;
        // Rows of tiles that are looked at together.
        constexpr auto words_of_cols = sizeof(col_sum_words) / sizeof(tagged_word);
        // Squares have twice the words.
        constexpr bool all = words_of_cols == 2 && roles::tuned.looks_at_all;
        constexpr int batch = all ? most_group_rows - 1 : words_of_cols == 4 && words_of<Sum> != 1 ? 2 : 3;
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) break;
            const int before = static_cast<int>(at.in_group);

            // Published by run_carry() in the tiles above; for the table row that this tile publishes, its own too.
            // Looked at first and waited for late.
            value_words total[Channels]{};
            const bool has_total = lane < before + (at.ends_rows ? 1 : 0);
            const auto look_at_total = [&] {
                bool missing = false;
#pragma unroll
                for (int c = 0; c < Channels; ++c)
                    missing |=
                        look_at_missing(has_total, total[c],
                                        words.total_of(at.rows_place, Channels, lane, c, words_of<Sum>), at.tag, keep);
                return missing;
            };
            look_at_total();
            // What is left of a panel, by channel: down to the tile within its group, and beside the tile itself.
            Sum corner[Channels], own_carry[Channels];
            [[maybe_unused]] Sum by_lane;
            // The same to the left of the table row above: its last sum.
            const bool below_carries = this->is_below_carries(at);
            const bool has_corner = roles::one_behind && (at.has_above || below_carries) && at.col > 0;
            words_of_lane<Sum, 1> left_of_top{};
            if (roles::one_behind && below_carries && at.col > 0) {
                Sum last[1];
                this->above_part(last, at, roles::first_element(at, 0) - 1);
                left_of_top = words_of_lane<Sum, 1>::of(last, at.tag_above);
            }
            const auto look_at_corner = [&] {
                return look_at_missing(
                    has_corner, left_of_top,
                    words.table_rows + std::size_t{at.rows_place_above} * col_words - table_row_words::from_end,
                    at.tag_above, keep);
            };
#pragma unroll(panels_unrolled)
            for (int panel = 0; panel < panels; ++panel) {
                sum_in_tile cols_in_group[lane_cols]{};
                // Published by run_left() in the tiles above.
                const int first_word = panel * tile::col_words;
                const tagged_word* const cols_above =
                    words.col_sums + std::size_t{at.place - at.in_group * p.tile_cols} * col_words + first_word;
                [[maybe_unused]] sum_in_tile beside_in_group[lane_cols]{};
                if constexpr (roles::whole_sectors) {
                    static_assert(batch * tile::rows * 255 < 1 << 16);
                    gather_two_by_warp<batch, col_sum_words>(cols_above + col_sum_words::first(lane),
                                                             cols_above + first_word_beside(at), cols_stride, before,
                                                             at.tag, keep, [&](const auto& found, const auto& beside) {
                                                                 col_sum_words::add_all_to(cols_in_group, found);
                                                                 col_sum_words::add_all_to(beside_in_group, beside);
                                                             });
                } else {
                    gather_by_warp<batch, col_sum_words>(
                        cols_above + col_sum_words::first(lane), cols_stride, before, at.tag, keep,
                        [&](const col_sum_words& found) { found.add_to(cols_in_group); });
                }
                // Published below, in the last row of tiles of the group above, perhaps a lap before.
                table_row_words top{};
                if (below_carries) top = above_part_from(at, roles::first_element(at, panel) + lane * lane_cols);
                const auto look_at_top = [&] {
                    return look_at_missing(at.has_above, top,
                                           words.table_rows + std::size_t{at.rows_place_above} * col_words +
                                               first_word + table_row_words::first(lane),
                                           at.tag_above, keep);
                };
                look_at_top();
                [[maybe_unused]] table_row_words top_beside{};
                if (roles::whole_sectors && below_carries)
                    top_beside = above_part_from(at, roles::first_element(at, panels) + lane % 2 * lane_cols);
                [[maybe_unused]] const auto look_at_top_beside = [&] {
                    return look_at_missing(
                        at.has_above, top_beside,
                        words.table_rows + std::size_t{at.rows_place_above} * col_words + first_table_word_beside(at),
                        at.tag_above, keep);
                };
                if constexpr (roles::whole_sectors) look_at_top_beside();
                if (panel == 0) {
                    look_at_corner();
                    shared.cols_added[slot].wait(now.parity());
                }
                sum_in_tile own[lane_cols]{};
                add_neighbours(own, shared.own_cols[this->place_of(now)][panel], lane);
                if (panel == 0) this->arrive(shared.read[slot]);
                if (panel > 0) spread(corner, own_carry, by_lane);
                const unsigned first = roles::first_channel(at.col, panel, lane);
                const unsigned next_first = roles::first_channel(at.col, panel + 1, 0);
                warp_scan_channels<Channels>(cols_in_group);
                if (at.ends_rows) warp_scan_channels<Channels>(own);
                Sum cols[lane_cols];
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) cols[i] = static_cast<Sum>(cols_in_group[i]);
                if (panel == 0) {
                    look_until_found(look_at_total);
#pragma unroll
                    for (int c = 0; c < Channels; ++c) {
                        const Sum carry = has_total ? total[c].value() : Sum{};
                        corner[c] = warp_sum(lane < before ? carry : Sum{});  // up to here of this group
                        own_carry[c] = shuffle(carry, before);
                    }
                }
                channels::add(cols, corner, first);
                if (panel < panels - 1) go_on_across(corner, cols_in_group, next_first);
                if (at.has_above) look_until_found(look_at_top);
                if (at.has_above || below_carries) top.add_to(cols);
                if (panel == 0) look_until_found(look_at_corner);
                if (at.ends_rows) {
                    Sum below[lane_cols];
#pragma unroll
                    for (int i = 0; i < lane_cols; ++i) below[i] = static_cast<Sum>(own[i]);
                    channels::add(below, own_carry, first);
                    if (panel < panels - 1) go_on_across(own_carry, own, next_first);
#pragma unroll
                    for (int i = 0; i < lane_cols; ++i) below[i] = cols[i] + below[i];
                    // For this role in the tiles of the group below.
                    table_row_words::of(below, at.tag)
                        .publish_at(words.table_rows + std::size_t{at.rows_place} * col_words + first_word +
                                        table_row_words::first(lane),
                                    keep);
                }
                if (panel < panels - 1) by_lane = one_a_lane(corner, own_carry);
                if (panel == 0) shared.finished[slot].wait(now.parity() ^ 1);
                store_neighbours(shared.top[slot][panel], cols, lane);
                if constexpr (roles::whole_sectors) {
                    this->arrive(shared.topped[slot]);
                    look_until_found(look_at_top_beside);
                    Sum above[lane_cols]{}, above_beside[lane_cols]{};
                    top.add_to(above);
                    top_beside.add_to(above_beside);
                    leave_beside(now, above_beside, beside_in_group, shuffle(above[lane_cols - 1], 31));
                    this->arrive(shared.beside.there[slot]);
                }
            }
            if (roles::one_behind && lane == 0)
                shared.corner[slot] = corner[0] + (has_corner ? left_of_top.value() : Sum{});
            if constexpr (!roles::whole_sectors) this->arrive(shared.topped[slot]);
        }
    }

    /// What carries have above a lane's elements, as if a tile above had published it.
    __device__ table_row_words above_part_from(const tile_position& at, std::int64_t first) const {
        Sum x[lane_cols];
        this->above_part(x, at, first);
        return table_row_words::of(x, at.tag_above);
    }

    // Of the columns beside a tile lanes with even numbers have the first four, the others the next four. Their words
    // are those of the first columns of the tile to the right, in rows of tiles above, and so of lower tickets. The
    // last tile of a row, which needs none, looks at its own.

    __device__ int first_word_beside(const tile_position& at) const {
        return (at.last_col ? 0 : col_words) + col_sum_words::first(lane % 2);
    }
    __device__ int first_table_word_beside(const tile_position& at) const {
        return (at.last_col ? 0 : col_words) + table_row_words::first(lane % 2);
    }

    /// For `finish`: what the table has above the columns beside the tile, less what it has above the tile's last one
    /// (`above_last`), of the table row above the group and the rows of tiles of the group.
    __device__ void leave_beside(const tile_counter& now, const Sum (&above)[lane_cols],
                                 sum_in_tile (&in_group)[lane_cols], Sum above_last) const {
#pragma unroll
        for (int i = 1; i < lane_cols; ++i) in_group[i] += in_group[i - 1];
        const sum_in_tile of_first = shuffle(in_group[lane_cols - 1], 0);
        const Sum before = lane % 2 == 0 ? Sum{} : static_cast<Sum>(of_first);
        if (lane >= 2 * tile::finish_warps) return;
        Sum* const sums = this->beside_of(now)->above[lane / 2];
        Sum x[lane_cols];
        load_neighbours(x, sums, lane % 2);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) x[i] += above[i] - above_last + in_group[i] + before;
        store_neighbours(sums, x, lane % 2);
    }

    // Role `finish`

    __device__ void run_finish() const {
        if constexpr (roles::chain)
            finish_in_chain();
        else
            finish_below_above();
        this->settle_stores();
    }

    __device__ void finish_below_above() const {
        const int warp = threadIdx.x / 32;
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) break;
            this->wait_for_moved_rows(now);
#pragma unroll 1
            for (int panel = 0; panel < panels; ++panel) {
                typename roles::panel_sums x;
                this->scan_rows(x, slot, panel, warp);
                // Two copies by turns and one barrier a panel: whoever writes a copy again has passed the barrier of
                // the panel between, which the others reach behind their reads.
                auto& bottom = shared.bottom[(now.n * panels + static_cast<unsigned>(panel)) % 2];
                if (warp < tile::finish_warps - 1) {
                    scanned last[lane_cols];
                    this->take_last_row(last, x);
                    store_neighbours(bottom[warp], last, lane);
                }
                sync_warps(1, 32 * tile::finish_warps);
                Sum top[lane_cols]{};
#pragma unroll
                for (int w = 0; w < tile::finish_warps - 1; ++w)
                    if (w < warp) add_neighbours(top, bottom[w], lane);
                shared.carried[slot].wait(now.parity());
                typename roles::panel_carries carries{};
                const Sum* const carry_of_rows = shared.carry[slot][panel] + warp * tile::warp_rows * Channels;
                if constexpr (Channels == 1)
                    carries = carry_of_rows[lane % tile::warp_rows];
                else if constexpr (roles::in_halves)
                    carries = {carry_of_rows, roles::first_channel(at.col, panel, lane)};
                else
                    this->add_carries(x, at, slot, panel, warp);
                shared.topped[slot].wait(now.parity());
                add_neighbours(top, shared.top[slot][panel], lane);
                if constexpr (roles::one_behind)
                    carries = this->carries_and_left(carries, shared.corner[slot], at, warp);
                if (panel == panels - 1) {
                    // Before `finished`, behind which the slot goes round: of a phase two laps ago nobody can tell.
                    if constexpr (roles::whole_sectors) shared.beside.there[slot].wait(now.parity());
                    if constexpr (!roles::carries_stay) this->arrive(shared.finished[slot]);
                    if (warp == 0) this->count_as_read(at);
                }
                this->store(at, panel, warp, x, top, carries, this->beside_of(now));
                if constexpr (roles::carries_stay)
                    if (panel == panels - 1) this->arrive(shared.finished[slot]);
            }
        }
    }

    __device__ void finish_in_chain() const {
        const int warp = threadIdx.x / 32, thread = threadIdx.x;
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) break;
            this->wait_for_moved_rows(now);
            scanned x[tile::warp_rows][lane_cols];
            this->scan_rows(x, slot, 0, warp);
            // Copies by turns, as above: they are read behind the second barrier, too.
            const unsigned turn = now.n % 2;
            auto& bottom = shared.bottom[turn];
            store_neighbours(bottom[warp], x[tile::warp_rows - 1], lane);
            sync_warps(1, 32 * tile::finish_warps);
            shared.carried[slot].wait(now.parity());
            if (thread < tile::cols) pass_column_on(at, thread, turn, shared.carry[slot][0][tile::rows - 1]);
            Sum carries = shared.carry[slot][0][warp * tile::warp_rows + lane % tile::warp_rows];
            this->arrive(shared.finished[slot]);
            sync_warps(1, 32 * tile::finish_warps);
            if (warp == 0) this->count_as_read(at);
            Sum top[lane_cols];
            load_neighbours(top, shared.top[turn][0], lane);
#pragma unroll
            for (int w = 0; w < tile::finish_warps - 1; ++w)
                if (w < warp) add_neighbours(top, bottom[w], lane);
            this->store(at, 0, warp, x, top, carries, nullptr);
        }
    }

    /// One column, by whole warps: takes the table row above the tile, leaves it in shared memory, and publishes that
    /// below the tile.
    __device__ void pass_column_on(const tile_position& at, int col, unsigned turn, Sum carry) const {
        const std::uint64_t keep = keep_in_l2();  // again, for registers are short here
        const bool below_carries = this->is_below_carries(at), has_above = at.has_above || below_carries;
        const auto look_above = [&](value_words& found) {
            // Published below, in the tile above, perhaps a lap before.
            return look_at_missing(
                has_above, found,
                words.table_rows + std::size_t{at.rows_place_above} * tile::col_words + col * words_of<Sum>,
                at.tag_above, keep);
        };
        const auto from_carries = [&](std::int64_t element) {
            Sum x[1];
            this->above_part(x, at, element);
            return value_words::of(x[0], at.tag_above);
        };
        value_words above{};
        if (below_carries) above = from_carries(roles::first_element(at, 0) + col);
        look_above(above);
        scanned in_tile = shared.bottom[turn][0][col];
#pragma unroll
        for (int w = 1; w < tile::finish_warps; ++w) in_tile += shared.bottom[turn][w][col];
        const Sum sum = static_cast<Sum>(in_tile) + carry;
        look_until_found([&] { return look_above(above); });
        const Sum top = has_above ? above.value() : Sum{};
        if (at.ends_rows)
            value_words::of(sum + top, at.tag)
                .publish_at(words.table_rows + std::size_t{at.rows_place} * tile::col_words + col * words_of<Sum>,
                            keep);
        shared.top[turn][0][col] = top;
    }
};

/// Computes all tiles of the plan. The header's ticket, finished count and counters are zero before, as every call on
/// the workspace leaves them; tags of this call's epoch are nowhere in the workspace. Empty where boxes are loaded and
/// there is no copy engine: there, nobody launches it.
template <typename Pixel, typename Sum, tile_load Load, tile_store Store, int Channels, int Panels,
          tile_columns Columns>
__global__ void __launch_bounds__(tile_shape<Sum>::threads,
                                  registers_move ? tile_shape<Sum>::blocks_per_multiprocessor : 2)
    sat_tile_kernel(
        const __grid_constant__ tile_plan plan,
        const __grid_constant__ image_maps<phases_of(Load, sizeof(Pixel)), Store == tile_store::whole_sectors> maps,
        const __grid_constant__ exchange_words words, workspace_header* header, std::byte* workspace,
        std::size_t workspace_bytes) {
    constexpr tile_kernel K{Load, Store, Channels, Panels, Columns};
    if constexpr (K.load == tile_load::rows || has_copy_engine) {
        using tile = tile_shape<Sum>;
        using block_roles = tile_block<Pixel, Sum, K>;
        __shared__ typename block_roles::shared_memory shared;
        let_successor_start();
        if (threadIdx.x == 0) block_roles::initialize(shared);
        wait_for_predecessor();  // which may have used the same workspace
        __syncthreads();
        // The copy engine writes to multiples of 128 bytes; the launch asks for 112 bytes more.
        std::byte* const memory = dynamic_shared<std::byte>();
        const block_roles block(plan, maps, words, header, shared,
                                memory + (128 - reinterpret_cast<std::uintptr_t>(memory) % 128) % 128);
        const int warp = threadIdx.x / 32;
        if (warp < tile::finish_warps) {
            take_registers<registers_of<K.columns>.finish>();
            block.run_finish();
        } else {
            give_registers<registers_of<K.columns>.helpers>();
            if (warp == tile::finish_warps)
                block.run_sum();
            else if (warp == tile::finish_warps + 1)
                block.run_left(0);
            else if (warp == tile::finish_warps + 2)
                block.run_carry([&](const tile_position& at) { block.store_carries(at); });
            else if constexpr (block_roles::chain)
                block.run_left(1);
            else
                block.run_above();
        }
        leave_workspace(header, workspace, workspace_bytes, ::cuda::memory_order_relaxed,
                        [&] { block.settle_counters(); });
    }
}

/// The stubs that nvcc 13 writes for kernels cannot name an aggregate.
template <typename Pixel, typename Sum, tile_kernel K>
constexpr auto* sat_tile_kernel_of() {
    return sat_tile_kernel<Pixel, Sum, K.load, K.store, K.channels, K.panels, K.columns>;
}

}  // namespace boxsum::cuda
