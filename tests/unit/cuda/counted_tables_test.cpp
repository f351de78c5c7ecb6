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
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/table.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
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
                if (i % 4 == 0) {
                    cuda::sat(in, out, stream());
                } else if (i % 4 == 1) {
                    cuda::sat_async(in, out, workspace, stream());
                } else {
                    const cuda::sat_plan plan(in, out);
                    cuda::workspace exact(plan.workspace_bytes(), stream());
                    if (i % 4 == 3) workspace.reserve(plan.workspace_bytes(), stream());
                    for (int round = 0; round < 2; ++round)
                        plan.run_async(in, out, i % 4 == 3 ? workspace : exact, stream());
                }
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

/// The result lies on the image: of one that is copied, and of one that is not, all of which counts.
TEST_F(counted_tables, in_place_are_the_hosts) {
    for (const bool copied : {true, false}) {
        const auto image = random_block<float>(40, 50, 1, 1, false);
        image.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(pick(20)); });
        const block<std::uint32_t> numbers(40, 50, 1, 1, lying::row_major, random_);
        const device_block there(image, stream());
        const device_block counted(numbers, stream());
        sat_inputs here{.image = image.view()}, on_device{.image = there.view()};
        if (copied) here.nodata = on_device.nodata = 3;
        const sat_outputs to{.sums = {image.view()}, .counts = {numbers.view()}},
            on_device_to{.sums = {there.view()}, .counts = {counted.view()}};
        const cuda::sat_plan plan(on_device, on_device_to);
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        plan.run_async(on_device, on_device_to, workspace, stream());
        sat(here, to);
        EXPECT_TRUE(there.equals_host()) << copied;
        EXPECT_TRUE(counted.equals_host()) << copied;
    }
}

/// Before there are views; of what is copied because of its strides, too.
TEST_F(counted_tables, plans_are_made_of_shapes) {
    const view_shape image = cuda::device_shape(dtype::u8, 60, 70), sums = cuda::device_shape(dtype::u32, 60, 70);
    const sat_shapes all{.image = image, .sums = sums};
    sat_shapes some = all;
    some.mask = image;
    some.nodata = 7;
    some.counts = sums;
    const cuda::sat_plan plain(all), plan(some);
    EXPECT_EQ(plan.algorithm().name, plain.algorithm().name);
    EXPECT_EQ(plan.device(), cuda::current_device());
    EXPECT_EQ(plan.packed_bytes(), 0U);
    const std::size_t two_images = 2 * 60 * static_cast<std::size_t>(image.row_stride);
    EXPECT_GE(plan.workspace_bytes(), two_images);
    EXPECT_LE(plan.workspace_bytes(), plain.workspace_bytes() + two_images + 512);

    some.counts->col_stride = 8;
    some.counts->row_stride = 600;
    const cuda::sat_plan apart(some);
    EXPECT_GE(apart.packed_bytes(), std::size_t{60} * 70 * 4);
    EXPECT_GE(apart.workspace_bytes(), plan.workspace_bytes() + 60 * 70 * 4);
    EXPECT_EQ(cuda::sat_plan(some, {.algorithm = "fast"}).algorithm().name, "fast");

    // Nothing to clean in integers.
    some = all;
    some.nan = nan_mode::omit;
    EXPECT_LT(cuda::sat_plan(some).workspace_bytes(), plain.workspace_bytes() + 256);
}

