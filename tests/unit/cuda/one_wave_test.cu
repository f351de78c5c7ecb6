// The one-wave kernel by itself, with any number of rows a warp. On a GPU and on an emulated device (tests/emulated),
// where blocks start in any order.

#include "cuda/production/sat/wave_launch.cuh"
#include "support/tile_kernel_test.cuh"

namespace boxsum {
namespace {

using test::layouts;
using test::shape;

class one_wave : public test::tile_kernel_test {
  protected:
    template <typename Pixel, typename Table, int WarpRows>
    std::optional<std::string> wrong_in_wave(const shape& s) {
        return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            const cuda::prepared_wave<Pixel, cuda::sum_type<Table>, WarpRows> wave(g, limits(1));
            ASSERT_TRUE(wave.run({g.image, g.table, nullptr, carries_}, how));
        });
    }

    template <typename Pixel, typename Table>
    void expect_waves(const shape& s) {
        if constexpr (test::has_kernels_of<Pixel, Table>()) {
            expect_right(s, "wave, 4 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 4>(s); });
            expect_right(s, "wave, 8 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 8>(s); });
            expect_right(s, "wave, 16 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 16>(s); });
        }
    }
};

TEST_F(one_wave, stores_rows_that_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t gap : {0, 1, 2, 3})
            for (const std::int64_t cols : {1, 127, 128, 132, 257}) {
                expect_waves<f32, f32>({66, cols, 1, layout, gap, (gap + cols) % 4});
                expect_waves<f64, f64>({66, cols, 2, layout, gap, cols % 2});
                expect_waves<u8, u32>({66, cols, 1, layout, gap, (gap + cols) % 4, (gap + 1) % 4});
            }
}

TEST_F(one_wave, has_more_publishers_than_are_looked_at_together) {
    for (const table_layout layout : layouts) {
        expect_waves<f32, f32>({32 * 27 + 5, 129, 1, layout});
        expect_waves<u8, u32>({33, 128 * 19 + 2, 1, layout});
        expect_waves<f64, f64>({32 * 11, 64 * 9, 1, layout});
        expect_waves<u8, u32>({70, 131, 5, layout});
        for (const std::int64_t cols : {1, 4, 127, 129}) expect_waves<f32, f32>({31, cols, 3, layout});
    }
}

}  // namespace
}  // namespace boxsum
