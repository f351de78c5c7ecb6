// Boxes that a kernel makes itself, from a table that never leaves the device: a mean over a square around every pixel.

#include <boxsum/cuda/box.cuh>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/error.hpp>

#include <cstdio>
#include <vector>

// [kernel]
__global__ void means_around(boxsum::cuda::device_table<std::uint32_t> sums, int radius, float* means) {
    const std::int64_t row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    const boxsum::box window{row - radius, col - radius, 2 * radius + 1, 2 * radius + 1};
    if (col >= sums.cols) return;
    means[row * sums.cols + col] = contains(sums, window) ? static_cast<float>(box_mean(sums, window)) : 0;
}
// [kernel]

int main() try {
    const int rows = 64, cols = 100, radius = 3;
    std::vector<std::uint8_t> pixels(rows * cols);
    for (int i = 0; i < rows * cols; ++i) pixels[i] = static_cast<std::uint8_t>(i % cols);  // as far as it is right

    const boxsum::cuda::stream stream;
    const boxsum::cuda::image<std::uint8_t> image(rows, cols, stream);
    const boxsum::cuda::table<std::uint32_t> sums(rows, cols, stream);
    boxsum::cuda::copy_async(boxsum::image_view<const std::uint8_t>(pixels.data(), rows, cols), image, stream);
    boxsum::cuda::sat({image}, {sums}, stream);

    const boxsum::cuda::device_buffer packed(rows * cols * sizeof(float), stream);
    auto* const d_means = static_cast<float*>(packed.data());
    const dim3 grid((cols + 127) / 128, rows);
    means_around<<<grid, 128, 0, stream.get()>>>(boxsum::cuda::device_table(sums.view()), radius, d_means);

    std::vector<float> found(rows * cols);
    boxsum::cuda::copy(boxsum::image_view<const float>(d_means, rows, cols),
                       boxsum::image_view<float>(found.data(), rows, cols), stream);
    std::printf("mean around row 10, column 20: %.2f\n", found[10 * cols + 20]);
    std::printf("and at the edge, where no window fits: %.2f\n", found[10 * cols + 1]);
} catch (const boxsum::error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
}
