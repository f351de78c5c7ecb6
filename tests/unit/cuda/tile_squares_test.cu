// The tile kernels that compute tables of sums and of squares at once, by themselves. On a GPU and on an emulated
// device (tests/emulated).

#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_squares : public test::tile_kernel_test {
  protected:
    /// `panels`: of a tile at most; rings as short as `multiprocessors` leave them.
    template <typename Pixel, typename Table, typename Squares>
    void expect_both(const shape& s, int panels, int multiprocessors = 1) {
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, panels == 2 ? "two panels" : "one panel", [&] {
                return wrong_tables<Pixel, Table, Squares>(
                    s, [&](const cuda::sat_geometry& sums, const cuda::sat_geometry& squares, const execution& how) {
                        const auto launch =
                            cuda::launch_with_squares<Pixel, cuda::sum_type<Table>, cuda::sum_type<Squares>>(
                                sums, squares, panels == 2, limits(multiprocessors));
                        ASSERT_TRUE(enqueue(launch, sums, squares.table, how));
                    });
            });
    }
};

TEST_F(tile_squares, go_round_the_ring_and_have_several_groups) {
    for (const table_layout layout : layouts)
        for (const int panels : {1, 2}) {
            expect_both<u8, u32, u64>({64 * 37 + 7, 67, 1, layout}, panels);
            expect_both<u8, u32, u64>({70, 128 * 20 + 3, 2, layout}, panels);
            expect_both<u8, u32, u32>({64 * 9, 128 * 5 + 33, 1, layout}, panels);
            expect_both<f32, f32, f32>({64 * 12 + 1, 64 * 9 + 5, 1, layout}, panels);
        }
}

/// A group of rows of tiles has 8 of them only where rows are long.
TEST_F(tile_squares, have_many_tiles_a_row) {
    expect_both<u8, u32, u64>({64 * 8, 64 * 129, 1, table_layout::inclusive}, 1, 8);
}

TEST_F(tile_squares, end_in_either_panel) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {2, 64, 66, 321})
            for (const std::int64_t cols : {2, 3, 31, 63, 64, 65, 127, 128, 129, 193})
                for (const int panels : {1, 2}) {
                    expect_both<u8, u32, u64>({rows, cols, 2, layout}, panels, 3);
                    if (panels == 1) expect_both<f32, f32, f32>({rows, cols, 1, layout}, panels, 3);
                }
}

TEST_F(tile_squares, have_all_types_of_tables) {
    for (const table_layout layout : layouts)
        for (const int panels : {1, 2}) {
            expect_both<u8, u32, f64>({130, 200, 1, layout}, panels);
            expect_both<u8, s32, f64>({130, 200, 1, layout}, panels);
            expect_both<u8, u64, u64>({130, 200, 1, layout}, panels);
            expect_both<u8, f64, f64>({130, 200, 1, layout}, panels);
        }
}

/// Two launches take those.
TEST_F(tile_squares, leave_rows_that_start_anywhere_to_others) {
    const auto expect_none = [&](const shape& s) {
        bool enqueued = true;
        (void)wrong_tables<u8, u32, u64>(
            s, [&](const cuda::sat_geometry& sums, const cuda::sat_geometry& squares, const execution& how) {
                enqueued = enqueue(
                    cuda::launch_with_squares<u8, std::uint32_t, std::uint64_t>(sums, squares, false, limits(1)), sums,
                    squares.table, how);
            });
        EXPECT_FALSE(enqueued);
    };
    expect_none({100, 201, 1, table_layout::inclusive, 0});         // rows of the tables
    expect_none({100, 200, 1, table_layout::inclusive, -1, 1});     // where the tables start
    expect_none({100, 200, 1, table_layout::inclusive, -1, 0, 1});  // rows of the image
}

}  // namespace
}  // namespace boxsum
