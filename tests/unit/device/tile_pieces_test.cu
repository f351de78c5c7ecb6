#include "cuda/device/tile_pieces.cuh"
#include "support/device_check.cuh"

#include <algorithm>

namespace boxsum::cuda {
namespace {

class device_tile_pieces : public test::gpu_kernel_test {
  protected:
    static constexpr std::int64_t rows = 75, cols = 90;
    using table = std::vector<std::uint32_t>;

    template <int W, int Threads, tile_arrangement A = tile_arrangement::padded>
    void check_tiles() const;
};

/// The table of one tile of an image in which `left` stands before each row, `above` over each column and `corner` over
/// all; and what the steps say of the sums of rows and columns.
template <int W, int Threads, tile_arrangement A>
__global__ void tile_by_pieces_kernel(layer<const std::uint8_t> image, layer<std::uint32_t> table, tile_index t,
                                      std::uint32_t* row_sums, std::uint32_t* column_sums) {
    auto& s = *dynamic_shared<tile_in_pieces<std::uint32_t, W, Threads, A>>();
    const tile_piece<W, Threads> own;
    const tile_box box = box_of<W>(t, image.rows, image.cols);
    std::uint32_t x[own.m];
    load_piece(x, own, image, box);
    s.put(own, x);
    s.sum_columns(own, x);
    if (own.piece == 0) s.left[own.k] = 1000u * static_cast<unsigned>(own.k);
    if (own.piece == 1) s.above[own.k] = 3u + static_cast<unsigned>(own.k);
    if (threadIdx.x == 0) s.corner = 77;
    __syncthreads();
    if (warp_id() == 1) s.sum_above();
    __syncthreads();
    s.scan_rows(own, x);
    __syncthreads();
    if (own.piece == 0) row_sums[own.k] = s.row_sum(own.k);
    if (own.piece == 1) column_sums[own.k] = s.column_sum(own.k);
    s.put_rows(own, x);
    __syncthreads();
    s.scan_columns(own, x);
    __syncthreads();
    store_piece(x, s.before_columns(own, s.corner + s.above[own.k]), own, table, box);
}

/// Every tile of an image whose last tiles are cut.
template <int W, int Threads, tile_arrangement A>
void device_tile_pieces::check_tiles() const {
    std::vector<std::uint8_t> pixels(rows * cols);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7 + i / 13);
    const auto at = [](std::int64_t r, std::int64_t c) { return static_cast<std::size_t>(r * cols + c); };
    const device_buffer image = upload(pixels);
    for (std::int64_t I = 0; I * W < rows; ++I)
        for (std::int64_t J = 0; J * W < cols; ++J) {
            const device_buffer result = upload(table(pixels.size(), 777u)), row_sums = upload(table(W)),
                                column_sums = upload(table(W));
            launch(tile_by_pieces_kernel<W, Threads, A>,
                   {.block = Threads, .shared_bytes = sizeof(tile_in_pieces<std::uint32_t, W, Threads, A>)}, stream(),
                   layer<const std::uint8_t>{as<const std::uint8_t>(image), rows, cols, cols, 1},
                   layer<std::uint32_t>{as<std::uint32_t>(result), rows, cols, cols * 4, 4}, tile_index{I, J},
                   as<std::uint32_t>(row_sums), as<std::uint32_t>(column_sums));

            table expected(pixels.size(), 777u), of_rows(W), of_columns(W);
            const std::int64_t below = std::min<std::int64_t>(W, rows - I * W),
                               right = std::min<std::int64_t>(W, cols - J * W);
            for (std::int64_t i = 0; i < below; ++i) {
                std::uint32_t row = 0;
                for (std::int64_t j = 0; j < right; ++j) {
                    const std::uint32_t x = pixels[at(I * W + i, J * W + j)];
                    of_rows[static_cast<std::size_t>(i)] += x;
                    of_columns[static_cast<std::size_t>(j)] += x;
                    row += x;
                    // Above the first row lie corner + 3 + 4 + ..., left of row r 1000 r.
                    const auto c = static_cast<std::uint32_t>(j);
                    const std::uint32_t above =
                        i > 0 ? expected[at(I * W + i - 1, J * W + j)] : 77 + 3 * (c + 1) + c * (c + 1) / 2;
                    expected[at(I * W + i, J * W + j)] = above + 1000u * static_cast<std::uint32_t>(i) + row;
                }
            }
            EXPECT_EQ(download<std::uint32_t>(result), expected) << Threads << " threads, tile " << I << ", " << J;
            EXPECT_EQ(download<std::uint32_t>(row_sums), of_rows) << Threads << " threads, tile " << I << ", " << J;
            EXPECT_EQ(download<std::uint32_t>(column_sums), of_columns)
                << Threads << " threads, tile " << I << ", " << J;
        }
}

TEST_F(device_tile_pieces, tiles_are_finished_between_what_surrounds_them) {
    check_tiles<32, 64>();
    check_tiles<32, 256>();
    check_tiles<32, 1024>();
    check_tiles<64, 256>();
    check_tiles<32, 256, tile_arrangement::diagonal>();
}

}  // namespace
}  // namespace boxsum::cuda
