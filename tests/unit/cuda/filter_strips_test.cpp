// Filters on images in device memory, and on host memory in strips of a few rows, against the CPU's.

#include "cuda/filters/device_strips.hpp"
#include "filters/filter_jobs.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/error.hpp>

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
                .windows = filters::variable_job({image.shape}, radii.shape, got.shape, c.window.above, options),
                .consume = [](const cuda::filter_step& at) {
                    cuda::enqueue_variable_means(at.task, at.radius, at.results[0], at.stream);
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
}

}  // namespace
}  // namespace boxsum
