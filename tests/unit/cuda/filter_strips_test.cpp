// Filters on images in device memory, and on host memory in strips of a few rows, against the CPU's.

#include "cuda/filters/device_strips.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"
#include "support/complaint.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/variable_blur.hpp>

#include <algorithm>
#include <functional>

namespace boxsum {
namespace {

using test::all_borders;
using test::device_images;
using test::filter_case;
using test::host_image;
using test::options_of;
using test::packed;

class filter_strips : public test::gpu_stream_test {};

void expect_same(const host_image& expected, const host_image& got, dtype image, const std::string& what) {
    if (is_floating(image))
        EXPECT_LE(test::largest_difference(expected, got), 1e-9) << what;
    else
        EXPECT_TRUE(expected.bytes == got.bytes)
            << what << ": largest difference " << test::largest_difference(expected, got);
}

std::vector<filter_case> cases() {
    std::vector<filter_case> all;
    for (const dtype type : {dtype::u8, dtype::f64}) {
        if (!contains(cuda_type_pairs{}, type_pair{type, type == dtype::u8 ? dtype::u32 : dtype::f64})) continue;
        for (const border_mode border : all_borders)
            for (const window& w :
                 {window(window_radius(0, 2)), window(window_radius(3, 1)), window(window_radius(9, 30)),
                  window(window_radius(70, 5)), window(4, 2), window(window_extents{.above = 7, .right = 3})}) {
                all.push_back({type, 41, 70, 1, 1, w, border});
                all.push_back({type, 23, 17, 3, 2, w, border});
            }
    }
    return all;
}

TEST_F(filter_strips, of_any_height_give_the_same_means) {
    for (const filter_case& c : cases()) {
        if (is_floating(c.type)) continue;  // these have no windows of tables
        host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes), 11);
        host_image expected(image.shape);
        box_filter({image.view()}, {expected.view()}, options_of(c));
        const cuda::window_filter means{
            .windows = filters::windows_of({image.shape}, options_of(c)),
            .consume = [](const cuda::filter_step& at) { cuda::enqueue_means(at.task, at.results[0], at.stream); }};
        for (const std::int64_t rows : {1, 5, 64}) {
            host_image got(image.shape);
            cuda::execute(means, {image.view(), {got.view()}}, stream(), rows * image.shape.row_stride);
            expect_same(expected, got, c.type, text_of(c) + ", strips of " + std::to_string(rows));
        }
        if (HasFailure()) return;
    }
}

TEST_F(filter_strips, take_their_part_of_a_radius_map) {
    for (const filter_case& c : cases())
        for (const std::int64_t map_planes : {std::int64_t{1}, c.planes}) {
            if (c.window.above == 70) continue;
            host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes), 12);
            host_image radii(packed(dtype::u8, c.rows, c.cols, 1, map_planes));
            for (std::size_t i = 0; i < radii.bytes.size(); ++i)
                radii.bytes[i] = static_cast<std::byte>(i * 31 % static_cast<std::size_t>(c.window.above + 1));
            host_image expected(image.shape), got(image.shape);
            filter_options options = options_of(c);
            options.window = {};
            variable_box_filter({image.view(), radii.view()}, {expected.view()}, options);
            const cuda::window_filter variable{
                .windows = filters::variable_job({image.shape}, radii.shape, {got.shape}, c.window.above, options),
                .consume = [](const cuda::filter_step& at) {
                    cuda::enqueue_variable_means(at.task, at.radius, 1000, at.results[0], at.stream);
                }};
            cuda::execute(variable, {image.view(), {got.view()}, radii.view()}, stream(), 5 * image.shape.row_stride);
            expect_same(expected, got, c.type, text_of(c));

            device_images device(stream());
            const any_view result = device.upload(host_image(image.shape).view());
            cuda::variable_box_filter({device.upload(image.view()), device.upload(radii.view())}, {result}, stream(),
                                      options);
            cuda::copy(result, got.view(), stream());
            expect_same(expected, got, c.type, text_of(c) + " on the device");
            if (HasFailure()) return;
        }
}

