#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/sat/plan.hpp"
#include "cuda/production/sat/types.cuh"

#include <cstdint>
#include <cstring>
#include <type_traits>

/// Pixels of the tile pipeline's tiles, and their sums.
namespace boxsum::cuda {

/// Types of sums, by those of the pixel and of the table.
template <typename Pixel, typename Sum>
struct pixel_sums {
    static constexpr bool is_byte = std::is_same_v<Pixel, std::uint8_t>;

    /// What is added up within a tile, and within a group of rows of tiles: pixels of 8 and 16 bits need no more than
    /// 32 bits for it, whatever the table has.
    using in_tile =
        std::conditional_t<is_byte || std::is_same_v<Pixel, std::uint16_t> ||
                               std::is_same_v<Pixel, squared<std::uint8_t>>,
                           std::uint32_t, std::conditional_t<std::is_same_v<Pixel, std::int16_t>, std::int32_t, Sum>>;
    static_assert(std::int64_t{most_group_rows} * tile_shape<float>::rows * tile_shape<float>::cols * 0xffff <
                  std::int64_t{1} << 32);

    /// What is added up along the rows of a group of tiles, of which there are no more than 2^15, the square root of
    /// all: 32 bits do for pixels of 8 bits.
    using in_group = std::conditional_t<is_byte, std::uint32_t, Sum>;
    static_assert((std::int64_t{1} << 15) * 2 * tile_shape<float>::cols * 255 < std::int64_t{1} << 32);

    /// What a tile publishes of its rows and columns.
    using word = std::conditional_t<is_byte, std::uint16_t, in_tile>;
    static_assert(tile_shape<float>::rows * 255 < 1 << 16 && tile_shape<float>::cols * 255 < 1 << 16);
};

template <typename Pixel, typename Sum, typename Squares>
struct pixel_sums<with_square<Pixel>, sum_and_squares<Sum, Squares>> {
    using of_sum = pixel_sums<Pixel, Sum>;
    using of_squares = pixel_sums<squared<Pixel>, Squares>;
    using in_tile = sum_and_squares<typename of_sum::in_tile, typename of_squares::in_tile>;
    using in_group = sum_and_squares<typename of_sum::in_group, typename of_squares::in_group>;
    using word = in_tile;
};

template <typename Pixel, typename Sum>
using tile_sum = typename pixel_sums<Pixel, Sum>::in_tile;
template <typename Pixel, typename Sum>
using group_sum = typename pixel_sums<Pixel, Sum>::in_group;
template <typename Pixel, typename Sum>
using tile_word = typename pixel_sums<Pixel, Sum>::word;

/// How the pixels of a tile are turned, and what is taken from each: nothing, but of tables that grow from an origin.
template <typename Sum, bool Outwards>
struct pixel_turns {
    static constexpr bool up = false, left = false;

    /// What is summed of a pixel.
    template <typename T, typename Pixel>
    __device__ T term(Pixel x) const {
        return widen<T>(x);
    }
};

template <typename Sum>
struct pixel_turns<Sum, true> {
    bool up, left;  ///< rows go up, or from right to left
    Sum offset;

    /// Integers lose the offset where they leave, see leaving_sums.
    template <typename T, typename Pixel>
    __device__ T term(Pixel x) const {
        if constexpr (std::is_integral_v<Pixel>)
            return widen<T>(x);
        else
            return widen<T>(x) - offset;
    }
    template <typename T, typename Pixel>
    __device__ T term(squared<Pixel> x) const {
        const T own = term<T>(x.x);
        return own * own;
    }
};

/// Adds 16 bytes of pixels to four partial sums.
template <typename Pixel, typename Partial, typename Turns>
__device__ inline void add_pixels(uint4 chunk, Partial (&sum)[4], const Turns& turns) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
        sum[0] = __dp4a(chunk.x, 0x01010101u, sum[0]);
        sum[1] = __dp4a(chunk.y, 0x01010101u, sum[1]);
        sum[2] = __dp4a(chunk.z, 0x01010101u, sum[2]);
        sum[3] = __dp4a(chunk.w, 0x01010101u, sum[3]);
    } else if constexpr (std::is_same_v<Pixel, with_square<std::uint8_t>>) {
        const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            sum[i].sum = __dp4a(words[i], 0x01010101u, sum[i].sum);
            sum[i].squares = __dp4a(words[i], words[i], sum[i].squares);
        }
    } else {
        constexpr int count = 16 / sizeof(Pixel);
        vector_of<Pixel, count> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i % 4] += turns.template term<Partial>(pixels.x[i]);
    }
}

