#include "competitors/entry_reads.hpp"
#include "cuda/runtime/cuda_try.hpp"

namespace boxsum::bench {
namespace {

constexpr int threads = 256;

template <typename Word>
__global__ void __launch_bounds__(threads) read_entries_kernel(const std::byte* table, std::int64_t row_stride,
                                                               const uint4* corners, std::int64_t boxes, Word* sums) {
    const std::int64_t box = std::int64_t{blockIdx.x} * threads + threadIdx.x;
    if (box >= boxes) return;
    const uint4 row = corners[2 * box], col = corners[2 * box + 1];
    const auto at = [&](unsigned r, unsigned c) { return reinterpret_cast<const Word*>(table + r * row_stride)[c]; };
    const Word a = at(row.x, col.x), b = at(row.y, col.y), c = at(row.z, col.z), d = at(row.w, col.w);
    sums[box] = a + b + c + d;
}

template <typename Word>
void enqueue(const const_any_view& table, const random_corners* corners, std::int64_t boxes, void* sums,
             cuda::stream_ref stream) {
    static_assert(sizeof(random_corners) == 2 * sizeof(uint4));
    const auto blocks = static_cast<unsigned>((boxes + threads - 1) / threads);
    read_entries_kernel<<<blocks, threads, 0, stream.get()>>>(
        static_cast<const std::byte*>(table.data), table.shape.row_stride, reinterpret_cast<const uint4*>(corners),
        boxes, static_cast<Word*>(sums));
    BOXSUM_CUDA_TRY(cudaGetLastError());
}

}  // namespace

void read_entries(const const_any_view& table, const random_corners* corners, std::int64_t boxes, void* sums,
                  cuda::stream_ref stream) {
    if (size_of(table.shape.type) == 4)
        enqueue<std::uint32_t>(table, corners, boxes, sums, stream);
    else
        enqueue<unsigned long long>(table, corners, boxes, sums, stream);
}

}  // namespace boxsum::bench
