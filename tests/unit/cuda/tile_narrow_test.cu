// The tile kernels for narrow pixels and other sums than theirs: 32 bits within a tile, the table's type between
// tiles, words of 16 and 32 bits.

#include "cuda/production/sat/launch.cuh"
#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_narrow : public test::tile_kernel_test {
  protected:
    template <typename Pixel, typename Table>
    void expect_tables(const shape& s) {
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, "groups", [&] {
                return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
                    const auto launch = cuda::launch_of_tiles<Pixel, cuda::sum_type<Table>>(
                        g, limits(1 + turn_ % 5, turn_ % 3 == 0), false, 1);
                    ASSERT_TRUE(enqueue(launch, g, nullptr, how));
                });
            });
    }
};

TEST_F(tile_narrow, pixels_of_any_value_have_the_sums_of_any_table) {
    for (const table_layout layout : layouts)
        for (const std::int64_t cols : {1, 63, 64 * 9 + 5, 64 * 26}) {
            expect_tables<u8, u64>({64 * 13 + 3, cols, 1, layout});
            expect_tables<u16, u64>({64 * 5, cols, 2, layout, 0});  // every other row of an odd table is aligned
            expect_tables<s16, s64>({64 * 9 + 1, cols, 1, layout, 1, 1, 1, 1});
            expect_tables<u8, f32>({130, cols, 1, layout});
            // The fifth, so that every kind has every pattern, of which there are eight by turns.
            expect_tables<u8, u64>({64 * 3 + 1, cols, 1, layout, 1, 0, 3, 2});
        }
}

/// The copy engine's kernels are empty in code for devices that lack it, though the emulated device would run them.
TEST_F(tile_narrow, a_device_without_a_copy_engine_has_another_kernel) {
    if (!limits(3).copy_engine) GTEST_SKIP() << "this device has none";
    const auto compare = [&](const cuda::sat_geometry& g, const execution& how) {
        const auto newer = cuda::launch_of_tiles<u8, u64>(g, limits(3), false);
        const auto older = cuda::launch_of_tiles<u8, u64>(g, limits(3, true), false);
        EXPECT_NE(older.kernel, newer.kernel);
        ASSERT_TRUE(enqueue(older, g, nullptr, how));
    };
    const auto wrong = wrong_table<u8, u64>({64 * 3, 64 * 4, 1, table_layout::inclusive}, compare);
    EXPECT_FALSE(wrong) << *wrong;
}

}  // namespace
}  // namespace boxsum