/// Adds 16 bytes of pixels, whose first one belongs to channel 0, to the sums of the channels.
template <typename Pixel, int Channels, typename Partial>
__device__ inline void add_pixels_by_channel(uint4 chunk, Partial (&sum)[Channels]) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
        const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
        for (int w = 0; w < 4; ++w)
#pragma unroll
            for (int k = 0; k < Channels; ++k) {
                std::uint32_t ones = 0;  // at the bytes of channel k
#pragma unroll
                for (int i = 0; i < 4; ++i) ones |= (4 * w + i) % Channels == k ? 1u << 8 * i : 0;
                sum[k] = __dp4a(words[w], ones, sum[k]);
            }
    } else {
        constexpr int count = 16 / sizeof(Pixel);
        vector_of<Pixel, count> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i % Channels] += widen<Partial>(pixels.x[i]);
    }
}

/// Where the rows of a tile start in what the copy engine brings, which starts at multiples of 16 bytes: bytes modulo
/// 16, of the first row and from row to row.
struct row_shifts {
    std::uint32_t first = 0, step = 0;

    __device__ unsigned of(unsigned row) const { return (first + row * step) % 16; }
};

/// A tile's pixels in shared memory: 64 rows without gaps, or with tile_load::rows, phase by phase, each with 16
/// bytes more, of which up to 15 in front are none of its own when it has landed. add_rows() moves it to the front, so
/// that nobody behind needs to know where rows of the image start. There, what is outside the image is not zero but
/// anything: no sum that is stored has it among its pixels.
template <typename Pixel, typename Sum, tile_load Load, bool Outwards = false>
struct tile_pixels {
    using tile = tile_shape<Sum>;
    using sum_in_tile = tile_sum<Pixel, Sum>;
    static constexpr bool shifted = Load == tile_load::rows;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr int row_bytes = tile::cols * static_cast<int>(sizeof(Pixel)), chunks = row_bytes / 16;
    static constexpr int pitch = row_bytes + (shifted ? 16 : 0);
    static constexpr int phases = phases_of(Load, sizeof(Pixel)), phase_rows = tile::rows / phases;
    static constexpr int phase_bytes = (phase_rows * pitch + 127) / 128 * 128;  // the copy engine's alignment
    static constexpr int bytes = phases * phase_bytes;
    static_assert(!Outwards || !shifted);

    std::byte* first;  ///< of the row that counts as the first one
    [[no_unique_address]] pixel_turns<Sum, Outwards> turns;

    /// From a row to the next one of its phase.
    __device__ int step() const { return turns.up ? -pitch : pitch; }

