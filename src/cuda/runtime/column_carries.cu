// Strips of columns of an integral histogram become parts of the whole one: every row of every bin gets what is to its
// left, one value. A warp goes along a row, and its last lane keeps the sum for the next strip.

#include "cuda/runtime/column_carries.hpp"
#include "cuda/runtime/launch.cuh"

#include <boxsum/types.hpp>

#include <algorithm>

namespace boxsum::cuda {
namespace {

constexpr int warp_lanes = 32, block_warps = 8;
constexpr std::int64_t most_blocks = 4096;  // more than are resident anywhere; a warp goes on with further rows

template <typename Entry>
__global__ void __launch_bounds__(block_warps* warp_lanes)
    add_carries_kernel(std::byte* data, tensor_shape s, Entry* carries, std::int64_t plane_entries) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes, warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const std::int64_t rows_of_plane = s.bins * s.rows, count = s.planes * rows_of_plane;
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_warps + warp; i < count;
         i += std::int64_t{gridDim.x} * block_warps) {
        const std::int64_t plane = i / rows_of_plane, within = i % rows_of_plane, bin = within / s.rows;
        auto* const row = reinterpret_cast<Entry*>(data + plane * s.plane_stride + bin * s.bin_stride +
                                                   within % s.rows * s.row_stride);
        Entry& carry = carries[plane * plane_entries + within];
        const Entry left = carry;
        __syncwarp();  // every lane has the carry, before it is another one
        for (std::int64_t c = lane; c < s.cols; c += warp_lanes) {
            row[c] = static_cast<Entry>(row[c] + left);
            if (c == s.cols - 1) carry = row[c];
        }
    }
}

template <typename Entry>
void enqueue(const any_tensor_view& strip, void* carries, std::int64_t plane_entries, stream_ref stream) {
    const tensor_shape& s = strip.shape;
    const std::int64_t blocks = (s.planes * s.bins * s.rows + block_warps - 1) / block_warps;
    launch(add_carries_kernel<Entry>,
           {.grid = static_cast<unsigned>(std::min(blocks, most_blocks)), .block = block_warps * warp_lanes}, stream,
           static_cast<std::byte*>(strip.data), s, static_cast<Entry*>(carries), plane_entries);
}

}  // namespace

void enqueue_column_carries(const any_tensor_view& strip, void* carries, std::int64_t plane_entries,
                            stream_ref stream) {
    switch (strip.shape.type) {
        case dtype::u16:
            return enqueue<std::uint16_t>(strip, carries, plane_entries, stream);
        case dtype::f32:
            return enqueue<float>(strip, carries, plane_entries, stream);
        default:
            return enqueue<std::uint32_t>(strip, carries, plane_entries, stream);
    }
}

}  // namespace boxsum::cuda
