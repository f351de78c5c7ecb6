#pragma once

#include "cuda/device/word_gather.cuh"
#include "cuda/production/sat/store.cuh"

#include <cstdint>

/// Roles that learn of other tiles: `left`, `carry` and `above`. kernel.cuh has the picture.
namespace boxsum::cuda {

// Role `left`

/// For run_above() of the tiles below in this group of rows.
template <typename B>
__device__ inline void publish_cols(const B& b, tagged_word* where, const typename B::of_panel (&col)[B::lane_cols],
                                    std::uint32_t tag) {
    tile_word<typename B::pixel, typename B::sum> x[B::lane_cols];
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) x[i] = static_cast<tile_word<typename B::pixel, typename B::sum>>(col[i]);
    B::col_sum_words::of(x, tag).publish_at(where + B::col_sum_words::first(b.lane), b.keep);
}

/// A lane of `carry` finds rows 2 l and 2 l + 1 of every channel in this order in its group_sum_words.
template <typename B>
__device__ inline int word_of_group_row(int row, int channel) {
    const int word = (channel * 2 + row % 2) * words_of<typename B::sum_in_group>;  // of the lane's
    return 64 * (word / 2) + row / 2 * 2 + word % 2;
}

/// `warp`: of left_warps.
template <typename B>
__device__ inline void run_left(const B& b, int warp) {
    constexpr int rows = 2 / B::left_warps;    // of a lane: the first, and 32 rows below it
    const int first_row = 32 * warp + b.lane;  // its place, see tile_pixels
    const int word = B::row_sum_words::first(B::chain ? first_row : b.lane);
    for (typename B::tile_counter now;; ++now.n) {
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.loaded[slot].wait(now.parity());
        if (!at.valid()) {
            b.arrive(b.shared.left_added[slot]);
            break;
        }
        // Own rows first: by then those of the neighbours are there, and little is looked at twice. And words may
        // be replaced then, see earlier_readers. Until then the columns, which `sum` has no time for: one warp that
        // did both took longer for a tile of 8u than memory does. They wait in own_cols, whose reader has left the
        // place, see tile_memory::kept.
        if constexpr (!B::chain) {
            b.wait_for_moved_rows(now);
#pragma unroll(B::panels_unrolled)
            for (int panel = 0; panel < B::panels; ++panel) {
                typename B::sum_in_tile col[B::lane_cols];
                b.pixels_of(slot, panel, at).add_cols(col, b.lane);
                typename B::of_panel own[B::lane_cols];
#pragma unroll
                for (int i = 0; i < B::lane_cols; ++i) own[i] = static_cast<typename B::of_panel>(col[i]);
                store_neighbours(b.shared.own_cols[b.place_of(now)][panel], own, b.lane);
            }
        }
        if constexpr (B::whole_sectors) add_beside(*b.beside_of(now), b.pixels_beside(slot), b.lane);
        b.shared.rows_added[slot].wait(now.parity());
        if constexpr (!B::chain) {
#pragma unroll(B::panels_unrolled)
            for (int panel = 0; panel < B::panels; ++panel) {
                typename B::of_panel own[B::lane_cols];
                load_neighbours(own, b.shared.own_cols[b.place_of(now)][panel], b.lane);
                publish_cols(b, b.words.col_sums + std::size_t{at.place} * B::col_words + panel * B::tile::col_words,
                             own, at.tag);
            }
            b.arrive(b.shared.cols_added[slot]);
        }
        typename B::sum_in_group left[rows * B::channels]{};
        // Published by run_sum() in tiles with lower tickets.
        gather_by_warp<B::template batch_of<typename B::row_sum_words>, typename B::row_sum_words>(
            b.words.row_sums + std::size_t{at.place - at.before} * B::row_words + word, B::row_words,
            static_cast<int>(at.before), at.tag, b.keep, [&](const typename B::row_sum_words& found) {
                if constexpr (B::chain)
                    left[0] += static_cast<typename B::sum_in_group>(found.value());
                else
                    found.add_to(left);
            });
        if (at.ends_group) {
            // For run_carry() of the tiles to the right of this group.
            tagged_word* const where = b.words.group_sums + std::size_t{at.group_place + at.group} * B::row_words;
#pragma unroll
            for (int i = 0; i < rows * B::channels; ++i) {
                const int row = B::pixels::row_at(first_row + 32 * (i % rows)), channel = i / rows;
                const typename B::sum_in_group sum[1] = {left[i] +
                                                         b.shared.own_rows[slot][channel * B::tile::rows + row]};
                B::group_row_words::of(sum, at.tag).publish_at(where + word_of_group_row<B>(row, channel), b.keep);
            }
        }
#pragma unroll
        for (int i = 0; i < rows * B::channels; ++i)
            b.shared.own_rows[slot][i / rows * B::tile::rows + B::pixels::row_at(first_row + 32 * (i % rows))] =
                left[i];
        b.arrive(b.shared.left_added[slot]);
        b.arrive(b.shared.read[slot]);
    }
}