TEST_F(filter_strips, local_contrast_is_that_of_the_cpu) {
    for (const filter_case& c : cases()) {
        if (c.type != dtype::u8) continue;
        host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes), 13);
        host_image expected(packed(dtype::f32, c.rows, c.cols, c.channels, c.planes)), got = expected;
        const contrast_rule rule{2};
        const filter_options options = options_of(c);
        local_contrast({image.view()}, {expected.view()}, rule, options);
        cuda::local_contrast({image.view()}, {got.view()}, stream(), rule, options);
        expect_same(expected, got, c.type, text_of(c) + " in host memory");
        device_images device(stream());
        const any_view result = device.upload(host_image(expected.shape).view());
        cuda::local_contrast({device.upload(image.view())}, {result}, stream(), rule, options);
        cuda::copy(result, got.view(), stream());
        expect_same(expected, got, c.type, text_of(c) + " on the device");
        if (HasFailure()) return;
    }
}

/// Rows of an image, as a view.
template <typename View>
View rows_of(View v, std::int64_t first, std::int64_t end) {
    v.data = static_cast<std::conditional_t<std::is_same_v<View, any_view>, std::byte, const std::byte>*>(v.data) +
             first * v.shape.row_stride;
    v.shape.rows = end - first;
    return v;
}

/// Parts with their halo, in host memory and on the device: the rows of the whole image.
TEST_F(filter_strips, parts_have_the_results_of_the_whole) {
    for (const filter_case& c : cases()) {
        if (c.type != dtype::u8 || c.planes > 1) continue;
        const filters::window_job whole =
            filters::windows_of({packed(c.type, c.rows, c.cols, c.channels)}, options_of(c));
        host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels), 15);
        host_image means(image.shape), contrasts(packed(dtype::f32, c.rows, c.cols, c.channels));
        box_filter({image.view()}, {means.view()}, options_of(c));
        local_contrast({image.view()}, {contrasts.view()}, {2}, options_of(c));
        device_images device(stream());
        for (std::int64_t first = 0; first < c.rows; first += 13) {
            const std::int64_t end = std::min(c.rows, first + 13);
            const std::int64_t from = std::max<std::int64_t>(0, first - whole.rows.before),
                               to = std::min(c.rows, end + whole.rows.after);
            const auto within = whole.rows.windows_within(from, to);
            const auto taken = whole.rows.taken_by(within.first, within.end);
            if (within.first != first || within.end != end || taken.first < from || taken.end > to) continue;
            for (const bool host : {true, false}) {
                const any_view part = rows_of(image.view(), from, to);
                const filter_inputs inputs{host ? part : device.upload(part), {from, 0}, {c.rows, c.cols}};
                const auto expect_rows = [&](host_image& expected, auto run) {
                    host_image got(packed(expected.shape.type, end - first, c.cols, c.channels));
                    const any_view result = host ? got.view() : device.upload(got.view());
                    run(result);
                    if (!host) cuda::copy(result, got.view(), stream());
                    const auto begin = expected.bytes.begin() + first * expected.shape.row_stride;
                    EXPECT_TRUE(std::equal(got.bytes.begin(), got.bytes.end(), begin))
                        << text_of(c) << ", rows " << first << " to " << end << (host ? " in host memory" : "");
                };
                expect_rows(means, [&](const any_view& result) {
                    cuda::box_filter(inputs, {result}, stream(), options_of(c));
                });
                expect_rows(contrasts, [&](const any_view& result) {
                    cuda::local_contrast(inputs, {result}, stream(), {2}, options_of(c));
                });
            }
        }
        if (HasFailure()) return;
    }
}

