// Plans of views with any strides, some of which kernels do not take: all of the memory afterwards is what the host's
// functions leave in theirs.

#include "core/visit_types.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"

#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

class packed_plan : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    packed_plan() : random_blocks(23) {}

    template <typename T>
    block<T> random_input(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes) {
        const auto made = random_block<T>(rows, cols, channels, planes, true);
        made.for_each([&](auto, auto, auto, auto, T& x) { x = static_cast<T>(random_() % 200); });
        return made;
    }
};

TEST_F(packed_plan, tables_are_the_hosts_whatever_the_strides) {
    int packed = 0, with_carries = 0;
    cuda::workspace workspace(0, stream());
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(70), cols = 1 + pick(70), channels = 1 + pick(3), planes = 1 + pick(2);
        const table_form form = static_cast<table_layout>(pick(3));
        const bool carries = pick(2) == 0, squares = pick(2) == 0;
        const auto image = random_input<std::uint8_t>(rows, cols, channels, planes);
        const auto above = random_input<std::uint32_t>(1, cols + 1, channels, planes);
        const auto left = random_input<std::uint32_t>(rows, 1, channels, planes);
        const std::int64_t table_rows = form.table_extent(rows), table_cols = form.table_extent(cols);
        const auto sums = random_block<std::uint32_t>(table_rows, table_cols, channels, planes);
        const auto square_sums = random_block<std::uint64_t>(table_rows, table_cols, channels, planes);
        const device_block d_image(image, stream());
        const device_block d_above(above, stream()), d_left(left, stream()), d_sums(sums, stream());
        const device_block d_squares(square_sums, stream());
        const auto inputs = [&](const auto& in, const auto& up, const auto& beside) {
            sat_inputs all{in.view()};
            if (carries) all.carries = {up.view(), beside.view()};
            return all;
        };
        const auto outputs = [&](const auto& s, const auto& q) {
            sat_outputs all{{s.view(), form}};
            if (squares) all.squares = {q.view(), form};
            return all;
        };
        SCOPED_TRACE(std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                     std::to_string(channels) + ", image with " + test::text_of(image.view().shape()) +
                     ", table with " + test::text_of(sums.view().shape()) + ", carries " + std::to_string(carries) +
                     ", squares " + std::to_string(squares));
        const sat_inputs in = inputs(d_image, d_above, d_left);
        const sat_outputs out = outputs(d_sums, d_squares);
        const cuda::sat_plan plan(in, out);
        workspace.reserve(plan.workspace_bytes(), stream());
        for (int run = 0; run < 2; ++run) plan.run_async(in, out, workspace, stream());
        sat(inputs(image, above, left), outputs(sums, square_sums));
        EXPECT_TRUE(d_sums.equals_host());
        EXPECT_TRUE(d_squares.equals_host());
        packed += plan.packed_bytes() != 0 ? 1 : 0;
        with_carries += carries ? 1 : 0;
    }
    EXPECT_GT(packed, 20);
    EXPECT_LT(packed, 60);
    EXPECT_GT(with_carries, 15);
}

TEST_F(packed_plan, histograms_are_the_hosts_whatever_the_strides) {
    const binning bins = binning::uniform(5, 0, 200);
    for (int i = 0; i < 12 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(50), cols = 1 + pick(50), planes = 1 + pick(2);
        const auto image = random_input<std::uint8_t>(rows, cols, 1, planes);
        const auto weights = random_input<float>(rows, cols, 1, planes);  // whole numbers: sums are exact
        SCOPED_TRACE("image with " + test::text_of(image.view().shape()));
        const device_block d_image(image, stream());
        const device_block d_weights(weights, stream());
        const histogram_inputs in{d_image.view(), d_weights.view()};
        const cuda::histogram_table<float> planned(5, rows, cols, stream(), {}, planes),
            once(5, rows, cols, stream(), {}, planes);
        const cuda::histogram_plan plan(in, bins, {planned});
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        plan.run_async(in, {planned}, workspace, stream());
        cuda::integral_histogram(in, bins, {once}, stream());
        const auto expected = integral_histogram<float>({image.view(), weights.view()}, bins);
        for (const auto* table : {&planned, &once})
            for (std::int64_t p = 0; p < planes; ++p)
                for (std::int64_t b = 0; b < 5; ++b) {
                    std::vector<float> got(static_cast<std::size_t>(rows * cols));
                    cuda::copy(table->view().bin(b, p).entries(), image_view<float>(got.data(), rows, cols), stream());
                    for (std::int64_t r = 0; r < rows; ++r)
                        for (std::int64_t c = 0; c < cols; ++c)
                            ASSERT_EQ(got[static_cast<std::size_t>(r * cols + c)], expected.view().bin(b, p)(r, c));
                }
    }
}

