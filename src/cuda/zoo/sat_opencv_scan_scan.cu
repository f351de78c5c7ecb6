// OpenCV's scan-scan: rows by register scans of 16 bytes a lane, then a thread per column.
// OpenCV 3.4.1, cv::cuda::integral, as told by Chen, Wahib, Takizawa, Takano, Matsuoka: Efficient Algorithms for the
// Summed Area Tables Primitive on GPUs, 2018, section VI.B.2, whose baseline it is.
//
// horisontal_pass_8u_shfl: a block owns a row and walks along it; each thread loads 16 bytes as one uint4, scans its
// elements serially, and Kogge-Stone scans the totals of the lanes in registers. vertical_pass: a thread owns a column.
//
//     row:  | thread 0: 16 bytes | thread 1 | ... | thread 255 | -> next segment
//           serial scan of a thread, warp scan of totals, sums of the warps before, carry
//     column:  a thread each, downwards
//
// Cost: 2 reads, 2 writes per element; 2 launches; 256 threads a row, then a thread a column; no workspace; no exchange
// between blocks.
// Limits: none of its own.
// Differs from the source: the text tells the kernel for 8u alone; for other types OpenCV has horisontal_pass, of which
// it says nothing, and here a thread loads 16 bytes of any. Where rows do not start at multiples of 16 bytes, or have
// several channels, elements are loaded by themselves. The block's size is ours.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/warp_scan.cuh"
#endif

#include <algorithm>
#include <cstdint>

namespace boxsum {
namespace {

// Policy

constexpr int row_threads = 256, column_threads = 64;
[[maybe_unused]] constexpr int loads_together = 8;  // by a thread of vertical_pass

#ifdef __CUDACC__

using namespace cuda;

// Shared memory: the sums of the warps

template <typename Pixel>
struct alignas(16) sixteen_bytes {  // uint4
    static constexpr int count = 16 / static_cast<int>(sizeof(Pixel));
    Pixel of[count];
};

// Kernels

/// A block owns row blockIdx.x of the layer blockIdx.y. Reads I, writes the prefix sums of the row. `aligned`: 16 bytes
/// of a row may be loaded together.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(row_threads)
    horizontal_pass_kernel(layers<const Pixel> in, layers<Sum> out, bool aligned) {
    constexpr int count = sixteen_bytes<Pixel>::count, warps = row_threads / warp_size;
    __shared__ Sum warp_sums[warps];
    const line<const Pixel> x = in[blockIdx.y].row(blockIdx.x);
    const line<Sum> y = out[blockIdx.y].row(blockIdx.x);
    Sum carry{};  // all segments before
    for (std::int64_t segment = 0; segment < in.cols; segment += row_threads * count) {
        const std::int64_t first = segment + std::int64_t{threadIdx.x} * count, left = in.cols - first;
        const int own = left >= count ? count : left > 0 ? static_cast<int>(left) : 0;

        // 16 bytes, and their serial scan
        Sum data[count];
        if (aligned && own == count) {
            const auto loaded = *reinterpret_cast<const sixteen_bytes<Pixel>*>(&x[first]);
#pragma unroll
            for (int j = 0; j < count; ++j) data[j] = widen<Sum>(loaded.of[j]);
        } else {
#pragma unroll
            for (int j = 0; j < count; ++j) data[j] = j < own ? widen<Sum>(x[first + j]) : Sum{};
        }
#pragma unroll
        for (int j = 1; j < count; ++j) data[j] = data[j - 1] + data[j];

        // Kogge-Stone over the totals of the lanes, then the warps
        const Sum up_to = warp_scan<scan_network::kogge_stone>(data[count - 1]);
        if (lane_id() == warp_size - 1) warp_sums[warp_id()] = up_to;
        __syncthreads();
        Sum before = carry;
        for (int w = 0; w < warps; ++w) {
            if (w == warp_id()) before = carry;
            carry += warp_sums[w];
        }
        before += exclusive_of(up_to);
#pragma unroll
        for (int j = 0; j < count; ++j)
            if (j < own) y[first + j] = before + data[j];
        __syncthreads();  // before the next segment overwrites the sums
    }
}

/// A thread owns a column of the layer blockIdx.y. Makes the prefix sums of rows, in place, the table.
template <typename Sum>
__global__ void __launch_bounds__(column_threads) vertical_pass_kernel(layers<Sum> table) {
    const std::int64_t c = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
    if (c < table.cols) scan_line_in_place<loads_together>(table[blockIdx.y].column(c), table.rows);
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        const auto layers = static_cast<unsigned>(a.count());
        const bool aligned = a.channels == 1 && reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0 &&
                             a.row_stride % 16 == 0 && (a.planes == 1 || a.plane_stride % 16 == 0);
        launch(horizontal_pass_kernel<Pixel, Sum>,
               {.grid = dim3(static_cast<unsigned>(a.rows), layers), .block = row_threads}, how.stream, a, b, aligned);
        launch(vertical_pass_kernel<Sum>,
               {.grid = dim3(static_cast<unsigned>(ceil_div(a.cols, column_threads)), layers), .block = column_threads},
               how.stream, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    return {2, 2, 2 + cuda::border_launches(p), core.layers * std::max(core.rows * row_threads, core.cols)};
}

}  // namespace

constinit const algorithm_record sat_opencv_scan_scan_record{
    .info = {.what = operation::sat,
             .name = "opencv-scan-scan",
             .title = "16 bytes a thread along rows, then a thread per column",
             .paper = "OpenCV 3.4.1; Chen et al. 2018, VI.B.2",
             .cost = "2 reads, 2 writes per element; 2 launches",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