/// One workspace for plans of all filters and of tables, one after the other, and again.
TEST_F(filter_strips, plans_share_a_workspace_with_plans_of_tables) {
    cuda::workspace workspace(0, stream());
    for (const filter_case& c : cases()) {
        if (c.type != dtype::u8) continue;
        const filter_options options = options_of(c);
        filter_options variable_options = options;
        variable_options.window = {};
        const threshold_rule bradley{.method = threshold_method::bradley}, wolf{.method = threshold_method::wolf};
        const auto shape = [&](dtype type) { return packed(type, c.rows, c.cols, c.channels, c.planes); };
        host_image image = test::random_image(shape(dtype::u8), 16), radii(packed(dtype::u8, c.rows, c.cols, 1));
        for (std::size_t i = 0; i < radii.bytes.size(); ++i) radii.bytes[i] = static_cast<std::byte>(i * 7 % 9);
        host_image means(shape(dtype::u8)), rounded = means, ink = means, wolf_ink = means, variable = means;
        host_image variances(shape(dtype::f64)), contrasts(shape(dtype::f32));
        box_filter({image.view()}, {means.view()}, options);
        local_statistics({image.view()}, {.mean = rounded.view(), .variance = variances.view()}, options);
        adaptive_threshold({image.view()}, {ink.view()}, bradley, options);
        adaptive_threshold({image.view()}, {wolf_ink.view()}, wolf, options);
        local_contrast({image.view()}, {contrasts.view()}, {2}, options);
        variable_box_filter({image.view(), radii.view()}, {variable.view()}, variable_options);

        device_images device(stream());
        const any_view from = device.upload(image.view()), map = device.upload(radii.view());
        const auto result_like = [&](host_image& expected) { return device.upload(host_image(expected.shape).view()); };
        const auto expect_fetched = [&](const host_image& expected, const any_view& result, const char* what) {
            host_image got(expected.shape);
            cuda::copy(result, got.view(), stream());
            EXPECT_TRUE(expected.bytes == got.bytes) << what << ", " << text_of(c);
        };
        // A table larger than the filters', whose words lie where their tables are.
        host_image large = test::random_image(packed(dtype::u8, 300, 200, 1), 17);
        host_image sums(packed(dtype::u32, 300, 200, 1));
        sat({large.view()}, {sums.view()});
        const any_view large_image = device.upload(large.view()), large_table = result_like(sums);

        const cuda::box_filter_plan mean_plan({from}, {result_like(means)}, options);
        const cuda::local_statistics_plan statistics_plan({from}, {result_like(rounded), result_like(variances)},
                                                          options);
        const cuda::adaptive_threshold_plan wolf_plan({from}, {result_like(wolf_ink)}, wolf, options);
        const cuda::variable_box_filter_plan variable_plan({.image = from, .radius = map, .largest_radius = 8},
                                                           {result_like(variable)}, variable_options);
        const cuda::sat_plan table_plan({large_image}, {large_table});
        for (const std::size_t bytes :
             {mean_plan.workspace_bytes(), statistics_plan.workspace_bytes(), wolf_plan.workspace_bytes(),
              variable_plan.workspace_bytes(), table_plan.workspace_bytes()})
            workspace.reserve(bytes, stream());
        for (int round = 0; round < 2; ++round) {
            const any_view mean = result_like(means), mean_beside = result_like(rounded),
                           variance = result_like(variances), wolfs = result_like(wolf_ink),
                           bradleys = result_like(ink), contrast = result_like(contrasts),
                           varied = result_like(variable), varied_again = result_like(variable),
                           table = result_like(sums);
            mean_plan.run_async({from}, {mean}, workspace, stream());
            table_plan.run_async({large_image}, {table}, workspace, stream());
            statistics_plan.run_async({from}, {mean_beside, variance}, workspace, stream());
            wolf_plan.run_async({from}, {wolfs}, workspace, stream());
            table_plan.run_async({large_image}, {table}, workspace, stream());
            variable_plan.run_async({.image = from, .radius = map, .largest_radius = 8}, {varied}, workspace, stream());
            cuda::adaptive_threshold_async({from}, {bradleys}, workspace, stream(), bradley, options);
            cuda::local_contrast_async({from}, {contrast}, workspace, stream(), {2}, options);
            cuda::variable_box_filter_async({from, map}, {varied_again}, workspace, stream(), variable_options);
            stream().synchronize();
            expect_fetched(means, mean, "means");
            expect_fetched(sums, table, "table");
            expect_fetched(rounded, mean_beside, "means beside variances");
            expect_fetched(variances, variance, "variances");
            expect_fetched(wolf_ink, wolfs, "wolf");
            expect_fetched(ink, bradleys, "bradley");
            expect_fetched(contrasts, contrast, "contrast");
            expect_fetched(variable, varied, "variable means");
            expect_fetched(variable, varied_again, "variable means of any radius");
        }
        if (HasFailure()) return;
    }
}

