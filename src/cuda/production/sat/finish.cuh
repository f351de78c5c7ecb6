#pragma once

#include "cuda/production/sat/exchange.cuh"
#include "cuda/production/sat/sum.cuh"

#include <cstdint>
#include <type_traits>

/// Role `finish`: scans a tile in registers, adds carries and the table row above, stores. kernel.cuh has the picture.
namespace boxsum::cuda {

/// A row of sums and squares, each by steps of its own.
template <typename B>
__device__ inline void scan_both(typename B::scanned (&x)[B::lane_cols]) {
    decltype(B::scanned::sum) sums[B::lane_cols];
    decltype(B::scanned::squares) squares[B::lane_cols];
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) {
        sums[i] = x[i].sum;
        squares[i] = x[i].squares;
    }
    warp_scan_row<scan_steps::predicated>(sums);
    warp_scan_row<scan_steps::predicated>(squares);
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) x[i] = {sums[i], squares[i]};
}

template <typename B>
__device__ inline void scan_squares_of_pair(typename B::scanned (&upper)[B::lane_cols],
                                            typename B::scanned (&lower)[B::lane_cols],
                                            const std::uint32_t (&pixels)[B::lane_cols]) {
    std::uint32_t squares[2][B::lane_cols];
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) {
        const std::uint32_t of_upper = pixels[i] & 0xffffu, of_lower = pixels[i] >> 16;
        squares[0][i] = of_upper * of_upper;
        squares[1][i] = of_lower * of_lower;
    }
    warp_scan_row<scan_steps::predicated>(squares[0]);
    warp_scan_row<scan_steps::predicated>(squares[1]);
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) {
        upper[i].squares = squares[0][i];
        lower[i].squares = squares[1][i];
    }
}

template <typename B, typename Arrive>
__device__ inline void scan_each_row(const B& b, typename B::scanned (&x)[B::together][B::lane_cols],
                                     const typename B::pixels& rows, Arrive arrive_as_reader) {
#pragma unroll
    for (int k = 0; k < B::together; ++k) {
        const auto from = rows.of_lane(k, b.lane);
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) x[k][i] = rows.turns.template term<typename B::scanned>(from.x[i]);
    }
    arrive_as_reader();
#pragma unroll
    for (int k = 0; k < B::together; ++k) {
        if constexpr (B::has_squares)
            scan_both<B>(x[k]);
        else if constexpr (B::channels == 1 && !B::chain && std::is_same_v<typename B::scanned, float>)
            warp_scan_row<scan_steps::predicated>(x[k]);
        else
            warp_scan_channels<B::channels>(x[k]);
    }
}

/// The same with 16 bits for each of two rows, so that they share the exchanges of a scan. Squares have scans of
/// their own.
template <typename B, typename Arrive>
__device__ inline void scan_pairs_of_rows(const B& b, typename B::scanned (&x)[B::together][B::lane_cols],
                                          const typename B::pixels& rows, Arrive arrive_as_reader) {
    static_assert(B::tile::cols * 255 < 1 << 16);
    std::uint32_t pair[B::together / 2][B::lane_cols];
#pragma unroll
    for (int k = 0; k < B::together / 2; ++k) {
        const int row = 2 * k;
        if constexpr (B::lane_cols == 4) {
            pair_bytes(pair[k], rows.word(row, b.lane), rows.word(row + 1, b.lane));
        } else {
            const auto upper = rows.of_lane(row, b.lane), lower = rows.of_lane(row + 1, b.lane);
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i) {
                if constexpr (B::has_squares)
                    pair[k][i] = std::uint32_t{upper.x[i].x} | std::uint32_t{lower.x[i].x} << 16;
                else
                    pair[k][i] = std::uint32_t{upper.x[i]} | std::uint32_t{lower.x[i]} << 16;
            }
        }
    }
    arrive_as_reader();
#pragma unroll
    for (int k = 0; k < B::together; k += 2) {
        if constexpr (B::has_squares) scan_squares_of_pair<B>(x[k], x[k + 1], pair[k / 2]);
        if constexpr (B::channels == 1) {
            warp_scan_row<scan_steps::predicated>(pair[k / 2]);
        } else {
            warp_scan_channels<B::channels>(pair[k / 2]);
        }
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) {
            const std::uint32_t upper = pair[k / 2][i] & 0xffffu, lower = pair[k / 2][i] >> 16;
            if constexpr (B::has_squares) {
                x[k][i].sum = upper;
                x[k + 1][i].sum = lower;
            } else {
                x[k][i] = static_cast<typename B::scanned>(upper);
                x[k + 1][i] = static_cast<typename B::scanned>(lower);
            }
        }
    }
}

/// Makes room for the next ones at the end of x, whose places are registers.
template <typename B>
__device__ inline void move_up(typename B::scanned (&x)[B::tile::warp_rows][B::lane_cols]) {
#pragma unroll
    for (int k = 0; k + B::together < B::tile::warp_rows; ++k)
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) x[k][i] = x[k + B::together][i];
}

