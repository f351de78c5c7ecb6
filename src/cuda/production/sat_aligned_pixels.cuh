#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/production/sat_aligned_plan.hpp"
#include "cuda/production/sat_squares.cuh"

#include <cstdint>
#include <cstring>
#include <type_traits>

/// Pixels of the aligned pipeline's tiles, and their sums.
namespace boxsum::cuda {

/// What is added up within a tile, and within a group of rows of tiles: pixels of 8 and 16 bits need no more than 32
/// bits for it, whatever the table has.
template <typename Pixel, typename Sum>
using tile_sum =
    std::conditional_t<std::is_same_v<Pixel, std::uint8_t> || std::is_same_v<Pixel, std::uint16_t> ||
                           std::is_same_v<Pixel, squared<std::uint8_t>>,
                       std::uint32_t, std::conditional_t<std::is_same_v<Pixel, std::int16_t>, std::int32_t, Sum>>;
static_assert(std::int64_t{aligned_most_group_rows} * aligned_tile<float>::rows * aligned_tile<float>::cols * 0xffff <
              std::int64_t{1} << 32);

/// What a tile publishes of its rows and columns.
template <typename Pixel, typename Sum>
using tile_word = std::conditional_t<std::is_same_v<Pixel, std::uint8_t>, std::uint16_t, tile_sum<Pixel, Sum>>;
static_assert(aligned_tile<float>::rows * 255 < 1 << 16 && aligned_tile<float>::cols * 255 < 1 << 16);

/// Adds 16 bytes of pixels to four partial sums.
template <typename Pixel, typename Partial>
__device__ inline void add_pixels(uint4 chunk, Partial (&sum)[4]) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
        sum[0] = __dp4a(chunk.x, 0x01010101u, sum[0]);
        sum[1] = __dp4a(chunk.y, 0x01010101u, sum[1]);
        sum[2] = __dp4a(chunk.z, 0x01010101u, sum[2]);
        sum[3] = __dp4a(chunk.w, 0x01010101u, sum[3]);
    } else {
        constexpr int count = 16 / sizeof(Pixel);
        vector_of<Pixel, count> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i % 4] += widen<Partial>(pixels.x[i]);
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

/// A tile's pixels in shared memory, as the copy engine leaves them: 64 rows without gaps, or with aligned_load::rows
/// each with 16 bytes more, of which the first `shift_of(row)` are none of its own, phase by phase. There, what is
/// outside the image is not zero but anything: no sum that is stored has it among its pixels.
template <typename Pixel, typename Sum, aligned_load Load>
struct aligned_pixels {
    using tile = aligned_tile<Sum>;
    using sum_in_tile = tile_sum<Pixel, Sum>;
    static constexpr bool shifted = Load == aligned_load::rows;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr int row_bytes = tile::cols * static_cast<int>(sizeof(Pixel));
    static constexpr int pitch = row_bytes + (shifted ? 16 : 0);
    static constexpr int phases = aligned_phases(Load, sizeof(Pixel)), phase_rows = tile::rows / phases;
    static constexpr int phase_bytes = (phase_rows * pitch + 127) / 128 * 128;  // the copy engine's alignment
    static constexpr int bytes = phases * phase_bytes;

    std::byte* first;
    std::uint32_t shift = 0, shift_step = 0;  // of the first row, and from row to row; modulo 16

    __device__ std::byte* row(unsigned r) const { return first + r % phases * phase_bytes + r / phases * pitch; }
    /// The row that is number `place` in shared memory.
    __device__ static unsigned row_at(unsigned place) { return place % phase_rows * phases + place / phase_rows; }
    __device__ unsigned shift_of(unsigned r) const { return (shift + r * shift_step) % 16; }
    /// N neighbours, of which lane 0 has the row's first ones.
    template <int N = lane_cols>
    __device__ vector_of<Pixel, N> of_lane(unsigned r, int lane) const {
        if constexpr (shifted)
            return shifted_of_lane<N>(r, lane);
        else
            return reinterpret_cast<const vector_of<Pixel, N>*>(row(r))[lane];
    }