    __device__ std::byte* row(unsigned r) const {
        if constexpr (Outwards)
            return first + static_cast<int>(r) * step();
        else
            return first + r % phases * phase_bytes + r / phases * pitch;
    }
    /// The tile from a row on that is a multiple of `phases`: the places of its rows are constants.
    __device__ tile_pixels from_row(unsigned r) const {
        if constexpr (Outwards)
            return {row(r), turns};
        else
            return {first + r / phases * pitch};
    }
    /// The row that is number `place` in shared memory.
    __device__ static unsigned row_at(unsigned place) { return place % phase_rows * phases + place / phase_rows; }
    /// Neighbours, of which lane 0 has the row's first ones.
    __device__ vector_of<Pixel, lane_cols> of_lane(unsigned r, int lane) const {
        using of_lane = vector_of<Pixel, lane_cols>;
        if constexpr (Outwards && sizeof(of_lane) >= 8) {
            // As one access: the compiler takes apart what is turned.
            const auto bits = reinterpret_cast<const std::conditional_t<sizeof(of_lane) == 16, uint4, uint2>*>(
                row(r))[turned_lane(lane)];
            of_lane x;
            memcpy(&x, &bits, sizeof x);
            turn_row(x.x);
            return x;
        } else {
            static_assert(!Outwards || std::is_same_v<Pixel, std::uint8_t>);  // goes by word()
            return reinterpret_cast<const of_lane*>(row(r))[lane];
        }
    }
    /// 4 bytes.
    __device__ std::uint32_t word(unsigned r, int i) const {
        const std::uint32_t x = reinterpret_cast<const std::uint32_t*>(row(r))[turned_lane(i)];
        if constexpr (Outwards)
            return __byte_perm(x, 0, turns.left ? 0x0123 : 0x3210);
        else
            return x;
    }
    /// 16 bytes.
    __device__ uint4 chunk(unsigned r, int i) const { return reinterpret_cast<const uint4*>(row(r))[i]; }

    /// Sums of the rows at the places `lane` and `lane + 32`. By one warp, once, before anybody else reads shifted
    /// rows: moves them to the front.
    __device__ void add_rows(sum_in_tile (&sum)[2], row_shifts shifts, int lane) const {
        const auto total = [](const sum_in_tile(&x)[4]) { return (x[0] + x[1]) + (x[2] + x[3]); };
        if constexpr (shifted) {
            each_row_to_front(shifts, lane, [&](auto each_chunk) {
                sum_in_tile own[4]{};
                each_chunk([&](uint4 pixels, int) { add_pixels<Pixel>(pixels, own, turns); });
                sum[0] = sum[1];
                sum[1] = total(own);
            });
        } else {
            sum_in_tile a[4]{}, b[4]{};
            // Few, for less code (see tile_block::together), and so that `sum` spills nothing that it keeps from tile
            // to tile.
#pragma unroll 2
            for (int i = 0; i < chunks; ++i) {
                const int at = chunk_at(i, lane);
                add_pixels<Pixel>(chunk(lane, at), a, turns);
                add_pixels<Pixel>(chunk(lane + 32, at), b, turns);
            }
            sum[0] = total(a);
            sum[1] = total(b);
        }
    }

    /// The same by channel, [channel][row]; `first_channel`: of the tile's first element.
    template <int Channels>
    __device__ void add_rows_by_channel(sum_in_tile (&sum)[Channels][2], unsigned first_channel, row_shifts shifts,
                                        int lane) const {
        constexpr int count = 16 / static_cast<int>(sizeof(Pixel));
        using channels = channels_of_lane<Channels, count>;  // a chunk, for that matter, is what a lane has
        const auto add = [&](sum_in_tile(&to)[Channels], uint4 pixels, int at) {
            if constexpr (channels::alike) {  // all chunks start alike
                add_pixels_by_channel<Pixel>(pixels, to);
            } else {
                sum_in_tile own[Channels]{};
                add_pixels_by_channel<Pixel>(pixels, own);
                turn_back<channels::common>(own, (first_channel + at * count) % Channels);
#pragma unroll
                for (int c = 0; c < Channels; ++c) to[c] += own[c];
            }
        };
        if constexpr (shifted) {
            each_row_to_front(shifts, lane, [&](auto each_chunk) {
                sum_in_tile own[Channels]{};
                each_chunk([&](uint4 pixels, int at) { add(own, pixels, at); });
#pragma unroll
                for (int c = 0; c < Channels; ++c) {
                    sum[c][0] = sum[c][1];
                    sum[c][1] = own[c];
                }
            });
        } else {
            sum_in_tile all[2][Channels]{};
            // One of 8u with three and four channels, where a chunk has the most code.
            constexpr int together = Channels == 2 ? 8 : sizeof(Pixel) == 1 ? 1 : 2;
#pragma unroll(together)
            for (int i = 0; i < chunks; ++i) {
                const int at = chunk_at(i, lane);
                add(all[0], chunk(lane, at), at);
                add(all[1], chunk(lane + 32, at), at);
            }
#pragma unroll
            for (int c = 0; c < Channels; ++c) {
                sum[c][0] = all[0][c];
                sum[c][1] = all[1][c];
            }
        }
    }

