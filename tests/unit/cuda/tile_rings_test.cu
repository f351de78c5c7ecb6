// The tile kernels for one channel by themselves: with rings of words so short that small images go round them
// many times, with either way down the columns, several planes, and calls that follow each other in one workspace. On a
// GPU and on an emulated device (tests/emulated), where blocks start in any order.

#include "cuda/production/sat/launch.cuh"
#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_rings : public test::tile_kernel_test {
  protected:
    template <typename Pixel, typename Table>
    std::optional<std::string> wrong_in_pipeline(const shape& s, bool chain, int tiles_in_flight, int blocks) {
        return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            // Every third time as on a device without a copy engine, whose code all newer ones have, too.
            const auto launch = cuda::launch_of_tiles<Pixel, cuda::sum_type<Table>>(g, limits(blocks, turn_ % 3 == 0),
                                                                                    chain, tiles_in_flight);
            ASSERT_TRUE(enqueue(launch, g, nullptr, how));
        });
    }

    /// The ways down the columns that the library has for the pixels.
    template <typename Pixel, typename Table>
    void expect_tables(const shape& s, int tiles_in_flight) {
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, "groups",
                         [&] { return wrong_in_pipeline<Pixel, Table>(s, false, tiles_in_flight, 1 + turn_ % 5); });
        constexpr cuda::tile_kernel chain{.columns = cuda::tile_columns::chain};
        if constexpr (test::has_kernels_of<Pixel, Table>() && cuda::is_compiled<Pixel, cuda::sum_type<Table>>(chain))
            expect_right(s, "chain",
                         [&] { return wrong_in_pipeline<Pixel, Table>(s, true, tiles_in_flight, 1 + turn_ % 5); });
    }
};

TEST_F(tile_rings, tall_images_go_round_the_ring_many_times) {
    for (const table_layout layout : layouts) {
        expect_tables<f32, f32>({64 * 45 + 7, 129, 1, layout}, 1);
        expect_tables<u8, u32>({64 * 33 + 1, 200, 1, layout}, 1);
    }
}

TEST_F(tile_rings, wide_images_have_several_groups) {
    for (const table_layout layout : layouts) {
        expect_tables<f32, f32>({70, 128 * 18 + 3, 1, layout}, 1);
        expect_tables<u8, u32>({64 * 7, 128 * 9, 1, layout}, 1);
    }
}

TEST_F(tile_rings, planes_follow_each_other_in_the_ring) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {1, 64, 65, 150, 64 * 5 + 1, 64 * 9}) {
            expect_tables<f32, f32>({rows, 130, 13, layout}, 1);
            expect_tables<u8, u32>({rows, 40, 19, layout}, 1);
        }
}

TEST_F(tile_rings, edges_of_every_kind_of_tile) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {1, 63, 64, 65, 128})
            for (const std::int64_t cols : {1, 3, 4, 127, 128, 129, 131, 256}) {
                expect_tables<f32, f32>({rows, cols, 1, layout}, 9);
                expect_tables<u8, u32>({rows, cols, 2, layout}, 9);
                expect_tables<f64, f64>({rows, cols, 1, layout}, 9);
            }
}

TEST_F(tile_rings, rows_of_the_table_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t gap : {0, 1, 2, 3})
            for (const std::int64_t offset : {0, 1, 2, 3})
                for (const std::int64_t cols : {1, 126, 127, 128, 257, 258}) {
                    expect_tables<f32, f32>({66, cols, 1, layout, gap, offset}, 9);
                    if (gap < 2 && offset < 2) {
                        expect_tables<u8, u32>({129, cols, 2, layout, gap, offset}, 9);
                        expect_tables<f64, f64>({66, cols / 2 + 1, 2, layout, gap, offset}, 9);
                    }
                }
}

