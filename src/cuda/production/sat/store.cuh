#pragma once

#include "cuda/device/row_store.cuh"
#include "cuda/production/sat/block.cuh"

#include <cstdint>

/// Storing a panel, by role `finish`: rows that start anywhere, and the border beside the tile; by role `carry`: the
/// border of a part of a larger table.
namespace boxsum::cuda {

// A table: its entries, where the first of a tile's is, and bytes from row to row.

template <typename B>
struct sums_table {
    using entry = typename B::table_sum;
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

template <typename B>
struct squares_table {
    using entry = typename tables_of<typename B::sum>::squares;
    __device__ static std::byte* first(const tile_plan& p, const tile_position& at) {
        return p.squares + at.plane * p.squares_plane_stride +
               std::int64_t{at.row} * B::tile::rows * p.squares_row_stride +
               std::int64_t{at.col} * (B::cols_of_tile * static_cast<int>(sizeof(entry)));
    }
    __device__ static std::int64_t stride(const tile_plan& p) { return p.squares_row_stride; }
    __device__ static const sat_carries& carries(const tile_plan& p) { return p.squares_carries; }
    template <typename T>
    __device__ static auto of(const T& value) {
        return value.squares;
    }
};

template <typename B>
__device__ inline int valid_cols_of(const tile_position& at, int panel) {
    return at.valid_cols - panel * B::tile::cols;
}

/// A row's carries, by element of the lane.
template <typename B>
__device__ inline void take_carries(typename B::sum (&carry)[B::lane_cols], const typename B::panel_carries& carries,
                                    int row) {
    if constexpr (B::channels == 1) {
        const typename B::sum all = __shfl_sync(whole_warp, carries, row);
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) carry[i] = all;
    } else {
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i)
            carry[i] = i < B::channels ? carries.of_channel[row * B::channels + (carries.first + i) % B::channels]
                                       : carry[i - B::channels];
    }
}

/// See carries_and_left().
template <typename B, typename Table>
__device__ inline auto left_of(typename B::sum carries, int row) {
    return __shfl_sync(whole_warp, Table::of(carries), B::tile::warp_rows + row);
}

/// What a warp's sums have as they leave that those within tiles have not. Nothing, but of tables that grow from an
/// origin.
template <typename B, bool Outwards = B::outwards>
struct leaving_sums {
    __device__ leaving_sums(const B&, const tile_position&, int) {}
    template <typename Entries>
    __device__ void settle(Entries&, int) const {}
};

/// There they are negative where rows and columns go from the origin to different sides. And integers, of which pixels
/// are added up as they are, lose the offset of all of them.
template <typename B>
struct leaving_sums<B, true> {
    using sum = typename B::sum;
    static constexpr bool loses_offsets = std::is_integral_v<sum>;
    sum sign;
    sum of_column, of_row;  ///< offsets of a column down to the warp's first row, and of one pixel, signed
    sum cols;               ///< up to the lane's first one

    __device__ leaving_sums(const B& b, const tile_position& at, int warp)
        : sign(at.up == at.left ? sum{1} : sum{} - sum{1}) {
        if constexpr (loses_offsets) {
            of_row = sign * b.offset_of_plane(at.plane);
            of_column = of_row * static_cast<sum>(at.row * B::tile::rows + warp * B::tile::warp_rows + 1);
            cols = static_cast<sum>(at.col * B::cols_of_tile + b.lane * B::lane_cols + 1);
        }
    }

    /// Neighbours of a row of the warp. No zero becomes negative.
    __device__ void settle(sum (&x)[B::lane_cols], int row) const {
        if constexpr (loses_offsets) {
            const sum taken = of_column + static_cast<sum>(row) * of_row;
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i) x[i] = sign * x[i] - (taken * cols + taken * i);
        } else {
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i) x[i] = sign * x[i] + sum{};
        }
    }
    /// The sum left of lane 0's.
    __device__ sum settled_left(sum x, int row) const {
        if constexpr (loses_offsets)
            return sign * x - (of_column + static_cast<sum>(row) * of_row) * (cols - 1);
        else
            return sign * x + sum{};
    }
};

