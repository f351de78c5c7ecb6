#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/production/sat/tensor_map.hpp"
#include "support/device_check.cuh"

#include <boxsum/cuda/device.hpp>

#include <algorithm>

namespace boxsum::cuda {
namespace {

constexpr int box_rows = 8, box_cols = 16, tile_bytes = box_rows * box_cols * 4;

class device_bulk_copy : public test::gpu_kernel_test {
  protected:
    void SetUp() override {
        gpu_kernel_test::SetUp();
        if (!IsSkipped() && !HasFatalFailure() && describe_device(current_device()).major < 9)
            GTEST_SKIP() << "no CUDA device of compute capability 9.0";
    }
};

/// Boxes one after the other through one barrier: its parities alternate.
__global__ void boxes_kernel(const __grid_constant__ CUtensorMap map, const int* places, int count, unsigned* out) {
    __shared__ __align__(128) unsigned tile[box_rows * box_cols];
    __shared__ phase_barrier landed;
    if (threadIdx.x == 0) landed.initialize(1);
    __syncthreads();
    for (int i = 0; i < count; ++i) {
        if (threadIdx.x == 0) {
            expect(landed, tile_bytes);
            copy_box(tile, map, places[3 * i], places[3 * i + 1], places[3 * i + 2], landed, drop_from_l2());
            landed.arrive();
        }
        landed.wait(static_cast<std::uint32_t>(i) & 1u);
        for (unsigned k = threadIdx.x; k < box_rows * box_cols; k += blockDim.x)
            out[static_cast<unsigned>(i) * box_rows * box_cols + k] = tile[k];
        __syncthreads();
    }
}

TEST_F(device_bulk_copy, boxes_arrive_whole_with_zeros_outside_of_the_tensor) {
    constexpr std::int64_t planes = 2, rows = 21, cols = 41, pitch = 44;  // rows of 176 bytes
    std::vector<unsigned> x(planes * rows * pitch);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<unsigned>(i + 1);
    const device_buffer image = upload(x);
    CUtensorMap map;
    ASSERT_TRUE(
        encode_tensor_map(map, 4, image.data(), planes, rows, cols, pitch * 4, rows * pitch * 4, box_rows, box_cols));
    // Column (a multiple of 16 bytes), row, plane.
    const std::vector<int> places{0, 0, 0, 16, 8, 0, 32, 16, 1, -4, -3, 1, 36, 20, 0, 48, 0, 0, 8, 4, 1};
    const auto count = places.size() / 3;
    const device_buffer where = upload(places), out = upload(std::vector<unsigned>(count * box_rows * box_cols, 9));
    launch(boxes_kernel, {.block = 64}, stream(), map, as<const int>(where), static_cast<int>(count),
           as<unsigned>(out));
    const auto got = download<unsigned>(out);
    for (std::size_t i = 0; i < count; ++i)
        for (int r = 0; r < box_rows; ++r)
            for (int c = 0; c < box_cols; ++c) {
                const std::int64_t row = places[3 * i + 1] + r, col = places[3 * i] + c, plane = places[3 * i + 2];
                const bool inside = row >= 0 && row < rows && col >= 0 && col < cols;
                const auto at = static_cast<std::size_t>((plane * rows + row) * pitch + col);
                ASSERT_EQ(got[(i * box_rows + static_cast<std::size_t>(r)) * box_cols + static_cast<std::size_t>(c)],
                          inside ? x[at] : 0u)
                    << "box " << i << ", row " << r << ", column " << c;
            }
}

TEST_F(device_bulk_copy, maps_that_hardware_has_not_are_refused) {
    const device_buffer image = upload(std::vector<unsigned>(4096));
    CUtensorMap map;
    const auto encodes = [&](const void* data, std::int64_t pitch_bytes) {
        return encode_tensor_map(map, 4, data, 1, 20, 40, pitch_bytes, 0, box_rows, box_cols);
    };
    EXPECT_TRUE(encodes(image.data(), 176));
    EXPECT_FALSE(encodes(image.data(), 172));
    EXPECT_FALSE(encodes(as<unsigned>(image) + 1, 176));
}

}  // namespace
}  // namespace boxsum::cuda
