#include "competitors/device_kernels.hpp"
#include "cuda/runtime/launch.cuh"

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

namespace boxsum::bench {
namespace {

constexpr int threads = 256, items = 4;

template <typename Sum>
struct running_total {
    Sum total{};
    __device__ Sum operator()(Sum block) {
        const Sum before = total;
        total += block;
        return before;
    }
};

/// A block owns a row.
template <typename In, typename Sum>
__global__ void rows_kernel(const In* image, Sum* table, std::int64_t n) {
    using loader = cub::BlockLoad<In, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using storer = cub::BlockStore<Sum, threads, items, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using scanner = cub::BlockScan<Sum, threads>;
    __shared__ union {
        typename loader::TempStorage load;
        typename storer::TempStorage store;
        typename scanner::TempStorage scan;
    } shared;
    const In* const in = image + std::int64_t{blockIdx.x} * n;
    Sum* const out = table + std::int64_t{blockIdx.x} * n;
    running_total<Sum> before;
    for (std::int64_t c = 0; c < n; c += threads * items) {
        const int valid = static_cast<int>(min(n - c, std::int64_t{threads * items}));
        In x[items];
        Sum sums[items];
        loader(shared.load).Load(in + c, x, valid, In{});
        __syncthreads();
        for (int i = 0; i < items; ++i) sums[i] = static_cast<Sum>(x[i]);
        scanner(shared.scan).InclusiveSum(sums, sums, before);
        __syncthreads();
        storer(shared.store).Store(out + c, sums, valid);
        __syncthreads();
    }
}

/// A thread owns a column.
template <typename Sum>
__global__ void columns_kernel(Sum* table, std::int64_t n) {
    constexpr int batch = 16;
    const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (c >= n) return;
    Sum sum{};
    for (std::int64_t r = 0; r < n; r += batch) {
        Sum x[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i)
            if (r + i < n) x[i] = table[(r + i) * n + c];
#pragma unroll
        for (int i = 0; i < batch; ++i)
            if (r + i < n) table[(r + i) * n + c] = sum += x[i];
    }
}

template <typename In, typename Sum>
void run(const void* image, void* table, std::int64_t n, cuda::stream_ref stream) {
    cuda::launch(rows_kernel<In, Sum>, {.grid = static_cast<unsigned>(n), .block = threads}, stream,
                 static_cast<const In*>(image), static_cast<Sum*>(table), n);
    cuda::launch(columns_kernel<Sum>, {.grid = static_cast<unsigned>((n + 63) / 64), .block = 64}, stream,
                 static_cast<Sum*>(table), n);
}

}  // namespace

void cub_two_pass(dtype in, const void* image, void* table, std::int64_t n, cuda::stream_ref stream) {
    if (in == dtype::u8)
        run<std::uint8_t, std::uint32_t>(image, table, n, stream);
    else
        run<float, float>(image, table, n, stream);
}

}  // namespace boxsum::bench
