#include "competitors/random_reads.hpp"
#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/error.hpp>

namespace boxsum::bench {
namespace {

constexpr int threads = 256;
constexpr unsigned all_lanes = 0xffffffffU;

/// Warp (blockIdx.x * threads + threadIdx.x) / 32 owns the box of that number.
__global__ void __launch_bounds__(threads)
    read_random_entries_kernel(const std::byte* tensor, std::int64_t bins, std::int64_t bin_stride,
                               std::int64_t row_stride, const random_corners* corners, std::int64_t boxes,
                               std::uint32_t* sums) {
    const std::int64_t box = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (box >= boxes) return;
    const random_corners c = corners[box];
    std::uint32_t sum = 0;
    for (std::int64_t bin = threadIdx.x % 32; bin < bins; bin += 32) {
        const std::byte* const table = tensor + bin * bin_stride;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            sum += reinterpret_cast<const std::uint32_t*>(table + c.row[k] * row_stride)[c.col[k]];
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
    if (threadIdx.x % 32 == 0) sums[box] = sum;
}

}  // namespace

void read_random_entries(const const_any_tensor_view& tensor, const random_corners* corners, std::int64_t boxes,
                         std::uint32_t* sums, cuda::stream_ref stream) {
    if (tensor.shape.type != dtype::u32) throw invalid_argument("tensor: must be 32u");
    if (boxes == 0) return;
    const auto blocks = static_cast<unsigned>((boxes * 32 + threads - 1) / threads);
    read_random_entries_kernel<<<blocks, threads, 0, stream.get()>>>(static_cast<const std::byte*>(tensor.data),
                                                                     tensor.shape.bins, tensor.shape.bin_stride,
                                                                     tensor.shape.row_stride, corners, boxes, sums);
    BOXSUM_CUDA_TRY(cudaGetLastError());
}

}  // namespace boxsum::bench
