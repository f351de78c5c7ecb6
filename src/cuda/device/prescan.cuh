#pragma once

#include "cuda/device/layers.cuh"

namespace boxsum::cuda {

/// The prescan of Harris, Sengupta and Owens 2007 (Poostchi et al. 2017, fig. 3), by a block of `threads` on twice as
/// many elements: an up-sweep adds pairs up a balanced tree in shared memory, a down-sweep hands every node the sum of
/// all leaves to its left. 3 (n - 1) operations in 2 log2 n steps, of which the middle ones keep few threads busy.
/// Longer lines go segment by segment, with the sum of the segments before. Made inclusive by adding each element's own
/// value; in place.
template <int threads, typename T>
__device__ void prescan_line(line<T> x, std::int64_t count) {
    constexpr int n = 2 * threads;
    __shared__ T tree[n + n / 32];  // one hole per 32: the strides of the tree, powers of two, spread over the banks
    const auto at = [](int i) { return i + i / 32; };
    const int t = static_cast<int>(threadIdx.x);
    T carry{};
    for (std::int64_t first = 0; first < count; first += n) {
        const std::int64_t i = first + t, j = i + threads;
        const T a = i < count ? x[i] : T{}, b = j < count ? x[j] : T{};
        __syncthreads();  // the segment before has been read
        tree[at(t)] = a;
        tree[at(t + threads)] = b;

        // Up-sweep
        int offset = 1;
        for (int d = threads; d > 0; d /= 2, offset *= 2) {
            __syncthreads();
            if (t < d) {
                T& right = tree[at(offset * (2 * t + 2) - 1)];
                right = static_cast<T>(tree[at(offset * (2 * t + 1) - 1)] + right);
            }
        }
        __syncthreads();
        const T total = tree[at(n - 1)];
        __syncthreads();  // the root has been read by all
        if (t == 0) tree[at(n - 1)] = T{};

        // Down-sweep
        for (int d = 1; d <= threads; d *= 2) {
            offset /= 2;
            __syncthreads();
            if (t < d) {
                T& left = tree[at(offset * (2 * t + 1) - 1)];
                T& right = tree[at(offset * (2 * t + 2) - 1)];
                const T below = left;
                left = right;
                right = static_cast<T>(right + below);
            }
        }
        __syncthreads();

        if (i < count) x[i] = static_cast<T>(carry + static_cast<T>(tree[at(t)] + a));
        if (j < count) x[j] = static_cast<T>(carry + static_cast<T>(tree[at(t + threads)] + b));
        carry = static_cast<T>(carry + total);
    }
}

}  // namespace boxsum::cuda