/// A plan has no memory of its own: others' images, masks and tables, in any workspace that is large enough.
TEST_F(counted_tables, plans_run_on_other_memory) {
    constexpr std::int64_t rows = 70, cols = 90;
    const view_shape of_image = cuda::device_shape(dtype::u8, rows, cols),
                     of_table = cuda::device_shape(dtype::u32, rows, cols);
    const cuda::sat_plan plan(
        sat_shapes{.image = of_image, .sums = of_table, .mask = of_image, .nodata = 5, .counts = of_table});
    cuda::workspace larger(2 * plan.workspace_bytes() + 100, stream());
    for (int call = 0; call < 3; ++call) {
        std::vector<std::uint8_t> pixels(rows * cols), kept(rows * cols);
        for (std::uint8_t& x : pixels) x = static_cast<std::uint8_t>(pick(9));
        for (std::uint8_t& x : kept) x = static_cast<std::uint8_t>(pick(2));
        const image_view<const std::uint8_t> here(pixels.data(), rows, cols), counting(kept.data(), rows, cols);
        const cuda::image<std::uint8_t> image(rows, cols, stream()), mask(rows, cols, stream());
        const cuda::table<std::uint32_t> sums(rows, cols, stream()), counts(rows, cols, stream());
        cuda::copy(here, image, stream());
        cuda::copy(counting, mask, stream());
        plan.run_async({.image = image, .mask = mask, .nodata = 5}, {.sums = sums, .counts = counts}, larger, stream());
        std::vector<std::uint32_t> expected(pixels.size()), numbers(pixels.size()), found(pixels.size());
        const image_view<std::uint32_t> received(found.data(), rows, cols);
        sat({.image = here, .mask = counting, .nodata = 5},
            {.sums = {image_view<std::uint32_t>(expected.data(), rows, cols)},
             .counts = {image_view<std::uint32_t>(numbers.data(), rows, cols)}});
        cuda::copy(any_view(sums.view().entries()), received, stream());
        EXPECT_EQ(found, expected);
        cuda::copy(any_view(counts.view().entries()), received, stream());
        EXPECT_EQ(found, numbers);
    }
}

/// A workspace serves other calls afterwards: nothing of the images is left in it.
TEST_F(counted_tables, leave_a_workspace_as_they_found_it) {
    const auto image = random_block<std::uint8_t>(200, 300, 1, 1, false);
    image.for_each([&](auto, auto, auto, auto, std::uint8_t& x) { x = static_cast<std::uint8_t>(pick(256)); });
    const block<std::uint32_t> table(200, 300, 1, 1, lying::row_major, random_);
    const device_block d_image(image, stream());
    const device_block d_table(table, stream()), sums(table, stream()), n(table, stream());
    const sat_inputs inputs{.image = d_image.view(), .nodata = 3};
    const sat_outputs outputs{.sums = {sums.view()}, .counts = {n.view()}};
    const cuda::sat_plan plan(inputs, outputs);
    sat({image.view()}, {{table.view()}});
    for (const std::size_t bytes : {plan.workspace_bytes(), std::size_t{1} << 20}) {
        cuda::workspace workspace(bytes, stream());
        for (int i = 0; i < 3; ++i) {
            plan.run_async(inputs, outputs, workspace, stream());
            const std::size_t before = workspace.bytes();
            cuda::sat_async(inputs, outputs, workspace, stream());
            EXPECT_EQ(workspace.bytes(), before) << "the plan of a call needs what another plan does";
            cuda::sat_async({d_image.view()}, {{d_table.view()}}, workspace, stream());
            EXPECT_TRUE(d_table.equals_host());
        }
    }
}

