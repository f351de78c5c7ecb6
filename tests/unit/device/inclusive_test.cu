#include "cuda/device/inclusive.cuh"
#include "support/device_check.cuh"
#include "verify/conformance.hpp"

namespace boxsum::cuda {
namespace {

class device_inclusive : public test::gpu_kernel_test {};

/// Entry (r, c) of layer k becomes 1000 k + 100 r + c + 5: not a table, but it shows where entries go.
template <typename Pixel, typename Sum>
__global__ void number_kernel(layers<const Pixel>, layers<Sum> tables) {
    const layer<Sum> table = tables[blockIdx.x];
    for (std::int64_t i = threadIdx.x; i < table.rows * table.cols; i += blockDim.x) {
        const std::int64_t r = i / table.cols, c = i % table.cols;
        table.at(r, c) = static_cast<Sum>(1000 * blockIdx.x + 100 * r + c + 5);
    }
}

TEST_F(device_inclusive, every_layout_is_a_border_of_zeros_and_an_inclusive_table) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        conformance_case c;
        c.layout = layout;
        c.rows = 4;
        c.cols = 7;
        c.channels = 2;
        c.planes = 3;
        c.table_gap = 3;
        const problem p = problem_of(c);
        const auto bytes = static_cast<std::size_t>(p.table.plane_stride * p.table.planes);
        const device_buffer table = upload(std::vector<std::uint32_t>(bytes / 4, 77u));
        std::int64_t rows = -1, cols = -1;
        enqueue_inclusive(p, {nullptr, table.data(), nullptr}, stream(),
                          [&]<typename Pixel, typename Sum>(layers<const Pixel> image, layers<Sum> tables) {
                              EXPECT_TRUE((std::is_same_v<Pixel, std::uint8_t> && std::is_same_v<Sum, std::uint32_t>));
                              EXPECT_EQ(image.rows, tables.rows);
                              EXPECT_EQ(image.cols, tables.cols);
                              EXPECT_EQ(tables.count(), 6);
                              rows = tables.rows;
                              cols = tables.cols;
                              launch(number_kernel<Pixel, Sum>, {.grid = 6, .block = 64}, stream(), image, tables);
                          });
        const std::int64_t border = layout == table_layout::inclusive ? 0 : 1;
        EXPECT_EQ(rows, layout == table_layout::exclusive ? 3 : 4);
        EXPECT_EQ(cols, layout == table_layout::exclusive ? 6 : 7);
        std::vector<std::uint32_t> expected(bytes / 4, 77u);
        for (std::int64_t k = 0; k < 6; ++k)
            for (std::int64_t r = 0; r < p.table.rows; ++r)
                for (std::int64_t col = 0; col < p.table.cols; ++col)
                    expected[static_cast<std::size_t>(k / 2 * p.table.plane_stride / 4 + r * p.table.row_stride / 4 +
                                                      2 * col + k % 2)] =
                        r < border || col < border
                            ? 0
                            : static_cast<std::uint32_t>(1000 * k + 100 * (r - border) + col - border + 5);
        EXPECT_EQ(download<std::uint32_t>(table), expected) << name_of(layout);
    }
}

TEST_F(device_inclusive, a_table_that_is_all_border_has_no_other_work) {
    conformance_case c;
    c.layout = table_layout::exclusive;
    c.rows = 1;
    c.cols = 300;  // more than a block of the border's kernel
    const problem p = problem_of(c);
    const device_buffer table = upload(std::vector<std::uint32_t>(300, 77u));
    enqueue_inclusive(p, {nullptr, table.data(), nullptr}, stream(),
                      []<typename Pixel, typename Sum>(layers<const Pixel>, layers<Sum>) { FAIL(); });
    EXPECT_EQ(download<std::uint32_t>(table), std::vector<std::uint32_t>(300, 0u));
}

TEST_F(device_inclusive, what_is_not_supported_is_told_with_its_value) {
    conformance_case c;
    EXPECT_TRUE(supports_inclusive(problem_of(c)));
    problem p = problem_of(c);
    p.squares = p.table;
    EXPECT_NE(supports_inclusive(p).reason.find("squares"), std::string::npos);
    p = problem_of(c);
    p.image.planes = 65536;
    EXPECT_NE(supports_inclusive(p).reason.find("65536"), std::string::npos);
    p = problem_of(c);
    p.image.cols = std::int64_t{1} << 31;
    EXPECT_NE(supports_inclusive(p).reason.find("2147483648"), std::string::npos);
}

TEST_F(device_inclusive, shared_memory_is_limited_by_the_device) {
    EXPECT_TRUE(supports_shared_memory(48 * 1024, "a tile"));
    const support no = supports_shared_memory(std::size_t{1} << 24, "a tile");
    EXPECT_FALSE(no);
    EXPECT_NE(no.reason.find("a tile needs 16384 KiB"), std::string::npos) << no.reason;
}

}  // namespace
}  // namespace boxsum::cuda
