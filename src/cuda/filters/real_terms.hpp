#pragma once

#include "cuda/filters/real_windows.hpp"

#include <boxsum/types.hpp>

#include <cstdint>

/// How the kernels of real_windows.cuh are cut, for host and device.
namespace boxsum::cuda {

/// Of a kernel's threads.
struct terms_layout {
    int values;  ///< doubles of a sum
    int cols;    ///< neighbouring columns that a thread owns
    int rows;    ///< of a batch, which are worked on at once
};

/// Registers decide: rows * cols sums live at a time, beside the pixels of the next rows.
constexpr terms_layout layout_of(real_terms terms, dtype pixel) {
    switch (terms) {
        case real_terms::value:
            return {1, pixel == dtype::f64 ? 2 : 4, 4};
        case real_terms::packed_squares:
        case real_terms::weighted:
            return {2, 4, 2};
        case real_terms::moments:
            return {4, 2, 2};
        case real_terms::weighted_moments:
            break;
    }
    return {6, 2, 2};
}

/// Shared memory of a block: prefixes and suffixes of a batch of its columns, and a place more.
constexpr std::size_t planes_bytes(const terms_layout& l, std::int64_t threads) {
    return static_cast<std::size_t>(2 * l.values * l.rows * l.cols * (threads + 1)) * sizeof(double);
}

/// Threads of a block at most, a power of 2: devices differ in their shared memory. Of the current one.
std::int64_t most_threads_of(const terms_layout& layout);

/// Batches of a band at most: a thread keeps a sum for each of its columns and batches.
inline constexpr int most_batches = 16;

/// A packed sum is the sum of the pixels that count, from 0 on, plus this times how many they are: both are exact below
/// 2^53.
constexpr double packed_unit(dtype pixel) {
    return pixel == dtype::u8 ? 0x1p30 : 0x1p35;
}
constexpr std::int64_t largest_packed_window(dtype pixel) {
    return pixel == dtype::u8 ? std::int64_t{1} << 22 : std::int64_t{1} << 18;
}

}  // namespace boxsum::cuda
