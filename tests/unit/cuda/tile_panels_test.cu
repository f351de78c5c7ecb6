// The aligned kernels whose tiles have two panels by themselves: several channels and sums of 8 bytes of 8-bit pixels.
// On a GPU and on an emulated device (tests/emulated).

#include "support/tile_kernel_test.cuh"

#include <type_traits>

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_panels : public test::tile_kernel_test {
  protected:
    /// In tiles of two panels, which the policy leaves to larger images.
    template <typename Pixel, typename Table, int Channels = 4, bool Squares = false>
    void expect_panels(shape s, int tiles_in_flight) {
        using summand = std::conditional_t<Squares, cuda::squared<Pixel>, Pixel>;
        s.channels = Channels;
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, "panels", [&] {
                return wrong_table<Pixel, Table, Squares>(s, [&](const cuda::sat_geometry& g, const execution& how) {
                    const auto launch = cuda::launch_in_panels<summand, cuda::sum_type<Table>, Channels>(
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
        expect_panels<u8, u64>({64 * 11 + 5, 43, 2, layout}, 1);
        expect_panels<u8, f32>({64 * 9, 64 * 5 + 33, 1, layout}, 1);
        expect_panels<u8, f64, 2>({64 * 12, 64 * 7 + 5, 1, layout}, 1);
        expect_panels<u8, u32, 3>({64 * 10 + 1, 85 * 9 + 5, 1, layout}, 1);
    }
    expect_panels<u8, u64, 1>({64 * 21 + 3, 128 * 3 + 65, 2, table_layout::inclusive}, 1);
    expect_panels<u8, u64, 1>({66, 128 * 40, 1, table_layout::inclusive}, 1);
}

TEST_F(tile_panels, have_squares) {
    for (int turn = 0; turn < 8; ++turn) {  // among them all pixels 255
        expect_panels<u8, u64, 1, true>({64 * 9 + 3, 128 * 3 + 65, 1, table_layout::inclusive}, 1);
        expect_panels<u8, u64, 3, true>({64 * 5, 43 * 5 + 2, 1, table_layout::padded}, 1);
        expect_panels<u8, u32, 4, true>({64 * 9 + 1, 64 * 3 + 33, 1, table_layout::exclusive}, 1);
    }
}

TEST_F(tile_panels, end_in_either_panel) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {2, 64, 66, 321})
            for (const std::int64_t cols : {2, 16, 31, 32, 33, 42, 43, 63, 64, 65, 85, 86, 96, 97, 171}) {
                expect_panels<u8, u32>({rows, cols, 2, layout}, 9);
                expect_panels<u8, u64>({rows, cols, 1, layout}, 9);
                expect_panels<u8, u64, 2>({rows, cols, 1, layout}, 9);
                expect_panels<u8, u32, 3>({rows, cols, 2, layout}, 9);
                expect_panels<u8, u64, 3>({rows, cols, 1, layout}, 9);
                if (layout == table_layout::inclusive) expect_panels<u8, u64, 1>({rows, 2 * cols, 1, layout}, 9);
            }
}

TEST_F(tile_panels, have_tables_that_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (std::int64_t offset = 0; offset < 4; ++offset)
            for (const std::int64_t cols : {64, 129}) {
                expect_panels<u8, u32>({130, cols, 2, layout, offset, 3 - offset}, 9);
                expect_panels<u8, u64>({66, cols, 1, layout, offset, offset % 2}, 1);
            }
}

}  // namespace
}  // namespace boxsum
