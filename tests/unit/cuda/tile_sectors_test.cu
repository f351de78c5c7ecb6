// The tile kernels whose tiles store whole sectors of tables whose rows start anywhere, by themselves: the policy
// leaves them to tables that are larger than the cache. On a GPU and on an emulated device (tests/emulated).

#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

constexpr cuda::tile_kernel whole_sectors{cuda::tile_load::box, cuda::tile_store::whole_sectors};

class tile_sectors : public test::tile_kernel_test {
  protected:
    bool enqueue_in_sectors(const cuda::sat_geometry& g, int blocks, int tiles_in_flight, const execution& how) {
        return enqueue(cuda::launch_with<u8, u32, whole_sectors>(g, limits(blocks), tiles_in_flight), g, nullptr, how);
    }

    /// Shapes whose tiles share no sectors, because of where their rows start, are computed by other kernels.
    void expect_tables(const shape& s, int tiles_in_flight) {
        expect_right(s, "whole sectors", [&] {
            return wrong_table<u8, u32>(s, [&](const cuda::sat_geometry& g, const execution& how) {
                const int blocks = 1 + turn_ % 5;
                ++asked_;
                if (enqueue_in_sectors(g, blocks, tiles_in_flight, how))
                    ++in_whole_sectors_;
                else
                    ASSERT_TRUE(enqueue(cuda::launch_of_tiles<u8, u32>(g, limits(blocks), false, tiles_in_flight), g,
                                        nullptr, how));
            });
        });
    }

    void TearDown() override { EXPECT_GE(in_whole_sectors_, asked_ / 2); }

    int asked_ = 0, in_whole_sectors_ = 0;
};

TEST_F(tile_sectors, tall_images_go_round_the_ring_many_times) {
    for (const std::int64_t gap : {0, 1, 2}) {  // elements between rows: they start at all of a sector, or at some
        expect_tables({64 * 33 + 1, 128 * 2 + 8, 1, table_layout::padded, gap}, 1);
        expect_tables({64 * 25 + 5, 128 * 3 + 1, 2, table_layout::inclusive, gap}, 1);
    }
}

TEST_F(tile_sectors, wide_images_have_several_groups) {
    for (const table_layout layout : layouts) {
        expect_tables({64 * 9, 128 * 9, 1, layout, 1}, 1);
        expect_tables({64 * 9 + 3, 128 * 9 + 3, 1, layout, 3, 3}, 1);
    }
    expect_tables({64 * 17 + 5, 128 * 130, 1, table_layout::inclusive, 5}, 9);  // groups of 8 rows of tiles
}

TEST_F(tile_sectors, planes_follow_each_other_in_the_ring) {
    for (const std::int64_t rows : {1, 64, 65, 150, 64 * 5 + 1, 64 * 9}) {
        expect_tables({rows, 128 + 40, 13, table_layout::padded, 1}, 1);
        expect_tables({rows, 128 + 3, 9, table_layout::exclusive, 2}, 1);
    }
}

TEST_F(tile_sectors, any_number_of_columns_is_beside_a_tile) {
    for (const table_layout layout : layouts)
        for (std::int64_t more = 0; more < 10; ++more)
            for (const std::int64_t tiles : {0, 1, 2}) {
                if (tiles == 0 && more == 0) continue;
                expect_tables({66, 128 * tiles + more, 1, layout, 5 - more % 4, 2}, 9);
            }
}

TEST_F(tile_sectors, rows_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (std::int64_t gap = 0; gap < 9; ++gap)
            for (std::int64_t offset = 0; offset < 8; ++offset) {
                expect_tables({70, 128 * 2 + 3, 2, layout, gap, offset}, 9);
            }
}

/// Those of the suite and of the soak are too small for the policy.
TEST_F(tile_sectors, shapes_at_random) {
    const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random_() % (most + 1)); };
    for (int i = 0; i < 150; ++i) {
        const bool narrow = i % 2 == 0;  // many planes or rows of tiles of few tiles each, or few of many
        expect_tables({.rows = 1 + up_to(narrow ? 900 : 200),
                       .cols = 1 + up_to(narrow ? 300 : 3000),
                       .planes = 1 + up_to(narrow ? 3 : 1),
                       .layout = layouts[up_to(2)],
                       .table_gap = up_to(9),
                       .table_offset = up_to(8)},
                      static_cast<int>(1 + up_to(20)));
    }
}

TEST_F(tile_sectors, rows_that_share_no_sectors_are_left_to_others) {
    for (const table_layout layout : layouts) {
        const shape s{64 * 3, 128 * 3, 1, layout};
        const auto wrong = wrong_table<u8, u32>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            EXPECT_FALSE(enqueue_in_sectors(g, 3, 9, how));
        });
        EXPECT_TRUE(wrong) << "nothing is enqueued";
    }
}

TEST_F(tile_sectors, images_whose_rows_start_anywhere_are_left_to_others) {
    const shape s{64 * 3, 128 * 3, 1, table_layout::padded, 0, 0, 3, 5};
    const auto wrong = wrong_table<u8, u32>(
        s, [&](const cuda::sat_geometry& g, const execution& how) { EXPECT_FALSE(enqueue_in_sectors(g, 3, 9, how)); });
    EXPECT_TRUE(wrong) << "nothing is enqueued";
}

}  // namespace
}  // namespace boxsum
