// Tables of pixels that may not count, and means and variances of those that do: all of the memory is the host's, whose
// own tests compare it with the definition, and every answer has its bits.

#include "core/visit_types.hpp"
#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"
#include "support/stored_table.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;
using test::stored_table;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class counted_tables : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    counted_tables() : random_blocks(29) {}

    /// Small integers, and where the type has it NaN: floats add them exactly in any order.
    template <typename T, typename Sum, typename Square, typename Count>
    void expect_the_host(bool weighted, int calls, bool with_squares = true) {
        // Weighted pixels are copied as doubles.
        if (!contains(cuda_type_pairs{}, type_pair{weighted ? dtype::f64 : dtype_of<T>, dtype_of<Sum>})) return;
        compared_ = true;
        cuda::workspace workspace(0, stream());
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(60), cols = 1 + pick(60), channels = 1 + pick(3), planes = 1 + pick(2);
            const table_form form = static_cast<table_layout>(pick(3));
            const bool squares = pick(2) == 0 && with_squares;
            const auto image = random_block<T>(rows, cols, channels, planes, true);
            const auto mask =
                random_block<std::uint8_t>(rows, cols, pick(2) == 0 ? 1 : channels, pick(2) == 0 ? 1 : planes, true);
            const auto weights =
                random_block<float>(rows, cols, pick(2) == 0 ? 1 : channels, pick(2) == 0 ? 1 : planes, true);
            constexpr bool floating = std::is_floating_point_v<T>;
            image.for_each([&](auto, auto, auto, auto, T& x) {
                x = static_cast<T>(pick(50));
                if constexpr (floating)
                    if (pick(5) == 0) x = pick(2) == 0 ? static_cast<T>(nan) : -T{0};
            });
            mask.for_each([&](auto, auto, auto, auto, std::uint8_t& x) {
                x = static_cast<std::uint8_t>(pick(3) == 0 ? 0 : 1 + pick(255));
            });
            constexpr std::array<float, 8> some{
                0.25f, 1.5f, 2.0f, 0.0f, -1.0f, std::numeric_limits<float>::infinity(), static_cast<float>(nan), 4.0f};
            weights.for_each([&](auto, auto, auto, auto, float& x) { x = some[static_cast<std::size_t>(pick(8))]; });
            const std::int64_t table_rows = form.table_extent(rows), table_cols = form.table_extent(cols);
            const auto sums = random_block<Sum>(table_rows, table_cols, channels, planes, false);
            const auto of_squares = random_block<Square>(table_rows, table_cols, channels, planes, false);
            const auto counts = random_block<Count>(table_rows, table_cols, channels, planes, false);
            const device_block<T> d_image(image, stream());
            const device_block<std::uint8_t> d_mask(mask, stream());
            const device_block<float> d_weights(weights, stream());
            const device_block<Sum> d_sums(sums, stream());
            const device_block<Square> d_squares(of_squares, stream());
            const device_block<Count> d_counts(counts, stream());

            const bool masked = pick(2) == 0, counted = pick(4) != 0;
            const auto omit = floating && pick(4) != 0 ? nan_mode::omit : static_cast<nan_mode>(pick(2));
            std::optional<double> nodata;
            if (pick(2) == 0) nodata = pick(4) == 0 && floating ? nan : static_cast<double>(pick(3));
            const auto call = [&](const auto& run, const auto& from, const auto& m, const auto& w, const auto& s,
                                  const auto& q, const auto& n) {
                sat_inputs in{.image = from.view(), .nan = omit, .nodata = nodata};
                if (masked) in.mask = m.view();
                if (weighted) in.weights = w.view();
                sat_outputs out{.sums = {s.view(), form}};
                if (squares) out.squares = {q.view(), form};
                if (counted) out.counts = {n.view(), form};
                run(in, out);
            };
            SCOPED_TRACE("call " + std::to_string(i) + ": " + std::to_string(planes) + " x " + std::to_string(rows) +
                         " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", image with " +
                         test::text_of(image.view().shape()) + ", mask " + std::to_string(masked) + ", squares " +
                         std::to_string(squares) + ", counts " + std::to_string(counted));
            const auto on_device = [&](const sat_inputs& in, const sat_outputs& out) {
                if (i % 3 == 0)
                    cuda::sat(in, out, stream());
                else
                    cuda::sat_async(in, out, workspace, stream());
            };
            call(on_device, d_image, d_mask, d_weights, d_sums, d_squares, d_counts);
            call([](const sat_inputs& in, const sat_outputs& out) { sat(in, out); }, image, mask, weights, sums,
                 of_squares, counts);
            EXPECT_TRUE(d_sums.equals_host());
            EXPECT_TRUE(d_squares.equals_host());
            EXPECT_TRUE(d_counts.equals_host());
        }
    }

    bool compared_ = false;  ///< not where BOXSUM_TYPES left the types out
};

