#pragma once

#include "cuda/device/sum_and_squares.cuh"
#include "cuda/production/sat/geometry.hpp"

#include <cstdint>

/// Reading what the whole table holds around the part that is computed. A carry may lie in the part's own border, where
/// it is written again as it is: so by plain loads.
namespace boxsum::cuda {

/// An entry of the row above the part, which is `element` entries behind that above its first column; the corner of
/// `channel` is `channels` - `channel` before.
template <typename Entry>
__device__ inline Entry carry_above(const sat_carries& carries, unsigned plane, std::int64_t element) {
    if (carries.above == nullptr || (element < 0 && !carries.has_corner)) return {};
    return reinterpret_cast<const Entry*>(carries.above + plane * carries.above_plane_stride)[element];
}

/// An entry of the column to the left of the part; the corner above its first row.
template <typename Entry>
__device__ inline Entry carry_left(const sat_carries& carries, unsigned plane, std::int64_t row, int channel,
                                   int channels) {
    if (row < 0) return carry_above<Entry>(carries, plane, channel - channels);
    if (carries.left == nullptr) return {};
    return reinterpret_cast<const Entry*>(carries.left + plane * carries.left_plane_stride +
                                          row * carries.left_row_stride)[channel];
}

/// What is between two carries. An infinity that both have is in the row above already.
template <typename Entry>
__device__ inline Entry step_of(Entry now, Entry before) {
    return now == before ? Entry{} : now - before;
}

/// Carries of the table of sums, or of both tables where a value is a sum_and_squares.
template <typename Sum>
struct carry_reader {
    const sat_carries& sums;
    const sat_carries& squares;
    int channels;

    __device__ Sum above(unsigned plane, std::int64_t element) const { return carry_above<Sum>(sums, plane, element); }
    __device__ Sum left(unsigned plane, std::int64_t row, int channel) const {
        return carry_left<Sum>(sums, plane, row, channel, channels);
    }
    __device__ Sum step(unsigned plane, std::int64_t row, std::int64_t before, int channel) const {
        return step_of(left(plane, row, channel), left(plane, before, channel));
    }
};

template <typename Sum, typename Squares>
struct carry_reader<sum_and_squares<Sum, Squares>> {
    const sat_carries& sums;
    const sat_carries& squares;
    int channels;

    using both = sum_and_squares<Sum, Squares>;
    __device__ both above(unsigned plane, std::int64_t element) const {
        return {carry_above<Sum>(sums, plane, element), carry_above<Squares>(squares, plane, element)};
    }
    __device__ both left(unsigned plane, std::int64_t row, int channel) const {
        return {carry_left<Sum>(sums, plane, row, channel, channels),
                carry_left<Squares>(squares, plane, row, channel, channels)};
    }
    __device__ both step(unsigned plane, std::int64_t row, std::int64_t before, int channel) const {
        const both a = left(plane, row, channel), b = left(plane, before, channel);
        return {step_of(a.sum, b.sum), step_of(a.squares, b.squares)};
    }
};

}  // namespace boxsum::cuda
