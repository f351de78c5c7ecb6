// Means of images: a warp adds up a row, and another one, when all rows are done, the sums of a channel of a plane.
// Both in the order of core/lane_sums.hpp, which has the host's bits.

#include "core/lane_sums.hpp"
#include "core/visit_types.hpp"
#include "cuda/device/warp_scan.cuh"
#include "cuda/queries/mean_kernels.hpp"
#include "cuda/queries/samples.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <cstdint>

namespace boxsum::cuda {
namespace {

static_assert(sum_lanes{}.size() == warp_size);

constexpr int block_warps = 4;
constexpr std::int64_t most_blocks = 1 << 20;  // warps go on with further rows

template <typename T>
__global__ void __launch_bounds__(block_warps* warp_size)
    sum_image_rows_kernel(samples image, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t all,
                          double* sums) {
    for (std::int64_t i = std::int64_t{blockIdx.x} * block_warps + warp_id(); i < all;
         i += std::int64_t{gridDim.x} * block_warps) {
        const std::int64_t row = i % rows, channel = i / rows % channels, plane = i / rows / channels;
        double sum = 0;
#pragma unroll 8
        for (std::int64_t col = lane_id(); col < cols; col += warp_size)
            sum += number_of(image.at<const T>(plane, row, col, channel));
        sum = warp_sum(sum);
        if (lane_id() == 0) sums[i] = sum;
    }
}

/// A block of one warp for each mean.
__global__ void __launch_bounds__(warp_size)
    average_rows_kernel(const double* sums, std::int64_t rows, std::int64_t all, double pixels, double* means) {
    for (std::int64_t i = blockIdx.x; i < all; i += gridDim.x) {
        double sum = 0;
#pragma unroll 8
        for (std::int64_t row = lane_id(); row < rows; row += warp_size) sum += sums[i * rows + row];
        sum = warp_sum(sum);
        if (lane_id() == 0) means[i] = sum / pixels;
    }
}

}  // namespace

void enqueue_image_means(const const_any_view& image, double* sums, double* means, stream_ref stream) {
    const view_shape& s = image.shape;
    const std::int64_t numbers = s.planes * s.channels, rows = s.rows * numbers;
    const auto blocks = [](std::int64_t n) { return static_cast<unsigned>(std::min(n, most_blocks)); };
    visit_dtype(s.type, [&]<typename T>() {
        launch(sum_image_rows_kernel<T>,
               {.grid = blocks((rows + block_warps - 1) / block_warps), .block = block_warps * warp_size}, stream,
               samples(image), s.rows, s.cols, s.channels, rows, sums);
    });
    launch(average_rows_kernel, {.grid = blocks(numbers), .block = warp_size}, stream, sums, s.rows, numbers,
           static_cast<double>(s.rows) * static_cast<double>(s.cols), means);
}

}  // namespace boxsum::cuda