/// This warp's 16 rows of a panel, scanned along both directions.
template <typename B>
__device__ inline void scan_rows(const B& b, sums_in_halves<B::channels>& x, const tile_position& at, unsigned slot,
                                 int panel, int warp) {
    x.scan(b.pixels_of(slot, panel, at).from_row(warp * B::tile::warp_rows), b.lane, [&] {
        if (panel == B::panels - 1) b.arrive(b.shared.read[slot]);
    });
}

template <typename B>
__device__ inline void scan_rows(const B& b, typename B::scanned (&x)[B::tile::warp_rows][B::lane_cols],
                                 const tile_position& at, unsigned slot, int panel, int warp) {
    const typename B::pixels tile_rows = b.pixels_of(slot, panel, at);
#pragma unroll 1
    for (int first = 0; first < B::tile::warp_rows; first += B::together) {
        if constexpr (B::together < B::tile::warp_rows)
            if (first > 0) move_up<B>(x);
        const auto arrive_as_reader = [&] {
            if (panel == B::panels - 1 && first + B::together == B::tile::warp_rows) b.arrive(b.shared.read[slot]);
        };
        const typename B::pixels rows = tile_rows.from_row(warp * B::tile::warp_rows + first);
        typename B::scanned some[B::together][B::lane_cols];
        if constexpr (std::is_same_v<typename B::pixel, std::uint8_t> ||
                      std::is_same_v<typename B::pixel, with_square<std::uint8_t>>)
            scan_pairs_of_rows(b, some, rows, arrive_as_reader);
        else
            scan_each_row(b, some, rows, arrive_as_reader);
        constexpr int behind = B::tile::warp_rows - B::together;  // rows that came before
#pragma unroll
        for (int k = 0; k < B::together; ++k)
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i) {
                const bool has_above = k > 0 || (behind > 0 && first > 0);
                x[behind + k][i] = has_above ? x[behind + k > 0 ? behind + k - 1 : 0][i] + some[k][i] : some[k][i];
            }
    }
}

/// Of the columns of this warp's rows.
template <typename B>
__device__ inline void take_last_row(typename B::scanned (&last)[B::lane_cols], const typename B::panel_sums& x) {
#pragma unroll
    for (int i = 0; i < B::lane_cols; ++i) {
        if constexpr (B::in_halves)
            last[i] = static_cast<typename B::scanned>(x.of_column(i));
        else
            last[i] = x[B::tile::warp_rows - 1][i];
    }
}

/// Adds the rows' carries to channels that share a row. A single channel's wait in a register a lane until
/// store_panel().
template <typename B>
__device__ inline void add_carries(const B& b, typename B::sum (&x)[B::tile::warp_rows][B::lane_cols],
                                   const tile_position& at, unsigned slot, int panel, int warp) {
    const unsigned first = b.first_channel(at.col, panel, b.lane);
    const typename B::sum* const carry = b.shared.carry[slot][panel] + warp * B::tile::warp_rows * B::channels;
#pragma unroll
    for (int k = 0; k < B::tile::warp_rows; ++k) {
        typename B::sum of_channel[B::lane_cols];
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i)
            of_channel[i] =
                i < B::channels ? carry[k * B::channels + (first + i) % B::channels] : of_channel[i - B::channels];
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) x[k][i] += of_channel[i];
    }
}

/// What lane l has for store_panel(): the carry of row l, and lane l + 16 the sum left of the tile in that row, which
/// is the one above the tile (`corner`) and all that lies left of the tile down to the row, its carry. In the first
/// column of tiles it is the border's, which has what lies left of the part.
template <typename B>
__device__ inline typename B::sum carries_and_left(const B& b, typename B::sum carry, typename B::sum corner,
                                                   const tile_position& at, int warp) {
    if (b.p.has_left && at.col == 0 && b.lane >= B::tile::warp_rows) {
        const std::int64_t row = std::int64_t{at.row} * B::tile::rows + (warp - 1) * B::tile::warp_rows + b.lane;
        return b.part_carries().left(at.plane, min(row, b.p.rows - 1), 0);
    }
    return b.lane < B::tile::warp_rows ? carry : corner + carry;
}