/// Words of a large table lie where a small image of what counts has been: once a table has wanted them clean, they are
/// so again behind every call.
TEST_F(counted_tables, leave_words_of_tables_clean) {
    const view_shape image = cuda::device_shape(dtype::u8, 40, 60), sums = cuda::device_shape(dtype::u32, 40, 60),
                     large = cuda::device_shape(dtype::u8, 400, 600),
                     of_large = cuda::device_shape(dtype::u32, 400, 600);
    const cuda::device_buffer memory(cuda::span_bytes(large), stream()), entries(cuda::span_bytes(of_large), stream()),
        counts(cuda::span_bytes(sums), stream());
    BOXSUM_CUDA_TRY(cudaMemsetAsync(memory.data(), 77, memory.size(), stream().get()));
    const sat_inputs some{.image = {memory.data(), image}, .nodata = 3};
    const sat_outputs of_some{.sums = {{entries.data(), sums}}, .counts = {{counts.data(), sums}}};
    const sat_inputs all{{memory.data(), large}};
    const sat_outputs of_all{{{entries.data(), of_large}}};
    const cuda::sat_plan plan(some, of_some), tables_alone({some.image}, {of_some.sums}),
        whole(all, of_all, {.algorithm = "fast", .parameters = "path=tiles"});
    const std::size_t bytes = std::max(plan.workspace_bytes(), whole.workspace_bytes()),
                      images = plan.workspace_bytes() - (tables_alone.workspace_bytes() + 255) / 256 * 256,
                      first = (bytes - images) / 256 * 256;
    ASSERT_GT(whole.workspace_bytes(), first);

    const cuda::device_buffer own(bytes, stream());
    const cuda::allocator from{
        .context = own.data(),
        .allocate = [](void* context, std::size_t, CUstream_st*) { return context; },
        .deallocate = [](void*, void*, std::size_t, CUstream_st*) noexcept {},
    };
    cuda::workspace workspace(bytes, stream(), from);
    whole.run_async(all, of_all, workspace, stream());
    plan.run_async(some, of_some, workspace, stream());
    std::vector<std::uint8_t> left(whole.workspace_bytes() - first);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(left.data(), static_cast<std::byte*>(own.data()) + first, left.size(),
                                    cudaMemcpyDeviceToHost, stream().get()));
    stream().synchronize();
    EXPECT_EQ(left, std::vector<std::uint8_t>(left.size()));
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
    const any_view no_memory{nullptr, mask.view().shape()};
    EXPECT_COMPLAINT(made({.image = image.view(), .mask = no_memory}, {{sums.view()}}), "mask: data is null");

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

