#include "cuda/device/register_matrix.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_register_matrix : public test::gpu_kernel_test {};

/// Every warp of the block takes the matrix that is its number columns of 32 further; two slots for all.
__global__ void transpose_and_scan_kernel(layer<const std::uint16_t> in, layer<std::uint64_t> out,
                                          std::uint64_t* last) {
    __shared__ matrix_slot<std::uint64_t> slots[2];
    std::uint64_t data[matrix_size];
    load_matrix(data, in, 0, 32 * warp_id());
    transpose_matrix_in_turn(data, slots);
    last[threadIdx.x] = scan_registers(data);
    transpose_matrix_in_turn(data, slots);
    store_matrix(data, out, 0, 32 * warp_id());
}

TEST_F(device_register_matrix, rows_are_scanned_through_a_transposition_and_zeros_pad_the_image) {
    constexpr std::int64_t rows = 27, cols = 3 * 32 + 5;
    std::vector<std::uint16_t> x(rows * cols);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i * 31 + 5);
    const device_buffer in = upload(x), out = upload(std::vector<std::uint64_t>(rows * cols, 9)),
                        last = upload(std::vector<std::uint64_t>(128));
    launch(transpose_and_scan_kernel, {.block = 128}, stream(),
           layer<const std::uint16_t>{as<const std::uint16_t>(in), rows, cols, cols * 2, 2},
           layer<std::uint64_t>{as<std::uint64_t>(out), rows, cols, cols * 8, 8}, as<std::uint64_t>(last));
    const auto got = download<std::uint64_t>(out), ends = download<std::uint64_t>(last);
    for (std::int64_t r = 0; r < 32; ++r)
        for (std::int64_t first = 0; first < 128; first += 32) {
            std::uint64_t sum = 0;
            for (std::int64_t c = first; c < first + 32; ++c) {
                if (r >= rows || c >= cols) continue;
                sum += x[static_cast<std::size_t>(r * cols + c)];
                ASSERT_EQ(got[static_cast<std::size_t>(r * cols + c)], sum) << r << ", " << c;
            }
            EXPECT_EQ(ends[static_cast<std::size_t>(first + r)], sum);
        }
}

}  // namespace
}  // namespace boxsum::cuda