/// f(sums, row, k) for each of this warp's rows, one after another: x + top + carry. Every k is a constant, `row`
/// or what is left of it by 8.
template <typename Table, int HalvesInLine, typename B, typename F>
__device__ inline void each_row_of(const B& b, const typename B::panel_sums& x,
                                   const typename B::sum (&top)[B::lane_cols], const typename B::panel_carries& carries,
                                   const leaving_sums<B>& leaving, F f) {
    using entry = typename Table::entry;
    if constexpr (B::in_halves) {
        x.template each_row<HalvesInLine>(
            top, [&](typename B::sum(&carry)[B::lane_cols], int row) { take_carries<B>(carry, carries, row); },
            [&](typename B::sum(&sums)[B::lane_cols], int row, int k) {
                leaving.settle(sums, row);
                f(sums, row, k);
            });
    } else {
#pragma unroll
        for (int k = 0; k < B::tile::warp_rows; ++k) {
            entry sums[B::lane_cols];
            const entry carry = B::channels == 1 ? __shfl_sync(whole_warp, Table::of(carries), k) : entry{};
#pragma unroll
            for (int i = 0; i < B::lane_cols; ++i)
                sums[i] = static_cast<entry>(Table::of(x[k][i])) + (Table::of(top[i]) + carry);
            leaving.settle(sums, k);
            f(sums, k, k);
        }
    }
}

/// The first `pieces` of a lane each of every row, from `to` on, a multiple of 16 bytes; a lane's next ones are `step`
/// pieces further.
template <typename Table, typename B, typename EachRow>
__device__ inline void store_pieces(const B& b, std::byte* to, int step, std::int64_t stride, int warp, int valid_rows,
                                    int pieces, EachRow each_row) {
    using entry = typename Table::entry;
    constexpr int piece_bytes = B::lane_cols * static_cast<int>(sizeof(entry));
    const int lane_rows = b.lane < pieces ? valid_rows : 0;
    each_row([&](entry(&sums)[B::lane_cols], int row, [[maybe_unused]] int k) {
        if constexpr (B::rows_on_their_way > 0) {
            using staged = typename decltype(B::shared_memory::stage)::rows;
            static_assert(B::tile::warp_rows % staged::rows_of_group == 0);
            staged{b.shared.stage.memory[warp]}.store(to, stride, sums, k, valid_rows, pieces, b.lane);
        } else {
            store_streaming_if(row < lane_rows, reinterpret_cast<entry*>(to + step * b.lane * piece_bytes), sums);
        }
        to += stride;
    });
}

/// The elements of each row from number `first` on, one by one. In front of store_pieces(), not behind it, whose
/// registers it would take.
template <typename Table, typename B, typename EachRow>
__device__ inline void store_elements(const B& b, std::byte* to, int step, std::int64_t stride, int valid_rows,
                                      int first, int valid_cols, EachRow each_row) {
    using entry = typename Table::entry;
    if (first >= valid_cols || first >= B::tile::cols) return;
    to += step * b.lane * (B::lane_cols * static_cast<int>(sizeof(entry)));
    each_row([&](entry(&sums)[B::lane_cols], int row, int) {
#pragma unroll
        for (int i = 0; i < B::lane_cols; ++i) {
            const int col = b.lane * B::lane_cols + i;
            if (row < valid_rows && first <= col && col < valid_cols)
                store_streaming(reinterpret_cast<entry*>(to) + step * i, sums[i]);
        }
        to += stride;
    });
}

// Kernels without directions have the code that they would have by themselves.
// H100, 13.0: in another order of the same additions 32f64f packed 1.013 at 8192 and 16384

/// The entries of a pixel less than the one that starts at `entry`, as a row goes.
template <typename B, typename Entry>
__device__ inline Entry* pixel_before(Entry* entry, [[maybe_unused]] int step) {
    if constexpr (B::outwards)
        return entry - step * B::channels;
    else
        return entry - B::channels;
}

/// That has the next piece of a row in memory.
template <typename B>
__device__ inline int next_lane(int lane, [[maybe_unused]] int step) {
    if constexpr (B::outwards)
        return (lane + step) % 32u;
    else
        return (lane + 1) % 32;
}