/// What a plan is for is said again by every run; nothing of it is ignored.
TEST_F(counted_tables, inputs_of_another_plan_are_refused) {
    const block<std::uint8_t> pixels(9, 11, 1, 1, lying::row_major, random_);
    const block<float> numbers(9, 11, 1, 1, lying::row_major, random_);
    const block<std::uint32_t> entries(9, 11, 1, 1, lying::row_major, random_),
        others(9, 11, 1, 1, lying::row_major, random_);
    const device_block image(pixels, stream()), mask(pixels, stream());
    const device_block sums(entries, stream()), counts(others, stream());
    const device_block weights(numbers, stream());
    const sat_inputs all{.image = image.view()};
    const sat_inputs some{.image = image.view(), .mask = mask.view(), .nodata = 3};
    const sat_outputs to{.sums = {sums.view()}}, counted{.sums = {sums.view()}, .counts = {counts.view()}};
    cuda::workspace workspace(std::size_t{1} << 20, stream());
    struct planned_for {
        const sat_inputs& inputs;
        const sat_outputs& outputs;
    };
    const auto run = [&](const planned_for& planned, const sat_inputs& in, const sat_outputs& out) {
        cuda::sat_plan(planned.inputs, planned.outputs).run_async(in, out, workspace, stream());
    };
    run({some, counted}, some, counted);
    sat_inputs in = some;
    in.mask = {};
    EXPECT_COMPLAINT(run({some, to}, in, to), "mask: not given, but the plan was made with it");
    EXPECT_COMPLAINT(run({in, to}, some, to), "mask: given, but the plan was made without");
    EXPECT_COMPLAINT(run({all, to}, {.image = image.view(), .mask = mask.view()}, to),
                     "mask: given, but the plan was made without");
    in = some;
    in.weights = weights.view();
    EXPECT_COMPLAINT(run({some, to}, in, to), "weights: given, but the plan was made without");
    EXPECT_COMPLAINT(run({all, to}, {.image = image.view(), .weights = weights.view()}, to),
                     "weights: given, but the plan was made without");
    EXPECT_COMPLAINT(run({some, counted}, some, to), "counts: not given, but the plan was made with it");
    EXPECT_COMPLAINT(run({some, to}, some, counted), "counts: given, but the plan was made without");
    EXPECT_COMPLAINT(run({all, to}, all, counted), "counts: given, but the plan was made without");
    in = some;
    in.nodata = 4;
    EXPECT_COMPLAINT(run({some, to}, in, to), "nodata: is 4, but the plan was made for 3");
    in.nodata.reset();
    EXPECT_COMPLAINT(run({some, to}, in, to), "nodata: is none, but the plan was made for 3");
    EXPECT_COMPLAINT(run({in, to}, some, to), "nodata: is 3, but the plan was made for none");
    in = all;
    in.nan = nan_mode::omit;
    EXPECT_COMPLAINT(run({all, to}, in, to), "nan: is omit, but the plan was made for propagate");
    EXPECT_COMPLAINT(run({in, to}, all, to), "nan: is propagate, but the plan was made for omit");
    in.nan = static_cast<nan_mode>(7);
    EXPECT_COMPLAINT(run({all, to}, in, to), "nan: is 7, but the plan was made for propagate");

    in = some;
    in.mask.shape.row_stride += 1;
    EXPECT_COMPLAINT(run({some, to}, in, to), "mask: row_stride is " + std::to_string(in.mask.shape.row_stride));
    in.mask = pixels.view();
    EXPECT_COMPLAINT(run({some, to}, in, to), "mask: is host memory");
    in.mask = {nullptr, some.mask.shape};
    EXPECT_COMPLAINT(run({some, to}, in, to), "mask: data is null");
    sat_outputs out = counted;
    out.counts.entries.data = sums.view().data();
    out.counts.entries.shape = sums.view().shape();
    EXPECT_COMPLAINT(run({some, out}, some, out), "counts: overlaps sums");
    out = counted;
    out.counts.form = table_layout::exclusive;
    EXPECT_COMPLAINT(run({some, counted}, some, out), "counts: layout is exclusive");
    out = counted;
    out.counts.entries.data = const_cast<std::uint32_t*>(others.view().data());
    EXPECT_COMPLAINT(run({some, counted}, some, out), "counts: is host memory");
    cuda::workspace small(256, stream());
    EXPECT_COMPLAINT(cuda::sat_plan(some, counted).run_async(some, counted, small, stream()), "workspace: ");
}

/// What NaN means is one thing, however it is said.
TEST_F(counted_tables, nan_as_nodata_is_omit) {
    const block<float> pixels(9, 11, 1, 1, lying::row_major, random_), table(9, 11, 1, 1, lying::row_major, random_);
    pixels.for_each([&](auto, auto, auto, auto, float& x) {
        x = pick(4) == 0 ? static_cast<float>(nan) : static_cast<float>(pick(9));
    });
    const device_block image(pixels, stream());
    const sat_inputs as_nodata{.image = image.view(), .nodata = nan},
        as_mode{.image = image.view(), .nan = nan_mode::omit};
    const sat_outputs like{{table.view()}};
    EXPECT_EQ(shapes_of(as_nodata, like), shapes_of(as_nodata, like)) << "no call would find its plan";
    EXPECT_EQ(shapes_of(as_nodata, like), shapes_of(as_mode, like));
    sat_shapes by_hand = shapes_of(as_mode, like);
    by_hand.nan = nan_mode::propagate;
    by_hand.nodata = nan;
    for (const cuda::sat_plan& plan :
         {cuda::sat_plan(as_nodata, like), cuda::sat_plan(as_mode, like), cuda::sat_plan(by_hand)}) {
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        for (const sat_inputs& said : {as_nodata, as_mode}) {
            table.for_each([](auto, auto, auto, auto, float& x) { x = -1; });
            const device_block sums(table, stream());
            plan.run_async(said, {{sums.view()}}, workspace, stream());
            sat({.image = pixels.view(), .nan = nan_mode::omit}, {{table.view()}});
            EXPECT_TRUE(sums.equals_host());
            EXPECT_COMPLAINT(plan.run_async({.image = image.view()}, {{sums.view()}}, workspace, stream()),
                             "nan: is propagate, but the plan was made for omit");
        }
    }
    const block<std::uint8_t> bytes(9, 11, 1, 1, lying::row_major, random_);
    const block<std::uint32_t> entries(9, 11, 1, 1, lying::row_major, random_);
    EXPECT_COMPLAINT(cuda::sat_plan({.image = bytes.view(), .nodata = nan}, {{entries.view()}}), "nodata: is nan");
}