    /// From aligned words, because pixels start anywhere.
    template <int N>
    __device__ vector_of<Pixel, N> shifted_of_lane(unsigned r, int lane) const {
        constexpr int size = N * static_cast<int>(sizeof(Pixel)), words = (size + 3) / 4;
        const unsigned skip = shift_of(r);
        std::uint32_t x[words];
        if constexpr (size == 16) {  // two accesses of 16 bytes: single words of lanes 16 bytes apart meet in banks
            std::uint32_t both[8];
            const uint4 chunks[2] = {chunk(r, lane), chunk(r, lane + 1)};
            memcpy(both, chunks, 32);
            take_from(both, skip / 4);
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] = both[i];
        } else {
            const unsigned at = lane * size + skip;
            const std::uint32_t* const from = reinterpret_cast<const std::uint32_t*>(row(r)) + at / 4;
            if constexpr (sizeof(Pixel) >= 4) {
#pragma unroll
                for (int i = 0; i < words; ++i) x[i] = from[i];
            } else {
                // Where all words are the row's, none is asked whether it is needed; behind the last one of a tile is
                // another's memory.
                constexpr int most = row_bytes - size + 16 - static_cast<int>(sizeof(Pixel));  // of `at`
                constexpr bool all_there = size % 4 == 0 && most / 4 + words < pitch / 4;
                std::uint32_t low = from[0];
#pragma unroll
                for (int i = 0; i < words; ++i) {
                    const std::uint32_t high = all_there || at % 4 + size > 4u * (i + 1) ? from[i + 1] : 0;
                    x[i] = __funnelshift_r(low, high, (all_there ? skip : at % 4) * 8);
                    low = high;
                }
            }
        }
        vector_of<Pixel, N> pixels;
        memcpy(&pixels, x, size);
        return pixels;
    }

    /// The first half of x is what was behind the first `skip`, less than half of it.
    template <typename T, int N>
    __device__ static void take_from(T (&x)[N], unsigned skip) {
#pragma unroll
        for (int step = 1; step < N / 2; step *= 2)
#pragma unroll
            for (int i = 0; i + step < N; ++i) x[i] = (skip & step) != 0 ? x[i + step] : x[i];
    }

    __device__ uint4 chunk(unsigned r, int i) const {
        return reinterpret_cast<const uint4*>(row(r))[i];
    }

    /// The row's last chunk of 16 bytes and, instead of what the first one has of other tiles, the bytes behind it.
    __device__ uint4 first_and_last_chunk(unsigned r) const {
        return mixed(chunk(r, 0), chunk(r, row_bytes / 16), static_cast<int>(shift_of(r)));
    }

    /// `head` from byte `skip` on, `tail` before.
    __device__ static uint4 mixed(uint4 head, uint4 tail, int skip) {
        const auto word = [&](std::uint32_t of_head, std::uint32_t of_tail, int at) {
            const int foreign = skip - at;  // bytes of this word
            const std::uint32_t own = foreign >= 4 ? 0 : foreign <= 0 ? ~0u : ~0u << 8 * foreign;
            return (of_head & own) | (of_tail & ~own);
        };
        return {word(head.x, tail.x, 0), word(head.y, tail.y, 4), word(head.z, tail.z, 8), word(head.w, tail.w, 12)};
    }

    /// The i-th chunk of 16 bytes that a lane reads of a row, behind those that are special. Rotated by the lane's
    /// number so that no two lanes meet in a bank; with 16 bytes between rows they do not, but from phase to phase.
    __device__ static int chunk_at(int i, int lane) {
        constexpr int chunks = row_bytes / 16;
        if constexpr (!shifted) return (i + lane) % chunks;
        if constexpr (phase_rows >= 8) return i;
        return (i - 1 + lane / phase_rows % 2 * (chunks / 2)) % (chunks - 1) + 1;
    }

    /// Sums of the rows at the places `lane` and `lane + 32`.
    __device__ void add_rows(sum_in_tile (&sum)[2], int lane) const {
        constexpr int chunks = row_bytes / 16;
        sum_in_tile a[4]{}, b[4]{};
        const unsigned rows[2] = {row_at(lane), row_at(lane + 32)};
        if constexpr (shifted) {
            add_pixels<Pixel>(first_and_last_chunk(rows[0]), a);
            add_pixels<Pixel>(first_and_last_chunk(rows[1]), b);
        }
        constexpr int first_chunk = shifted ? 1 : 0;
        // Few, for less code (see aligned_finish::together): 8u32u padded at 8192 takes 0.985 of the time of 8 chunks
        // together, others 1.00; but with shifted rows, prime 8u32u, 1.13. There, two where sums are wide, or `sum`
        // spills what it keeps from tile to tile: 32f64f 1.12, prime 1.02.
        constexpr int together = shifted && sizeof(sum_in_tile) < 8 ? 8 : 2;
#pragma unroll(together)
        for (int i = first_chunk; i < chunks; ++i) {
            const int at = chunk_at(i, lane);
            add_pixels<Pixel>(chunk(rows[0], at), a);
            add_pixels<Pixel>(chunk(rows[1], at), b);
        }
        sum[0] = (a[0] + a[1]) + (a[2] + a[3]);
        sum[1] = (b[0] + b[1]) + (b[2] + b[3]);
    }

    /// The same by channel, [channel][row]; `first`: the channel of the tile's first element.
    template <int Channels>
    __device__ void add_rows_by_channel(sum_in_tile (&sum)[Channels][2], unsigned first, int lane) const {
        constexpr int count = 16 / static_cast<int>(sizeof(Pixel)), chunks = row_bytes / 16;
        using channels = channels_of_lane<Channels, count>;  // a chunk, for that matter, is what a lane has
        sum_in_tile all[2][Channels]{};
        const unsigned rows[2] = {row_at(lane), row_at(lane + 32)};
        unsigned first_of_row[2] = {first, first};  // the channel of its first chunk's first element
#pragma unroll
        for (int k = 0; k < 2; ++k)
            if constexpr (shifted)
                first_of_row[k] = (first + 16 * Channels - shift_of(rows[k]) / sizeof(Pixel)) % Channels;
        const auto add = [&](int k, uint4 pixels, int at) {
            if constexpr (channels::alike) {  // all chunks of a row start alike
                add_pixels_by_channel<Pixel>(pixels, all[k]);
            } else {
                sum_in_tile own[Channels]{};
                add_pixels_by_channel<Pixel>(pixels, own);
                // Shifted rows start with any channel.
                turn_back<shifted ? 1 : channels::common>(own, (first_of_row[k] + at * count) % Channels);
#pragma unroll
                for (int c = 0; c < Channels; ++c) all[k][c] += own[c];
            }
        };
        if constexpr (shifted) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const unsigned r = rows[k];
                if constexpr (tile::cols % Channels == 0) {  // what is behind the row goes on where it began
                    add(k, first_and_last_chunk(r), 0);
                } else {
                    const int skip = static_cast<int>(shift_of(r));
                    add(k, mixed(chunk(r, 0), {}, skip), 0);
                    add(k, mixed({}, chunk(r, chunks), skip), chunks);
                }
            }
        }
        constexpr int first_chunk = shifted ? 1 : 0;
        // One of 8u with three and four channels, where a chunk has the most code: 0.95 to 0.99 of the time of four.
        constexpr int together = (shifted && sizeof(Pixel) == 1) || Channels == 2 ? 8 : sizeof(Pixel) == 1 ? 1 : 2;
