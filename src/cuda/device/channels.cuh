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
    template <typename T>
    __device__ static void to_channels(T (&x)[Channels], unsigned first) {
        if constexpr (!alike) turn_back<common>(x, first);
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

/// Replaces the N elements that each lane holds of a row by the inclusive prefix sums of their channels.
template <int Channels, typename T, int N>
__device__ inline void warp_scan_channels(T (&x)[N], unsigned first) {
    using channels = channels_of_lane<Channels, N>;
    if constexpr (Channels == 1) {
        warp_scan_row(x);
    } else {
#pragma unroll
        for (int i = Channels; i < N; ++i) x[i] += x[i - Channels];
        constexpr int sums = channels::parts ? N : Channels;
        T before[sums]{};
        if constexpr (channels::parts) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                T up_to = x[i];
#pragma unroll
                for (int step = channels::lanes_of_pixel; step < warp_size; step *= 2) {
                    const T left = __shfl_up_sync(whole_warp, up_to, step);
                    if (lane_id() >= step) up_to = left + up_to;
                }
                if constexpr (std::is_integral_v<T>) {
                    before[i] = up_to - x[i];
                } else {
                    const T left = __shfl_up_sync(whole_warp, up_to, channels::lanes_of_pixel);
                    before[i] = lane_id() < channels::lanes_of_pixel ? T{} : left;
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < N; ++i) before[i % Channels] = x[i];  // the last of a channel is the lane's sum of it
            channels::to_channels(before, first);
#pragma unroll
            for (int k = 0; k < Channels; ++k) before[k] = exclusive_of(warp_scan(before[k]), before[k]);
            channels::to_lane(before, first);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += before[i % sums];
    }
}

}  // namespace boxsum::cuda