/// By shapes alone, before there is memory.
TEST_F(counted_tables, plans_that_cannot_be_are_refused) {
    const view_shape image = cuda::device_shape(dtype::u8, 9, 11), sums = cuda::device_shape(dtype::u32, 9, 11);
    const auto with = [&](const auto& change) {
        sat_shapes shapes{.image = image, .sums = sums, .mask = image};
        change(shapes);
        return shapes;
    };
    const auto refusal = [&](const auto& change) -> std::string {
        try {
            const cuda::sat_plan plan(with(change));
        } catch (const unsupported& e) {
            return e.what();
        }
        return "none";
    };
    const auto starts_with = [](const std::string& text, const std::string& part) { return text.rfind(part, 0) == 0; };
    EXPECT_COMPLAINT(cuda::sat_plan(with([](sat_shapes& s) { s.mask->rows = 8; })), "mask: rows x cols are 8 x 11");
    EXPECT_COMPLAINT(cuda::sat_plan(with([](sat_shapes& s) { s.mask->row_stride = 3; })), "mask: ");
    EXPECT_COMPLAINT(cuda::sat_plan(with([](sat_shapes& s) { s.nodata = 0.5; })), "nodata: is 0.5");
    EXPECT_COMPLAINT(cuda::sat_plan(with([](sat_shapes& s) { s.nan = static_cast<nan_mode>(7); })), "nan: is 7");
    EXPECT_COMPLAINT(cuda::sat_plan(with([&](sat_shapes& s) {
                         s.counts = sums;
                         s.counts->cols = 10;
                     })),
                     "counts: planes x rows x cols x channels are 1 x 9 x 10 x 1, must be those of sums");
    EXPECT_PRED2(starts_with, refusal([](sat_shapes& s) { s.mask->type = dtype::u16; }), "mask: type is 16u");
    EXPECT_PRED2(starts_with, refusal([&](sat_shapes& s) { s.counts = image; }), "counts: type is 8u");
    EXPECT_PRED2(starts_with, refusal([&](sat_shapes& s) { s.weights = cuda::device_shape(dtype::f32, 9, 11); }),
                 "sums: type is 32u, but weighted pixels add up in 64f");
    EXPECT_PRED2(starts_with, refusal([](sat_shapes& s) { s.carries.above = view_shape{dtype::u32, 1, 1, 11, 1, 44}; }),
                 "carries: given, but where pixels may not count");
    const double offset = 2;
    EXPECT_PRED2(starts_with, refusal([&](sat_shapes& s) { s.form.offset = offset; }), "sums: form is");
    std::vector<sat_shapes> list(2, with([](sat_shapes& s) { s = {s.image, s.sums}; }));
    cuda::sat_list_plan{list};
    list[1].nan = nan_mode::omit;
    try {
        cuda::sat_list_plan{list};
        FAIL() << "a list whose pixels may not count";
    } catch (const unsupported& e) {
        EXPECT_STREQ(e.what(),
                     "shapes[1]: nan, or a nodata that is NaN: given, but a list of images counts every pixel");
    }
}

}  // namespace
}  // namespace boxsum