/// Words of tables' algorithms may come to lie wherever a filter had its tables: any that is not zero could be taken
/// for one of a finished tile. So who wants words there finds zeros; until then tables stay as they are, also behind
/// calls that have scratch only.
TEST_F(filter_strips, tables_stay_until_words_are_wanted_in_their_place) {
    host_image image = test::random_image(packed(dtype::u8, 50, 70, 1), 19), radii(packed(dtype::u8, 50, 70, 1));
    std::fill(radii.bytes.begin(), radii.bytes.end(), std::byte{2});
    device_images device(stream());
    const any_view from = device.upload(image.view()), to = device.upload(image.view());
    const variable_inputs inputs{.image = from, .radius = device.upload(radii.view()), .largest_radius = 40};
    const cuda::variable_box_filter_plan plan(inputs, {to});
    const cuda::variable_blur_plan blur(inputs, {to});
    for (const bool beside_scratch : {false, true}) {
        cuda::workspace workspace(std::max(plan.workspace_bytes(), blur.workspace_bytes()) + 4096, stream());
        if (beside_scratch) blur.run_async(inputs, {to}, workspace, stream());
        plan.run_async(inputs, {to}, workspace, stream());
        const std::size_t table = (cuda::span_bytes(cuda::device_shape(dtype::u32, 51, 71)) + 255) / 256 * 256;
        const auto first = static_cast<std::ptrdiff_t>((workspace.bytes() - table) / 256 * 256),
                   end = static_cast<std::ptrdiff_t>(workspace.bytes() / 256 * 256);
        ASSERT_LT(first, end);
        for (const bool wanted : {false, true}) {
            const cuda::workspace_use use(workspace, 0, plan.device(), stream(), wanted ? workspace.bytes() : 0);
            host_image left(packed(dtype::u8, 1, static_cast<std::int64_t>(use.bytes()), 1));
            cuda::copy({use.data(), left.shape}, left.view(), stream());
            const auto zeros = std::count(left.bytes.begin() + first, left.bytes.begin() + end, std::byte{0});
            if (wanted)
                EXPECT_EQ(zeros, end - first);
            else
                EXPECT_LT(zeros, end - first);
        }
    }
}

/// Those of tables find zeros where they want them, whatever windows without tables have left there.
TEST_F(filter_strips, tables_and_windows_take_turns_with_a_workspace) {
    host_image image = test::random_image(packed(dtype::u8, 150, 40, 1), 23), counted(image.shape),
               table(packed(dtype::u32, 150, 40, 1)), radii(image.shape), of_map(image.shape), blurred(image.shape);
    for (std::size_t i = 0; i < radii.bytes.size(); ++i) radii.bytes[i] = static_cast<std::byte>(i % 10);
    const filter_options options{.window = {141, 3}, .nodata = 7};  // sums of rows lie in the workspace
    box_filter({image.view()}, {counted.view()}, options);
    variable_box_filter({.image = image.view(), .radius = radii.view()}, {of_map.view()});
    variable_blur({.image = image.view(), .radius = radii.view()}, {blurred.view()});
    sat({image.view()}, {{table.view()}});
    device_images device(stream());
    const any_view from = device.upload(image.view()), map = device.upload(radii.view());
    cuda::workspace workspace, with_scratch_only;
    const auto read = [&](const any_view& from_device, const view_shape& shape) {
        host_image got(shape);
        cuda::copy(from_device, got.view(), stream());
        return got.bytes;
    };
    for (int round = 0; round < 3; ++round) {
        const any_view means = device.upload(host_image(image.shape).view()),
                       sums = device.upload(host_image(table.shape).view());
        const any_view mapped = device.upload(host_image(image.shape).view()),
                       softened = device.upload(host_image(image.shape).view());
        cuda::box_filter_async({from}, {means}, workspace, stream(), options);
        cuda::variable_box_filter_async({.image = from, .radius = map, .largest_radius = 40}, {mapped}, workspace,
                                        stream());
        cuda::box_filter_async({from}, {means}, with_scratch_only, stream(), options);
        cuda::variable_blur_async({.image = from, .radius = map, .largest_radius = 9}, {softened}, with_scratch_only,
                                  stream());
        cuda::sat_async({from}, {{sums}}, workspace, stream());
        EXPECT_TRUE(read(means, image.shape) == counted.bytes) << "round " << round;
        EXPECT_TRUE(read(mapped, image.shape) == of_map.bytes) << "round " << round;
        EXPECT_TRUE(read(softened, image.shape) == blurred.bytes) << "round " << round;
        EXPECT_TRUE(read(sums, table.shape) == table.bytes) << "round " << round;
    }
    const std::size_t wanted = cuda::sat_plan({from}, {{device.allocate(table.shape)}}).workspace_bytes();
    const any_view means = device.upload(host_image(image.shape).view());
    cuda::box_filter_async({from}, {means}, workspace, stream(), options);
    const cuda::workspace_use use(workspace, wanted, workspace.device(), stream(), 0);
    const cuda::box_filter_plan plan({from}, {means}, options);
    ASSERT_GE(plan.workspace_bytes(), std::size_t{256});
    const std::size_t first = (use.bytes() - plan.workspace_bytes()) / 256 * 256;
    ASSERT_LT(first, wanted) << "they have nothing in common";
    host_image left(packed(dtype::u8, 1, static_cast<std::int64_t>(wanted - first), 1));
    cuda::copy({static_cast<std::byte*>(use.data()) + first, left.shape}, left.view(), stream());
    EXPECT_EQ(std::count(left.bytes.begin(), left.bytes.end(), std::byte{0}), std::ssize(left.bytes));
}

