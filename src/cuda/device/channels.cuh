#pragma once

#include "cuda/device/warp_scan.cuh"

#include <type_traits>

/// Rows of interleaved channels in the registers of a warp. A row of C channels is a row of elements that belong to the
/// channels by turns. A lane has N neighbouring elements, of which the first belongs to channel `first`; so what is
/// known by channel is turned by `first` where a lane needs it, and back. With one channel nothing is left of all this.
namespace boxsum::cuda {

constexpr int greatest_common_divisor(int a, int b) {
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/// x[i] becomes what x[(i + by) % C] was; `by`: a multiple of Step below C.
template <int Step, typename T, int C>
__device__ inline void turn(T (&x)[C], unsigned by) {
    T turned[C];
#pragma unroll
    for (int i = 0; i < C; ++i) {
        turned[i] = x[i];
#pragma unroll
        for (int k = Step; k < C; k += Step) turned[i] = static_cast<int>(by) == k ? x[(i + k) % C] : turned[i];
    }
#pragma unroll
    for (int i = 0; i < C; ++i) x[i] = turned[i];
}

/// The other way.
template <int Step, typename T, int C>
__device__ inline void turn_back(T (&x)[C], unsigned by) {
    turn<Step>(x, by == 0 ? 0 : C - by);
}

template <int Channels, int N>
struct channels_of_lane {
    /// Whether all lanes start with channel 0 in a row that does.
    static constexpr bool alike = N % Channels == 0;
    /// Whether lanes have a part of one pixel each and every `lanes_of_pixel`-th lane the same channels.
    static constexpr bool parts = !alike && Channels % N == 0;
    static constexpr int lanes_of_pixel = parts ? Channels / N : 1;
    static constexpr int common = greatest_common_divisor(Channels, N);  // divides every `first`

    /// `element`: of the row that starts with channel 0, the lane's first.
    __device__ static unsigned first(unsigned element) { return alike ? 0 : element % Channels; }

    /// From the order of the channels to that of a lane's elements.
    template <typename T>
    __device__ static void to_lane(T (&x)[Channels], unsigned first) {
        if constexpr (!alike) turn<common>(x, first);
    }

    /// Adds to each element what there is for its channel.
    template <typename T>
    __device__ static void add(T (&x)[N], const T (&by_channel)[Channels], unsigned first) {
        T turned[Channels];
#pragma unroll
        for (int k = 0; k < Channels; ++k) turned[k] = by_channel[k];
        to_lane(turned, first);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += turned[i % Channels];
    }
};

/// Of every 4 lanes, lane l gets what each of them has at x[l], in their order: pixels of four channels become four
/// pixels of a channel, and back.
template <typename T>
__device__ inline void turn_fours(T (&x)[4]) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const bool upper = (lane_id() & step) != 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if ((i & step) != 0) continue;
            const T got = __shfl_xor_sync(whole_warp, upper ? x[i] : x[i + step], step);
            if (upper)
                x[i] = got;
            else
                x[i + step] = got;
        }
    }
}

/// The sum of the lanes before this one that are multiples of Step lanes away.
template <int Step, typename T>
__device__ inline T sum_before(T x) {
    T up_to = x;
#pragma unroll
    for (int step = Step; step < warp_size; step *= 2) add_from_left(up_to, step);
    if constexpr (std::is_integral_v<T>) {
        return up_to - x;
    } else {  // as exclusive_of()
        const T left = __shfl_up_sync(whole_warp, up_to, Step);
        return lane_id() < Step ? T{} : left;
    }
}

/// Prefix sums of a row of four channels that turn_fours() has turned: a scan of 8 lanes instead of four of 32.
template <typename T>
__device__ inline void scan_turned_fours(T (&x)[4]) {
#pragma unroll
    for (int i = 1; i < 4; ++i) x[i] += x[i - 1];
    const T before = sum_before<4>(x[3]);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] += before;
}

/// For every element of this lane, by its place among C neighbours, the sum of those of its channel in the lanes
/// before; `own`: the sums of this lane. A lane that is d lanes away starts d * N elements away, which turns the
/// channels by a number that the compiler knows: nobody needs to ask which channel it is.
template <int N, typename T, int C>
__device__ inline void sums_before(T (&before)[C], const T (&own)[C]) {
    T up_to[C];
#pragma unroll
    for (int k = 0; k < C; ++k) up_to[k] = own[k];
#pragma unroll
    for (int step = 1; step < warp_size; step *= 2) {
        if constexpr (N % C == 0) {
#pragma unroll
            for (int k = 0; k < C; ++k) add_from_left(up_to[k], step);
        } else {
            add_from_left(up_to, step, step * N % C);
        }
    }
#pragma unroll
    for (int k = 0; k < C; ++k) {
        if constexpr (std::is_integral_v<T>) {
            before[k] = up_to[k] - own[k];
        } else {  // as exclusive_of()
            const T left = __shfl_up_sync(whole_warp, up_to[(k + N) % C], 1);
            before[k] = lane_id() == 0 ? T{} : left;
        }
    }
}

/// Replaces the N elements that each lane holds of a row by the inclusive prefix sums of their channels.
template <int Channels, typename T, int N>
__device__ inline void warp_scan_channels(T (&x)[N]) {
    using channels = channels_of_lane<Channels, N>;
    if constexpr (Channels == 1) {
        warp_scan_row(x);
    } else if constexpr (Channels == 4 && N == 4) {
        turn_fours(x);
        scan_turned_fours(x);
        turn_fours(x);
    } else if constexpr (channels::parts) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += sum_before<channels::lanes_of_pixel>(x[i]);
    } else {
#pragma unroll
        for (int i = Channels; i < N; ++i) x[i] += x[i - Channels];
        T own[Channels]{}, before[Channels];
#pragma unroll
        for (int i = 0; i < N; ++i) own[i % Channels] = x[i];  // the last of a channel is the lane's sum of it
        sums_before<N>(before, own);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += before[i % Channels];
    }
}

}  // namespace boxsum::cuda
