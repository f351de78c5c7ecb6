// Filters on images in device memory, and on host memory in strips of a few rows, against the CPU's.

#include "cuda/filters/device_strips.hpp"
#include "filters/filter_checks.hpp"
#include "filters/radius_map.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/error.hpp>

namespace boxsum {
namespace {

using test::all_borders;
using test::border_value_of;
using test::device_images;
using test::filter_case;
using test::host_image;
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
            for (const window_radius radius : {window_radius{0, 2}, {3, 1}, {9, 30}, {70, 5}}) {
                all.push_back({type, 41, 70, 1, 1, radius, border});
                all.push_back({type, 23, 17, 3, 2, radius, border});
            }
    }
    return all;
}

TEST_F(filter_strips, of_any_height_give_the_same_means) {
    for (const filter_case& c : cases()) {
        host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes), 11);
        host_image expected(image.shape);
        const double border_value = border_value_of(c.border);
        box_filter(image.view(), expected.view(), {c.radius, c.border, border_value, 1});
        const filters::window_job job = filters::make_window_job(image.view(), c.radius, c.border, border_value, 1);
        for (const std::int64_t rows : {1, 5, 64}) {
            host_image got(image.shape);
            cuda::filter_run run{.job = job, .results = {got.view()}, .consume = [](const cuda::filter_step& at) {
                                     cuda::enqueue_means(at.task, at.results[0], at.stream);
                                 }};
            run.strip_bytes = rows * image.shape.row_stride;
            cuda::execute(run, stream());
            expect_same(expected, got, c.type, text_of(c) + ", strips of " + std::to_string(rows));
        }
        if (HasFailure()) return;
    }
}

TEST_F(filter_strips, take_their_part_of_a_radius_map) {
    for (const filter_case& c : cases())
        for (const std::int64_t map_planes : {std::int64_t{1}, c.planes}) {
            if (c.radius.rows == 70) continue;
            host_image image = test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes), 12);
            host_image radii(packed(dtype::u8, c.rows, c.cols, 1, map_planes));
            for (std::size_t i = 0; i < radii.bytes.size(); ++i)
                radii.bytes[i] = static_cast<std::byte>(i * 31 % static_cast<std::size_t>(c.radius.rows + 1));
            host_image expected(image.shape), got(image.shape);
            const variable_box_filter_options options{c.border, border_value_of(c.border), 1};
            variable_box_filter(image.view(), radii.view(), expected.view(), options);
            const filters::window_job job = filters::make_window_job(image.view(), {c.radius.rows, c.radius.rows},
                                                                     c.border, border_value_of(c.border), 1);
            cuda::filter_run run{.job = job,
                                 .results = {got.view()},
                                 .consume =
                                     [](const cuda::filter_step& at) {
                                         cuda::enqueue_variable_means(at.task, at.radius, at.results[0], at.stream);
                                     },
                                 .radius = radii.view()};
            run.strip_bytes = 5 * image.shape.row_stride;
            cuda::execute(run, stream());
            expect_same(expected, got, c.type, text_of(c));

            device_images device(stream());
            const any_view result = device.upload(host_image(image.shape).view());
            cuda::variable_box_filter(device.upload(image.view()), device.upload(radii.view()), result, options,
                                      stream());
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
        const local_contrast_options options{
            {2 * c.radius.rows + 1, 2 * c.radius.cols + 1}, 2, c.border, border_value_of(c.border), 1};
        local_contrast(image.view(), expected.view(), options);
        cuda::local_contrast(image.view(), got.view(), options, stream());
        expect_same(expected, got, c.type, text_of(c) + " in host memory");
        device_images device(stream());
        const any_view result = device.upload(host_image(expected.shape).view());
        cuda::local_contrast(device.upload(image.view()), result, options, stream());
        cuda::copy(result, got.view(), stream());
        expect_same(expected, got, c.type, text_of(c) + " on the device");
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
    EXPECT_EQ(cuda::check_radii(radii.view(), stream()), 77);
    EXPECT_EQ(cuda::check_radii(device.upload(radii.view()), stream()), 77);
    values[5 * 300 + 270] = -12;
    values[7 * 300 + 3] = -13;
    const any_view device_image = device.upload(image.view()), device_result = device.upload(result.view());
    const any_view device_radii = device.upload(radii.view());
    for (const bool host : {true, false}) try {
            if (host)
                cuda::variable_box_filter(image.view(), radii.view(), result.view(), {}, stream());
            else
                cuda::variable_box_filter(device_image, device_radii, device_result, {}, stream());
            ADD_FAILURE() << "accepted a negative radius";
        } catch (const invalid_argument& e) {
            EXPECT_STREQ(e.what(), "radius: is -12 at plane 0, row 5, col 270, must not be negative");
        }
    values[5 * 300 + 270] = values[7 * 300 + 3] = 1;
    EXPECT_THROW(cuda::variable_box_filter(device_image, radii.view(), device_result, {}, stream()), invalid_argument);
    EXPECT_THROW(cuda::variable_box_filter(image.view(), device_radii, result.view(), {}, stream()), invalid_argument);
    EXPECT_THROW(cuda::local_contrast(image.view(), result.view(), {}, stream()), unsupported);  // not 32f
    host_image contrast(packed(dtype::f32, 9, 300, 1));
    EXPECT_THROW(cuda::local_contrast(image.view(), contrast.view(), {.epsilon = 0}, stream()), invalid_argument);
}

}  // namespace
}  // namespace boxsum
