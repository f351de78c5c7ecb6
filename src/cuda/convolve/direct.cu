// Direct convolution: a thread a pixel.
//
// A thread reads N x M neighbours of its pixel, which the first-level cache has after the first warp, and as many
// weights, which all lanes of a warp read together. What the others are held against.
//
// Cost: N M reads of the first-level cache, 1 write per element; 1 launch; a thread per element.
// Limits: none of its own.

#include "cuda/convolve/bordered.cuh"
#include "cuda/convolve/kernels.hpp"
#include "cuda/runtime/launch.cuh"

namespace boxsum::cuda {
namespace {

constexpr int block_rows = 8, block_cols = 32;

/// A thread owns pixel (r, c) of layer blockIdx.y.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(block_rows* block_cols)
    direct_kernel(convolved<Pixel, Sum> all, const Sum* weights, int rows, int cols, int above, int left,
                  unsigned blocks_across) {
    const std::int64_t r = std::int64_t{blockIdx.x / blocks_across} * block_rows + threadIdx.x / block_cols;
    const std::int64_t c = std::int64_t{blockIdx.x % blocks_across} * block_cols + threadIdx.x % block_cols;
    if (r >= all.image.rows || c >= all.image.cols) return;
    const bordered<Pixel, Sum> in = all.input(blockIdx.y);
    Sum sum{};
    for (int j = 0; j < cols; ++j) {
        const auto column = in.column(c + j - left);
        for (int i = 0; i < rows; ++i) sum = fma(column.at(r + i - above), weights[i * cols + j], sum);
    }
    all.result[blockIdx.y].at(r, c) = sum;
}

const char* refuses(const convolution::job&) {
    return nullptr;
}

std::vector<double> weights_of(const convolution::job& j) {
    return j.weights;
}

void enqueue(const convolution::job& j, const void* image, void* result, const void* weights, stream_ref stream) {
    visit_convolved(j, image, result, [&]<typename Pixel, typename Sum>(const convolved<Pixel, Sum>& all) {
        const std::int64_t across = ceil_div(j.image.cols, block_cols), down = ceil_div(j.image.rows, block_rows);
        launch(direct_kernel<Pixel, Sum>,
               {.grid = dim3(static_cast<unsigned>(across * down), static_cast<unsigned>(all.image.count())),
                .block = block_rows * block_cols},
               stream, all, static_cast<const Sum*>(weights), j.rows, j.cols, j.above, j.left,
               static_cast<unsigned>(across));
    });
}

}  // namespace

const convolve_algorithm convolve_direct{"direct", refuses, weights_of, enqueue};

}  // namespace boxsum::cuda
