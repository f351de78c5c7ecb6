#include "cuda/device/tile_sums.cuh"
#include "support/device_check.cuh"

namespace boxsum::cuda {
namespace {

class device_tile_sums : public test::gpu_kernel_test {};

/// Tile t of one layer, when all tiles to the left and above are done: 1R1W with a launch per tile.
template <int W, int Threads>
__global__ void tile_sums_kernel(layers<const std::uint8_t> a, tile_sums<std::uint32_t> global, layers<std::uint32_t> b,
                                 std::int64_t layer, tile_index t) {
    __shared__ tile_in_pieces<std::uint32_t, W, Threads> tile;
    finish_tile<sums_for_neighbours::published>(tile, a[layer], global, b[layer], layer, t);
}

TEST_F(device_tile_sums, sums_of_rows_columns_and_tiles_carry_a_table_over_its_tiles) {
    constexpr int w = 32;
    constexpr std::int64_t count = 2, rows = 70, cols = 95;
    std::vector<std::uint8_t> pixels(count * rows * cols);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 31 + i / 17);
    std::vector<std::uint32_t> expected(pixels.size());
    const auto at = [&](std::int64_t k, std::int64_t r, std::int64_t c) {
        return static_cast<std::size_t>((k * rows + r) * cols + c);
    };
    for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t r = 0; r < rows; ++r) {
            std::uint32_t row = 0;
            for (std::int64_t c = 0; c < cols; ++c) {
                row += pixels[at(k, r, c)];
                expected[at(k, r, c)] = row + (r > 0 ? expected[at(k, r - 1, c)] : 0);
            }
        }

    const inclusive_core core{count, rows, cols};
    workspace_slots measure;
    (void)tile_sums<std::uint32_t>(measure, core, w);
    const device_buffer image = upload(pixels), table = upload(std::vector<std::uint32_t>(pixels.size()));
    const device_buffer workspace = upload(std::vector<std::uint32_t>(measure.bytes() / 4, 0xabababab));
    workspace_slots slots(workspace.data());
    const tile_sums<std::uint32_t> sums(slots, core, w);
    EXPECT_EQ(sums.tiles.rows, 3);
    EXPECT_EQ(sums.tiles.cols, 3);
    for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t j = 0; j < 3; ++j)
                launch(k == 0 ? tile_sums_kernel<w, 2 * w> : tile_sums_kernel<w, w * w>,
                       {.block = k == 0 ? 2 * w : w * w}, stream(),
                       packed_layers(as<const std::uint8_t>(image), count, rows, cols), sums,
                       packed_layers(as<std::uint32_t>(table), count, rows, cols), k, tile_index{i, j});
    EXPECT_EQ(download<std::uint32_t>(table), expected);

    // What is left in the workspace: GRS, GCS and GS of every tile.
    const auto words = download<std::uint32_t>(workspace);
    const auto word = [&](const std::uint32_t& where) { return words[&where - as<std::uint32_t>(workspace)]; };
    for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t tile = 0; tile < 3; ++tile) {
            const std::int64_t last_row = std::min<std::int64_t>(rows, (tile + 1) * w) - 1;
            const std::int64_t last_col = std::min<std::int64_t>(cols, (tile + 1) * w) - 1;
            for (std::int64_t r = 0; r < rows; ++r)
                EXPECT_EQ(word(sums.row_sums[(k * 3 + tile) * rows + r]),
                          expected[at(k, r, last_col)] - (r > 0 ? expected[at(k, r - 1, last_col)] : 0));
            for (std::int64_t c = 0; c < cols; ++c)
                EXPECT_EQ(word(sums.col_sums[(k * 3 + tile) * cols + c]),
                          expected[at(k, last_row, c)] - (c > 0 ? expected[at(k, last_row, c - 1)] : 0));
            for (std::int64_t j = 0; j < 3; ++j)
                EXPECT_EQ(word(sums.sums[k * 9 + tile * 3 + j]),
                          expected[at(k, last_row, std::min<std::int64_t>(cols, (j + 1) * w) - 1)]);
        }
}

}  // namespace
}  // namespace boxsum::cuda
