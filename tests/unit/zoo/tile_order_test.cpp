#include "cuda/device/tile_order.hpp"

#include <gtest/gtest.h>

namespace boxsum::cuda {
namespace {

TEST(diagonal_order, is_figure_9_of_emoto_for_five_by_five) {
    const int figure[5][5] = {
        {0, 1, 3, 6, 10}, {2, 4, 7, 11, 15}, {5, 8, 12, 16, 19}, {9, 13, 17, 20, 22}, {14, 18, 21, 23, 24}};
    const diagonal_order order{5, 5};
    for (int row = 0; row < 5; ++row)
        for (int col = 0; col < 5; ++col) EXPECT_EQ(order.serial({row, col}), figure[row][col]);
}

TEST(diagonal_order, numbers_every_tile_once_with_its_predecessors_before_it) {
    for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 7}, {7, 1}, {3, 8}, {8, 3}, {6, 6}, {2, 2}, {5, 4}, {4, 5}}) {
        const diagonal_order order{rows, cols};
        std::int64_t serial = 0;
        for (std::int64_t diagonal = 0; diagonal < order.diagonals(); ++diagonal) {
            EXPECT_EQ(order.before(diagonal), serial);
            for (std::int64_t k = 0; k < order.length(diagonal); ++k, ++serial) {
                const tile_index t{order.first_row(diagonal) + k, diagonal - order.first_row(diagonal) - k};
                EXPECT_EQ(order.serial(t), serial);
                EXPECT_EQ(order.tile(serial), t);
                EXPECT_TRUE(t.row >= 0 && t.row < rows && t.col >= 0 && t.col < cols);
                for (const tile_index before :
                     {tile_index{t.row - 1, t.col}, {t.row, t.col - 1}, {t.row - 1, t.col - 1}})
                    EXPECT_TRUE(before.row < 0 || before.col < 0 || order.serial(before) < serial);
            }
        }
        EXPECT_EQ(serial, order.count());
    }
}

TEST(diagonal_order, finds_tiles_of_grids_whose_numbers_do_not_fit_32_bits) {
    const diagonal_order order{3000000, 2000000};
    for (const std::int64_t serial : {std::int64_t{0}, std::int64_t{1} << 40, order.count() / 2, order.count() - 1,
                                      order.before(2000000), order.before(2000000) - 1, order.before(3000000)})
        EXPECT_EQ(order.serial(order.tile(serial)), serial);
}

}  // namespace
}  // namespace boxsum::cuda