/// Plans of the last calls are kept: whatever a call differs in from another, it has its own.
TEST_F(filter_strips, calls_without_a_plan_have_one_of_all_their_arguments) {
    host_image image = test::random_image(packed(dtype::u8, 23, 31, 1), 21), mask(image.shape);
    for (std::size_t i = 0; i < mask.bytes.size(); ++i) mask.bytes[i] = std::byte{i % 3 != 0};
    device_images device(stream());
    const any_view from = device.upload(image.view()), counts = device.upload(mask.view());
    std::vector<filter_options> all{
        {.window = 5},
        {.window = {5, 7}},
        {.window = 5, .border = border_mode::mirror},
        {.window = 5, .border = border_mode::constant},
        {.window = 5, .border = border_mode::constant, .border_value = 9},
        {.window = 5, .rounding = rounding_mode::floor},
        {.window = 5, .nodata = 7},
        {.window = 5, .nodata = 8},
        {.window = 5, .nodata = 7, .min_count = 25},
        {.window = 5, .nodata = 7, .min_count = 25, .fill = 3},
    };
    struct call {
        std::string what;
        dtype type;
        std::function<void(const any_view&)> on_host;
        std::function<void(const any_view&, cuda::workspace&)> on_device;
    };
    std::vector<call> calls;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const filter_options options = all[i];
        const std::string number = " of options " + std::to_string(i);
        for (const dtype type : {dtype::u8, dtype::f64})
            for (const bool masked : {false, true})
                calls.push_back({"means" + number, type,
                                 [&, options, masked](const any_view& to) {
                                     filter_inputs inputs{image.view()};
                                     if (masked) inputs.mask = mask.view();
                                     box_filter(inputs, {to}, options);
                                 },
                                 [&, options, masked](const any_view& to, cuda::workspace& workspace) {
                                     filter_inputs inputs{from};
                                     if (masked) inputs.mask = counts;
                                     cuda::box_filter_async(inputs, {to}, workspace, stream(), options);
                                 }});
        for (const bool root : {false, true})
            calls.push_back({"spread" + number, dtype::f64,
                             [&, options, root](const any_view& to) {
                                 local_statistics(
                                     {image.view()},
                                     root ? window_outputs{.deviation = to} : window_outputs{.variance = to}, options);
                             },
                             [&, options, root](const any_view& to, cuda::workspace& workspace) {
                                 cuda::local_statistics_async(
                                     {from}, root ? window_outputs{.deviation = to} : window_outputs{.variance = to},
                                     workspace, stream(), options);
                             }});
        for (const threshold_rule& rule :
             {threshold_rule{}, threshold_rule{.k = 0.1}, threshold_rule{.k = 0.1, .range = 90},
              threshold_rule{.method = threshold_method::niblack},
              threshold_rule{.output = threshold_output::zero_one}})
            calls.push_back(
                {"threshold" + number, dtype::u8,
                 [&, options, rule](const any_view& to) { adaptive_threshold({image.view()}, {to}, rule, options); },
                 [&, options, rule](const any_view& to, cuda::workspace& workspace) {
                     cuda::adaptive_threshold_async({from}, {to}, workspace, stream(), rule, options);
                 }});
        for (const double epsilon : {1e-6, 50.0})
            calls.push_back({"contrast" + number, dtype::f32,
                             [&, options, epsilon](const any_view& to) {
                                 local_contrast({image.view()}, {to}, {epsilon}, options);
                             },
                             [&, options, epsilon](const any_view& to, cuda::workspace& workspace) {
                                 cuda::local_contrast_async({from}, {to}, workspace, stream(), {epsilon}, options);
                             }});
    }
    cuda::workspace workspace;
    for (int round = 0; round < 2; ++round)
        for (const call& one : calls) {
            host_image expected(packed(one.type, 23, 31, 1)), got(expected.shape);
            one.on_host(expected.view());
            const any_view to = device.upload(host_image(expected.shape).view());
            one.on_device(to, workspace);
            cuda::copy(to, got.view(), stream());
            EXPECT_TRUE(expected.bytes == got.bytes) << one.what << ", round " << round;
        }
}