TEST_F(tile_rings, tables_with_a_border_and_an_aligned_pitch) {  // a tile stores the last sum of its left neighbour
    for (const table_layout layout : {table_layout::exclusive, table_layout::padded})
        for (const std::int64_t cols : {127, 128, 131, 128 * 9 - 1, 128 * 9, 128 * 9 + 1}) {
            const std::int64_t gap = (layout == table_layout::padded ? 4 - (cols + 1) % 4 : 4 - cols % 4) % 4;
            for (const std::int64_t rows : {3, 64, 64 * 9 + 1}) {
                expect_tables<f32, f32>({rows, cols, 2, layout, gap}, 1);
                expect_tables<u8, u32>({rows, cols, 1, layout, gap}, 1);
                // Of images whose rows start anywhere.
                expect_tables<f32, f32>({rows, cols, 1, layout, gap, 0, 1, 1}, 1);
                expect_tables<u8, u32>({rows, cols, 1, layout, gap, 0, 3, 5}, 1);
            }
            expect_tables<f64, f64>({64 * 5 + 7, cols, 1, layout, gap % 2, 0, 1, 1}, 1);
            expect_tables<f64, f64>({64 * 5 + 7, cols, 1, layout, gap % 2}, 1);
        }
}

TEST_F(tile_rings, rows_of_the_image_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t cols : {1, 5, 127, 128, 130, 255, 257}) {
            for (std::int64_t offset = 0; offset < 16; ++offset) {
                expect_tables<u8, u32>({66, cols, 1, layout, -1, 0, offset % 5, offset}, 9);
                if (offset % 3 == 0) expect_tables<u8, u32>({130, cols, 2, layout, 1, offset, 16, offset + 1}, 1);
            }
            for (std::int64_t offset = 0; offset < 4; ++offset) {
                expect_tables<f32, f32>({66, cols, 2, layout, offset, offset, offset % 3, offset}, 9);
                expect_tables<f32, f32>({66, cols, 1, layout, -1, 0, 0, offset}, 9);
            }
            for (std::int64_t offset = 0; offset < 2; ++offset)
                expect_tables<f64, f64>({66, cols / 2 + 1, 2, layout, 0, 0, 1 - offset, offset}, 9);
        }
    expect_tables<f32, f32>({64 * 45 + 7, 129, 1, table_layout::padded, 0, 1, 0, 1}, 1);
    expect_tables<u8, u32>({70, 128 * 18 + 3, 3, table_layout::inclusive, 0, 0, 0, 0}, 1);
}

TEST_F(tile_rings, sums_of_eight_bytes) {
    for (const table_layout layout : layouts) {
        expect_tables<f64, f64>({64 * 21 + 5, 64 * 2 + 3, 1, layout}, 1);
        expect_tables<f64, f64>({70, 64 * 18 + 1, 2, layout}, 1);
        // Three tiles a block in shared memory.
        expect_tables<f32, f64>({64 * 21 + 5, 64 * 2 + 3, 1, layout}, 1);
        expect_tables<f32, f64>({70, 64 * 18 + 1, 2, layout, 1, 0, 1, 1}, 1);
    }
}

TEST_F(tile_rings, epochs_start_over) {
    set_epoch(cuda::tag_epochs - 3);
    for (int i = 0; i < 8; ++i) expect_tables<f32, f32>({64 * 19, 300, 1, table_layout::inclusive}, 1);
    EXPECT_LT(epoch(), 20u);
    EXPECT_GT(epoch(), 0u);
}

TEST_F(tile_rings, words_that_do_not_fit_the_workspace_are_refused) {
    const auto compute = [&](const cuda::sat_geometry& g, const execution& how) {
        execution small = how;
        small.workspace_bytes = 4096;
        (void)enqueue(cuda::launch_of_tiles<u8, u32>(g, limits(3), false, 9), g, nullptr, small);
    };
    EXPECT_THROW((wrong_table<u8, u32>({64 * 3, 128 * 3, 1, table_layout::inclusive}, compute)), std::logic_error);
}

TEST_F(tile_rings, an_epoch_that_is_used_twice_is_seen) {
    const shape s{64 * 3, 128 * 3, 1, table_layout::inclusive};
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        set_epoch(5);
        wrong += wrong_in_pipeline<u8, u32>(s, false, 9, 3) ? 1 : 0;
    }
    EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace boxsum