/// The zeros beside a panel of the first row or column of tiles.
template <typename Table, typename B>
__device__ inline void store_border(const B& b, const tile_position& at, int panel, int warp) {
    using entry = typename Table::entry;
    constexpr int panel_bytes = B::tile::cols * static_cast<int>(sizeof(entry));
    std::byte* const first = Table::first(b.p, at);
    const std::int64_t stride = B::stride_of(at, Table::stride(b.p));
    const int step = B::step_of(at);
    if (at.row == 0 && warp == 0)
        store_zeros<B::lane_cols>(reinterpret_cast<entry*>(first + panel * panel_bytes - stride),
                                  valid_cols_of<B>(at, panel), b.lane, step);
    if (at.col > 0 || panel > 0) return;
    const int row = warp * B::tile::warp_rows + b.lane;
    entry* const to = pixel_before<B>(reinterpret_cast<entry*>(first + row * stride), step);
#pragma unroll
    for (int c = 0; c < B::channels; ++c)
        if (b.lane < B::tile::warp_rows && row < at.valid_rows) store_streaming(to + c, entry{});
    // The corner, where the first row of tiles meets the first column.
    if (at.row == 0 && warp == 0 && b.lane < B::channels)
        store_streaming(pixel_before<B>(reinterpret_cast<entry*>(first - stride), step) + b.lane, entry{});
}

/// A panel of one table.
template <typename Table, typename B>
__device__ inline void store_table(const B& b, const tile_position& at, int panel, int warp,
                                   const typename B::panel_sums& x, const typename B::sum (&top)[B::lane_cols],
                                   typename B::panel_carries carries, [[maybe_unused]] const beside_sums* beside) {
    using entry = typename Table::entry;
    constexpr int rows = B::tile::warp_rows, panel_bytes = B::tile::cols * static_cast<int>(sizeof(entry));
    const std::int64_t stride = B::stride_of(at, Table::stride(b.p));
    const int step = B::step_of(at);
    const leaving_sums<B> leaving(b, at, warp);
    std::byte* to = Table::first(b.p, at) + panel * panel_bytes + warp * rows * stride;
    const int valid_rows = at.valid_rows - warp * rows, valid_cols = valid_cols_of<B>(at, panel);
    const auto each_row = [&](auto f) { each_row_of<Table, 1>(b, x, top, carries, leaving, f); };
    const auto each_row_in_line = [&](auto f) { each_row_of<Table, 2>(b, x, top, carries, leaving, f); };
    // Code of its own for each row, but not for channels, which have more of it.
    const auto each_row_anywhere = [&](auto f) {
        each_row_of<Table, B::channels == 1 ? 2 : 1>(b, x, top, carries, leaving, f);
    };
    if (B::store == tile_store::straight || (B::channels > 1 && b.p.rows_aligned && b.p.cols % B::lane_cols == 0)) {
        const int pieces = valid_cols / B::lane_cols;
        if (B::channels == 1 && at.last_col)
            store_elements<Table>(b, to, step, stride, valid_rows, pieces * B::lane_cols, valid_cols, each_row);
        store_pieces<Table>(b, to, 1, stride, warp, valid_rows, pieces, each_row_in_line);
    } else if constexpr (B::one_behind) {
        // Pieces start with the sum before the row; of the last column of tiles, there may be one more. Left of an
        // origin they end with the row's first one.
        const int behind = step > 0 ? 1 : 0;
        const int pieces = at.last_col ? (valid_cols + behind) / B::lane_cols : 32;
        if (at.last_col)
            store_elements<Table>(b, to, step, stride, valid_rows, min(pieces, 32) * B::lane_cols - behind, valid_cols,
                                  each_row);
        const int first = step > 0 ? -1 : 1 - B::lane_cols;
        store_pieces<Table>(b, to + first * static_cast<int>(sizeof(entry)), step, stride, warp, valid_rows, pieces,
                            [&](auto store_row) {
                                each_row([&](entry(&sums)[B::lane_cols], int row, int k) {
                                    if constexpr (B::outwards)
                                        move_one_behind_or_turn(
                                            sums, leaving.settled_left(left_of<B, Table>(carries, row), row), step > 0,
                                            b.lane);
                                    else
                                        move_one_behind(sums, left_of<B, Table>(carries, row), b.lane);
                                    store_row(sums, row, k);
                                });
                            });
    } else if constexpr (!B::has_squares) {
        if (valid_cols < B::tile::cols) {
            // The tile to the left, if there is one, has stored some of them, too: the same sums.
            store_elements<Table>(b, to, step, stride, valid_rows, 0, valid_cols, each_row);
        } else {
            // Left of an origin, where rows end in memory they begin in registers.
            const int place = step > 0 ? b.lane : 31 - b.lane;
            if (step < 0) to -= (B::tile::cols - 1) * sizeof(entry);
            const typename B::shared_memory::row_ends ends(b.shared.ends[warp], place);
            row_piece<typename B::sum, B::lane_cols> piece(to, place);
            const auto store_rows = [&](auto before_of) {
                each_row_anywhere([&](typename B::sum(&sums)[B::lane_cols], int row, int k) {
                    if constexpr (B::outwards) turn_if(sums, step < 0);
                    store_row(piece, sums, ends, k, row < valid_rows, next_lane<B>(b.lane, step), before_of(k));
                    if ((k + 1) % ends.rows == 0) {
                        const int first = row + 1 - ends.rows;
                        std::byte* const first_row = piece.row(place) - (ends.rows - 1) * stride;
                        if constexpr (B::whole_sectors)
                            ends.store_whole(
                                first_row, stride, valid_rows - first, at.col == 0, valid_cols - B::tile::cols,
                                [&](int behind, int col) {
                                    return beside->of_rows[warp][first + behind][col] + beside->above[warp][col];
                                },
                                b.lane);
                        else
                            ends.store(first_row, stride, valid_rows - first, b.lane);
                    }
                    piece.move(stride);
                });
            };
            if constexpr (B::places_are_known)
                visit_row_places(piece.before(), static_cast<unsigned>(stride / sizeof(typename B::sum)), store_rows);
            else
                store_rows([](int) { return -1; });
        }
    }
    if (b.p.border && (at.row == 0 || at.col == 0) && !b.p.is_part) store_border<Table>(b, at, panel, warp);
}

