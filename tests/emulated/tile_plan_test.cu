// The policy and the plan of the tile pipeline: what every plan must hold for its kernel to be right. Host code only,
// but its header needs tensor maps.

#include "cuda/production/sat/block.cuh"
#include "cuda/production/sat/plan.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/types.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <typeindex>
#include <utility>

namespace boxsum::cuda {
namespace {

using enum tile_load;
using enum tile_store;

sat_geometry table_of(std::int64_t rows, std::int64_t cols, std::int64_t planes = 1, int origin = 0, int channels = 1) {
    sat_geometry g;
    g.rows = rows;
    g.cols = cols;
    g.planes = planes;
    g.origin = origin;
    g.channels = channels;
    return g;
}

tile_plan plan_of(const sat_geometry& g, tile_types types, tile_kernel k, int multiprocessors) {
    return make_tile_plan(g, types, k, tiles_in_flight_of(multiprocessors, types, k), types.both() ? &g : nullptr);
}

std::size_t bytes_of_words(const tile_plan& p, tile_types types, tile_kernel k) {
    const int value_words = (types.both() ? 2 * std::max(types.sum_bytes, types.squares_bytes) : types.sum_bytes) / 4;
    const int cols = types.both() ? squares_panel_cols : panel_cols_of(types.sum_bytes);
    workspace_slots slots;
    (void)exchange_words(slots, p, k.columns, k.channels * 64 * value_words, k.panels * cols * value_words);
    return slots.bytes();
}

constexpr tile_kernel chain{.columns = tile_columns::chain};
/// Of one channel, and of two tables at once.
constexpr tile_kernel of_one_channel[] = {
    {}, {box, one_behind}, {box, anywhere}, {rows, anywhere}, {box, whole_sectors}};
constexpr tile_types both_tables[] = {{1, 4, 4}, {1, 4, 8}, {1, 8, 8}, {4, 4, 4}};

TEST(tile_plan, sums_of_8_bit_pixels_of_a_group_of_tiles_have_32_bits) {
    for (const int channels : {1, 4})
        for (const int sum_bytes : {4, 8})
            for (const unsigned tile_cols : {1u, 128u, 129u, 1u << 16, (1u << 16) + 1, 1u << 30}) {
                const unsigned tiles = group_cols_of(tile_cols, channels, {1, sum_bytes});
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
        EXPECT_EQ(make_tile_plan(g, {4, 4}, {}, 9).one_behind, cols % 128 != 1 && cols % 128 != 2) << cols;
    }
}

/// What the kernels take for granted of a ring that is reused.
void expect_ring(const tile_plan& p, const ::testing::Message& where) {
    const unsigned group = p.by_group_rows.divisor(), shared = 1u << p.counter_shift;
    ASSERT_EQ(p.rows_of_plane % group, 0u) << where;
    ASSERT_GE(p.rows_of_plane, p.tile_rows) << where;
    ASSERT_LT(p.rows_of_plane, p.tile_rows + group) << where;
    ASSERT_EQ(p.ring_rows % group, 0u) << where;
    ASSERT_EQ(p.by_ring_rows.divisor(), p.ring_rows) << where;
    if (!p.ring_reused) return;
    ASSERT_EQ(p.ring_rows % shared, 0u) << where;
    ASSERT_LE(p.ring_rows / shared, reader_counters) << where;
    // Readers of a group below the words, and the whole of the last counter, are further up.
    ASSERT_GT(p.ring_rows, group + shared - 1) << where;
    // The readers' counters are a lane each.
    ASSERT_LT(group / shared + 2, 32u) << where;
}

TEST(tile_plan, a_ring_is_longer_than_what_is_waited_for) {
    struct {
        tile_types types;
        tile_kernel kernel;
    } const kernels[] = {{{1, 4}, {}},
                         {{1, 4}, {rows, anywhere}},
                         {{4, 4}, {}},
                         {{4, 8}, chain},
                         {{8, 8}, chain},
                         {{1, 8}, {.panels = 2}},
                         {{1, 4, 8}, {.panels = 2}},
                         {{1, 4, 4}, {}},
                         {{1, 8, 8}, {}},
                         {{4, 4, 4}, {}}};
    for (const auto& [types, kernel] : kernels)
        for (const int multiprocessors : {1, 2, 16, 132, 160})
            for (const std::int64_t rows : {1, 64, 65, 129, 200, 300, 600, 5000, 100000})
                for (const std::int64_t cols : {1, 128, 129, 500, 3000, 100000})
                    for (const std::int64_t planes : {1, 3, 1000}) {
                        const tile_plan p = plan_of(table_of(rows, cols, planes), types, kernel, multiprocessors);
                        expect_ring(p, ::testing::Message() << planes << " x " << rows << " x " << cols << " on "
                                                            << multiprocessors << ", pixels of " << types.pixel_bytes);
                        if (HasFatalFailure()) return;
                    }
}

/// A workspace is made before it is known where image and table will start.
TEST(tile_plan, a_workspace_has_room_for_the_words_of_any_kernel) {
    for (const std::int64_t n : {300, 2304, 4096, 8192, 12288, 16384})
        for (const tile_types types : {tile_types{1, 4}, {4, 4}, {4, 8}, {8, 8}, {1, 8}})
            for (const int multiprocessors : {2, 132}) {
                const sat_geometry g = table_of(n, n);
                const std::size_t workspace =
                    tiles_workspace_bytes(g, types.pixel_bytes, types.sum_bytes, multiprocessors);
                const auto expect_room = [&](tile_kernel k) {
                    EXPECT_GE(workspace, bytes_of_words(plan_of(g, types, k, multiprocessors), types, k))
                        << n << ", pixels of " << types.pixel_bytes << " bytes, " << multiprocessors
                        << " multiprocessors";
                };
                for (const tile_kernel& k : of_one_channel) expect_room(k);
                if (chain_pays(n, types)) expect_room(chain);
                if (may_have_panels(types, 1) && panels_pay_for(g, types.sum_bytes, multiprocessors))
                    expect_room({.panels = 2});
            }
    for (const tile_types& types : both_tables)
        for (const std::int64_t n : {300, 2048, 2368, 2900, 4096, 8192, 8256, 16384, 32768}) {
            const sat_geometry g = table_of(n, n);
            const std::size_t workspace =
                both_tables_workspace_bytes(g, g, types.pixel_bytes, types.sum_bytes, types.squares_bytes, 132);
            for (int panels = 1; panels <= (panels_of_both_pay_for(g, 132) ? 2 : 1); ++panels) {
                const tile_kernel k{.panels = panels};
                EXPECT_GE(workspace, bytes_of_words(plan_of(g, types, k, 132), types, k)) << n;
            }
        }
}

TEST(tile_plan, words_take_little_of_large_tables) {
    for (const int channels : {1, 2, 3, 4})
        for (const int pixel_bytes : {1, 4, 8})
            for (const int sum_bytes : {4, 8})
                for (const std::int64_t n : {2048, 2368, 2900, 4096, 4500, 6000, 8192, 16384, 32768}) {
                    const auto table = static_cast<double>(channels * n * n * sum_bytes);
                    if (table < 64 << 20 || pixel_bytes > sum_bytes) continue;
                    const sat_geometry g = table_of(n, n, 1, 0, channels);
                    EXPECT_LE(static_cast<double>(tiles_workspace_bytes(g, pixel_bytes, sum_bytes, 132)),
                              0.07 * table + 65536)
                        << channels << " channels, " << pixel_bytes << " to " << sum_bytes << " bytes, " << n;
                }
    for (const tile_types& types : both_tables)
        for (const std::int64_t n : {2900, 4096, 8192, 8256, 16384, 32768}) {
            const sat_geometry g = table_of(n, n);
            const auto tables = static_cast<double>(n * n * (types.sum_bytes + types.squares_bytes));
            if (tables < 64 << 20) continue;
            EXPECT_LE(static_cast<double>(both_tables_workspace_bytes(g, g, types.pixel_bytes, types.sum_bytes,
                                                                      types.squares_bytes, 132)),
                      0.07 * tables + 65536)
                << types.sum_bytes << " and " << types.squares_bytes << " bytes, " << n;
        }
}

/// Shared memory has room for three blocks a multiprocessor, of 227 KB, with what else a block has in it.
TEST(tile_plan, slots_of_every_policy_leave_room_for_three_blocks) {
    for (const tuned_kernel& line : tuned_kernels)
        for (const int pixel_bytes : {1, 2, 4, 8})
            for (const int sum_bytes : {4, 8}) {
                const auto fits = [](int of_line, int x) { return of_line == 0 || of_line == x; };
                if (!fits(line.pixel_bytes, pixel_bytes) || !fits(line.sum_bytes, sum_bytes) ||
                    pixel_bytes > (line.both ? 4 : sum_bytes))
                    continue;
                const tile_types types{pixel_bytes, sum_bytes, line.both ? 8 : 0};
                const tile_kernel k{.panels = std::max(1, line.panels)};
                const int cols = line.both ? squares_panel_cols : panel_cols_of(sum_bytes);
                EXPECT_LE(3 * policy_of(types, k).slots * k.panels * 64 * cols * pixel_bytes, 200 * 1024)
                    << pixel_bytes << " to " << sum_bytes;
            }
}

TEST(tile_plan, a_table_with_a_border_has_the_tiles_of_its_sums) {
    const auto tiles = [](std::int64_t rows, std::int64_t cols) {
        return make_tile_plan(table_of(rows, cols, 1, 1), {4, 4}, {}, 9).tiles;
    };
    EXPECT_EQ(tiles(65, 129), 1u);
    EXPECT_EQ(tiles(66, 129), 2u);
    EXPECT_EQ(tiles(65, 130), 2u);
    EXPECT_EQ(tiles(1, 1), 1u);
    EXPECT_EQ(tiles(1, 130), 2u);
}

/// Kernels of the record `fast` for pixels and sums, by types: tiles, and one wave of every height and for lists.
struct kernel_count {
    std::map<std::pair<std::type_index, std::type_index>, int> of_types;