// Role `carry`

template <typename B>
__device__ inline void run_carry(const B& b) {
    for (typename B::tile_counter now;; ++now.n) {
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.left_added[slot].wait(now.parity());
        if (!at.valid()) break;
        typename B::sum carry[2 * B::channels];
#pragma unroll
        for (int i = 0; i < 2 * B::channels; ++i)
            carry[i] =
                static_cast<typename B::sum>(b.shared.own_rows[slot][i / 2 * B::tile::rows + 2 * b.lane + i % 2]);
        b.arrive(b.shared.read[slot]);
        // Published by run_left() in the last tiles of the groups to the left.
        gather_by_warp<B::template batch_of<typename B::group_sum_words>, typename B::group_sum_words>(
            b.words.group_sums + std::size_t{at.group_place} * B::row_words + B::group_sum_words::first(b.lane),
            B::row_words, static_cast<int>(at.group), at.tag, b.keep,
            [&](const typename B::group_sum_words& found) { found.add_to(carry); });
#pragma unroll(B::panels_unrolled)
        for (int panel = 0; panel < B::panels; ++panel) {
            typename B::sum upper[B::channels], downwards[B::channels];
#pragma unroll
            for (int c = 0; c < B::channels; ++c) {
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    if (panel > 0)
                        carry[2 * c + i] += static_cast<typename B::sum>(
                            b.shared.panel_rows[b.place_of(now)][panel - 1][c * B::tile::rows + 2 * b.lane + i]);
                downwards[c] = warp_scan(carry[2 * c] + carry[2 * c + 1]);
                upper[c] = carry[2 * c] + exclusive_of(downwards[c]);
                if (b.p.has_left) {
                    upper[c] += b.left_of_part(at, 2 * b.lane, c);
                    downwards[c] += b.left_of_part(at, 2 * b.lane + 1, c);
                }
                if constexpr (!B::chain) {
                    // For run_above() of the tiles below in this group of rows.
                    if (panel == 0 && b.lane == 31)
                        B::value_words::of(downwards[c], at.tag)
                            .publish_at(
                                b.words.total_of(at.rows_place, B::channels, at.in_group, c, words_of<typename B::sum>),
                                b.keep);
                }
            }
            if (panel == 0) b.shared.finished[slot].wait(now.parity() ^ 1);
#pragma unroll
            for (int c = 0; c < B::channels; ++c) {
                b.shared.carry[slot][panel][2 * b.lane * B::channels + c] = upper[c];
                b.shared.carry[slot][panel][(2 * b.lane + 1) * B::channels + c] = downwards[c];
            }
        }
        b.arrive(b.shared.carried[slot]);
        if (b.p.is_part) store_carries(b, at);
    }
}

// Role `above`

