#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstddef>
#include <cstdint>

/// Rows of 32 N elements, 512 bytes, that a warp has in registers and the copy engine takes to memory, by way of shared
/// memory. Thought was: a warp that stores them itself waits until the caches take them, and what its multiprocessor
/// reads meanwhile waits behind them. Measured was what came of it, see aligned_rows_on_their_way().
namespace boxsum::cuda {

/// `Rows` of them at a time are under way; they leave in two groups.
template <typename Sum, int N, int Rows>
struct staged_rows {
    static constexpr int rows_of_group = Rows / 2;
    static_assert(sizeof(Sum) * N == 16 && Rows % 2 == 0 && rows_of_group <= 32);
    using memory = vector_of<Sum, N>[Rows][32];  ///< of a warp, in shared memory

    memory& of_rows;

    /// Row number k of those that the warp stores one after another, a multiple of rows_of_group in all, `stride` bytes
    /// apart, each at a multiple of 16 bytes: the first `pieces` 16 bytes of it, if k < rows. Streaming. By all lanes
    /// of a warp.
    __device__ void store(std::byte* to, std::int64_t stride, const Sum (&x)[N], int k, int rows, int pieces,
                          int lane) const {
        if (k % rows_of_group == 0) {
            // Here were the rows of the group before the last one.
            if (lane < rows_of_group) wait_until_read<1>();
            __syncwarp();
        }
        vector_of<Sum, N> chunk;
#pragma unroll
        for (int i = 0; i < N; ++i) chunk.x[i] = x[i];
        of_rows[k % Rows][lane] = chunk;
        if ((k + 1) % rows_of_group != 0) return;
        announce_writes();
        __syncwarp();
        if (lane < rows_of_group) {
            const int above = rows_of_group - 1 - lane;  // rows between this lane's and row k
            if (k - above < rows && pieces > 0)
                store_bytes(to - above * stride, of_rows[(k - above) % Rows], 16 * (pieces < 32 ? pieces : 32),
                            drop_from_l2());
            close_store_group();
        }
    }

    /// Waits until all rows are in memory. By all lanes of a warp, at the end of a kernel.
    __device__ static void settle() {
        wait_until_stored();
    }
};

}  // namespace boxsum::cuda