#pragma unroll(together)
        for (int i = first_chunk; i < chunks; ++i) {
            const int at = chunk_at(i, lane);
            add(0, chunk(rows[0], at), at);
            add(1, chunk(rows[1], at), at);
        }
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if constexpr (shifted && channels::alike) turn_back<1>(all[k], first_of_row[k]);
#pragma unroll
            for (int c = 0; c < Channels; ++c) sum[c][k] = all[k][c];
        }
    }

    /// Sums of the lane's columns.
    __device__ void add_cols(sum_in_tile (&sum)[lane_cols], int lane) const {
        if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
            // Four columns a lane: of all rows, or half of the warp has every other row.
            constexpr int parts = 4 / lane_cols, lanes = 32 / parts;
            std::uint32_t even = 0, odd = 0;  // two sums of 16 bits each: 64 * 255 fits
            const auto add = [&](int r) {
                const auto pixels = of_lane<4>(r + lane / lanes, lane % lanes);
                std::uint32_t x;
                memcpy(&x, &pixels, 4);
                even += x & 0x00ff00ffu;
                odd += (x >> 8) & 0x00ff00ffu;
            };
            if constexpr (shifted) {
                // Phase by phase: its rows start alike and lie side by side.
#pragma unroll 1
                for (int phase = 0; phase < phases; phase += parts)
#pragma unroll
                    for (int r = 0; r < tile::rows; r += phases) add(r + phase);
            } else {
#pragma unroll 4
                for (int r = 0; r < tile::rows; r += parts) add(r);
            }
            if constexpr (parts == 1) {
                sum[0] = even & 0xffffu;
                sum[1] = odd & 0xffffu;
                sum[2] = even >> 16;
                sum[3] = odd >> 16;
            } else {
                even += __shfl_xor_sync(whole_warp, even, lanes);
                odd += __shfl_xor_sync(whole_warp, odd, lanes);
                even = __shfl_sync(whole_warp, even, lane / 2);
                odd = __shfl_sync(whole_warp, odd, lane / 2);
                sum[0] = lane % 2 == 0 ? even & 0xffffu : even >> 16;
                sum[1] = lane % 2 == 0 ? odd & 0xffffu : odd >> 16;
            }
        } else if constexpr (shifted && lane_cols * sizeof(Pixel) == 16) {
            add_shifted_cols(sum, lane);
        } else {
            sum_in_tile other[lane_cols]{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sum[i] = {};
#pragma unroll 8
            for (int r = 0; r < tile::rows; r += 2) {
                const auto x = of_lane(r, lane), y = of_lane(r + 1, lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    sum[i] += widen<sum_in_tile>(x.x[i]);
                    other[i] += widen<sum_in_tile>(y.x[i]);
                }
            }
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sum[i] += other[i];
        }
    }

  private:
    /// Rows of a phase start alike: their chunks are added up as they are, and the sums are shifted. Half of the reads
    /// and little code: prime 32f32f at 4093 and 8191 0.98 and 0.99 of the time.
    __device__ void add_shifted_cols(sum_in_tile (&sum)[lane_cols], int lane) const {
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) sum[i] = {};
#pragma unroll 1
        for (int phase = 0; phase < phases; ++phase) {
            sum_in_tile own[lane_cols]{}, last[lane_cols]{};  // last: lane 31, of the chunk behind its own
#pragma unroll 4
            for (int r = phase; r < tile::rows; r += phases) {
                add_chunk(own, chunk(r, lane));
                if (lane == 31) add_chunk(last, chunk(r, 32));
            }
            sum_in_tile both[2 * lane_cols];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                const sum_in_tile next = __shfl_down_sync(whole_warp, own[i], 1);
                both[i] = own[i];
                both[lane_cols + i] = lane == 31 ? last[i] : next;
            }
            take_from(both, shift_of(phase) / sizeof(Pixel));
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sum[i] += both[i];
        }
    }

    __device__ static void add_chunk(sum_in_tile (&sum)[lane_cols], uint4 chunk) {
        vector_of<Pixel, lane_cols> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) sum[i] += widen<sum_in_tile>(pixels.x[i]);
    }
};

}  // namespace boxsum::cuda