/// Adds the last of a panel's scanned column sums of every channel to what is left of the next panel, which starts
/// with channel `first`.
template <typename B>
__device__ inline void go_on_across(typename B::sum (&left)[B::channels],
                                    const typename B::sum_in_tile (&x)[B::lane_cols], unsigned first) {
    constexpr int last = B::tile::cols - B::channels;
    typename B::sum across[B::channels];
#pragma unroll
    for (int c = 0; c < B::channels; ++c)
        across[c] = static_cast<typename B::sum>(shuffle(x[(last + c) % B::lane_cols], (last + c) / B::lane_cols));
    if constexpr (B::tile::cols % B::channels != 0) turn_back<1>(across, first);
#pragma unroll
    for (int c = 0; c < B::channels; ++c) left[c] += across[c];
}

/// Values that all lanes have alike, one a lane: registers are short between the panels.
template <typename B>
__device__ inline typename B::sum one_a_lane(int lane_of_warp, const typename B::sum (&x)[B::channels],
                                             const typename B::sum (&y)[B::channels]) {
    typename B::sum by_lane{};
#pragma unroll
    for (int c = 0; c < B::channels; ++c) {
        if (lane_of_warp == c) by_lane = x[c];
        if (lane_of_warp == B::channels + c) by_lane = y[c];
    }
    return by_lane;
}

template <typename B>
__device__ inline void spread(typename B::sum (&x)[B::channels], typename B::sum (&y)[B::channels],
                              typename B::sum by_lane) {
#pragma unroll
    for (int c = 0; c < B::channels; ++c) {
        x[c] = shuffle(by_lane, c);
        y[c] = shuffle(by_lane, B::channels + c);
    }
}

/// What carries have above a lane's elements, as if a tile above had published it.
template <typename B>
__device__ inline typename B::table_row_words above_part_from(const B& b, const tile_position& at, std::int64_t first) {
    typename B::sum x[B::lane_cols];
    b.above_part(x, at, first);
    return B::table_row_words::of(x, at.tag_above);
}

// Of the columns beside a tile lanes with even numbers have the first four, the others the next four. Their words
// are those of the first columns of the tile to the right, in rows of tiles above, and so of lower tickets. The
// last tile of a row, which needs none, looks at its own.

template <typename B>
__device__ inline int first_word_beside(const B& b, const tile_position& at) {
    return (at.last_col ? 0 : B::col_words) + B::col_sum_words::first(b.lane % 2);
}

template <typename B>
__device__ inline int first_table_word_beside(const B& b, const tile_position& at) {
    return (at.last_col ? 0 : B::col_words) + B::table_row_words::first(b.lane % 2);
}

/// For `finish`: what the table has above the columns beside the tile, less what it has above the tile's last one
/// (`above_last`), of the table row above the group and the rows of tiles of the group.
template <typename B>
__device__ inline void leave_beside(const B& b, const typename B::tile_counter& now,
                                    const typename B::sum (&above)[B::lane_cols],
                                    typename B::sum_in_tile (&in_group)[B::lane_cols], typename B::sum above_last) {
#pragma unroll
    for (int i = 1; i < B::lane_cols; ++i) in_group[i] += in_group[i - 1];
    const typename B::sum_in_tile of_first = shuffle(in_group[B::lane_cols - 1], 0);
    const typename B::sum before = b.lane % 2 == 0 ? typename B::sum{} : static_cast<typename B::sum>(of_first);
    if (b.lane >= 2 * B::tile::finish_warps) return;
    typename B::sum* const sums = b.beside_of(now)->above[b.lane / 2];
    typename B::sum x[B::lane_cols];
    load_neighbours(x, sums, b.lane % 2);
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) x[i] += above[i] - above_last + in_group[i] + before;
    store_neighbours(sums, x, b.lane % 2);
}

