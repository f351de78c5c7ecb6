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
    using roles::cols_of_tile;
    using roles::first_channel;
    using roles::lane;
    using roles::lane_cols;
    using roles::may_take_left;
    using roles::p;
    using roles::pairs_take_left;
    using roles::panel_bytes;
    using roles::panels;
    using roles::pixels_of;
    using roles::shared;

    /// This warp's 16 rows of a panel, scanned along both directions.
    __device__ void scan_rows(scanned (&x)[tile::warp_rows][lane_cols], unsigned slot, int panel, unsigned plane,
                              int warp) const {
        const pixels tile_pixels = pixels_of(slot, panel, plane);
#pragma unroll 1
        for (int first = 0; first < tile::warp_rows; first += together) {
            if constexpr (together < tile::warp_rows)
                if (first > 0) move_up(x);
            const auto arrive_as_reader = [&] {
                if (panel == panels - 1 && first + together == tile::warp_rows) arrive(shared.read[slot]);
            };
            scanned some[together][lane_cols];
            if constexpr (std::is_same_v<Pixel, std::uint8_t>)
                scan_pairs_of_rows(some, tile_pixels, warp * tile::warp_rows + first, arrive_as_reader);
            else
                scan_each_row(some, tile_pixels, warp * tile::warp_rows + first, arrive_as_reader);
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
    /// channels for a quarter of the time of `finish`. There, half of the rows, twice: 32f32f 0.985 of the time. 8u in
    /// rows that start anywhere is an exception, 1.03: its reads are waited for twice.
    static constexpr int together =
        Channels == 1 || (pixels::shifted && sizeof(Pixel) == 1) ? tile::warp_rows : tile::warp_rows / 2;

    /// Makes room for the next ones at the end of x, whose places are registers.
    __device__ static void move_up(scanned (&x)[tile::warp_rows][lane_cols]) {
#pragma unroll
        for (int k = 0; k + together < tile::warp_rows; ++k)
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] = x[k + together][i];
    }

    template <typename Arrive>
    __device__ void scan_each_row(scanned (&x)[together][lane_cols], const pixels& tile_pixels, int first_row,
                                  Arrive arrive_as_reader) const {
#pragma unroll
        for (int k = 0; k < together; ++k) {
            const auto from = tile_pixels.of_lane(first_row + k, lane);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] = widen<scanned>(from.x[i]);
        }
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < together; ++k) {
            if constexpr (Channels == 1 && !chain)
                warp_scan_row<scan_steps::predicated>(x[k]);
            else
                warp_scan_channels<Channels>(x[k]);
        }
    }

    /// The same with 16 bits for each of two rows, so that they share the exchanges of a scan.
    template <typename Arrive>
    __device__ void scan_pairs_of_rows(scanned (&x)[together][lane_cols], const pixels& tile_pixels, int first_row,
                                       Arrive arrive_as_reader) const {
        static_assert(tile::cols * 255 < 1 << 16);
        // Four pixels of a channel instead of four channels of a pixel, which the other order of reading gives away.
        constexpr bool turned = Channels == 4 && lane_cols == 4 && !pixels::shifted;
        std::uint32_t pair[together / 2][lane_cols];
#pragma unroll
        for (int k = 0; k < together / 2; ++k) {
            const int row = first_row + 2 * k;
            if constexpr (turned) {
                const uint4 upper = tile_pixels.chunk(row, lane / 4), lower = tile_pixels.chunk(row + 1, lane / 4);
                const unsigned channel = lane % 4, select = channel | (channel + 4) << 8;
                pair[k][0] = __byte_perm(upper.x, lower.x, select) & 0x00ff00ffu;
                pair[k][1] = __byte_perm(upper.y, lower.y, select) & 0x00ff00ffu;
                pair[k][2] = __byte_perm(upper.z, lower.z, select) & 0x00ff00ffu;
                pair[k][3] = __byte_perm(upper.w, lower.w, select) & 0x00ff00ffu;
            } else {
                const auto upper = tile_pixels.of_lane(row, lane), lower = tile_pixels.of_lane(row + 1, lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    pair[k][i] = std::uint32_t{upper.x[i]} | std::uint32_t{lower.x[i]} << 16;
            }
        }
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < together; k += 2) {
            if constexpr (turned) {
                scan_turned_fours(pair[k / 2]);
                turn_fours(pair[k / 2]);
            } else {
                warp_scan_channels<Channels>(pair[k / 2]);
            }
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                x[k][i] = static_cast<scanned>(pair[k / 2][i] & 0xffffu);
                x[k + 1][i] = static_cast<scanned>(pair[k / 2][i] >> 16);
            }
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

    using staged = staged_rows<Sum, lane_cols, std::max(2, roles::staged_rows)>;
    static_assert(tile::warp_rows % staged::rows_of_group == 0);

    /// Before the kernel ends, by all lanes.
    static __device__ void settle_stores() {
        if constexpr (roles::staged_rows > 0) staged::settle();
    }

    /// Stores a panel: x + top + the row's carry, see carries_and_left(); with several channels x has them.
    __device__ void store(const aligned_position& at, int panel, int warp,
                          const scanned (&x)[tile::warp_rows][lane_cols], const Sum (&top)[lane_cols],
                          Sum carries) const {
        constexpr int rows = tile::warp_rows;
        std::byte* to = at.to + panel * panel_bytes + warp * rows * p.row_stride;
        const auto sums_of = [&](Sum(&sums)[lane_cols], int k) {
            const Sum carry = Channels == 1 ? __shfl_sync(whole_warp, carries, k) : Sum{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sums[i] = static_cast<Sum>(x[k][i]) + (top[i] + carry);
        };
        const auto whole = [&] { return valid_rows_of(at) >= tile::rows && valid_cols_of(at, panel) >= tile::cols; };
        // Rows of one channel that are aligned have kernels of their own.
        if (!may_take_left && at.straight) {
            if constexpr (roles::staged_rows > 0) {
                const staged staged_rows{shared.stage.memory[warp]};
#pragma unroll
                for (int k = 0; k < rows; ++k, to += p.row_stride) {
                    Sum sums[lane_cols];
                    sums_of(sums, k);
                    staged_rows.store(to, p.row_stride, sums, k, lane);
                }
            } else {
                to += lane * 16;
#pragma unroll
                for (int k = 0; k < rows; ++k, to += p.row_stride) {
                    Sum sums[lane_cols];
                    sums_of(sums, k);
                    store_streaming(reinterpret_cast<Sum*>(to), sums);
                }
            }
            return;
        }
        if (may_take_left && p.one_behind && whole()) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.row_stride) {
                Sum sums[lane_cols];
                sums_of(sums, k);
                const Sum left = __shfl_sync(whole_warp, carries, rows + k);
                store_row_one_behind(reinterpret_cast<Sum*>(to), sums, left, at.last_col, lane);
            }
        } else if (Store == aligned_store::anywhere && whole()) {
            const typename shared_memory::row_ends ends{shared.ends[warp]};
            const row_place place{pairs_take_left && at.col > 0, !pairs_take_left || at.last_col};
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.row_stride) {
                Sum sums[lane_cols];
                sums_of(sums, k);
                const Sum left = pairs_take_left ? __shfl_sync(whole_warp, carries, rows + k) : Sum{};
                store_row(reinterpret_cast<Sum*>(to), sums, left, place, ends, k, lane);
                if ((k + 1) % ends.rows == 0)
                    ends.store(to - (ends.rows - 1) * p.row_stride, p.row_stride, ends.rows, place, lane);
            }
        } else {
            store_part(at, panel, warp, to, carries, sums_of);
        }
        if (p.border && (at.row == 0 || at.col == 0)) store_border(at, panel, warp);
    }

    /// The part of a tile that is in the table. What takes few registers, for these tiles are few.
    template <typename SumsOf>
    __device__ void store_part(const aligned_position& at, int panel, int warp, std::byte* to, Sum carries,
                               SumsOf sums_of) const {
        constexpr int rows = tile::warp_rows;
        const int valid_rows = valid_rows_of(at) - warp * rows;
        const auto takes_left = [&](const std::byte* row) {
            return this->takes_left() && elements_to_boundary(reinterpret_cast<const Sum*>(row)) == lane_cols - 1;
        };
        std::byte* const row_of_left = to + (lane - rows) * p.row_stride;
        if ((p.one_behind || at.col > 0) && lane >= rows && lane - rows < valid_rows && takes_left(row_of_left))
            store_streaming(reinterpret_cast<Sum*>(row_of_left) - 1, carries);
#pragma unroll
        for (int k = 0; k < rows; ++k, to += p.row_stride) {
            Sum sums[lane_cols];
            sums_of(sums, k);
            const int valid_cols =
                (!at.last_col && takes_left(to) ? tile::cols - 1 : valid_cols_of(at, panel)) - lane * lane_cols;
            Sum* const chunk = reinterpret_cast<Sum*>(to + lane * 16);
            if (p.rows_aligned && k < valid_rows && valid_cols >= lane_cols) {
                store_streaming(chunk, sums);
            } else {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k < valid_rows && i < valid_cols) store_streaming(chunk + i, sums[i]);
            }
        }
    }

    /// Rows and columns of a panel that are in the table; perhaps more than it has.
    __device__ static int at_most_int(std::int64_t x) {
        return static_cast<int>(x < 1 << 30 ? x : 1 << 30);
    }
    __device__ int valid_rows_of(const aligned_position& at) const {
        return at_most_int(p.rows - std::int64_t{at.row} * tile::rows);
    }
    __device__ int valid_cols_of(const aligned_position& at, int panel) const {
        return at_most_int(p.cols - (std::int64_t{at.col} * cols_of_tile + panel * tile::cols));
    }

    /// The zeros beside a panel of the first row or column of tiles.
    __device__ void store_border(const aligned_position& at, int panel, int warp) const {
        if (at.row == 0 && warp == 0)
            store_zeros<lane_cols>(reinterpret_cast<Sum*>(at.to + panel * panel_bytes - p.row_stride),
                                   valid_cols_of(at, panel), lane);
        if (at.col > 0 || panel > 0) return;
        const int row = warp * tile::warp_rows + lane;
        Sum* const to = reinterpret_cast<Sum*>(at.to + row * p.row_stride) - Channels;
#pragma unroll
        for (int c = 0; c < Channels; ++c)
            if (lane < tile::warp_rows && row < valid_rows_of(at)) store_streaming(to + c, Sum{});
        // The corner, where the first row of tiles meets the first column.
        if (at.row == 0 && warp == 0 && lane < Channels)
            store_streaming(reinterpret_cast<Sum*>(at.to - p.row_stride) - Channels + lane, Sum{});
    }
};

}  // namespace boxsum::cuda
