// The kernels of tables that grow from an origin, by themselves: every quarter, or some of them, with rings so short
// that small images go round them many times, and rows of the table that start anywhere.

#include "cuda/production/sat/launch.cuh"
#include "support/tile_kernel_test.cuh"

#include <numeric>
#include <type_traits>

namespace boxsum {
namespace {

using test::host_planes;
using test::layouts;
using test::shape;

class tile_outwards : public test::tile_kernel_test {
  protected:
    /// The integral of pixels less an offset from the origin to each entry: differences of that from the first pixel.
    template <bool Squares, typename Table, typename Pixel>
    static host_planes<Table> table_of(const shape& s, host_planes<Pixel>& image, const table_origin& origin,
                                       const std::vector<double>& offsets) {
        const std::int64_t border = s.layout == table_layout::inclusive ? 0 : 1, width = s.cols + 1;
        host_planes<Table> expected = poisoned_table<Table>(s);
        std::vector<std::int64_t> plain(static_cast<std::size_t>((s.rows + 1) * width));
        const auto sum = [&](std::int64_t r, std::int64_t c) -> std::int64_t& {
            return plain[static_cast<std::size_t>(r * width + c)];
        };
        for (std::int64_t plane = 0; plane < s.planes; ++plane) {
            const auto offset =
                static_cast<std::int64_t>(offsets[static_cast<std::size_t>(std::min(plane, std::ssize(offsets) - 1))]);
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    const std::int64_t less = static_cast<std::int64_t>(image.row(plane, r)[c]) - offset;
                    sum(r + 1, c + 1) = (Squares ? less * less : less) + sum(r, c + 1) + sum(r + 1, c) - sum(r, c);
                }
            for (std::int64_t r = 0; r < expected.view.rows; ++r)
                for (std::int64_t c = 0; c < expected.view.cols; ++c) {
                    const std::int64_t row = r + 1 - border, col = c + 1 - border;
                    expected.row(plane, r)[c] = static_cast<Table>(sum(row, col) - sum(row, origin.col) -
                                                                   sum(origin.row, col) + sum(origin.row, origin.col));
                }
        }
        return expected;
    }

    template <typename Pixel, typename Table, bool Squares = false>
    void expect_tables(const shape& s, const table_origin& origin, const std::vector<double>& offsets,
                       int tiles_in_flight) {
        if constexpr (test::has_kernels_of<Pixel, Table>())
            expect_right(s, "outwards", [&]() -> std::optional<std::string> {
                if (!limits(1).copy_engine) return {};
                host_planes<Pixel> image = image_of<Pixel, std::is_integral_v<Table>>(s);
                const host_planes<Table> expected = table_of<Squares, Table>(s, image, origin, offsets);
                const cuda::device_buffer pixels = upload(image.bytes), table = upload(poisoned_table<Table>(s).bytes);
                const problem p = problem_of(s, image.view, expected.view);
                cuda::sat_geometry g(p, as<std::byte>(pixels) + image.first, p.table,
                                     as<std::byte>(table) + expected.first);
                g.up = origin.row;
                g.left = origin.col;
                g.offsets = offsets;
                using pixel = std::conditional_t<Squares, cuda::squared<Pixel>, Pixel>;
                const auto launch =
                    cuda::launch_outwards<pixel, cuda::sum_type<Table>>(g, limits(1 + turn_ % 5), tiles_in_flight);
                if (!enqueue(launch, g, nullptr, in_workspace())) return "no kernel";
                if (const auto wrong = what_differs(s, expected, table))
                    return *wrong + ", origin " + std::to_string(origin.row) + ", " + std::to_string(origin.col);
                return what_is_left_in_the_header();
            });
    }

    /// Of every type.
    void expect_all(const shape& s, const table_origin& origin, const std::vector<double>& offsets,
                    int tiles_in_flight = 1) {
        expect_tables<f32, f32>(s, origin, offsets, tiles_in_flight);
        expect_tables<f32, f64>(s, origin, offsets, tiles_in_flight);
        expect_tables<u8, u32>(s, {origin.row, origin.col / 16 * 16}, offsets, tiles_in_flight);
    }
};

TEST_F(tile_outwards, all_quarters_or_some_of_them) {
    for (const table_layout layout : {table_layout::exclusive, table_layout::padded})
        for (const std::int64_t row : {0, 1, 64, 100, 149})
            for (const std::int64_t col : {0, 4, 128, 144, 268}) {
                const shape s{149 + (layout == table_layout::exclusive ? 1 : 0), 269, 1, layout};
                expect_all(s, {row, col}, {3});
                expect_tables<f32, f32, true>(s, {row, col}, {3}, 1);
                expect_tables<f32, f64, true>(s, {row, col}, {2}, 1);
            }
}

TEST_F(tile_outwards, an_offset_alone_in_every_layout) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {2, 63, 64, 65, 129})
            for (const std::int64_t cols : {2, 3, 4, 127, 128, 129, 256}) expect_all({rows, cols, 1, layout}, {}, {5});
}

TEST_F(tile_outwards, tall_and_wide_images_go_round_the_ring) {
    for (const table_layout layout : {table_layout::exclusive, table_layout::padded})
        for (const std::int64_t row : {64 * 20 + 9, 64 * 44, 0}) {
            expect_all({64 * 45 + 7, 133, 1, layout}, {row, 64}, {2});
            expect_all({70, 128 * 18 + 3, 1, layout}, {row == 0 ? 69 : 31, 128 * 9 + 16}, {2});
        }
}

TEST_F(tile_outwards, planes_have_offsets_of_their_own) {
    std::vector<double> offsets(cuda::outward_plan<float>::most_offsets);
    std::iota(offsets.begin(), offsets.end(), -3);
    for (const std::int64_t rows : {1, 64, 65, 150, 64 * 5 + 1})
        expect_all({rows, 150, 13, table_layout::padded}, {rows / 2, 48}, offsets);
    expect_all({3, 20, cuda::outward_plan<float>::most_offsets, table_layout::exclusive}, {1, 16}, offsets);
}

TEST_F(tile_outwards, rows_of_the_table_start_at_any_element) {
    for (const std::int64_t gap : {0, 1, 2, 3})
        for (const std::int64_t offset : {0, 1, 2, 3})
            for (const std::int64_t cols : {1, 127, 300, 401})
                expect_all({130, cols, 2, table_layout::padded, gap, offset}, {70, cols / 32 * 16}, {1});
}

/// The kernels of an offset in an inclusive table, too.
TEST_F(tile_outwards, rows_of_an_inclusive_table_start_at_any_element) {
    for (const std::int64_t gap : {0, 1, 3})
        for (const std::int64_t offset : {0, 2, 3})
            expect_all({90, 260, 1, table_layout::inclusive, gap, offset}, {}, {4});
}

TEST_F(tile_outwards, columns_that_are_not_at_multiples_of_16_bytes_have_no_kernel) {
    cuda::sat_geometry g;
    g.rows = g.cols = 200;
    g.origin = 1;
    g.left = 3;
    EXPECT_FALSE((cuda::launch_outwards<f32, f32>(g, limits(1))));
    g.left = 4;
    EXPECT_FALSE((cuda::launch_outwards<u8, u32>(g, limits(1))));
}

}  // namespace
}  // namespace boxsum