    /// Sums of the lane's columns.
    __device__ void add_cols(sum_in_tile (&sum)[lane_cols], int lane) const {
        if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
            // Four columns a lane: of all rows, or half of the warp has every other row.
            constexpr int parts = 4 / lane_cols, lanes = 32 / parts;
            std::uint32_t even = 0, odd = 0;  // two sums of 16 bits each: 64 * 255 fits
            each_place<parts>([&](const std::byte* place) {
                const std::uint32_t x =
                    reinterpret_cast<const std::uint32_t*>(place + lane / lanes * pitch)[turned_lane(lane) % lanes];
                even += x & 0x00ff00ffu;
                odd += (x >> 8) & 0x00ff00ffu;
            });
            if constexpr (parts == 1) {
                sum[0] = even & 0xffffu;
                sum[1] = odd & 0xffffu;
                sum[2] = even >> 16;
                sum[3] = odd >> 16;
                turn_row(sum);
            } else {
                even += __shfl_xor_sync(whole_warp, even, lanes);
                odd += __shfl_xor_sync(whole_warp, odd, lanes);
                even = __shfl_sync(whole_warp, even, lane / 2);
                odd = __shfl_sync(whole_warp, odd, lane / 2);
                sum[0] = lane % 2 == 0 ? even & 0xffffu : even >> 16;
                sum[1] = lane % 2 == 0 ? odd & 0xffffu : odd >> 16;
            }
        } else if constexpr (std::is_same_v<Pixel, with_square<std::uint8_t>>) {
            add_cols_and_squares(sum, lane);
        } else {
            sum_in_tile other[lane_cols]{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sum[i] = {};
            each_place<2>([&](const std::byte* place) {
                using of_lane = vector_of<Pixel, lane_cols>;
                const auto x = reinterpret_cast<const of_lane*>(place)[turned_lane(lane)];
                const auto y = reinterpret_cast<const of_lane*>(place + pitch)[turned_lane(lane)];
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    sum[i] += turns.template term<sum_in_tile>(x.x[i]);
                    other[i] += turns.template term<sum_in_tile>(y.x[i]);
                }
            });
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sum[i] += other[i];
            turn_row(sum);
        }
    }

    /// What a lane has of a row in shared memory, and back, in the other order where rows go from right to left.
    template <typename T>
    __device__ void turn_row(T (&x)[lane_cols]) const {
        if constexpr (Outwards) turn_if(x, turns.left);
    }

  private:
    __device__ int turned_lane(int lane) const {
        return turns.left ? 31 - lane : lane;
    }

    /// Of bytes and their squares, two columns a lane: as above each half of the warp has every other row, and four
    /// columns a lane.
    __device__ void add_cols_and_squares(sum_in_tile (&sum)[lane_cols], int lane) const {
        static_assert(lane_cols == 2);
        std::uint32_t even = 0, odd = 0;  // two sums of 16 bits each
        std::uint32_t squares[4]{};
        each_place<2>([&](const std::byte* place) {
            const std::uint32_t x = reinterpret_cast<const std::uint32_t*>(place + lane / 16 * pitch)[lane % 16];
            even += x & 0x00ff00ffu;
            odd += (x >> 8) & 0x00ff00ffu;
#pragma unroll
            for (int i = 0; i < 4; ++i) squares[i] = __dp4a(x & 0xffu << 8 * i, x, squares[i]);
        });
        even += __shfl_xor_sync(whole_warp, even, 16);
        odd += __shfl_xor_sync(whole_warp, odd, 16);
        even = __shfl_sync(whole_warp, even, lane / 2);
        odd = __shfl_sync(whole_warp, odd, lane / 2);
        sum[0].sum = lane % 2 == 0 ? even & 0xffffu : even >> 16;
        sum[1].sum = lane % 2 == 0 ? odd & 0xffffu : odd >> 16;
#pragma unroll
        for (std::uint32_t& of_column : squares) {
            of_column += __shfl_xor_sync(whole_warp, of_column, 16);
            of_column = __shfl_sync(whole_warp, of_column, lane / 2);
        }
        sum[0].squares = lane % 2 == 0 ? squares[0] : squares[2];
        sum[1].squares = lane % 2 == 0 ? squares[1] : squares[3];
    }

    /// The i-th chunk that a lane reads of a row: no two lanes meet in a bank.
    __device__ static int chunk_at(int i, int lane) {
        return (i + lane) % chunks;
    }

    /// f(first byte) for every Step-th place, in the order of shared memory.
    template <int Step, typename F>
    __device__ void each_place(F f) const {
        constexpr int together = 8 / Step * (std::is_same_v<Pixel, std::uint8_t> || has_square<Pixel> ? 1 : 2);
        const std::byte* phase = turns.up ? first - (tile::rows - 1) * pitch : first;
#pragma unroll 1
        for (int i = 0; i < phases; ++i, phase += phase_bytes)
#pragma unroll(together)
            for (int k = 0; k < phase_rows; k += Step) f(phase + k * pitch);
    }

    /// f(each_chunk) for the rows at the places `lane` and `lane + 32`, one after another; each_chunk(add) moves the
    /// row to the front and is add(16 bytes, number) for all of it.
    template <typename F>
    __device__ void each_row_to_front(row_shifts shifts, int lane, F f) const {
#pragma unroll 1
        for (int place = lane; place < tile::rows; place += 32)
            f([&](auto add) { move_to_front(place, shifts.of(row_at(place)), add); });
    }

    template <typename Add>
    __device__ void move_to_front(unsigned place, unsigned skip, Add add) const {
        constexpr int together = 4;  // chunks
        static_assert(chunks % together == 0);
        uint4* const to =
            reinterpret_cast<uint4*>(first + place / phase_rows * phase_bytes + place % phase_rows * pitch);
#pragma unroll 1
        for (int i = 0; i < chunks; i += together) {
            uint4 x[together + 1];
#pragma unroll
            for (int k = 0; k <= together; ++k) x[k] = to[i + k];
            take_from(x, skip);
#pragma unroll
            for (int k = 0; k < together; ++k) {
                to[i + k] = x[k];
                add(x[k], i + k);
            }
        }
    }

    /// All but the last of the chunks become what is behind the first `skip` bytes.
    template <int N>
    __device__ static void take_from(uint4 (&chunks)[N], unsigned skip) {
        std::uint32_t x[4 * N];
        memcpy(x, chunks, sizeof x);
#pragma unroll
        for (int step = sizeof(Pixel) == 8 ? 2 : 1; step < 4; step *= 2)
#pragma unroll
            for (int i = 0; i + step < 4 * N; ++i) x[i] = (skip / 4 & step) != 0 ? x[i + step] : x[i];
        if constexpr (sizeof(Pixel) < 4) {
#pragma unroll
            for (int i = 0; i + 1 < 4 * N; ++i) x[i] = __funnelshift_r(x[i], x[i + 1], skip % 4 * 8);
        }
        memcpy(chunks, x, sizeof x);
    }
};

}  // namespace boxsum::cuda
