// The tile kernels for interleaved channels by themselves: short rings, several groups and planes, edges, borders,
// rows that start at any element. On a GPU and on an emulated device (tests/emulated).

#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class tile_channels : public test::tile_kernel_test {
  protected:
    /// By groups, the way of several channels.
    template <typename Pixel, typename Table>
    std::optional<std::string> wrong_in_channels(const shape& s, int tiles_in_flight, int blocks) {
        using sum = cuda::sum_type<Table>;
        return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            cuda::visit_channels(g.channels, [&]<int Channels>() {
                const auto launch = cuda::launch_of_tiles<Pixel, sum, Channels>(g, limits(blocks, turn_ % 3 == 0),
                                                                                false, tiles_in_flight);
                ASSERT_TRUE(enqueue(launch, g, nullptr, how));
            });
        });
    }

    /// 2, 3 and 4 channels.
    template <typename Pixel, typename Table>
    void expect_channels(shape s, int tiles_in_flight) {
        if constexpr (test::has_kernels_of<Pixel, Table>())
            for (s.channels = 2; s.channels <= 4; ++s.channels)
                expect_right(s, "channels",
                             [&] { return wrong_in_channels<Pixel, Table>(s, tiles_in_flight, 1 + turn_ % 5); });
    }
};

TEST_F(tile_channels, go_round_the_ring_many_times) {
    for (const table_layout layout : layouts) {
        expect_channels<u8, u32>({64 * 25 + 7, 67, 1, layout}, 1);
        expect_channels<f32, f32>({64 * 23 + 1, 33, 1, layout}, 1);
        expect_channels<f64, f64>({64 * 11 + 5, 43, 2, layout}, 1);
    }
}

TEST_F(tile_channels, of_wide_images_have_several_groups) {
    for (const table_layout layout : layouts) {
        expect_channels<u8, u32>({70, 32 * 40 + 3, 1, layout}, 1);
        expect_channels<f32, f32>({64 * 6, 32 * 17, 1, layout}, 1);
        expect_channels<f64, f64>({65, 16 * 20 + 1, 1, layout}, 1);
    }
}

TEST_F(tile_channels, at_edges_of_every_kind_of_tile) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {1, 64, 66})
            for (const std::int64_t cols : {1, 3, 32, 33, 43, 64, 129}) {
                expect_channels<u8, u32>({rows, cols, 2, layout}, 9);
                expect_channels<f32, f32>({rows, cols, 1, layout}, 9);
                expect_channels<f64, f64>({rows, cols, 1, layout}, 9);
            }
}

TEST_F(tile_channels, start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t cols : {5, 43, 86}) {
            for (std::int64_t offset = 0; offset < 16; ++offset)
                expect_channels<u8, u32>({66, cols, 2, layout, offset % 4, offset / 4, offset % 5, offset}, 9);
            for (std::int64_t offset = 0; offset < 4; ++offset) {
                expect_channels<f32, f32>({130, cols, 1, layout, offset, offset / 2, offset % 3, offset}, 1);
                expect_channels<f64, f64>({66, cols, 2, layout, offset / 2, offset % 2, offset % 2, offset / 2}, 9);
                expect_channels<u8, u32>({66, cols, 1, layout, offset, 3 - offset}, 9);
            }
        }
}

}  // namespace
}  // namespace boxsum