    template <typename Pixel, typename Sum>
    void add() {
        int tiles = 0;
        for (const tile_load load : {box, rows})
            for (const tile_store store : {straight, one_behind, anywhere, whole_sectors})
                for (const tile_columns columns : {tile_columns::groups, tile_columns::chain})
                    for (const int channels : {1, 2, 3, 4})
                        for (const int panels : {1, 2})
                            for (const bool outwards : {false, true})
                                tiles += is_compiled<Pixel, Sum>({load, store, channels, panels, columns, outwards});
        of_types[{typeid(Pixel), typeid(Sum)}] = tiles + (listed_in_every_layout<Pixel, Sum> ? 4 : 2);
    }

    template <typename... Pairs>
    void add_sums(type_list<Pairs...>) {
        (add<pixel_of<typename Pairs::input, typename Pairs::table>, sum_type<typename Pairs::table>>(), ...);
    }

    template <typename... Triples>
    void add_squares(type_list<Triples...>) {
        (add<squared<typename Triples::input>, sum_type<typename Triples::squares>>(), ...);
        (add_both<typename Triples::input, sum_type<typename Triples::table>, sum_type<typename Triples::squares>>(
             kernels_have_squares(Triples::value)),
         ...);
    }

    template <typename Pixel, typename Sum, typename Squares>
    void add_both(bool compiled) {
        if (compiled)
            of_types[{typeid(Pixel), typeid(sum_and_squares<Sum, Squares>)}] =
                has_panels_of_both<Pixel, Sum, Squares> ? 3 : 2;
    }

    int all() const {
        int count = 0;
        for (const auto& [types, kernels] : of_types) count += kernels;
        return count;
    }
};

/// Each takes some two seconds to compile for an architecture and some 90 KB of the library. scripts/check_kernels
/// counts those in a build.
TEST(tile_plan, kernels_stay_within_their_budget) {
    kernel_count all, least;
    all.add_sums(device_type_pairs{});
    all.add_squares(device_squares_triples{});
    EXPECT_LE(all.all(), 212);
    least.add_sums(min_type_pairs{});
    least.add_squares(min_squares_triples{});
    EXPECT_LE(least.all(), 57);
}

}  // namespace
}  // namespace boxsum::cuda