TEST_F(packed_plan, filters_copy_what_is_not_plain) {
    for (int i = 0; i < 8 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(40), cols = 1 + pick(40), channels = 1 + pick(3), planes = 1 + pick(2);
        const auto image = random_input<std::uint8_t>(rows, cols, channels, planes);
        const auto there = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto here = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto variance = random_block<float>(rows, cols, channels, planes);
        const device_block d_image(image, stream()), d_there(there, stream());
        const device_block d_variance(variance, stream());
        const filter_options options{.window = 7};
        cuda::box_filter({d_image.view()}, {d_there.view()}, stream(), options);
        cuda::box_filter({image.view()}, {here.view()}, stream(), options);  // host memory, through the device
        cuda::local_statistics({d_image.view()}, {.variance = d_variance.view()}, stream(), options);
        box_filter({image.view()}, {there.view()}, options);
        local_statistics({image.view()}, {.variance = variance.view()}, options);
        EXPECT_TRUE(d_there.equals_host()) << test::text_of(image.view().shape());
        EXPECT_TRUE(d_variance.equals_host()) << test::text_of(image.view().shape());
        here.for_each([&](auto p, auto r, auto c, auto k, std::uint8_t& x) { ASSERT_EQ(x, there.view()(r, c, k, p)); });
        EXPECT_TRUE(here.is_untouched_between());
    }
}

/// One workspace for plans of filters and, after each, of a table: what copies leave there must not be taken for words.
TEST_F(packed_plan, filters_are_the_hosts_whatever_the_strides) {
    int packed = 0;
    cuda::workspace workspace(0, stream());
    for (int i = 0; i < 24 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(40), cols = 1 + pick(40), channels = 1 + pick(3), planes = 1 + pick(2);
        const auto image = random_input<std::uint8_t>(rows, cols, channels, planes);
        const auto mask = random_input<std::uint8_t>(rows, cols, 1, pick(2) == 0 ? 1 : planes);
        const auto radius = random_input<std::uint16_t>(rows, cols, 1, planes);
        radius.for_each([&](auto, auto, auto, auto, std::uint16_t& x) { x = static_cast<std::uint16_t>(x % 6); });
        const auto result = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto black = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto varied = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto waited = random_block<std::uint8_t>(rows, cols, channels, planes);
        const auto table = random_block<std::uint32_t>(rows, cols, channels, planes);
        SCOPED_TRACE("image with " + test::text_of(image.view().shape()) + ", mask with " +
                     test::text_of(mask.view().shape()) + ", radius with " + test::text_of(radius.view().shape()) +
                     ", result with " + test::text_of(result.view().shape()));
        const device_block d_image(image, stream()), d_mask(mask, stream()), d_result(result, stream()),
            d_black(black, stream()), d_varied(varied, stream()), d_waited(waited, stream());
        const device_block d_radius(radius, stream());
        const device_block d_table(table, stream());
        const auto make_table = [&] {
            const cuda::sat_plan plan({d_image.view()}, {{d_table.view()}});
            workspace.reserve(plan.workspace_bytes(), stream());
            plan.run_async({d_image.view()}, {{d_table.view()}}, workspace, stream());
        };
        const auto inputs = [](const auto& in, const auto& m) {
            filter_inputs all;
            all.image = in.view();
            all.mask = m.view();
            return all;
        };
        const filter_options options{.window = 5};
        const cuda::box_filter_plan plan(inputs(d_image, d_mask), {d_result.view()}, options);
        workspace.reserve(plan.workspace_bytes(), stream());
        for (int run = 0; run < 2; ++run) {
            plan.run_async(inputs(d_image, d_mask), {d_result.view()}, workspace, stream());
            make_table();
        }
        packed += plan.packed_bytes() != 0 ? 1 : 0;
        cuda::adaptive_threshold_async({d_image.view()}, {d_black.view()}, workspace, stream(), {}, options);
        make_table();
        variable_inputs of_radii{d_image.view(), d_radius.view()};
        for (const std::int64_t largest : {5, 40}) {  // of tiles, and of tables
            of_radii.largest_radius = largest;
            cuda::variable_box_filter_async(of_radii, {d_varied.view()}, workspace, stream());
            make_table();
            variable_box_filter({image.view(), radius.view()}, {varied.view()});
            EXPECT_TRUE(d_varied.equals_host()) << "largest radius " << largest;
        }
        cuda::variable_box_filter({d_image.view(), d_radius.view()}, {d_waited.view()}, stream());

        box_filter(inputs(image, mask), {result.view()}, options);
        adaptive_threshold({image.view()}, {black.view()}, {}, options);
        variable_box_filter({image.view(), radius.view()}, {waited.view()});
        sat({image.view()}, {{table.view()}});
        EXPECT_TRUE(d_result.equals_host());
        EXPECT_TRUE(d_black.equals_host());
        EXPECT_TRUE(d_waited.equals_host());
        EXPECT_TRUE(d_table.equals_host());
    }
    EXPECT_GT(packed, 12);
    EXPECT_LT(packed, 24);
}