template <typename B>
__device__ inline void run_above(const B& b) {
    const std::size_t cols_stride = std::size_t{b.p.tile_cols} * B::col_words;
    // Rows of tiles that are looked at together.
    constexpr auto words_of_cols = sizeof(typename B::col_sum_words) / sizeof(tagged_word);
    // Squares have twice the words.
    constexpr bool all = words_of_cols == 2 && B::tuned.looks_at_all;
    // One less where directions take registers, of which bytes would spill 40.
    constexpr int of_group = B::outwards ? most_group_rows - 2 : most_group_rows - 1;
    constexpr int batch = all ? of_group : words_of_cols == 4 && words_of<typename B::sum> != 1 ? 2 : 3;
    for (typename B::tile_counter now;; ++now.n) {
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.loaded[slot].wait(now.parity());
        if (!at.valid()) break;
        const int before = static_cast<int>(at.in_group);

        // Published by run_carry() in the tiles above; for the table row that this tile publishes, its own too.
        // Looked at first and waited for late.
        typename B::value_words total[B::channels]{};
        const bool has_total = b.lane < before + (at.ends_rows ? 1 : 0);
        const auto look_at_total = [&] {
            bool missing = false;
#pragma unroll
            for (int c = 0; c < B::channels; ++c)
                missing |= look_at_missing(
                    has_total, total[c],
                    b.words.total_of(at.rows_place, B::channels, b.lane, c, words_of<typename B::sum>), at.tag, b.keep);
            return missing;
        };
        look_at_total();
        // What is left of a panel, by channel: down to the tile within its group, and beside the tile itself.
        typename B::sum corner[B::channels], own_carry[B::channels];
        [[maybe_unused]] typename B::sum by_lane;
        // The same to the left of the table row above: its last sum.
        const bool below_carries = b.is_below_carries(at);
        const bool has_corner = B::one_behind && (at.has_above || below_carries) && at.col > 0;
        words_of_lane<typename B::sum, 1> left_of_top{};
        if (B::one_behind && below_carries && at.col > 0) {
            typename B::sum last[1];
            b.above_part(last, at, b.first_element(at, 0) - 1);
            left_of_top = words_of_lane<typename B::sum, 1>::of(last, at.tag_above);
        }
        const auto look_at_corner = [&] {
            return look_at_missing(
                has_corner, left_of_top,
                b.words.table_rows + std::size_t{at.rows_place_above} * B::col_words - B::table_row_words::from_end,
                at.tag_above, b.keep);
        };
#pragma unroll(B::panels_unrolled)
        for (int panel = 0; panel < B::panels; ++panel) {
            typename B::sum_in_tile cols_in_group[B::lane_cols]{};
            // Published by run_left() in the tiles above.
            const int first_word = panel * B::tile::col_words;
            const tagged_word* const cols_above =
                b.words.col_sums + std::size_t{at.place - at.in_group * b.p.tile_cols} * B::col_words + first_word;
            [[maybe_unused]] typename B::sum_in_tile beside_in_group[B::lane_cols]{};
            if constexpr (B::whole_sectors) {
                static_assert(batch * B::tile::rows * 255 < 1 << 16);
                gather_two_by_warp<batch, typename B::col_sum_words>(
                    cols_above + B::col_sum_words::first(b.lane), cols_above + first_word_beside(b, at), cols_stride,
                    before, at.tag, b.keep, [&](const auto& found, const auto& beside) {
                        B::col_sum_words::add_all_to(cols_in_group, found);
                        B::col_sum_words::add_all_to(beside_in_group, beside);
                    });
            } else {
                gather_by_warp<batch, typename B::col_sum_words>(
                    cols_above + B::col_sum_words::first(b.lane), cols_stride, before, at.tag, b.keep,
                    [&](const typename B::col_sum_words& found) { found.add_to(cols_in_group); });
            }
            // Published below, in the last row of tiles of the group above, perhaps a lap before.
            typename B::table_row_words top{};
            if (below_carries) top = above_part_from(b, at, b.first_element(at, panel) + b.lane * B::lane_cols);
            const auto look_at_top = [&] {
                return look_at_missing(at.has_above, top,
                                       b.words.table_rows + std::size_t{at.rows_place_above} * B::col_words +
                                           first_word + B::table_row_words::first(b.lane),
                                       at.tag_above, b.keep);
            };
            look_at_top();
            [[maybe_unused]] typename B::table_row_words top_beside{};
            if (B::whole_sectors && below_carries)
                top_beside = above_part_from(b, at, b.first_element(at, B::panels) + b.lane % 2 * B::lane_cols);
            [[maybe_unused]] const auto look_at_top_beside = [&] {
                return look_at_missing(at.has_above, top_beside,
                                       b.words.table_rows + std::size_t{at.rows_place_above} * B::col_words +
                                           first_table_word_beside(b, at),
                                       at.tag_above, b.keep);
            };
            if constexpr (B::whole_sectors) look_at_top_beside();
            if (panel == 0) {
                look_at_corner();
                b.shared.cols_added[slot].wait(now.parity());
            }
            typename B::sum_in_tile own[B::lane_cols]{};
            add_neighbours(own, b.shared.own_cols[b.place_of(now)][panel], b.lane);
            if (panel == 0) b.arrive(b.shared.read[slot]);
            if (panel > 0) spread<B>(corner, own_carry, by_lane);
            const unsigned first = b.first_channel(at.col, panel, b.lane);
            const unsigned next_first = b.first_channel(at.col, panel + 1, 0);
            warp_scan_channels<B::channels>(cols_in_group);
            if (at.ends_rows) warp_scan_channels<B::channels>(own);
            typename B::sum cols[B::lane_cols];
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i) cols[i] = static_cast<typename B::sum>(cols_in_group[i]);
            if (panel == 0) {
                look_until_found(look_at_total);
#pragma unroll
                for (int c = 0; c < B::channels; ++c) {
                    const typename B::sum carry = has_total ? total[c].value() : typename B::sum{};
                    corner[c] = warp_sum(b.lane < before ? carry : typename B::sum{});  // up to here of this group
                    own_carry[c] = shuffle(carry, before);
                }
            }
            B::lane_channels::add(cols, corner, first);
            if (panel < B::panels - 1) go_on_across<B>(corner, cols_in_group, next_first);
            if (at.has_above) look_until_found(look_at_top);
            if (at.has_above || below_carries) top.add_to(cols);
            if (panel == 0) look_until_found(look_at_corner);
            if (at.ends_rows) {
                typename B::sum below[B::lane_cols];
#pragma unroll
                for (int i = 0; i < B::lane_cols; ++i) below[i] = static_cast<typename B::sum>(own[i]);
                B::lane_channels::add(below, own_carry, first);
                if (panel < B::panels - 1) go_on_across<B>(own_carry, own, next_first);
#pragma unroll
                for (int i = 0; i < B::lane_cols; ++i) below[i] = cols[i] + below[i];
                // For this role in the tiles of the group below.
                B::table_row_words::of(below, at.tag)
                    .publish_at(b.words.table_rows + std::size_t{at.rows_place} * B::col_words + first_word +
                                    B::table_row_words::first(b.lane),
                                b.keep);
            }
            if (panel < B::panels - 1) by_lane = one_a_lane<B>(b.lane, corner, own_carry);
            if (panel == 0) b.shared.finished[slot].wait(now.parity() ^ 1);
            store_neighbours(b.shared.top[slot][panel], cols, b.lane);
            if constexpr (B::whole_sectors) {
                b.arrive(b.shared.topped[slot]);
                look_until_found(look_at_top_beside);
                typename B::sum above[B::lane_cols]{}, above_beside[B::lane_cols]{};
                top.add_to(above);
                top_beside.add_to(above_beside);
                leave_beside(b, now, above_beside, beside_in_group, shuffle(above[B::lane_cols - 1], 31));
                b.arrive(b.shared.beside.there[slot]);
            }
        }
        if (B::one_behind && b.lane == 0)
            b.shared.corner[slot] = corner[0] + (has_corner ? left_of_top.value() : typename B::sum{});
        if constexpr (!B::whole_sectors) b.arrive(b.shared.topped[slot]);
    }
}

}  // namespace boxsum::cuda
