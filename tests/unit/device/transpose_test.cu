#include "cuda/device/transpose.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_transpose : public test::gpu_kernel_test {};

template <typename T>
__global__ void transpose_kernel(layer<const T> in, layer<T> out) {
    transpose_tile<32, 8>(in, out, blockIdx.x);
}

TEST_F(device_transpose, whole_and_partial_tiles_change_places) {
    for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {32, 32}, {33, 31}, {70, 100}}) {
        const auto count = static_cast<std::size_t>(rows * cols);
        std::vector<double> x(count);
        for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<double>(i) + 0.5;
        const device_buffer in = upload(x), out = upload(std::vector<double>(count));
        const auto tiles = static_cast<unsigned>((rows + 31) / 32 * ((cols + 31) / 32));
        launch(transpose_kernel<double>, {.grid = tiles, .block = 256}, stream(),
               layer<const double>{as<const double>(in), rows, cols, cols * 8, 8},
               layer<double>{as<double>(out), cols, rows, rows * 8, 8});
        const auto got = download<double>(out);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c)
                ASSERT_EQ(got[static_cast<std::size_t>(c * rows + r)], x[static_cast<std::size_t>(r * cols + c)])
                    << rows << " x " << cols << " at " << r << ", " << c;
    }
}

}  // namespace
}  // namespace boxsum::cuda
