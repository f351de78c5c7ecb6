#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/production/sat/exchange.cuh"
#include "cuda/production/sat/halves.cuh"

#include <cstdint>
#include <type_traits>

/// What role `finish` of the aligned pipeline does with a panel: scans it in registers, and stores it in rows that
/// start anywhere, with the border beside it. kernel.cuh has the picture.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, tile_kernel K>
struct tile_finish : tile_roles<Pixel, Sum, K> {
    using roles = tile_roles<Pixel, Sum, K>;
    static constexpr tile_store Store = K.store;
    static constexpr int Channels = K.channels;
    using pixels = typename roles::pixels;
    using scanned = typename roles::scanned;
    using shared_memory = typename roles::shared_memory;
    using tile = typename roles::tile;
    using roles::arrive;
    using roles::chain;
    using roles::first_channel;
    using roles::has_squares;
    using roles::lane;
    using roles::lane_cols;
    using roles::one_behind;
    using roles::p;
    using roles::panels;
    using roles::pixels_of;
    using roles::shared;
    using roles::tile_roles;

    /// Whether a panel's sums stay in halves of registers until they are stored.
    static constexpr bool in_halves =
        std::is_same_v<Pixel, std::uint8_t> && lane_cols == 4 && (Channels > 1 || rows_anywhere(Store));
    /// What a lane of `finish` has of a panel: its columns of the warp's rows.
    using panel_sums = std::conditional_t<in_halves, sums_in_halves<Channels>, scanned[tile::warp_rows][lane_cols]>;
    /// Whether there is code of its own for each place where rows that start anywhere may start, if it changes from row
    /// to row as in packed tables: half of the instructions of a store, twice the code, of which a table needs a part.
    // H200, 13.0: 8u32u packed 0.965 at 4093, 1.005 padded at 4096; 32f32f 1.12
    static constexpr bool places_are_known = in_halves && Channels == 1;
    /// Whether carries stay in shared memory until rows are stored. There are three slots, so that `carry` never waits
    /// for their place.
    static constexpr bool carries_stay = in_halves && Channels > 1;
    static_assert(!carries_stay || shared_memory::slots > 2);
    /// The rows' carries, where they are; or that of row l in lane l, see carries_and_left().
    using panel_carries = std::conditional_t<carries_stay, carries_of_rows<Sum>, Sum>;

    /// This warp's 16 rows of a panel, scanned along both directions.
    __device__ void scan_rows(sums_in_halves<Channels>& x, unsigned slot, int panel, int warp) const {
        x.scan(pixels_of(slot, panel).from_row(warp * tile::warp_rows), lane, [&] {
            if (panel == panels - 1) arrive(shared.read[slot]);
        });
    }
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

    /// Of the columns of this warp's rows.
    __device__ static void take_last_row(scanned (&last)[lane_cols], const panel_sums& x) {
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) {
            if constexpr (in_halves)
                last[i] = static_cast<scanned>(x.of_column(i));
            else
                last[i] = x[tile::warp_rows - 1][i];
        }
    }

    /// Rows that are read and scanned together. All where code is short. A multiprocessor has about 40 KB of
    /// instructions at hand: where its roles go through more again and again, warps wait for them, with three and four
    /// channels for a quarter of the time of `finish`. There, half of the rows, twice.
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
        std::uint32_t pair[together / 2][lane_cols];
