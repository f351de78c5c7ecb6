#pragma once

#include "cuda/filters/fused_windows.cuh"
#include "cuda/filters/guided_kernels.hpp"

#include <cstdint>

/// Several sums in double of what slides (fused_windows.cuh).
namespace boxsum::cuda {

/// Sums of one or two rows, a value after the other.
template <int Values, int Rows>
struct double_sums {
    static constexpr int rows = Rows, values = Values;
    struct alignas(8 * Rows) unit {
        double of[rows];
    } v[values];

    __device__ void add(const double_sums& b) {
#pragma unroll
        for (int k = 0; k < values; ++k)
#pragma unroll
            for (int j = 0; j < rows; ++j) v[k].of[j] += b.v[k].of[j];
    }
    __device__ void subtract(const double_sums& b) {
#pragma unroll
        for (int k = 0; k < values; ++k)
#pragma unroll
            for (int j = 0; j < rows; ++j) v[k].of[j] -= b.v[k].of[j];
    }
    __device__ double_sums of_lane_before(int distance) const {
        double_sums other;
#pragma unroll
        for (int k = 0; k < values; ++k)
#pragma unroll
            for (int j = 0; j < rows; ++j)
                other.v[k].of[j] = __shfl_up_sync(~0u, v[k].of[j], static_cast<unsigned>(distance));
        return other;
    }
    __device__ static double_sums of_warps_before(const double_sums* totals, int warp, int) {
        double_sums other{};
        for (int w = 0; w < warp; ++w) other.add(totals[w]);
        return other;
    }
};

/// What a thread's columns come to, each with those before it, after every row of a batch: from where they slide to
/// where prefix sums are made of them. Of one row the columns say it themselves.
template <int Values, int Rows, int K>
class column_prefixes {
  public:
    using sums = double_sums<Values, Rows>;

    __device__ void set(int row, int value, int column, double prefix) { of_[row][value][column] = prefix; }
    /// Makes `until`, the sums before the thread's columns, those behind column i. For one after the other.
    __device__ void pass(sums& until, int i, const double (&)[Values][K]) {
        if (i == 0) first_ = until;
#pragma unroll
        for (int j = 0; j < Rows; ++j)
#pragma unroll
            for (int k = 0; k < Values; ++k) until.v[k].of[j] = first_.v[k].of[j] + of_[j][k][i];
    }

  private:
    double of_[Rows][Values][K];
    sums first_;
};
template <int Values, int K>
class column_prefixes<Values, 1, K> {
  public:
    __device__ void set(int, int, int, double) {}
    __device__ void pass(double_sums<Values, 1>& until, int i, const double (&columns)[Values][K]) {
#pragma unroll
        for (int k = 0; k < Values; ++k) until.v[k].of[0] += columns[k][i];
    }
};

/// All entries of a value before those of the next: so that neighbouring entries of each are neighbours.
template <int Values, int Rows>
class sum_line<double_sums<Values, Rows>> {
    using all_values = double_sums<Values, Rows>;
    using unit = typename all_values::unit;

  public:
    static constexpr int entry_bytes = sizeof(all_values);

    __device__ sum_line(void* memory, int entries) : at_(static_cast<unit*>(memory)), pitch_(entries) {}
    __device__ sum_line from(int entry) const {
        sum_line later = *this;
        later.at_ += entry;
        return later;
    }
    __device__ all_values load(int entry) const {
        all_values sums;
#pragma unroll
        for (int k = 0; k < Values; ++k) sums.v[k] = at_[k * pitch_ + entry];
        return sums;
    }
    __device__ void store(int entry, const all_values& sums) const {
#pragma unroll
        for (int k = 0; k < Values; ++k) at_[k * pitch_ + entry] = sums.v[k];
    }

  private:
    unit* at_;
    int pitch_;
};

/// The largest that a thread of the block has, in all threads.
template <int N>
__device__ void largest_of_block(std::uint32_t (&most)[N]) {
#pragma unroll
    for (std::uint32_t& x : most) x = __reduce_max_sync(~0u, x);
    if (blockDim.x <= 32) return;
    __shared__ std::uint32_t of_warps[most_fused_threads / 32][N];
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][k] = most[k];
    __syncthreads();
    for (unsigned w = 0; w < blockDim.x / 32; ++w) {
#pragma unroll
        for (int k = 0; k < N; ++k) most[k] = of_warps[w][k] > most[k] ? of_warps[w][k] : most[k];
    }
    __syncthreads();  // the next call may write
}

}  // namespace boxsum::cuda