/// Weights and counts that lie anyhow, in memory of the device and of the host. Pixels and weights are whole numbers,
/// so that all sums are exact.
TEST_F(packed_plan, filters_with_weights_and_counts_are_the_hosts_whatever_the_strides) {
    int packed = 0, backwards = 0, repeated = 0, counts_backwards = 0;
    cuda::workspace workspace(0, stream());
    for (int i = 0; i < 16 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(40), cols = 1 + pick(40), channels = 1 + pick(3), planes = 1 + pick(2);
        const auto some = [&](std::int64_t all) { return pick(2) == 0 ? 1 : all; };
        const auto image = random_input<std::uint8_t>(rows, cols, channels, planes);
        const auto mask = random_input<std::uint8_t>(rows, cols, some(channels), some(planes));
        const auto weights = random_input<float>(rows, cols, some(channels), some(planes));
        const auto result_of = [&]<typename T>(T) { return random_block<T>(rows, cols, channels, planes); };
        const auto mean = result_of(std::uint8_t{}), black = result_of(std::uint8_t{}),
                   varied = result_of(std::uint8_t{}), here = result_of(std::uint8_t{});
        const auto sum = result_of(double{}), count = result_of(double{}), count_here = result_of(double{});
        const auto number = result_of(std::uint32_t{});
        const auto narrow = result_of(float{}), varied_count = result_of(float{});
        const device_block d_image(image, stream()), d_mask(mask, stream()), d_mean(mean, stream()),
            d_black(black, stream()), d_varied(varied, stream());
        const device_block d_weights(weights, stream()), d_narrow(narrow, stream()),
            d_varied_count(varied_count, stream());
        const device_block d_sum(sum, stream()), d_count(count, stream());
        const device_block d_number(number, stream());
        const view_shape lie = weights.view().shape(), lies = count.view().shape();
        SCOPED_TRACE("image with " + test::text_of(image.view().shape()) + ", weights with " + test::text_of(lie) +
                     ", count with " + test::text_of(lies));
        const auto inputs = [](const auto& in, const auto& w) {
            filter_inputs all;
            all.image = in.view();
            all.weights = w.view();
            return all;
        };
        const filter_options options{.window = 5, .nodata = 7};
        const cuda::box_filter_plan plan(inputs(d_image, d_weights), {d_mean.view(), d_count.view()}, options);
        workspace.reserve(plan.workspace_bytes(), stream());
        for (int run = 0; run < 2; ++run)
            plan.run_async(inputs(d_image, d_weights), {d_mean.view(), d_count.view()}, workspace, stream());
        cuda::local_statistics(inputs(d_image, d_weights), {.sum = d_sum.view(), .count = d_narrow.view()}, stream(),
                               options);
        const threshold_rule bradley{.method = threshold_method::bradley};
        const auto masked = [](const auto& in, const auto& m) {
            filter_inputs all;
            all.image = in.view();
            all.mask = m.view();
            return all;
        };
        cuda::adaptive_threshold(masked(d_image, d_mask), {d_black.view(), d_number.view()}, stream(), bradley,
                                 options);
        cuda::box_filter(inputs(image, weights), {here.view(), count_here.view()}, stream(), options);

        box_filter(inputs(image, weights), {mean.view(), count.view()}, options);
        local_statistics(inputs(image, weights), {.sum = sum.view(), .count = narrow.view()}, options);
        adaptive_threshold(masked(image, mask), {black.view(), number.view()}, bradley, options);
        EXPECT_TRUE(d_mean.equals_host());
        EXPECT_TRUE(d_count.equals_host());
        EXPECT_TRUE(d_sum.equals_host());
        EXPECT_TRUE(d_narrow.equals_host());
        EXPECT_TRUE(d_black.equals_host());
        EXPECT_TRUE(d_number.equals_host());
        here.for_each([&](auto p, auto r, auto c, auto k, std::uint8_t& x) { ASSERT_EQ(x, mean.view()(r, c, k, p)); });
        count_here.for_each([&](auto p, auto r, auto c, auto k, double& x) { ASSERT_EQ(x, count.view()(r, c, k, p)); });
        EXPECT_TRUE(here.is_untouched_between() && count_here.is_untouched_between());

        const auto of_radii = [](const auto& in, const auto& w, const auto& radius) {
            variable_inputs all;
            all.image = in.view();
            all.radius = radius.view();
            all.weights = w.view();
            return all;
        };
        const auto radius = random_input<std::uint16_t>(rows, cols, 1, planes);
        radius.for_each([&](auto, auto, auto, auto, std::uint16_t& x) { x = static_cast<std::uint16_t>(x % 6); });
        const device_block d_radius(radius, stream());
        if (contains(cuda_type_pairs{}, type_pair{dtype::f64, dtype::f64})) {
            const filter_options of_any_radius{.nodata = 7};
            cuda::variable_box_filter(of_radii(d_image, d_weights, d_radius), {d_varied.view(), d_varied_count.view()},
                                      stream(), of_any_radius);
            variable_box_filter(of_radii(image, weights, radius), {varied.view(), varied_count.view()}, of_any_radius);
            EXPECT_TRUE(d_varied.equals_host());
            EXPECT_TRUE(d_varied_count.equals_host());
        }
        packed += plan.packed_bytes() != 0 ? 1 : 0;
        backwards += lie.row_stride < 0 || lie.pixel_stride() < 0 ? 1 : 0;
        repeated += lie.row_stride == 0 || lie.pixel_stride() == 0 ? 1 : 0;
        counts_backwards += lies.row_stride < 0 || lies.pixel_stride() < 0 ? 1 : 0;
    }
    EXPECT_GT(packed, 8);
    EXPECT_GT(backwards, 1);
    EXPECT_GT(repeated, 1);
    EXPECT_GT(counts_backwards, 1);
}

