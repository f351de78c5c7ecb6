#pragma once

#include "cuda/device/channels.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/production/sat/plan.hpp"

#include <cstdint>
#include <type_traits>

/// Sums of bytes, two to a register, until they are stored.
namespace boxsum::cuda {

/// Four neighbours of two rows of bytes, 16 bits for each.
__device__ inline void pair_bytes(std::uint32_t (&pair)[4], std::uint32_t upper, std::uint32_t lower) {
    // A number of a selector is a byte of the first word, from 4 on of the second.
    const std::uint32_t even[2] = {upper & 0x00ff00ffu, lower & 0x00ff00ffu};
    const std::uint32_t odd[2] = {upper & 0xff00ff00u, lower & 0xff00ff00u};
    pair[0] = __byte_perm(even[0], even[1], 0x5410);
    pair[1] = __byte_perm(odd[0], odd[1], 0x4501);
    pair[2] = __byte_perm(even[0], even[1], 0x7632);
    pair[3] = __byte_perm(odd[0], odd[1], 0x6723);
}

/// Carries of rows, by channel, in shared memory; `first`: the channel of a lane's first element.
template <typename Sum>
struct carries_of_rows {
    const Sum* of_channel;
    unsigned first;
};

/// 16 rows of 128 elements, along both directions, of which a lane has four neighbours a row. A channel has at most
/// 128, 64, 43 or 32 of the elements, so that two, four or eight rows of them sum up to less than 2^16: sums are
/// without those of the rows above their group of so many rows. That halves the additions downwards and the registers.
template <int Channels>
struct sums_in_halves {
    static constexpr int rows_of_half = tile_shape<std::uint32_t>::warp_rows / 2;  // 0 to 7, and 8 to 15
    static constexpr int group_rows = Channels == 4 ? 8 : Channels == 1 ? 2 : 4;
    static_assert(group_rows * ((128 + Channels - 1) / Channels) * 255 < 1 << 16);
    /// Of row k and row k + 8; four channels not by element, see scan_fours().
    std::uint32_t x[rows_of_half][4];

    template <typename Pixels, typename Arrive>
    __device__ void scan(const Pixels& panel, int lane, Arrive arrive_as_reader) {
        if constexpr (Channels == 4)
            scan_fours(panel, lane, arrive_as_reader);
        else
            scan_pairs(panel, lane, arrive_as_reader);
    }

    /// Of row k of a half, down from the first row of its group.
    __device__ std::uint32_t at(int half, int k, int i) const {
        if constexpr (Channels == 4) {
            const std::uint32_t two = half == 0 ? x[k][i % 2] : x[k][2 + i % 2];  // registers have no index
            return i < 2 ? two & 0xffffu : two >> 16;
        } else {
            return __byte_perm(x[k][i], 0, half == 0 ? 0x4410 : 0x4432);
        }
    }

    /// Of all rows.
    __device__ std::uint32_t of_column(int i) const {
        std::uint32_t sum = 0;
#pragma unroll
        for (int k = group_rows - 1; k < rows_of_half; k += group_rows) sum += at(0, k, i) + at(1, k, i);
        return sum;
    }

    /// f(sums, row, k) for rows 0 to 15, one after another: those down to the row + top + carry, which
    /// take_carries(carry, row) is asked for. k is a constant: the row, or what is left of it by 8. `HalvesInLine`: 2
    /// for code of its own for each row, 1 for half as much code.
    template <int HalvesInLine, typename Sum, typename TakeCarries, typename F>
    __device__ void each_row(const Sum (&top)[4], TakeCarries take_carries, F f) const {
        constexpr bool adds_to_top = std::is_integral_v<Sum>;  // and so has three summands an instruction
        std::conditional_t<adds_to_top, Sum, std::uint32_t> above[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if constexpr (adds_to_top)
                above[i] = top[i];
            else
                above[i] = 0;
        }
#pragma unroll(HalvesInLine)
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int k = 0; k < rows_of_half; ++k) {
                const int row = half * rows_of_half + k;
                Sum carry[4], sums[4];
                take_carries(carry, row);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const std::uint32_t x = at(half, k, i);
                    if constexpr (adds_to_top)
                        sums[i] = x + (above[i] + carry[i]);
                    else
                        sums[i] = static_cast<Sum>(x + above[i]) + (top[i] + carry[i]);
                    if ((k + 1) % group_rows == 0) above[i] += x;
                }
                f(sums, row, k);
            }
        }
    }

  private:
    template <typename Pixels, typename Arrive>
    __device__ void scan_pairs(const Pixels& panel, int lane, Arrive arrive_as_reader) {
#pragma unroll
        for (int k = 0; k < rows_of_half; ++k)
            pair_bytes(x[k], panel.word(k, lane), panel.word(k + rows_of_half, lane));
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < rows_of_half; ++k) {
            if constexpr (Channels == 1)
                warp_scan_row<scan_steps::predicated>(x[k]);
            else
                warp_scan_channels<Channels>(x[k]);
            add_row_above(k);
        }
    }

    /// Of every four lanes, each first has four pixels of one of two rows, and of these two channels. So a scan of 8
    /// lanes does for both rows; and the additions downwards come before the lanes change what they have: then each has
    /// channels 0 and 2 of its pixel, 1 and 3, and the same of the lower row.
    template <typename Pixels, typename Arrive>
    __device__ void scan_fours(const Pixels& panel, int lane, Arrive arrive_as_reader) {
        const Pixels mine = panel.from_row(lane % 4 / 2 * rows_of_half);
        const std::uint32_t select = lane % 2 == 0 ? 0x4240 : 0x4341;  // of bytes, zeros between
#pragma unroll
        for (int k = 0; k < rows_of_half; ++k) {
            const uint4 pixels = mine.chunk(k, lane / 4);
            x[k][0] = __byte_perm(pixels.x, 0, select);
            x[k][1] = __byte_perm(pixels.y, 0, select);
            x[k][2] = __byte_perm(pixels.z, 0, select);
            x[k][3] = __byte_perm(pixels.w, 0, select);
        }
        arrive_as_reader();
#pragma unroll
        for (int k = 0; k < rows_of_half; ++k) {
            scan_turned_fours(x[k]);
            add_row_above(k);
        }
#pragma unroll
        for (int k = 0; k < rows_of_half; ++k) turn_fours(x[k]);
    }

    __device__ void add_row_above(int k) {
        if (k % group_rows == 0) return;
#pragma unroll
        for (int i = 0; i < 4; ++i) x[k][i] += x[k - 1][i];
    }
};

}  // namespace boxsum::cuda