/// Stores a panel: x + top + the row's carry, see carries_and_left(); with several channels x has them. Which rows
/// are in the table is asked where they are stored, not before they are exchanged between lanes: an exchange in a
/// branch that the compiler takes for one of single lanes costs registers, and code of their own for the last rows
/// of tiles would come from memory when nothing is left to hide that.
template <typename B>
__device__ inline void store_panel(const B& b, const tile_position& at, int panel, int warp,
                                   const typename B::panel_sums& x, const typename B::sum (&top)[B::lane_cols],
                                   typename B::panel_carries carries, const beside_sums* beside) {
    if constexpr (B::has_squares) store_table<squares_table<B>>(b, at, panel, warp, x, top, carries, beside);
    store_table<sums_table<B>>(b, at, panel, warp, x, top, carries, beside);
}

/// Before the kernel ends, by all lanes.
template <typename B>
__device__ inline void settle_stores() {
    if constexpr (B::rows_on_their_way > 0) decltype(B::shared_memory::stage)::rows::settle();
}

template <typename Table, typename B>
__device__ inline void store_carries_of(const B& b, const tile_position& at) {
    using entry = typename Table::entry;
    std::byte* const first = Table::first(b.p, at);
    if (at.row == 0) {
        entry* const above = reinterpret_cast<entry*>(first - Table::stride(b.p));
        const int cols = min(at.valid_cols, B::cols_of_tile);
#pragma unroll 1
        for (int i = b.lane - (at.col == 0 ? B::channels : 0); i < cols; i += 32)
            store_streaming(above + i, carry_above<entry>(Table::carries(b.p), at.plane, b.first_element(at, 0) + i));
    }
    if (at.col > 0) return;
#pragma unroll 1
    for (int row = b.lane; row < min(at.valid_rows, B::tile::rows); row += 32)
#pragma unroll 1
        for (int c = 0; c < B::channels; ++c)
            store_streaming(reinterpret_cast<entry*>(first + row * Table::stride(b.p)) - B::channels + c,
                            carry_left<entry>(Table::carries(b.p), at.plane, std::int64_t{at.row} * B::tile::rows + row,
                                              c, B::channels));
}

/// The border beside a tile of a part of a larger table, which has its carries there. By the warp that adds them to
/// rows, `carry`: `finish` has no registers for it.
template <typename B>
__device__ inline void store_carries(const B& b, const tile_position& at) {
    if (!b.p.border || (at.row > 0 && at.col > 0)) return;
    if constexpr (B::has_squares) store_carries_of<squares_table<B>>(b, at);
    store_carries_of<sums_table<B>>(b, at);
}

}  // namespace boxsum::cuda
