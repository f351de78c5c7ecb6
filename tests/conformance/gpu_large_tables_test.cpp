// The record `fast` at extents from which on its policy has other kernels and groups: the suite's images and the random
// ones are smaller. Whole tables beside the definition, of every pattern. What takes too long on an emulated device
// (tests/emulated) is for a GPU only.

#include "api/registry.hpp"
#include "cuda/production/sat/policy.hpp"
#include "support/gpu.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <cstdint>
#include <tuple>

namespace boxsum {
namespace {

/// Rows of image and table are at multiples of 16 bytes, in all planes.
conformance_case aligned_case(dtype input, dtype table, std::int64_t rows, std::int64_t cols, std::int64_t planes = 1) {
    conformance_case c;
    c.input = input;
    c.table = table;
    c.rows = rows;
    c.cols = cols;
    c.planes = planes;
    c.image_gap = c.table_gap = -1;
    c.plane_gap = 0;
    return c;
}

class large_tables : public test::gpu_test {
  protected:
    void SetUp() override {
        test::gpu_test::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        if (!fast_.info.built) GTEST_SKIP() << "fast is not built";
        run_ = cuda::device_runner(cuda::workspace_reuse::shared);
        multiprocessors_ = cuda::describe_device(cuda::current_device()).multiprocessors;
    }

    void TearDown() override {
        if (!IsSkipped() && !HasFatalFailure() && compared_ == 0)
            GTEST_SKIP() << "BOXSUM_TYPES has none of these types";
        test::gpu_test::TearDown();
    }

    /// In the pipeline of tiles, whatever one wave could take.
    void expect_right(const conformance_case& c) {
        execution how;
        how.parameters = parse_parameters(fast_, "path=tiles");
        if (!check_support(fast_, problem_of(c), how.parameters)) return;  // BOXSUM_TYPES
        ++compared_;
        const auto wrong = check_record(fast_, c, how, run_);
        EXPECT_FALSE(wrong) << *wrong;
    }
    void expect_right_of_every_pattern(conformance_case c) {
        for (const pattern contents : patterns_for(c.input)) {
            c.contents = contents;
            ++c.seed;
            expect_right(c);
        }
    }

    /// Planes of so many tiles each for which two panels pay.
    std::int64_t planes_for_panels(int tiles_of_plane, int channels) const {
        std::int64_t planes = 2;
        while (!cuda::panels_pay(static_cast<double>(planes * tiles_of_plane), channels, multiprocessors_)) ++planes;
        return planes;
    }

    const algorithm_record& fast_ = *find_record(operation::sat, "fast");
    record_runner run_;
    int multiprocessors_ = 0, compared_ = 0;
};

TEST_F(large_tables, tiles_of_two_panels) {
    const std::int64_t of_bytes = planes_for_panels(4, 1);
    expect_right_of_every_pattern(aligned_case(dtype::u8, dtype::u64, 66, 130, of_bytes));
    // In one plane: rings of words that are used again.
    expect_right(aligned_case(dtype::u8, dtype::u64, 64 * ((4 * of_bytes + 2) / 3), 128 * 2 + 5));
    for (const std::int64_t channels : {3, 4})
        for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
            conformance_case c =
                aligned_case(dtype::u8, dtype::u32, 66, 90, planes_for_panels(4, static_cast<int>(channels)));
            c.channels = channels;
            c.layout = layout;
            expect_right_of_every_pattern(c);
        }
}

// The emulated device has its tables in parts of fewer columns (column_parts.hpp).
#ifndef BOXSUM_EMULATED
TEST_F(large_tables, rows_of_tiles_in_a_chain) {
    for (const dtype input : {dtype::f32, dtype::f64}) {
        const cuda::tile_types types{static_cast<int>(size_of(input)), 8};
        std::int64_t cols = 1;
        while (!cuda::chain_pays(cols, types)) ++cols;
        conformance_case c = aligned_case(input, dtype::f64, 65, cols + 9);
        expect_right_of_every_pattern(c);
        c.rows_above = 3;
        c.cols_left = 2;
        expect_right(c);
        if (input == dtype::f64) {
            c.in_place = true;
            expect_right(c);
        }
        c = aligned_case(input, dtype::f64, 150, cols, 2);
        c.contents = pattern::non_finite;
        expect_right(c);
    }
}

TEST_F(large_tables, sums_and_squares_in_two_panels) {
    std::int64_t cols = 1;
    while (!cuda::panels_of_both_pay(cols)) ++cols;
    conformance_case c = aligned_case(dtype::u8, dtype::u32, 65, cols + 9, planes_for_panels(2 * 65, 1));
    c.squares = dtype::u64;
    for (const pattern contents : {pattern::random, pattern::position, pattern::extreme}) {
        c.contents = contents;
        expect_right(c);
    }
}

/// Images have rows at multiples of 16 bytes, of tables whose rows start anywhere.
TEST_F(large_tables, whole_sectors) {
    const auto expect_in_sectors = [&](std::int64_t rows, std::int64_t cols, std::int64_t planes, table_layout layout,
                                       pattern contents) {
        conformance_case c = aligned_case(dtype::u8, dtype::u32, rows, cols, planes);
        c.table_gap = layout == table_layout::padded ? 0 : 1;
        c.layout = layout;
        c.contents = contents;
        c.seed = static_cast<std::uint64_t>(cols);
        ASSERT_TRUE(cuda::whole_sectors_pay(rows * cols * planes, 4));
        ASSERT_NE((cols + 1) % 4, 0);
        expect_right(c);
    };
    expect_in_sectors(5100, 5100, 1, table_layout::padded, pattern::random);
    expect_in_sectors(5100, 5101, 1, table_layout::inclusive, pattern::position);
    expect_in_sectors(130, 65544, 3, table_layout::exclusive, pattern::all_max);
    expect_in_sectors(66, 136, 2800, table_layout::padded, pattern::extreme);
}

/// Groups of 8 rows of tiles, more tiles of a group along a row, longer rings.
TEST_F(large_tables, rows_of_more_tiles) {
    for (const auto& [input, table, cols] : {std::tuple{dtype::u8, dtype::u32, 128 * 129},
                                             {dtype::u16, dtype::u32, 128 * 65},
                                             {dtype::f32, dtype::f32, 128 * 65},
                                             {dtype::u8, dtype::u64, 64 * 129}})
        for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded})
            for (const std::int64_t gap : {-1, 1}) {
                conformance_case c = aligned_case(input, table, 64 * 5 + 2, cols, 1);
                c.layout = layout;
                c.table_gap = gap;
                c.contents = gap == 1 ? pattern::position : patterns_for(input).back();
                expect_right(c);
            }
}
#endif

}  // namespace
}  // namespace boxsum
