// The tile kernels whose tiles have two panels by themselves: several channels and sums of 8 bytes of 8-bit pixels.
// On a GPU and on an emulated device (tests/emulated).

#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_panels : public test::tile_kernel_test {
  protected:
    /// In tiles of two panels, which the policy leaves to larger images.
    template <typename Pixel, typename Table, int Channels = 4>
    void expect_panels(shape s, int tiles_in_flight) {
        using cuda::tile_load, cuda::tile_store;
        constexpr tile_store store = Channels == 1 ? tile_store::straight : tile_store::anywhere;
        s.channels = Channels;
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, "panels", [&] {
                return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
                    const auto launch = cuda::launch_with<Pixel, cuda::sum_type<Table>,
                                                          cuda::tile_kernel{tile_load::box, store, Channels, 2}>(
                        g, limits(1 + turn_ % 5), tiles_in_flight);
                    ASSERT_TRUE(enqueue(launch, g, nullptr, how));
                });
            });
    }
};

TEST_F(tile_panels, go_round_the_ring_and_have_several_groups) {
    for (const table_layout layout : layouts) {
        expect_panels<u8, u32>({64 * 25 + 7, 67, 1, layout}, 1);
        expect_panels<u8, u32>({70, 64 * 40 + 3, 1, layout}, 1);
        expect_panels<u8, u32, 3>({64 * 10 + 1, 85 * 9 + 5, 1, layout}, 1);
    }
    expect_panels<u8, u64, 1>({64 * 21 + 3, 128 * 3 + 65, 2, table_layout::inclusive}, 1);
    expect_panels<u8, u64, 1>({66, 128 * 40, 1, table_layout::inclusive}, 1);
}

TEST_F(tile_panels, end_in_either_panel) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {2, 64, 66, 321})
            for (const std::int64_t cols : {2, 16, 31, 32, 33, 42, 43, 63, 64, 65, 85, 86, 96, 97, 171}) {
                expect_panels<u8, u32>({rows, cols, 2, layout}, 9);
                expect_panels<u8, u32, 3>({rows, cols, 2, layout}, 9);
                if (layout == table_layout::inclusive) expect_panels<u8, u64, 1>({rows, 2 * cols, 1, layout}, 9);
            }
}

TEST_F(tile_panels, have_tables_that_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (std::int64_t offset = 0; offset < 4; ++offset)
            for (const std::int64_t cols : {64, 129}) {
                expect_panels<u8, u32>({130, cols, 2, layout, offset, 3 - offset}, 9);
            }
}

}  // namespace
}  // namespace boxsum
