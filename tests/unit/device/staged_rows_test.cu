#include "cuda/device/staged_rows.cuh"
#include "support/device_check.cuh"

#include <boxsum/cuda/device.hpp>

#include <algorithm>
#include <tuple>

namespace boxsum::cuda {
namespace {

constexpr int tiles = 5, rows_of_tile = 16, warps = 3;

class device_staged_rows : public test::gpu_kernel_test {
  protected:
    void SetUp() override {
        gpu_kernel_test::SetUp();
        if (!IsSkipped() && !HasFatalFailure() && describe_device(current_device()).major < 9)
            GTEST_SKIP() << "no CUDA device of compute capability 9.0";
    }
};

/// Warp w stores tiles of 16 rows one after another, many more than are under way at a time; of each tile the first
/// `valid_rows`, of each row the first `pieces`. Element i of row r is 1000 r + i.
template <typename Sum, int Rows>
__global__ void rows_kernel(Sum* first, std::int64_t stride, int valid_rows, int pieces) {
    constexpr int lane_cols = 16 / static_cast<int>(sizeof(Sum));
    using staged = staged_rows<Sum, lane_cols, Rows>;
    __shared__ __align__(16) typename staged::memory memory[warps];
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    const staged rows{memory[warp]};
    for (int tile = 0; tile < tiles; ++tile)
        for (int k = 0; k < rows_of_tile; ++k) {
            const int row = (warp * tiles + tile) * rows_of_tile + k;
            Sum x[lane_cols];
            for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Sum>(1000 * row + lane * lane_cols + i);
            rows.store(reinterpret_cast<std::byte*>(first) + row * stride, stride, x, k, valid_rows, pieces, lane);
        }
    staged::settle();
}

template <typename Sum>
void expect_rows(std::int64_t gap, const std::vector<Sum>& got, Sum poison, int valid_rows, int pieces) {
    constexpr std::int64_t cols = 512 / sizeof(Sum);
    const std::int64_t valid_cols = std::clamp(pieces, 0, 32) * 16 / static_cast<std::int64_t>(sizeof(Sum));
    for (std::int64_t r = 0; r < warps * tiles * rows_of_tile; ++r)
        for (std::int64_t i = 0; i < cols + gap; ++i)
            ASSERT_EQ(got[static_cast<std::size_t>(r * (cols + gap) + i)],
                      r % rows_of_tile < valid_rows && i < valid_cols ? static_cast<Sum>(1000 * r + i) : poison)
                << "row " << r << ", element " << i << "; " << valid_rows << " rows, " << pieces << " pieces";
}

TEST_F(device_staged_rows, every_row_arrives_and_nothing_beside_it) {
    const auto check = [&]<typename Sum, int Rows>(Sum poison) {
        for (const auto& [bytes_between, valid_rows, pieces] : {std::tuple{0, 16, 32},
                                                                {16, 16, 32},
                                                                {48, 1000, 1000},
                                                                {0, 13, 32},
                                                                {16, 1, 7},
                                                                {0, 0, 32},
                                                                {0, -3, -1},
                                                                {0, 16, 0},
                                                                {32, 16, 31}}) {
            const std::int64_t stride = 512 + bytes_between,
                               gap = bytes_between / static_cast<std::int64_t>(sizeof(Sum));
            const auto count = static_cast<std::size_t>(warps * tiles * rows_of_tile * stride) / sizeof(Sum);
            const device_buffer out = upload(std::vector<Sum>(count, poison));
            launch(rows_kernel<Sum, Rows>, {.block = 32 * warps}, stream(), as<Sum>(out), stride, valid_rows, pieces);
            expect_rows(gap, download<Sum>(out), poison, valid_rows, pieces);
        }
    };
    check.operator()<std::uint32_t, 16>(77);
    check.operator()<std::uint32_t, 8>(77);
    check.operator()<float, 16>(-1);
    check.operator()<double, 4>(-1);
    check.operator()<std::uint64_t, 2>(77);
}

}  // namespace
}  // namespace boxsum::cuda