TEST_F(filter_strips, plans_refuse_other_calls) {
    host_image image = test::random_image(packed(dtype::u8, 20, 30, 1), 18),
               other = test::random_image(packed(dtype::u8, 21, 30, 1), 18);
    device_images device(stream());
    const any_view from = device.upload(image.view()), to = device.upload(image.view()),
                   deviation = device.upload(host_image(packed(dtype::f32, 20, 30, 1)).view());
    const cuda::box_filter_plan plan({from}, {to}, {.window = 3});
    cuda::workspace workspace(plan.workspace_bytes(), stream()), small(256, stream());
    const auto message = [&](auto run) -> std::string {
        try {
            run();
        } catch (const invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message([&] { plan.run_async({device.upload(other.view())}, {to}, workspace, stream()); }),
              "image: rows is 21, but the plan was made for 20");
    EXPECT_EQ(message([&] { plan.run_async({from}, {deviation}, workspace, stream()); }),
              "result: element type is 32f, but the plan was made for 8u");
    EXPECT_EQ(message([&] { plan.run_async({from}, {from}, workspace, stream()); }), "result: overlaps image");
    EXPECT_EQ(message([&] {
                  plan.run_async({from, {4, 0}, {40, 30}}, {to}, workspace, stream());
              }),
              "at: row is 4 of 40, but the plan was made for 0 of 0");
    EXPECT_EQ(message([&] {
                  plan.run_async({from}, {any_view{nullptr, to.shape}}, workspace, stream());
              }),
              "result: data is null");
    const variable_inputs varied{.image = from, .radius = device.upload(image.view()), .largest_radius = 40};
    const cuda::variable_box_filter_plan large(varied, {to});
    EXPECT_NE(message([&] { large.run_async(varied, {to}, small, stream()); }).find("workspace: has 256 bytes"),
              std::string::npos);
    const cuda::local_statistics_plan statistics({from}, {.deviation = deviation}, {.window = 3});
    EXPECT_EQ(message([&] { statistics.run_async({from}, {.mean = to, .deviation = deviation}, workspace, stream()); }),
              "mean: given, but the plan was made without");
    EXPECT_EQ(message([&] {
                  statistics.run_async({from}, {.deviation = deviation, .count = deviation}, workspace, stream());
              }),
              "count: given, but the plan was made without");
    EXPECT_EQ(message([&] { plan.run_async({.image = from, .mask = from}, {to}, workspace, stream()); }),
              "mask: given, but the plan was made without");
    EXPECT_EQ(message([&] { plan.run_async({.image = from, .weights = deviation}, {to}, workspace, stream()); }),
              "weights: given, but the plan was made without");
    EXPECT_EQ(message([&] {
                  plan.run_async({.image = from, .results = {2, 5}}, {to}, workspace, stream());
              }),
              "results: rows 2 to 5, but the plan was made for 0 to 0");
    EXPECT_EQ(message([&] { cuda::box_filter_plan({from}, {to}, {.window = 0}); }),
              "window: rows is 0, must be at least 1");
}

TEST_F(filter_strips, what_lies_in_other_memory_than_the_image_is_named) {
    const auto of = [](dtype type) { return packed(type, 9, 12, 1); };
    host_image image = test::random_image(of(dtype::u8), 21), mask = image, weights(of(dtype::f32)),
               result(of(dtype::u8)), real(of(dtype::f64)), variance = real, deviation = real, sum = real, count = real;
    device_images device(stream());
    for (const bool host : {true, false}) {
        const auto place = [&](host_image& one, bool there) {
            return there == host ? one.view() : device.upload(one.view());
        };
        const std::string rest = host ? ": is device memory, but the image is host memory"
                                      : ": is host memory, but the image is device memory";
        for (const std::string wrong : {"mean", "variance", "deviation", "sum", "count", "mask", "weights"})
            EXPECT_EQ(test::complaint([&] {
                          cuda::local_statistics({.image = place(image, true),
                                                  .mask = place(mask, wrong != "mask"),
                                                  .weights = place(weights, wrong != "weights")},
                                                 {.mean = place(real, wrong != "mean"),
                                                  .variance = place(variance, wrong != "variance"),
                                                  .deviation = place(deviation, wrong != "deviation"),
                                                  .sum = place(sum, wrong != "sum"),
                                                  .count = place(count, wrong != "count")},
                                                 stream());
                      }),
                      wrong + rest);
        for (const std::string wrong : {"result", "count"})
            EXPECT_EQ(test::complaint([&] {
                          cuda::box_filter(
                              {place(image, true)},
                              {.result = place(result, wrong != "result"), .count = place(count, wrong != "count")},
                              stream());
                      }),
                      wrong + rest);
    }
}

TEST_F(filter_strips, bad_radius_maps_are_refused) {
    host_image image = test::random_image(packed(dtype::u8, 9, 300, 1), 14), result(image.shape);
    host_image radii(packed(dtype::s32, 9, 300, 1));
    std::fill(radii.bytes.begin(), radii.bytes.end(), std::byte{0});
    auto* const values = reinterpret_cast<std::int32_t*>(radii.bytes.data());
    values[4 * 300 + 290] = 77;
    device_images device(stream());
    EXPECT_EQ(cuda::check_radii(radii.view(), {}, stream()), 77);
    EXPECT_EQ(cuda::check_radii(device.upload(radii.view()), {}, stream()), 77);
    values[5 * 300 + 270] = -12;
    values[7 * 300 + 3] = -13;
    const any_view device_image = device.upload(image.view()), device_result = device.upload(result.view());
    const any_view device_radii = device.upload(radii.view());
    for (const bool host : {true, false}) try {
            if (host)
                cuda::variable_box_filter({image.view(), radii.view()}, {result.view()}, stream());
            else
                cuda::variable_box_filter({device_image, device_radii}, {device_result}, stream());
            ADD_FAILURE() << "accepted a negative radius";
        } catch (const invalid_argument& e) {
            EXPECT_STREQ(e.what(), "radius: is -12 at plane 0, row 5, col 270, must not be negative");
        }
    values[5 * 300 + 270] = values[7 * 300 + 3] = 1;
    EXPECT_THROW(cuda::variable_box_filter({device_image, radii.view()}, {device_result}, stream()), invalid_argument);
    EXPECT_THROW(cuda::variable_box_filter({image.view(), device_radii}, {result.view()}, stream()), invalid_argument);
    EXPECT_THROW(cuda::local_contrast({image.view()}, {result.view()}, stream()), unsupported);  // not 32f
    host_image contrast(packed(dtype::f32, 9, 300, 1));
    EXPECT_THROW(cuda::local_contrast({image.view()}, {contrast.view()}, stream(), {.epsilon = 0}), invalid_argument);

    // What only the CPU takes.
    for (const dtype type : {dtype::u32, dtype::s32, dtype::f16}) {
        host_image wide(packed(type, 9, 300, 1));
        EXPECT_THROW(cuda::box_filter({wide.view()}, {contrast.view()}, stream()), unsupported) << name_of(type);
    }
}

}  // namespace
}  // namespace boxsum
