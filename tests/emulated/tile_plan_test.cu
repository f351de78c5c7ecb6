// The policy of the aligned kernels: what every plan must hold for its kernel to be right. Host code only, but its
// header needs tensor maps.

#include "cuda/production/sat/plan.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/shared.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace boxsum::cuda {
namespace {

sat_geometry table_of(std::int64_t rows, std::int64_t cols, std::int64_t planes = 1, int origin = 0) {
    sat_geometry g;
    g.rows = rows;
    g.cols = cols;
    g.planes = planes;
    g.origin = origin;
    return g;
}

tile_plan plan_of(std::int64_t n, int pixel_bytes, tile_store store = tile_store::straight) {
    return make_tile_plan(table_of(n, n), pixel_bytes, 4, columns_of(n, pixel_bytes, 4),
                          tiles_in_flight_of(132, pixel_bytes, 4, 1), 1, store);
}

TEST(tile_plan, sums_of_8_bit_pixels_of_a_group_of_tiles_have_32_bits) {
    for (const int channels : {1, 4})
        for (const int sum_bytes : {4, 8})
            for (const unsigned tile_cols : {1u, 128u, 129u, 1u << 16, (1u << 16) + 1, 1u << 30}) {
                const unsigned tiles = group_cols_of(tile_cols, channels, 1, sum_bytes);
                EXPECT_GE(tiles, 1u);
                EXPECT_LE(std::int64_t{tiles} * 2 * panel_cols_of(sum_bytes) * 255, 0xffffffff) << tile_cols;
                // Looking at all groups to the left takes no longer than looking at all tiles of a group.
                EXPECT_LE(tile_cols / tiles, std::max(tiles, 16u)) << tile_cols;
            }
}

TEST(tile_plan, rows_one_behind_leave_a_whole_piece_to_every_tile) {
    alignas(64) static std::byte table[64];
    for (const std::int64_t cols : {127, 128, 129, 130, 131, 132, 255, 256, 257, 258, 259}) {
        sat_geometry g = table_of(65, cols + 1, 1, 1);
        g.table_row_stride = (cols + 1 + 3) / 4 * 16;
        g.table = table;
        EXPECT_EQ(make_tile_plan(g, 4, 4, tile_columns::groups, 9).one_behind, cols % 128 != 1 && cols % 128 != 2)
            << cols;
    }
}

TEST(tile_plan, a_ring_is_longer_than_what_is_waited_for) {
    for (const tile_columns columns : {tile_columns::groups, tile_columns::chain})
        for (const int multiprocessors : {1, 2, 16, 132, 160})
            for (const std::int64_t rows : {1, 64, 65, 129, 200, 300, 600, 5000, 100000})
                for (const std::int64_t cols : {1, 128, 129, 500, 3000, 100000})
                    for (const std::int64_t planes : {1, 3, 1000})
                        for (const auto& [pixel_bytes, store] :
                             {std::pair{1, tile_store::straight}, std::pair{1, tile_store::anywhere},
                              std::pair{4, tile_store::straight}}) {
                            const tile_plan p =
                                make_tile_plan(table_of(rows, cols, planes), pixel_bytes, 4, columns,
                                               tiles_in_flight_of(multiprocessors, pixel_bytes, 4, 1), 1, store);
                            const unsigned group = p.by_group_rows.divisor();
                            const auto where = ::testing::Message()
                                               << planes << " x " << rows << " x " << cols << " on " << multiprocessors;
                            ASSERT_EQ(p.rows_of_plane % group, 0u) << where;
                            ASSERT_GE(p.rows_of_plane, p.tile_rows) << where;
                            ASSERT_LT(p.rows_of_plane, p.tile_rows + group) << where;
                            ASSERT_EQ(p.ring_rows % group, 0u) << where;
                            ASSERT_EQ(p.by_ring_rows.divisor(), p.ring_rows) << where;
                            if (!p.ring_reused) {
                                ASSERT_EQ(p.ring_rows, p.rows_of_plane * planes) << where;
                                continue;
                            }
                            const unsigned shared = 1u << p.counter_shift;
                            ASSERT_EQ(p.ring_rows % shared, 0u) << where;
                            ASSERT_LE(p.ring_rows / shared, reader_counters) << where;
                            // Readers of a group below the words, and the whole of the last counter, are further up.
                            ASSERT_GT(p.ring_rows, group + shared - 1) << where;
                            // The readers' counters are a lane each.
                            ASSERT_LT(group / shared + 2, 32u) << where;
                        }
}

TEST(tile_plan, words_take_little_of_large_tables) {
    for (const std::int64_t n : {4096, 4500, 6000, 8192, 16384, 32768})
        for (const int pixel_bytes : {1, 4})
            for (const tile_store store :
                 {tile_store::straight, tile_store::one_behind, tile_store::anywhere, tile_store::whole_sectors}) {
                const tile_plan p = plan_of(n, pixel_bytes, store);
                workspace_slots slots;
                (void)exchange_words(slots, p, columns_of(n, pixel_bytes, 4), tile_shape<float>::row_words,
                                     tile_shape<float>::col_words);
                EXPECT_LE(static_cast<double>(slots.bytes()), 0.07 * 4.0 * static_cast<double>(n * n) + 65536) << n;
            }
}

/// A workspace is made before it is known where image and table will start.
TEST(tile_plan, a_workspace_has_room_for_the_words_of_any_kernel) {
    for (const std::int64_t n : {300, 2304, 4096, 8192, 12288, 16384})
        for (const int pixel_bytes : {1, 4})
            for (const int multiprocessors : {2, 132})
                for (const tile_store store :
                     {tile_store::straight, tile_store::one_behind, tile_store::anywhere, tile_store::whole_sectors}) {
                    const sat_geometry g = table_of(n, n);
                    const tile_columns columns = columns_of(n, pixel_bytes, 4);
                    const tile_plan p = make_tile_plan(
                        g, pixel_bytes, 4, columns, tiles_in_flight_of(multiprocessors, pixel_bytes, 4, 1), 1, store);
                    workspace_slots slots;
                    (void)exchange_words(slots, p, columns, tile_shape<float>::row_words, tile_shape<float>::col_words);
                    EXPECT_GE(tiles_workspace_bytes(g, pixel_bytes, 4, multiprocessors), slots.bytes())
                        << n << ", pixels of " << pixel_bytes << " bytes, " << multiprocessors << " multiprocessors";
                }
}

/// Bytes of pixels, sums and squares of the kernels that compute both tables.
struct bytes_of_both {
    int pixel, sum, squares;