TEST_F(counted_tables, are_the_hosts) {
    expect_the_host<std::uint8_t, std::uint32_t, std::uint64_t, std::uint32_t>(false, 40);
    expect_the_host<float, float, double, std::uint32_t>(false, 10, false);
    expect_the_host<double, double, double, std::uint32_t>(false, 30, false);
}

TEST_F(counted_tables, of_weights_are_the_hosts) {
    expect_the_host<std::uint8_t, double, double, double>(true, 25);
    expect_the_host<float, double, double, double>(true, 25);
    expect_the_host<std::int16_t, double, double, double>(true, 10);
    if (!compared_) GTEST_SKIP() << "needs BOXSUM_TYPES=all";
}

/// A workspace serves other calls afterwards: nothing of the images is left in it.
TEST_F(counted_tables, leave_a_workspace_as_they_found_it) {
    const auto image = random_block<std::uint8_t>(200, 300, 1, 1, false);
    image.for_each([&](auto, auto, auto, auto, std::uint8_t& x) { x = static_cast<std::uint8_t>(pick(256)); });
    const block<std::uint32_t> table(200, 300, 1, 1, lying::row_major, random_);
    const device_block d_image(image, stream());
    const device_block d_table(table, stream()), sums(table, stream()), n(table, stream());
    cuda::workspace workspace(std::size_t{1} << 20, stream());
    for (int i = 0; i < 3; ++i) {
        cuda::sat_async({.image = d_image.view(), .nodata = 3}, {.sums = {sums.view()}, .counts = {n.view()}},
                        workspace, stream());
        cuda::sat_async({d_image.view()}, {{d_table.view()}}, workspace, stream());
    }
    sat({image.view()}, {{table.view()}});
    EXPECT_TRUE(d_table.equals_host());
}

std::vector<box> boxes_in(const const_any_table_view& t, std::mt19937_64& random) {
    const std::int64_t rows = t.form.answered_extent(t.entries.shape.rows),
                       cols = t.form.answered_extent(t.entries.shape.cols);
    std::vector<box> boxes{{0, 0, rows, cols}, {0, 0, rows + 1, cols}, {-1, 0, 1, 1}, {0, 0, 0, 1}};
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    while (boxes.size() < 700) {
        const std::int64_t row = below(rows), col = below(cols);
        boxes.push_back({row, col, 1 + below(rows - row), 1 + below(cols - col)});
    }
    return boxes;
}

/// Of tables and counts of any bits, too: integers that wrap beyond what products of 128 bits hold, and floats of which
/// rounding may have made anything.
TEST_F(counted_tables, answers_are_the_hosts_bit_for_bit) {
    std::uint64_t seed = 1;
    for (const dtype counts_type : {dtype::u32, dtype::u64, dtype::f64})
        for (const dtype type : test::table_types)
            for (const test::contents what :
                 {test::contents::small, test::contents::any_bits, test::contents::rounded}) {
                const test::entry_shape s{20, 31, 3, 2, 5, 7, 1};
                table_form form = test::layouts[++seed % 3];
                if (seed % 4 == 0) form = {table_layout::padded, {6, 9}};
                const dtype square_type = test::table_types[seed % 6];
                const stored_table sums(type, s, form, what, seed, stream());
                const stored_table squares(square_type, s, form, what, seed + 77, stream());
                const stored_table counts(counts_type, s, form, what, seed + 99, stream());
                const std::vector<box> boxes = boxes_in(sums.host(), random_);
                const auto count = static_cast<std::int64_t>(boxes.size());
                const cuda::device_buffer list(boxes.size() * sizeof(box), stream()), out(boxes.size() * 8, stream());
                BOXSUM_CUDA_TRY(
                    cudaMemcpyAsync(list.data(), boxes.data(), list.size(), cudaMemcpyHostToDevice, stream().get()));
                const cuda::device_boxes there{static_cast<const box*>(list.data()), count};
                for (const double least : {0.0, 1.0, 70000.0})
                    for (const bool variances : {false, true}) {
                        moment_views here{sums.host(), squares.host(), counts.host(), least, -7},
                            on_device{sums.device(), squares.device(), counts.device(), least, -7};
                        const cuda::any_device_span to(static_cast<double*>(out.data()), count);
                        if (variances)
                            cuda::box_variances_async(on_device, there, to, stream(), 2, 1);
                        else
                            cuda::box_means_async(on_device, there, to, stream(), 2, 1);
                        std::vector<double> found(boxes.size());
                        BOXSUM_CUDA_TRY(cudaMemcpyAsync(found.data(), out.data(), out.size(), cudaMemcpyDeviceToHost,
                                                        stream().get()));
                        stream().synchronize();
                        for (std::size_t i = 0; i < boxes.size(); ++i) {
                            double expected = nan;
                            try {
                                if (variances)
                                    box_variances(here, {&boxes[i], 1}, {&expected, 1}, 2, 1);
                                else
                                    box_means(here, {&boxes[i], 1}, {&expected, 1}, 2, 1);
                            } catch (const invalid_argument&) {
                                expected = nan;
                            }
                            ASSERT_TRUE(test::same_bits(found[i], expected))
                                << "box " << i << ": " << found[i] << ", expected " << expected << ", variances "
                                << variances << ", " << name_of(type) << ", " << name_of(square_type) << ", "
                                << name_of(counts_type);
                        }
                    }
            }
}

