#pragma once

#include "cuda/device/warp_scan.cuh"

/// Sums of pixels and of their squares as one value, for kernels that compute both tables at once.
namespace boxsum::cuda {

/// Each is added for itself; `Squares` is at least as wide as `Sum`.
template <typename Sum, typename Squares>
struct sum_and_squares {
    Sum sum;
    Squares squares;

    /// To types of other widths, as static_cast does.
    template <typename S, typename Q>
    __device__ explicit operator sum_and_squares<S, Q>() const {
        return {static_cast<S>(sum), static_cast<Q>(squares)};
    }
    __device__ friend sum_and_squares operator+(const sum_and_squares& a, const sum_and_squares& b) {
        return {static_cast<Sum>(a.sum + b.sum), static_cast<Squares>(a.squares + b.squares)};
    }
    __device__ sum_and_squares& operator+=(const sum_and_squares& x) { return *this = *this + x; }
};

template <typename T>
inline constexpr bool is_sum_and_squares = false;
template <typename Sum, typename Squares>
inline constexpr bool is_sum_and_squares<sum_and_squares<Sum, Squares>> = true;

// What warp_scan.cuh has for numbers.

template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> shuffle(const sum_and_squares<Sum, Squares>& x, int lane) {
    return {shuffle(x.sum, lane), shuffle(x.squares, lane)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> shuffle_up(const sum_and_squares<Sum, Squares>& x, int distance) {
    return {shuffle_up(x.sum, distance), shuffle_up(x.squares, distance)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> shuffle_xor(const sum_and_squares<Sum, Squares>& x, int distance) {
    return {shuffle_xor(x.sum, distance), shuffle_xor(x.squares, distance)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> warp_scan(const sum_and_squares<Sum, Squares>& x) {
    return {warp_scan(x.sum), warp_scan(x.squares)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> warp_sum(const sum_and_squares<Sum, Squares>& x) {
    return {warp_sum(x.sum), warp_sum(x.squares)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> exclusive_of(const sum_and_squares<Sum, Squares>& inclusive) {
    return {exclusive_of(inclusive.sum), exclusive_of(inclusive.squares)};
}
template <typename Sum, typename Squares>
__device__ inline sum_and_squares<Sum, Squares> exclusive_of(const sum_and_squares<Sum, Squares>& inclusive,
                                                             const sum_and_squares<Sum, Squares>& x) {
    return {exclusive_of(inclusive.sum, x.sum), exclusive_of(inclusive.squares, x.squares)};
}

}  // namespace boxsum::cuda
