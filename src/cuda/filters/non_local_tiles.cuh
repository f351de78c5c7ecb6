#pragma once

/// Tiles of non-local means of any patches, and how their sums are added up.
namespace boxsum::cuda {

inline constexpr int tile_rows = 16, lines_across = 64, run = 4, means_threads = 256;

/// The columns of a tile: with what patches reach beside them two lines of warps, where patches are not too wide.
constexpr int tile_cols_of(int patch_cols) {
    return patch_cols <= lines_across / 2 + 1 ? (lines_across + 1 - patch_cols) / run * run : lines_across;
}

/// Of `cols` sums beside each other: runs of four begin in different banks.
__host__ __device__ constexpr int place_of(int col) {
    return col + col / run;
}

/// sums[i] += the samples i .. i + length - 1, from the first to the last one. Asks once for each sample, in order.
template <typename Sum, typename Sample>
__device__ void add_windows(Sum (&sums)[run], int length, Sample&& sample) {
    if (length < run - 1) {
        for (int j = 0; j < length + run - 1; ++j) {
            const Sum x = sample(j);
#pragma unroll
            for (int i = 0; i < run; ++i)
                if (i <= j && j < i + length) sums[i] += x;
        }
        return;
    }
#pragma unroll
    for (int j = 0; j < run - 1; ++j) {
        const Sum x = sample(j);
#pragma unroll
        for (int i = 0; i <= j; ++i) sums[i] += x;
    }
#pragma unroll 2
    for (int j = run - 1; j < length; ++j) {
        const Sum x = sample(j);
#pragma unroll
        for (int i = 0; i < run; ++i) sums[i] += x;
    }
#pragma unroll
    for (int j = 1; j < run; ++j) {
        const Sum x = sample(length - 1 + j);
#pragma unroll
        for (int i = j; i < run; ++i) sums[i] += x;
    }
}

}  // namespace boxsum::cuda