TEST_F(counted_tables, wrong_arguments_are_named) {
    const block<std::uint8_t> pixels(9, 11, 1, 1, lying::row_major, random_);
    const block<std::uint32_t> entries(9, 11, 1, 1, lying::row_major, random_);
    const device_block image(pixels, stream()), mask(pixels, stream());
    const device_block sums(entries, stream());
    const auto made = [&](const sat_inputs& in, const sat_outputs& out) { cuda::sat(in, out, stream()); };
    EXPECT_COMPLAINT(made({.image = image.view(), .mask = pixels.view()}, {{sums.view()}}), "mask: is host memory");
    EXPECT_COMPLAINT(made({.image = pixels.view(), .nodata = 1}, {{sums.view()}}), "image: is host memory");
    EXPECT_COMPLAINT(made({.image = image.view(), .nodata = 1}, {.sums = {sums.view()}, .counts = {sums.view()}}),
                     "counts: overlaps sums");
    EXPECT_COMPLAINT(made({.image = image.view(), .nodata = 1}, {.sums = {sums.view()}, .counts = {entries.view()}}),
                     "counts: is host memory");
    EXPECT_COMPLAINT(made({.image = image.view(), .nodata = 0.5}, {{sums.view()}}), "nodata: is 0.5");
    EXPECT_THROW(made({.image = image.view(), .mask = mask.view()}, {{sums.view(), {table_layout::inclusive, {}, 2}}}),
                 unsupported);

    const stored_table t(dtype::u32, {9, 11}, {}, test::contents::small, 1, stream()),
        other(dtype::u32, {9, 12}, {}, test::contents::small, 2, stream()),
        signed_counts(dtype::s32, {9, 11}, {}, test::contents::small, 3, stream());
    const cuda::device_buffer memory(64, stream());
    const cuda::device_boxes one{static_cast<const box*>(memory.data()), 1};
    const cuda::any_device_span to(static_cast<double*>(memory.data()) + 4, 1);
    const auto means = [&](const moment_views& tables, const cuda::device_boxes& boxes) {
        cuda::box_means_async(tables, boxes, to, stream());
    };
    EXPECT_COMPLAINT(means({.sums = t.device(), .counts = other.device()}, one), "counts: cols is 12");
    EXPECT_COMPLAINT(means({.sums = t.device(), .counts = t.host()}, one), "counts: is host memory");
    EXPECT_COMPLAINT(means({.sums = t.device(), .counts = t.device(), .min_count = -1}, one), "min_count: is -1");
    EXPECT_THROW(means({.sums = t.device(), .min_count = 1}, one), unsupported);
    EXPECT_THROW(means({.sums = t.device(), .counts = signed_counts.device()}, one), unsupported);
    const cuda::device_boxes edges{.count = 1, .edges = static_cast<const fractional_box*>(memory.data())};
    EXPECT_THROW(means({.sums = t.device(), .counts = t.device()}, edges), unsupported);
}

}  // namespace
}  // namespace boxsum