TEST_F(packed_plan, a_radius_that_is_too_large_is_named_where_it_lies) {
    std::vector<std::uint8_t> pixels(5 * 6, 1), radii(5 * 6, 1);
    radii[3 * 6 + 1] = 9;  // row 3, column 1; mirrored, column 4
    const cuda::device_buffer memory(90, stream());
    auto* const first = static_cast<std::uint8_t*>(memory.data());
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(first, pixels.data(), 30, cudaMemcpyHostToDevice, stream().get()));
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(first + 30, radii.data(), 30, cudaMemcpyHostToDevice, stream().get()));
    variable_inputs in{image_view<std::uint8_t>{first, 5, 6},
                       image_view<std::uint8_t>{first + 30 + 5, 5, 6, {.row = 6, .col = -1}}};
    in.largest_radius = 8;
    const image_view<std::uint8_t> out{first + 60, 5, 6};
    const std::string on_device = test::complaint([&] { cuda::variable_box_filter(in, {out}, stream()); });
    in.image = image_view<std::uint8_t>{pixels.data(), 5, 6};
    in.radius = image_view<std::uint8_t>{radii.data() + 5, 5, 6, {.row = 6, .col = -1}};
    std::vector<std::uint8_t> result(30);
    const std::string on_host = test::complaint([&] {
        variable_box_filter(in, {image_view<std::uint8_t>{result.data(), 5, 6}});
    });
    EXPECT_NE(on_host.find("row 3"), std::string::npos) << on_host;
    EXPECT_EQ(on_device, on_host);
}