    int value_words() const { return 2 * std::max(sum, squares) / 4; }
    tile_plan plan(const sat_geometry& g, int panels, int multiprocessors) const {
        return make_tile_plan(g, pixel, sum, tile_columns::groups,
                              tiles_in_flight_of(multiprocessors, pixel, 8, 1, true), panels, tile_store::straight,
                              {&g, squares});
    }
    std::size_t words(const tile_plan& p, int panels) const {
        workspace_slots slots;
        (void)exchange_words(slots, p, tile_columns::groups, 64 * value_words(),
                             panels * squares_panel_cols * value_words());
        return slots.bytes();
    }
};
constexpr bytes_of_both all_of_both[] = {{1, 4, 4}, {1, 4, 8}, {1, 8, 8}, {4, 4, 4}};

TEST(tile_plan, words_of_sums_and_squares_take_little_of_large_tables_and_have_room) {
    for (const bytes_of_both& types : all_of_both)
        for (const std::int64_t n : {300, 2048, 2368, 2900, 4096, 8192, 8256, 16384, 32768}) {
            const sat_geometry g = table_of(n, n);
            const std::size_t workspace = both_tables_workspace_bytes(g, g, types.pixel, types.sum, types.squares, 132);
            for (int panels = 1; panels <= panels_of_both(g, types.pixel, 132); ++panels)
                EXPECT_GE(workspace, types.words(types.plan(g, panels, 132), panels)) << n;
            const std::int64_t tables = n * n * (types.sum + types.squares);
            if (tables >= 64 << 20)
                EXPECT_LE(static_cast<double>(workspace), 0.07 * static_cast<double>(tables) + 65536)
                    << types.sum << " and " << types.squares << " bytes, " << n;
        }
}

TEST(tile_plan, a_ring_of_sums_and_squares_is_longer_than_what_is_waited_for) {
    for (const bytes_of_both& types : all_of_both)
        for (const int multiprocessors : {1, 16, 132})
            for (const std::int64_t rows : {1, 65, 300, 5000, 100000})
                for (const std::int64_t cols : {1, 64, 500, 3000, 100000})
                    for (const int panels : {1, 2}) {
                        const tile_plan p = types.plan(table_of(rows, cols, 3), panels, multiprocessors);
                        if (!p.ring_reused) continue;
                        const unsigned group = p.by_group_rows.divisor(), shared = 1u << p.counter_shift;
                        ASSERT_EQ(p.ring_rows % group, 0u) << rows << " x " << cols;
                        ASSERT_LE(p.ring_rows / shared, reader_counters) << rows << " x " << cols;
                        ASSERT_GT(p.ring_rows, group + shared - 1) << rows << " x " << cols;
                    }
}

TEST(tile_plan, tables_of_squares_on_an_h200_get_the_settings_that_were_measured) {
    EXPECT_EQ(slots_of(1, 16, 1, 1, true), 4);
    EXPECT_EQ(slots_of(4, 8, 1, 1, true), 3);
    EXPECT_EQ(panels_of_both(table_of(8192, 8192), 1, 132), 1);
    EXPECT_EQ(panels_of_both(table_of(16384, 16384), 1, 132), 2);
    EXPECT_EQ(panels_of_both(table_of(16384, 16384), 4, 132), 1);
    const tile_plan p = all_of_both[1].plan(table_of(8192, 8192), 1, 132);
    EXPECT_EQ(p.tile_cols, 128u);
    EXPECT_EQ(p.by_group_rows.divisor(), 4u);
    EXPECT_EQ(p.by_group_cols.divisor(), 16u);
    EXPECT_EQ(p.ring_rows, 24u);
}

TEST(tile_plan, shared_memory_has_three_tiles_where_pixels_are_narrower_than_sums) {
    EXPECT_EQ(slots_of(1, 4, 1, 1), 3);
    EXPECT_EQ(slots_of(1, 8, 1, 1), 3);
    EXPECT_EQ(slots_of(1, 4, 4, 2), 3);
    EXPECT_EQ(slots_of(2, 4, 4, 1), 3);
    EXPECT_EQ(slots_of(4, 8, 1, 1), 3);
    EXPECT_EQ(slots_of(4, 8, 2, 1), 2);
    EXPECT_EQ(slots_of(4, 4, 1, 1), 2);
    EXPECT_EQ(slots_of(8, 8, 1, 1), 2);
}

TEST(tile_plan, shared_memory_has_more_tiles_where_they_are_narrow_beside_their_words) {
    EXPECT_EQ(slots_of(1, 8, 1, 2), 5);
    EXPECT_EQ(slots_of(1, 8, 2, 2), 5);
    EXPECT_EQ(slots_of(1, 8, 3, 2), 3);
    EXPECT_EQ(slots_of(1, 4, 2, 1), 4);
    const auto ring_rows = [](std::int64_t n) {
        return make_tile_plan(table_of(n, n), 1, 8, tile_columns::groups, tiles_in_flight_of(132, 1, 8, 1), 2)
            .ring_rows;
    };
    EXPECT_EQ(ring_rows(8192), 40u);
    EXPECT_EQ(ring_rows(16384), 16u);
    EXPECT_EQ(ring_rows(24576), 16u);
}

TEST(tile_plan, words_of_channels_take_little_of_large_tables) {
    for (const int channels : {1, 2, 3, 4})
        for (const int pixel_bytes : {1, 4, 8})
            for (const int sum_bytes : {4, 8})
                for (const std::int64_t n : {2048, 2368, 2900, 4096, 8192}) {
                    if (channels == 1 && sum_bytes < 8) continue;
                    if (channels * n * n * sum_bytes < 64 << 20) continue;
                    sat_geometry g = table_of(n, n);
                    g.channels = channels;
                    const tile_columns columns = columns_of(g, pixel_bytes, sum_bytes);
                    EXPECT_EQ(columns, tile_columns::groups);
                    for (int panels = 1; panels <= panels_of(g, pixel_bytes, sum_bytes, 132); ++panels) {
                        const tile_plan p =
                            make_tile_plan(g, pixel_bytes, sum_bytes, columns,
                                           tiles_in_flight_of(132, pixel_bytes, sum_bytes, channels), panels);
                        EXPECT_EQ(p.ring_rows % p.by_group_rows.divisor(), 0u);
                        workspace_slots slots;
                        (void)exchange_words(slots, p, columns, channels * 64 * sum_bytes / 4, panels * 128);
                        EXPECT_LE(static_cast<double>(slots.bytes()),
                                  0.07 * sum_bytes * static_cast<double>(channels * n * n) + 65536)
                            << channels << " channels in " << panels << " panels, " << pixel_bytes << " to "
                            << sum_bytes << " bytes, " << n;
                    }
                }
}

TEST(tile_plan, tiles_have_two_panels_where_words_are_many_and_blocks_have_several) {
    const auto panels = [](std::int64_t n, int channels, int pixel_bytes, int sum_bytes) {
        sat_geometry g = table_of(n, n);
        g.channels = channels;
        return panels_of(g, pixel_bytes, sum_bytes, 132);
    };
    EXPECT_EQ(panels(4096, 4, 1, 4), 2);
    EXPECT_EQ(panels(2048, 4, 1, 4), 2);
    EXPECT_EQ(panels(1024, 4, 1, 4), 1);
    EXPECT_EQ(panels(4096, 3, 1, 4), 2);
    EXPECT_EQ(panels(2432, 3, 1, 4), 1);
    EXPECT_EQ(panels(4096, 2, 1, 4), 1);
    EXPECT_EQ(panels(4096, 1, 1, 4), 1);
    EXPECT_EQ(panels(4096, 4, 4, 4), 1);
    EXPECT_EQ(panels(8192, 1, 1, 8), 2);
    EXPECT_EQ(panels(1024, 1, 1, 8), 1);
    EXPECT_EQ(panels(8192, 3, 1, 8), 2);
}

TEST(tile_plan, a_table_with_a_border_has_the_tiles_of_its_sums) {
    const auto tiles = [](std::int64_t rows, std::int64_t cols) {
        return make_tile_plan(table_of(rows, cols, 1, 1), 4, 4, tile_columns::groups, 9).tiles;
    };
    EXPECT_EQ(tiles(65, 129), 1u);
    EXPECT_EQ(tiles(66, 129), 2u);
    EXPECT_EQ(tiles(65, 130), 2u);
    EXPECT_EQ(tiles(1, 1), 1u);
    EXPECT_EQ(tiles(1, 130), 2u);
}

}  // namespace
}  // namespace boxsum::cuda
