#include "core/visit_types.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "cuda/runtime/launch.cuh"

namespace boxsum::cuda {
namespace {

constexpr int block_cols = 256;  // elements of one row that a block owns, one a thread

__global__ void raise_kernel(const char* image, std::int64_t image_stride, char* raised, std::int64_t raised_stride,
                             std::int64_t elements, std::int64_t rows) {
    const std::int64_t element = std::int64_t{blockIdx.x} * block_cols + threadIdx.x;
    if (element >= elements) return;
    for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        reinterpret_cast<u16*>(raised + row * raised_stride)[element] =
            static_cast<u16>(reinterpret_cast<const u16*>(image + row * image_stride)[element] ^ 0x8000u);
}

}  // namespace

void enqueue_raise(const const_any_view& image, const any_view& raised, stream_ref stream) {
    const view_shape& s = image.shape;
    const std::int64_t elements = s.cols * s.channels;
    const dim3 grid(static_cast<unsigned>((elements + block_cols - 1) / block_cols),
                    static_cast<unsigned>(s.rows < 32768 ? s.rows : 32768), 1);
    launch(raise_kernel, {.grid = grid, .block = block_cols}, stream, static_cast<const char*>(image.data),
           s.row_stride, static_cast<char*>(raised.data), raised.shape.row_stride, elements, s.rows);
}

}  // namespace boxsum::cuda