TEST_F(packed_plan, copies_go_between_any_strides_of_host_and_device) {
    for (int i = 0; i < 24 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(40), cols = 1 + pick(40), channels = 1 + pick(3), planes = 1 + pick(2);
        const auto from = random_input<std::uint16_t>(rows, cols, channels, planes);
        const auto to = random_block<std::uint16_t>(rows, cols, channels, planes);
        const device_block d_from(from, stream()), d_to(to, stream());
        SCOPED_TRACE(test::text_of(from.view().shape()) + " to " + test::text_of(to.view().shape()));
        const auto expect_copied = [&] {
            to.for_each(
                [&](auto p, auto r, auto c, auto k, std::uint16_t& x) { ASSERT_EQ(x, from.view()(r, c, k, p)); });
            EXPECT_TRUE(to.is_untouched_between());
        };
        const bool device_first = i % 3 == 0, device_last = i % 3 != 1;  // else from host memory, else to it
        cuda::copy(device_first ? d_from.view() : from.view(), device_last ? d_to.view() : to.view(), stream());
        if (!device_last) expect_copied();
        to.for_each([&](auto p, auto r, auto c, auto k, std::uint16_t& x) { x = from.view()(r, c, k, p); });
        if (device_last) EXPECT_TRUE(d_to.equals_host());
        cuda::copy(d_from.view(), to.view(), stream());
        expect_copied();
    }
}

TEST_F(packed_plan, boxes_are_asked_of_tables_as_they_lie) {
    for (int i = 0; i < 10 && !HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(40), cols = 1 + pick(40), channels = 1 + pick(3);
        const auto entries = random_input<std::uint32_t>(rows, cols, channels, 1);
        const device_block d_entries(entries, stream());
        std::vector<box> boxes;
        for (int k = 0; k < 50; ++k) {
            const std::int64_t r = pick(rows), c = pick(cols);
            boxes.push_back({r, c, 1 + pick(rows - r), 1 + pick(cols - c)});
        }
        const std::size_t bytes = boxes.size() * sizeof(box);
        const cuda::device_buffer d_boxes(bytes, stream()), d_sums(boxes.size() * 4, stream());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(d_boxes.data(), boxes.data(), bytes, cudaMemcpyHostToDevice, stream().get()));
        std::vector<std::uint32_t> sums(boxes.size());
        cuda::box_sums({d_entries.view()}, {static_cast<const box*>(d_boxes.data()), 50},
                       {static_cast<std::uint32_t*>(d_sums.data()), 50}, stream(), channels - 1);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(sums.data(), d_sums.data(), d_sums.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        for (std::size_t k = 0; k < boxes.size(); ++k)
            ASSERT_EQ(sums[k], box_sum(table_view<const std::uint32_t>(entries.view()), boxes[k], channels - 1));
    }
}

TEST_F(packed_plan, a_run_with_other_strides_is_refused) {
    const cuda::device_buffer memory(4000, stream());
    BOXSUM_CUDA_TRY(cudaMemsetAsync(memory.data(), 0, memory.size(), stream().get()));
    auto* const first = static_cast<float*>(memory.data());
    const image_view<float> image{first, 5, 6, {.row = 80, .col = 8}};
    const auto table = [&](std::int64_t at, const view_strides& strides) {
        return sat_outputs{{image_view<float>{first + at, 5, 6, strides}}};
    };
    const cuda::sat_plan plan({image}, table(1, {.row = 80, .col = 8}));
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    const auto complaint = [&](const sat_outputs& out) {
        return test::complaint([&] { plan.run_async({image}, out, workspace, stream()); });
    };
    EXPECT_EQ(complaint(table(1, {.row = 80, .col = 8})), "");  // between the image's pixels
    EXPECT_EQ(complaint(table(2, {.row = 80, .col = 8})).substr(0, 20), "sums: overlaps image");
    EXPECT_EQ(complaint(table(1, {.row = 80, .col = 12})), "sums: col_stride is 12, but the plan was made for 8");
    EXPECT_EQ(complaint(table(300, {.row = -80, .col = 8})), "sums: row_stride is -80, but the plan was made for 80");
    EXPECT_EQ(test::complaint([&] { cuda::sat_plan({image}, table(300, {.row = 0, .col = 8})); }),
              "sums: row_stride is 0, smaller than a row of 44 bytes");
    stream().synchronize();
}

}  // namespace
}  // namespace boxsum
