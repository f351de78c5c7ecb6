#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/production/sat_aligned_roles.cuh"

#include <cstdint>
#include <type_traits>

/// What role `finish` of the aligned pipeline does with a panel: scans it in registers, and stores it in rows that
/// start anywhere, with the border beside it. sat_aligned_kernel.cuh has the picture.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, aligned_columns Columns, aligned_load Load, aligned_store Store, int Channels,
          int Panels>
struct aligned_finish : aligned_roles<Pixel, Sum, Columns, Load, Store, Channels, Panels> {
    using roles = aligned_roles<Pixel, Sum, Columns, Load, Store, Channels, Panels>;
    using pixels = typename roles::pixels;
    using scanned = typename roles::scanned;
    using shared_memory = typename roles::shared_memory;
    using tile = typename roles::tile;
    using roles::aligned_roles;
    using roles::arrive;
    using roles::chain;
    using roles::first_channel;
    using roles::has_squares;
    using roles::lane;
    using roles::lane_cols;
    using roles::one_behind;
    using roles::p;
    using roles::pairs_take_left;
    using roles::panels;
    using roles::pixels_of;
    using roles::shared;

    /// This warp's 16 rows of a panel, scanned along both directions.
    __device__ void scan_rows(scanned (&x)[tile::warp_rows][lane_cols], unsigned slot, int panel, int warp) const {
#pragma unroll 1
        for (int first = 0; first < tile::warp_rows; first += together) {
            if constexpr (together < tile::warp_rows)
                if (first > 0) move_up(x);
            const auto arrive_as_reader = [&] {
                if (panel == panels - 1 && first + together == tile::warp_rows) arrive(shared.read[slot]);
            };
            const pixels rows = pixels_of(slot, panel).from_row(warp * tile::warp_rows + first);
            scanned some[together][lane_cols];
            if constexpr (std::is_same_v<Pixel, std::uint8_t> || std::is_same_v<Pixel, with_square<std::uint8_t>>)
                scan_pairs_of_rows(some, rows, arrive_as_reader);
            else
                scan_each_row(some, rows, arrive_as_reader);
            constexpr int behind = tile::warp_rows - together;  // rows that came before
#pragma unroll
            for (int k = 0; k < together; ++k)
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    const bool has_above = k > 0 || (behind > 0 && first > 0);
                    x[behind + k][i] = has_above ? x[behind + k > 0 ? behind + k - 1 : 0][i] + some[k][i] : some[k][i];
                }
        }
    }

    /// Rows that are read and scanned together. All where code is short. A multiprocessor has about 40 KB of
    /// instructions at hand: where its roles go through more again and again, warps wait for them, with three and four
    /// channels for a quarter of the time of `finish`. There, half of the rows, twice: 32f32f 0.985 of the time, two
    /// and four channels of 8u32u in prime rows 0.97 and 0.985.
    static constexpr int together = Channels == 1 ? tile::warp_rows : tile::warp_rows / 2;

    /// Makes room for the next ones at the end of x, whose places are registers.
    __device__ static void move_up(scanned (&x)[tile::warp_rows][lane_cols]) {
#pragma unroll
        for (int k = 0; k + together < tile::warp_rows; ++k)
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] = x[k + together][i];
    }

    template <typename Arrive>
    __device__ void scan_each_row(scanned (&x)[together][lane_cols], const pixels& rows,
                                  Arrive arrive_as_reader) const {
#pragma unroll
        for (int k = 0; k < together; ++k) {
            const auto from = rows.of_lane(k, lane);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] = widen<scanned>(from.x[i]);
        }
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < together; ++k) {
            if constexpr (has_squares)
                scan_both(x[k]);
            else if constexpr (Channels == 1 && !chain && std::is_same_v<scanned, float>)
                warp_scan_row<scan_steps::predicated>(x[k]);
            else
                warp_scan_channels<Channels>(x[k]);
        }
    }

    /// A row of sums and squares, each by steps of its own.
    __device__ static void scan_both(scanned (&x)[lane_cols]) {
        decltype(scanned::sum) sums[lane_cols];
        decltype(scanned::squares) squares[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            sums[i] = x[i].sum;
            squares[i] = x[i].squares;
        }
        warp_scan_row<scan_steps::predicated>(sums);
        warp_scan_row<scan_steps::predicated>(squares);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) x[i] = {sums[i], squares[i]};
    }

    /// The same with 16 bits for each of two rows, so that they share the exchanges of a scan. Squares have scans of
    /// their own.
    template <typename Arrive>
    __device__ void scan_pairs_of_rows(scanned (&x)[together][lane_cols], const pixels& rows,
                                       Arrive arrive_as_reader) const {
        static_assert(tile::cols * 255 < 1 << 16);
        // Four pixels of a channel instead of four channels of a pixel, which the other order of reading gives away.
        constexpr bool turned = Channels == 4 && lane_cols == 4;
        std::uint32_t pair[together / 2][lane_cols];
#pragma unroll
        for (int k = 0; k < together / 2; ++k) {
            const int row = 2 * k;
            if constexpr (turned) {
                const uint4 upper = rows.chunk(row, lane / 4), lower = rows.chunk(row + 1, lane / 4);
                const unsigned channel = lane % 4, select = channel | (channel + 4) << 8;
                pair[k][0] = __byte_perm(upper.x, lower.x, select) & 0x00ff00ffu;
                pair[k][1] = __byte_perm(upper.y, lower.y, select) & 0x00ff00ffu;
                pair[k][2] = __byte_perm(upper.z, lower.z, select) & 0x00ff00ffu;
                pair[k][3] = __byte_perm(upper.w, lower.w, select) & 0x00ff00ffu;
            } else if constexpr (lane_cols == 4) {
                std::uint32_t upper, lower;
                const auto pixels_above = rows.of_lane(row, lane), pixels_below = rows.of_lane(row + 1, lane);
                memcpy(&upper, &pixels_above, 4);
                memcpy(&lower, &pixels_below, 4);
                // A number of a selector is a byte of the first word, from 4 on of the second.
                const std::uint32_t even[2] = {upper & 0x00ff00ffu, lower & 0x00ff00ffu};
                const std::uint32_t odd[2] = {upper & 0xff00ff00u, lower & 0xff00ff00u};
                pair[k][0] = __byte_perm(even[0], even[1], 0x5410);
                pair[k][1] = __byte_perm(odd[0], odd[1], 0x4501);
                pair[k][2] = __byte_perm(even[0], even[1], 0x7632);
                pair[k][3] = __byte_perm(odd[0], odd[1], 0x6723);
            } else {
                const auto upper = rows.of_lane(row, lane), lower = rows.of_lane(row + 1, lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    if constexpr (has_squares)
                        pair[k][i] = std::uint32_t{upper.x[i].x} | std::uint32_t{lower.x[i].x} << 16;
                    else
                        pair[k][i] = std::uint32_t{upper.x[i]} | std::uint32_t{lower.x[i]} << 16;
                }
            }
        }
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < together; k += 2) {
            if constexpr (has_squares) scan_squares_of_pair(x[k], x[k + 1], pair[k / 2]);
            if constexpr (turned) {
                scan_turned_fours(pair[k / 2]);
                turn_fours(pair[k / 2]);
            } else if constexpr (Channels == 1) {
                warp_scan_row<scan_steps::predicated>(pair[k / 2]);
            } else {
                warp_scan_channels<Channels>(pair[k / 2]);
            }
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const std::uint32_t upper = pair[k / 2][i] & 0xffffu, lower = pair[k / 2][i] >> 16;
                if constexpr (has_squares) {
                    x[k][i].sum = upper;
                    x[k + 1][i].sum = lower;
                } else {
                    x[k][i] = static_cast<scanned>(upper);
                    x[k + 1][i] = static_cast<scanned>(lower);
                }
            }
        }
    }

    __device__ static void scan_squares_of_pair(scanned (&upper)[lane_cols], scanned (&lower)[lane_cols],
                                                const std::uint32_t (&pixels)[lane_cols]) {
        std::uint32_t squares[2][lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            const std::uint32_t of_upper = pixels[i] & 0xffffu, of_lower = pixels[i] >> 16;
            squares[0][i] = of_upper * of_upper;
            squares[1][i] = of_lower * of_lower;
        }
        warp_scan_row<scan_steps::predicated>(squares[0]);
        warp_scan_row<scan_steps::predicated>(squares[1]);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            upper[i].squares = squares[0][i];
            lower[i].squares = squares[1][i];
        }
    }

    /// Adds the rows' carries to channels that share a row. A single channel's wait in a register a lane until store().
    __device__ void add_carries(Sum (&x)[tile::warp_rows][lane_cols], const aligned_position& at, unsigned slot,
                                int panel, int warp) const {
        const unsigned first = first_channel(at.col, panel, lane);
        const Sum* const carry = shared.carry[slot][panel] + warp * tile::warp_rows * Channels;
#pragma unroll
        for (int k = 0; k < tile::warp_rows; ++k) {
            Sum of_channel[lane_cols];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                of_channel[i] = i < Channels ? carry[k * Channels + (first + i) % Channels] : of_channel[i - Channels];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] += of_channel[i];
        }
    }

    /// What lane l has for store(): the carry of row l, and lane l + 16 the sum left of the tile in that row, which is
    /// the one above the tile (`corner`) and all that lies left of the tile down to the row, its carry.
    __device__ Sum carries_and_left(Sum carry, Sum corner) const {
        return lane < tile::warp_rows ? carry : corner + carry;
    }

    /// Before the kernel ends, by all lanes.
    static __device__ void settle_stores() {
        if constexpr (roles::rows_on_their_way > 0) decltype(shared.stage)::rows::settle();
    }

    /// Stores a panel: x + top + the row's carry, see carries_and_left(); with several channels x has them. Which rows
    /// are in the table is asked where they are stored, not before they are exchanged between lanes: an exchange in a
    /// branch that the compiler takes for one of single lanes costs registers, and code of their own for the last rows
    /// of tiles would come from memory when nothing is left to hide that (exclusive 32f32f at 4096 0.96 of the time).
    __device__ void store(const aligned_position& at, int panel, int warp,
                          const scanned (&x)[tile::warp_rows][lane_cols], const Sum (&top)[lane_cols], Sum carries,
                          const aligned_beside_sums* beside) const {
        // Sums last: with two panels the other order takes 1.01 of the time (8u32u64u at 16384).
        if constexpr (has_squares) store_table<squares_table>(at, panel, warp, x, top, carries, beside);
        store_table<sums_table>(at, panel, warp, x, top, carries, beside);
    }

    // A table: its entries, where the first of a tile's is, and bytes from row to row.

    struct sums_table {
        using entry = typename roles::table_sum;
        __device__ static std::byte* first(const aligned_plan&, const aligned_position& at) { return at.to; }
        __device__ static std::int64_t stride(const aligned_plan& p) { return p.row_stride; }
        template <typename T>
        __device__ static auto of(const T& value) {
            if constexpr (is_sum_and_squares<T>)
                return value.sum;
            else
                return value;
        }
    };

    struct squares_table {
        using entry = typename aligned_tables<Sum>::squares;
        __device__ static std::byte* first(const aligned_plan& p, const aligned_position& at) {
            return p.squares + at.plane * p.squares_plane_stride +
                   std::int64_t{at.row} * tile::rows * p.squares_row_stride +
                   std::int64_t{at.col} * (roles::cols_of_tile * static_cast<int>(sizeof(entry)));
        }
        __device__ static std::int64_t stride(const aligned_plan& p) { return p.squares_row_stride; }
        template <typename T>
        __device__ static auto of(const T& value) {
            return value.squares;
        }
    };

    /// A panel of one table.
    template <typename Table>
    __device__ void store_table(const aligned_position& at, int panel, int warp,
                                const scanned (&x)[tile::warp_rows][lane_cols], const Sum (&top)[lane_cols],
                                Sum carries, [[maybe_unused]] const aligned_beside_sums* beside) const {
        using entry = typename Table::entry;
        constexpr int rows = tile::warp_rows, panel_bytes = tile::cols * static_cast<int>(sizeof(entry));
        std::byte* to = Table::first(p, at) + panel * panel_bytes + warp * rows * Table::stride(p);
        const int valid_rows = at.valid_rows - warp * rows, valid_cols = valid_cols_of(at, panel);
        const auto sums_of = [&](entry(&sums)[lane_cols], int k) {
            const entry carry = Channels == 1 ? __shfl_sync(whole_warp, Table::of(carries), k) : entry{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                sums[i] = static_cast<entry>(Table::of(x[k][i])) + (Table::of(top[i]) + carry);
        };
        const auto left_of = [&](int k) { return __shfl_sync(whole_warp, Table::of(carries), rows + k); };
        if (Store == aligned_store::straight || (Channels > 1 && p.rows_aligned && p.cols % lane_cols == 0)) {
            const int pieces = valid_cols / lane_cols;
            if (Channels == 1 && at.last_col)
                store_elements<Table>(to, valid_rows, pieces * lane_cols, valid_cols, sums_of);
            store_pieces<Table>(to, warp, valid_rows, pieces, sums_of);
        } else if (one_behind) {
            // Pieces start with the sum before the row; of the last column of tiles, there may be one more.
            const int pieces = at.last_col ? (valid_cols + 1) / lane_cols : 32;
            if (at.last_col)
                store_elements<Table>(to, valid_rows, min(pieces, 32) * lane_cols - 1, valid_cols, sums_of);
            store_pieces<Table>(to - sizeof(entry), warp, valid_rows, pieces, [&](entry(&sums)[lane_cols], int k) {
                sums_of(sums, k);
                move_one_behind(sums, left_of(k), lane);
            });
        } else if constexpr (!has_squares) {
            if (valid_cols < tile::cols) {
                if (pairs_take_left && at.col > 0) store_left_sums(to, valid_rows, carries);
                // The tile to the left, if there is one, has stored some of them, too: the same sums.
                store_elements<Table>(to, valid_rows, 0, valid_cols, sums_of);
            } else {
                const typename shared_memory::row_ends ends(shared.ends[warp], lane);
                const row_place place{pairs_take_left && at.col > 0, !pairs_take_left || at.last_col};
                row_piece<Sum, lane_cols> piece(to, lane);
#pragma unroll
                for (int k = 0; k < rows; ++k, piece.move(p.row_stride)) {
                    Sum sums[lane_cols];
                    sums_of(sums, k);
                    const Sum left = pairs_take_left ? left_of(k) : Sum{};
                    store_row<pairs_take_left>(piece, sums, left, place, ends, k, k < valid_rows, lane);
                    if ((k + 1) % ends.rows > 0) continue;
                    const int first = k + 1 - ends.rows;
                    std::byte* const first_row = piece.row(lane) - (ends.rows - 1) * p.row_stride;
                    if constexpr (roles::whole_sectors)
                        ends.store_whole(
                            first_row, p.row_stride, valid_rows - first, at.col == 0, valid_cols - tile::cols,
                            [&](int row, int col) {
                                return beside->of_rows[warp][first + row][col] + beside->above[warp][col];
                            },
                            lane);
                    else
                        ends.store(first_row, p.row_stride, valid_rows - first, place, lane);
                }
            }
        }
        if (p.border && (at.row == 0 || at.col == 0)) store_border<Table>(at, panel, warp);
    }

    /// Of this warp's rows, sums_of(x, k) each, the first `pieces` of a lane each, from `to` on, a multiple of 16
    /// bytes.
    template <typename Table, typename SumsOf>
    __device__ void store_pieces(std::byte* to, int warp, int valid_rows, int pieces, SumsOf sums_of) const {
        using entry = typename Table::entry;
        constexpr int rows = tile::warp_rows, piece_bytes = lane_cols * static_cast<int>(sizeof(entry));
        const int lane_rows = lane < pieces ? valid_rows : 0;
#pragma unroll
        for (int k = 0; k < rows; ++k, to += Table::stride(p)) {
            entry sums[lane_cols];
            sums_of(sums, k);
            if constexpr (roles::rows_on_their_way > 0) {
                using staged = typename decltype(shared.stage)::rows;
                static_assert(rows % staged::rows_of_group == 0);
                staged{shared.stage.memory[warp]}.store(to, Table::stride(p), sums, k, valid_rows, pieces, lane);
            } else {
                store_streaming_if(k < lane_rows, reinterpret_cast<entry*>(to + lane * piece_bytes), sums);
            }
        }
    }

    /// The elements of this warp's rows, sums_of(x, k) each, from number `first` on, one by one. In front of
    /// store_pieces(), not behind it, whose registers it would take.
    template <typename Table, typename SumsOf>
    __device__ void store_elements(std::byte* to, int valid_rows, int first, int valid_cols, SumsOf sums_of) const {
        using entry = typename Table::entry;
        if (first >= valid_cols || first >= tile::cols) return;
        to += lane * (lane_cols * static_cast<int>(sizeof(entry)));
#pragma unroll
        for (int k = 0; k < tile::warp_rows; ++k, to += Table::stride(p)) {
            entry sums[lane_cols];
            sums_of(sums, k);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const int col = lane * lane_cols + i;
                if (k < valid_rows && first <= col && col < valid_cols)
                    store_streaming(reinterpret_cast<entry*>(to) + i, sums[i]);
            }
        }
    }

    /// The sums left of this warp's rows, see carries_and_left(), one by one, where rows start one sum behind a
    /// multiple of 16 bytes.
    __device__ void store_left_sums(std::byte* to, int valid_rows, Sum carries) const {
        const int k = lane - tile::warp_rows;
        Sum* const row = reinterpret_cast<Sum*>(to + k * p.row_stride);
        if (k >= 0 && k < valid_rows && reinterpret_cast<std::uintptr_t>(row) % 16 == sizeof(Sum))
            store_streaming(row - 1, carries);
    }

    __device__ static int valid_cols_of(const aligned_position& at, int panel) {
        return at.valid_cols - panel * tile::cols;
    }

    /// The zeros beside a panel of the first row or column of tiles.
    template <typename Table>
    __device__ void store_border(const aligned_position& at, int panel, int warp) const {
        using entry = typename Table::entry;
        constexpr int panel_bytes = tile::cols * static_cast<int>(sizeof(entry));
        std::byte* const first = Table::first(p, at);
        if (at.row == 0 && warp == 0)
            store_zeros<lane_cols>(reinterpret_cast<entry*>(first + panel * panel_bytes - Table::stride(p)),
                                   valid_cols_of(at, panel), lane);
        if (at.col > 0 || panel > 0) return;
        const int row = warp * tile::warp_rows + lane;
        entry* const to = reinterpret_cast<entry*>(first + row * Table::stride(p)) - Channels;
#pragma unroll
        for (int c = 0; c < Channels; ++c)
            if (lane < tile::warp_rows && row < at.valid_rows) store_streaming(to + c, entry{});
        // The corner, where the first row of tiles meets the first column.
        if (at.row == 0 && warp == 0 && lane < Channels)
            store_streaming(reinterpret_cast<entry*>(first - Table::stride(p)) - Channels + lane, entry{});
    }
};

}  // namespace boxsum::cuda