template <typename B>
__device__ inline void finish_below_above(const B& b) {
    const int warp = threadIdx.x / 32;
    for (typename B::tile_counter now;; ++now.n) {
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.loaded[slot].wait(now.parity());
        if (!at.valid()) break;
        b.wait_for_moved_rows(now);
#pragma unroll 1
        for (int panel = 0; panel < B::panels; ++panel) {
            typename B::panel_sums x;
            scan_rows(b, x, at, slot, panel, warp);
            // Two copies by turns and one barrier a panel: whoever writes a copy again has passed the barrier of
            // the panel between, which the others reach behind their reads.
            auto& bottom = b.shared.bottom[(now.n * B::panels + static_cast<unsigned>(panel)) % 2];
            if (warp < B::tile::finish_warps - 1) {
                typename B::scanned last[B::lane_cols];
                take_last_row<B>(last, x);
                store_neighbours(bottom[warp], last, b.lane);
            }
            sync_warps(1, 32 * B::tile::finish_warps);
            typename B::sum top[B::lane_cols]{};
#pragma unroll
            for (int w = 0; w < B::tile::finish_warps - 1; ++w)
                if (w < warp) add_neighbours(top, bottom[w], b.lane);
            b.shared.carried[slot].wait(now.parity());
            typename B::panel_carries carries{};
            const typename B::sum* const carry_of_rows =
                b.shared.carry[slot][panel] + warp * B::tile::warp_rows * B::channels;
            if constexpr (B::channels == 1)
                carries = carry_of_rows[b.lane % B::tile::warp_rows];
            else if constexpr (B::in_halves)
                carries = {carry_of_rows, b.first_channel(at.col, panel, b.lane)};
            else
                add_carries(b, x, at, slot, panel, warp);
            b.shared.topped[slot].wait(now.parity());
            add_neighbours(top, b.shared.top[slot][panel], b.lane);
            if constexpr (B::one_behind) carries = carries_and_left(b, carries, b.shared.corner[slot], at, warp);
            if (panel == B::panels - 1) {
                // Before `finished`, behind which the slot goes round: of a phase two laps ago nobody can tell.
                if constexpr (B::whole_sectors) b.shared.beside.there[slot].wait(now.parity());
                if constexpr (!B::carries_stay) b.arrive(b.shared.finished[slot]);
                if (warp == 0) count_as_read(b, at);
            }
            store_panel(b, at, panel, warp, x, top, carries, b.beside_of(now));
            if constexpr (B::carries_stay)
                if (panel == B::panels - 1) b.arrive(b.shared.finished[slot]);
        }
    }
}

/// One column, by whole warps: takes the table row above the tile, leaves it in shared memory, and publishes that
/// below the tile.
template <typename B>
__device__ inline void pass_column_on(const B& b, const tile_position& at, int col, unsigned turn,
                                      typename B::sum carry) {
    const std::uint64_t keep_again = keep_in_l2();  // again, for registers are short here
    const bool below_carries = b.is_below_carries(at), has_above = at.has_above || below_carries;
    const auto look_above = [&](typename B::value_words& found) {
        // Published below, in the tile above, perhaps a lap before.
        return look_at_missing(has_above, found,
                               b.words.table_rows + std::size_t{at.rows_place_above} * B::tile::col_words +
                                   col * words_of<typename B::sum>,
                               at.tag_above, keep_again);
    };
    const auto from_carries = [&](std::int64_t element) {
        typename B::sum x[1];
        b.above_part(x, at, element);
        return B::value_words::of(x[0], at.tag_above);
    };
    typename B::value_words above{};
    if (below_carries) above = from_carries(b.first_element(at, 0) + col);
    look_above(above);
    typename B::scanned in_tile = b.shared.bottom[turn][0][col];
#pragma unroll
    for (int w = 1; w < B::tile::finish_warps; ++w) in_tile += b.shared.bottom[turn][w][col];
    const typename B::sum sum = static_cast<typename B::sum>(in_tile) + carry;
    look_until_found([&] { return look_above(above); });
    const typename B::sum top = has_above ? above.value() : typename B::sum{};
    if (at.ends_rows)
        B::value_words::of(sum + top, at.tag)
            .publish_at(
                b.words.table_rows + std::size_t{at.rows_place} * B::tile::col_words + col * words_of<typename B::sum>,
                keep_again);
    b.shared.top[turn][0][col] = top;
}

template <typename B>
__device__ inline void finish_in_chain(const B& b) {
    const int warp = threadIdx.x / 32, thread = threadIdx.x;
    for (typename B::tile_counter now;; ++now.n) {
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.loaded[slot].wait(now.parity());
        if (!at.valid()) break;
        b.wait_for_moved_rows(now);
        typename B::scanned x[B::tile::warp_rows][B::lane_cols];
        scan_rows(b, x, at, slot, 0, warp);
        // Copies by turns, as above: they are read behind the second barrier, too.
        const unsigned turn = now.n % 2;
        auto& bottom = b.shared.bottom[turn];
        store_neighbours(bottom[warp], x[B::tile::warp_rows - 1], b.lane);
        sync_warps(1, 32 * B::tile::finish_warps);
        b.shared.carried[slot].wait(now.parity());
        if (thread < B::tile::cols) pass_column_on(b, at, thread, turn, b.shared.carry[slot][0][B::tile::rows - 1]);
        typename B::sum carries = b.shared.carry[slot][0][warp * B::tile::warp_rows + b.lane % B::tile::warp_rows];
        b.arrive(b.shared.finished[slot]);
        sync_warps(1, 32 * B::tile::finish_warps);
        if (warp == 0) count_as_read(b, at);
        typename B::sum top[B::lane_cols];
        load_neighbours(top, b.shared.top[turn][0], b.lane);
#pragma unroll
        for (int w = 0; w < B::tile::finish_warps - 1; ++w)
            if (w < warp) add_neighbours(top, bottom[w], b.lane);
        store_panel(b, at, 0, warp, x, top, carries, nullptr);
    }
}

template <typename B>
__device__ inline void run_finish(const B& b) {
    if constexpr (B::chain)
        finish_in_chain(b);
    else
        finish_below_above(b);
    settle_stores<B>();
}

}  // namespace boxsum::cuda