#pragma unroll
        for (int k = 0; k < together / 2; ++k) {
            const int row = 2 * k;
            if constexpr (lane_cols == 4) {
                pair_bytes(pair[k], rows.word(row, lane), rows.word(row + 1, lane));
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
            if constexpr (Channels == 1) {
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
    __device__ void add_carries(Sum (&x)[tile::warp_rows][lane_cols], const tile_position& at, unsigned slot, int panel,
                                int warp) const {
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
    /// the one above the tile (`corner`) and all that lies left of the tile down to the row, its carry. In the first
    /// column of tiles it is the border's, which has what lies left of the part.
    __device__ Sum carries_and_left(Sum carry, Sum corner, const tile_position& at, int warp) const {
        if (p.has_left && at.col == 0 && lane >= tile::warp_rows) {
            const std::int64_t row = std::int64_t{at.row} * tile::rows + (warp - 1) * tile::warp_rows + lane;
            return this->part_carries().left(at.plane, min(row, p.rows - 1), 0);
        }
        return lane < tile::warp_rows ? carry : corner + carry;
    }

    /// Before the kernel ends, by all lanes.
    static __device__ void settle_stores() {
        if constexpr (roles::rows_on_their_way > 0) decltype(shared.stage)::rows::settle();
    }

    /// Stores a panel: x + top + the row's carry, see carries_and_left(); with several channels x has them. Which rows
    /// are in the table is asked where they are stored, not before they are exchanged between lanes: an exchange in a
    /// branch that the compiler takes for one of single lanes costs registers, and code of their own for the last rows
    /// of tiles would come from memory when nothing is left to hide that.
    __device__ void store(const tile_position& at, int panel, int warp, const panel_sums& x,
                          const Sum (&top)[lane_cols], panel_carries carries, const beside_sums* beside) const {
        if constexpr (has_squares) store_table<squares_table>(at, panel, warp, x, top, carries, beside);
        store_table<sums_table>(at, panel, warp, x, top, carries, beside);
    }

    // A table: its entries, where the first of a tile's is, and bytes from row to row.

    struct sums_table {
        using entry = typename roles::table_sum;
        __device__ static std::byte* first(const tile_plan&, const tile_position& at) { return at.to; }
        __device__ static std::int64_t stride(const tile_plan& p) { return p.row_stride; }
        __device__ static const sat_carries& carries(const tile_plan& p) { return p.carries; }
        template <typename T>
        __device__ static auto of(const T& value) {
            if constexpr (is_sum_and_squares<T>)
                return value.sum;
            else
                return value;
        }
    };

    struct squares_table {
        using entry = typename tables_of<Sum>::squares;
        __device__ static std::byte* first(const tile_plan& p, const tile_position& at) {
            return p.squares + at.plane * p.squares_plane_stride +
                   std::int64_t{at.row} * tile::rows * p.squares_row_stride +
                   std::int64_t{at.col} * (roles::cols_of_tile * static_cast<int>(sizeof(entry)));
        }
        __device__ static std::int64_t stride(const tile_plan& p) { return p.squares_row_stride; }
        __device__ static const sat_carries& carries(const tile_plan& p) { return p.squares_carries; }
        template <typename T>
        __device__ static auto of(const T& value) {
            return value.squares;
        }
    };

    /// A panel of one table.
    template <typename Table>
    __device__ void store_table(const tile_position& at, int panel, int warp, const panel_sums& x,
                                const Sum (&top)[lane_cols], panel_carries carries,
                                [[maybe_unused]] const beside_sums* beside) const {
        using entry = typename Table::entry;
        constexpr int rows = tile::warp_rows, panel_bytes = tile::cols * static_cast<int>(sizeof(entry));
        std::byte* to = Table::first(p, at) + panel * panel_bytes + warp * rows * Table::stride(p);
        const int valid_rows = at.valid_rows - warp * rows, valid_cols = valid_cols_of(at, panel);
        const auto each_row = [&](auto f) { this->template each_row<Table, 1>(x, top, carries, f); };
        const auto each_row_in_line = [&](auto f) { this->template each_row<Table, 2>(x, top, carries, f); };
        // Code of its own for each row, but not for channels, which have more of it.
        const auto each_row_anywhere = [&](auto f) {
            this->template each_row<Table, Channels == 1 ? 2 : 1>(x, top, carries, f);
        };
        if (Store == tile_store::straight || (Channels > 1 && p.rows_aligned && p.cols % lane_cols == 0)) {
            const int pieces = valid_cols / lane_cols;
            if (Channels == 1 && at.last_col)
                store_elements<Table>(to, valid_rows, pieces * lane_cols, valid_cols, each_row);
            store_pieces<Table>(to, warp, valid_rows, pieces, each_row_in_line);
        } else if constexpr (one_behind) {
            // Pieces start with the sum before the row; of the last column of tiles, there may be one more.
            const int pieces = at.last_col ? (valid_cols + 1) / lane_cols : 32;
            if (at.last_col)
                store_elements<Table>(to, valid_rows, min(pieces, 32) * lane_cols - 1, valid_cols, each_row);
            store_pieces<Table>(to - sizeof(entry), warp, valid_rows, pieces, [&](auto store_row) {
                each_row([&](entry(&sums)[lane_cols], int row, int k) {
                    move_one_behind(sums, left_of<Table>(carries, row), lane);
                    store_row(sums, row, k);
                });
            });
        } else if constexpr (!has_squares) {
            if (valid_cols < tile::cols) {
                // The tile to the left, if there is one, has stored some of them, too: the same sums.
                store_elements<Table>(to, valid_rows, 0, valid_cols, each_row);
            } else {
                const typename shared_memory::row_ends ends(shared.ends[warp], lane);
                row_piece<Sum, lane_cols> piece(to, lane);
                const auto store_rows = [&](auto before_of) {
                    each_row_anywhere([&](Sum(&sums)[lane_cols], int row, int k) {
                        store_row(piece, sums, ends, k, row < valid_rows, lane, before_of(k));
                        if ((k + 1) % ends.rows == 0) {
                            const int first = row + 1 - ends.rows;
                            std::byte* const first_row = piece.row(lane) - (ends.rows - 1) * p.row_stride;
                            if constexpr (roles::whole_sectors)
                                ends.store_whole(
                                    first_row, p.row_stride, valid_rows - first, at.col == 0, valid_cols - tile::cols,
                                    [&](int behind, int col) {
                                        return beside->of_rows[warp][first + behind][col] + beside->above[warp][col];
                                    },
                                    lane);
                            else
                                ends.store(first_row, p.row_stride, valid_rows - first, lane);
                        }
                        piece.move(p.row_stride);
                    });
                };
                if constexpr (places_are_known)
                    visit_row_places(piece.before(), static_cast<unsigned>(p.row_stride / sizeof(Sum)), store_rows);
                else
                    store_rows([](int) { return -1; });
            }
        }
        if (p.border && (at.row == 0 || at.col == 0) && !p.is_part) store_border<Table>(at, panel, warp);
    }

    /// f(sums, row, k) for each of this warp's rows, one after another: x + top + carry. Every k is a constant, `row`
    /// or what is left of it by 8.
    template <typename Table, int HalvesInLine, typename F>
    __device__ void each_row(const panel_sums& x, const Sum (&top)[lane_cols], const panel_carries& carries,
                             F f) const {
        using entry = typename Table::entry;
        if constexpr (in_halves) {
            x.template each_row<HalvesInLine>(
                top, [&](Sum(&carry)[lane_cols], int row) { take_carries(carry, carries, row); }, f);
        } else {
#pragma unroll
            for (int k = 0; k < tile::warp_rows; ++k) {
                entry sums[lane_cols];
                const entry carry = Channels == 1 ? __shfl_sync(whole_warp, Table::of(carries), k) : entry{};
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    sums[i] = static_cast<entry>(Table::of(x[k][i])) + (Table::of(top[i]) + carry);
                f(sums, k, k);
            }
        }
    }

    /// A row's carries, by element of the lane.
    __device__ static void take_carries(Sum (&carry)[lane_cols], const panel_carries& carries, int row) {
        if constexpr (Channels == 1) {
            const Sum all = __shfl_sync(whole_warp, carries, row);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) carry[i] = all;
        } else {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                carry[i] = i < Channels ? carries.of_channel[row * Channels + (carries.first + i) % Channels]
                                        : carry[i - Channels];
        }
    }

    /// See carries_and_left().
    template <typename Table>
    __device__ static auto left_of(Sum carries, int row) {
        return __shfl_sync(whole_warp, Table::of(carries), tile::warp_rows + row);
    }

    /// The first `pieces` of a lane each of every row, from `to` on, a multiple of 16 bytes.
    template <typename Table, typename EachRow>
    __device__ void store_pieces(std::byte* to, int warp, int valid_rows, int pieces, EachRow each_row) const {
        using entry = typename Table::entry;
        constexpr int piece_bytes = lane_cols * static_cast<int>(sizeof(entry));
        const int lane_rows = lane < pieces ? valid_rows : 0;
        each_row([&](entry(&sums)[lane_cols], int row, [[maybe_unused]] int k) {
            if constexpr (roles::rows_on_their_way > 0) {
                using staged = typename decltype(shared.stage)::rows;
                static_assert(tile::warp_rows % staged::rows_of_group == 0);
                staged{shared.stage.memory[warp]}.store(to, Table::stride(p), sums, k, valid_rows, pieces, lane);
            } else {
                store_streaming_if(row < lane_rows, reinterpret_cast<entry*>(to + lane * piece_bytes), sums);
            }
            to += Table::stride(p);
        });
    }

    /// The elements of each row from number `first` on, one by one. In front of store_pieces(), not behind it, whose
    /// registers it would take.
    template <typename Table, typename EachRow>
    __device__ void store_elements(std::byte* to, int valid_rows, int first, int valid_cols, EachRow each_row) const {
        using entry = typename Table::entry;
        if (first >= valid_cols || first >= tile::cols) return;
        to += lane * (lane_cols * static_cast<int>(sizeof(entry)));
        each_row([&](entry(&sums)[lane_cols], int row, int) {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const int col = lane * lane_cols + i;
                if (row < valid_rows && first <= col && col < valid_cols)
                    store_streaming(reinterpret_cast<entry*>(to) + i, sums[i]);
            }
            to += Table::stride(p);
        });
    }

    __device__ static int valid_cols_of(const tile_position& at, int panel) {
        return at.valid_cols - panel * tile::cols;
    }

    /// The zeros beside a panel of the first row or column of tiles.
    template <typename Table>
    __device__ void store_border(const tile_position& at, int panel, int warp) const {
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

    /// The border beside a tile of a part of a larger table, which has its carries there. By the warp that adds them to
    /// rows, `carry`: `finish` has no registers for it.
    __device__ void store_carries(const tile_position& at) const {
        if (!p.border || (at.row > 0 && at.col > 0)) return;
        if constexpr (has_squares) store_carries_of<squares_table>(at);
        store_carries_of<sums_table>(at);
    }

    template <typename Table>
    __device__ void store_carries_of(const tile_position& at) const {
        using entry = typename Table::entry;
        std::byte* const first = Table::first(p, at);
        if (at.row == 0) {
            entry* const above = reinterpret_cast<entry*>(first - Table::stride(p));
            const int cols = min(at.valid_cols, roles::cols_of_tile);
#pragma unroll 1
            for (int i = lane - (at.col == 0 ? Channels : 0); i < cols; i += 32)
                store_streaming(above + i,
                                carry_above<entry>(Table::carries(p), at.plane, roles::first_element(at, 0) + i));
        }
        if (at.col > 0) return;
#pragma unroll 1
        for (int row = lane; row < min(at.valid_rows, tile::rows); row += 32)
#pragma unroll 1
            for (int c = 0; c < Channels; ++c)
                store_streaming(reinterpret_cast<entry*>(first + row * Table::stride(p)) - Channels + c,
                                carry_left<entry>(Table::carries(p), at.plane, std::int64_t{at.row} * tile::rows + row,
                                                  c, Channels));
    }
};

}  // namespace boxsum::cuda
