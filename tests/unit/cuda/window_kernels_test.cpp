// The kernels over windows against the CPU's filters, on tables that the CPU made: every type of pixel, sum and result,
// every way in which a window is cut or reaches beyond the image.

#include "cuda/filters/window_kernels.hpp"

#include "filters/filter_jobs.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/sat.hpp>

namespace boxsum {
namespace {

using test::all_borders;
using test::device_images;
using test::filter_case;
using test::host_image;
using test::options_of;
using test::packed;
using test::radius_of;

/// An image and its tables on the device.
struct prepared {
    filters::window_job job;
    cuda::window_task task;
    host_image image;
};

class window_kernels : public test::gpu_stream_test {
  protected:
    /// `aligned`: the rows of the tables start at multiples of 16 bytes.
    void prepare(prepared& p, const filter_case& c, dtype sum, bool squares, bool aligned, device_images& device) {
        p.job = filters::windows_of({p.image.shape}, options_of(c));
        host_image pixels = p.image;
        cuda::window_task& task = p.task;
        if (c.type == dtype::s16) {
            pixels.shape.type = dtype::u16;
            for (std::size_t i = 1; i < pixels.bytes.size(); i += 2) pixels.bytes[i] ^= std::byte{0x80};
            task.offset = 32768;
        }
        const auto table = [&](dtype type, bool of_squares) {
            host_image sums(packed(type, c.rows + 1, c.cols + 1, c.channels)), q = sums;
            const table_form form = table_layout::padded;
            if (of_squares) {
                host_image first(
                    packed(is_floating(type) ? dtype::f64 : dtype::u64, c.rows + 1, c.cols + 1, c.channels));
                sat({pixels.view()}, {{first.view(), form}, {q.view(), form}});
                return aligned ? device.upload(q.view()) : device.upload_packed(q.view());
            }
            sat({pixels.view()}, {{sums.view(), form}});
            return aligned ? device.upload(sums.view()) : device.upload_packed(sums.view());
        };
        task.rows = p.job.rows;
        task.cols = p.job.cols;
        task.image = device.upload(pixels.view());
        task.table = table(sum, false);
        if (squares) task.squares = table(is_floating(sum) ? dtype::f64 : dtype::u64, true);
        task.end_row = c.rows;
        task.border_value = p.job.border_value + static_cast<double>(task.offset);
    }

    /// run(result) fills it on the device.
    template <typename F>
    void expect_equal(const host_image& expected, device_images& device, dtype image, double tolerance,
                      const std::string& what, F run) {
        host_image got(expected.shape);
        const any_view result = device.upload(got.view());
        run(result);
        cuda::copy(result, got.view(), stream());
        if (is_floating(image))
            EXPECT_LE(test::largest_difference(expected, got), tolerance) << what;
        else
            EXPECT_TRUE(expected.bytes == got.bytes)
                << what << ": largest difference " << test::largest_difference(expected, got);
    }
};

std::vector<dtype> sums_of(dtype image) {
    if (is_floating(image)) return {dtype::f64};
    return {dtype::u32, dtype::u64};
}

const std::vector<dtype> integers = {dtype::u8, dtype::u16, dtype::s16};

/// Windows from one pixel to beyond the image, so that ends of windows have every place within 16 bytes.
std::vector<filter_case> cases(const std::vector<dtype>& types) {
    std::vector<filter_case> all;
    for (const dtype type : types)
        for (const border_mode border : all_borders) {
            for (const window& w : {window(1), window(3), window(5, 13), window(61, 7), window(11, 83), window(91, 261),
                                    window(2, 6), window(window_extents{.above = 4, .right = 11}),
                                    window(window_extents{.above = 1, .below = 60, .left = 100, .right = 2})})
                all.push_back({type, 19, 83, 1, 1, w, border});
            for (const window& w : {window(3), window(7, 9), window(101, 161), window(4, 10)})
                all.push_back({type, 11, 31, 3, 1, w, border});
            all.push_back({type, 10, 29, 2, 1, {5, 11}, border});
            all.push_back({type, 9, 21, 4, 1, {3, 5}, border});
            all.push_back({type, 1, 1, 1, 1, 7, border});
        }
    return all;
}

TEST_F(window_kernels, means_are_those_of_the_cpu) {
    for (const filter_case& c : cases(integers))
        for (const dtype sum : sums_of(c.type))
            for (const bool aligned : {true, false}) {
                device_images device(stream());
                prepared p{{}, {}, test::random_image(packed(c.type, c.rows, c.cols, c.channels), 7)};
                prepare(p, c, sum, false, aligned, device);
                for (const dtype out : {c.type, dtype::f32, dtype::f64}) {
                    host_image expected(packed(out, c.rows, c.cols, c.channels));
                    box_filter({p.image.view()}, {expected.view()}, options_of(c));
                    expect_equal(expected, device, c.type, 0, text_of(c) + " to " + std::string(name_of(out)),
                                 [&](const any_view& result) { cuda::enqueue_means(p.task, result, stream()); });
                }
                if (HasFailure()) return;
            }
}

/// Quotients of large sums; and of sums whose product with the reciprocal misses the next integer: with n = 49, q * n *
/// (1 / n) is below q for most q.
TEST_F(window_kernels, means_are_rounded_half_up) {
    for (const dtype type : {dtype::u8, dtype::u16})
        for (const dtype sum : sums_of(type))
            for (const std::int64_t radius : {1, 3, 12, 63})
                for (const pattern values : {pattern::all_max, pattern::extreme, pattern::random}) {
                    const filter_case c{type, 40, 150, 1, 1, window_radius(radius), border_mode::reflect};
                    device_images device(stream());
                    prepared p{{}, {}, host_image(packed(type, c.rows, c.cols, 1))};
                    fill(p.image.view(), values, 1);
                    prepare(p, c, sum, false, true, device);
                    host_image expected(p.image.shape);
                    box_filter({p.image.view()}, {expected.view()}, options_of(c));
                    expect_equal(expected, device, type, 0, text_of(c),
                                 [&](const any_view& result) { cuda::enqueue_means(p.task, result, stream()); });
                }
}

TEST_F(window_kernels, moments_are_those_of_the_cpu) {
    for (const filter_case& c : cases(integers))
        for (const dtype sum : sums_of(c.type)) {
            device_images device(stream());
            prepared p{{}, {}, test::random_image(packed(c.type, c.rows, c.cols, c.channels), 8)};
            prepare(p, c, sum, true, c.window.above != 1, device);
            p.task.wide = sum == dtype::u64;  // right for any window
            const filter_options options = options_of(c);
            const view_shape real = packed(dtype::f64, c.rows, c.cols, c.channels);
            host_image mean(real), variance(real), deviation(packed(dtype::f32, c.rows, c.cols, c.channels));
            local_statistics({p.image.view()}, {mean.view(), variance.view(), deviation.view()}, options);
            const std::string what = text_of(c);
            expect_equal(mean, device, c.type, 0, what + " mean", [&](const any_view& result) {
                cuda::enqueue_statistics(p.task, {result, {}, {}}, stream());
            });
            expect_equal(variance, device, c.type, 0, what + " variance", [&](const any_view& result) {
                cuda::enqueue_statistics(p.task, {{}, result, {}}, stream());
            });
            expect_equal(deviation, device, c.type, 0, what + " deviation", [&](const any_view& result) {
                cuda::enqueue_statistics(p.task, {{}, {}, result}, stream());
            });
            host_image contrast(packed(dtype::f32, c.rows, c.cols, c.channels));
            const double epsilon = 1e-6;
            local_contrast({p.image.view()}, {contrast.view()}, {epsilon}, options);
            expect_equal(contrast, device, c.type, 0, what + " contrast",
                         [&](const any_view& result) { cuda::enqueue_contrast(p.task, result, epsilon, stream()); });
            host_image binary(packed(dtype::u8, c.rows, c.cols, c.channels));
            for (const threshold_method method : {threshold_method::bradley, threshold_method::sauvola}) {
                adaptive_threshold({p.image.view()}, {binary.view()}, {.method = method, .k = 0.1}, options);
                cuda::window_task task = p.task;
                if (method == threshold_method::bradley) task.squares = {};  // it reads none
                expect_equal(
                    binary, device, c.type, 0, what + " " + std::string(name_of(method)), [&](const any_view& result) {
                        cuda::enqueue_threshold(task, result, method, 0.1, default_range(c.type), nullptr, stream());
                    });
            }
            if (HasFailure()) return;
        }
}

TEST_F(window_kernels, variable_means_are_those_of_the_cpu) {
    for (const filter_case& c : cases({dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64}))
        for (const dtype map : {dtype::u8, dtype::u16, dtype::u32, dtype::s32}) {
            if (c.window.above == 30 && map != dtype::s32) continue;
            device_images device(stream());
            prepared p{{}, {}, test::random_image(packed(c.type, c.rows, c.cols, c.channels), 9)};
            host_image radii(packed(map, c.rows, c.cols, 1));
            visit_dtype(map, [&]<typename T>() {
                if constexpr (std::is_integral_v<T>)
                    for (std::int64_t i = 0; i < c.rows * c.cols; ++i)
                        reinterpret_cast<T*>(radii.bytes.data())[i] = static_cast<T>(i * 37 % (radius_of(c) + 1));
            });
            prepare(p, c, sums_of(c.type).back(), false, true, device);
            const any_view device_radii = device.upload(radii.view());
            for (const dtype out : {c.type, dtype::f64}) {
                host_image expected(packed(out, c.rows, c.cols, c.channels));
                filter_options options = options_of(c);
                options.window = {};
                variable_box_filter({p.image.view(), radii.view()}, {expected.view()}, options);
                expect_equal(expected, device, c.type, out == dtype::f32 ? 1e-6 : 1e-9, text_of(c) + " variable",
                             [&](const any_view& result) {
                                 cuda::enqueue_variable_means(p.task, device_radii, radius_of(c), result, stream());
                             });
            }
            if (HasFailure()) return;
        }
}

/// Counts of 32 and of 64 bits, which only windows of more pixels than these have would want.
TEST_F(window_kernels, sampled_variable_means_are_those_of_the_cpu) {
    for (const filter_case& c : cases({dtype::u8, dtype::u16, dtype::s16, dtype::f32}))
        for (const dtype sum : sums_of(c.type)) {
            device_images device(stream());
            prepared p{{}, {}, test::random_image(packed(c.type, c.rows, c.cols, c.channels), 10)};
            host_image mask = test::random_image(packed(dtype::u8, c.rows, c.cols, 1), 11),
                       radii(packed(dtype::u8, c.rows, c.cols, 1));
            for (std::size_t i = 0; i < radii.bytes.size(); ++i) {
                if (std::to_integer<int>(mask.bytes[i]) % 3 == 0) mask.bytes[i] = std::byte{0};
                radii.bytes[i] = static_cast<std::byte>(static_cast<std::int64_t>(i) * 37 % (radius_of(c) % 100 + 1));
            }
            prepare(p, c, sum, false, true, device);
            host_image pixels = p.image;
            if (c.type == dtype::s16) {
                pixels.shape.type = dtype::u16;
                for (std::size_t i = 1; i < pixels.bytes.size(); i += 2) pixels.bytes[i] ^= std::byte{0x80};
            }
            const dtype number = c.rows == 19 ? dtype::u32 : dtype::u64;
            host_image sums(packed(sum, c.rows + 1, c.cols + 1, c.channels)),
                counts(packed(number, c.rows + 1, c.cols + 1, c.channels));
            const table_form form = table_layout::padded;
            sat({.image = pixels.view(), .mask = mask.view()},
                {.sums = {sums.view(), form}, .counts = {counts.view(), form}});
            p.task.table = device.upload(sums.view());
            p.task.samples.counts = device.upload(counts.view());
            const any_view device_radii = device.upload(radii.view());
            for (const dtype out : {c.type, dtype::f64}) {
                host_image expected(packed(out, c.rows, c.cols, c.channels)),
                    expected_count(packed(dtype::u32, c.rows, c.cols, c.channels));
                filter_options options = options_of(c);
                options.window = {};
                options.min_count = 3;
                options.fill = 7;
                if (out == dtype::f64) options.rounding = rounding_mode::floor;
                const filters::window_job job =
                    filters::variable_job({.image = p.image.shape, .mask = mask.shape}, radii.shape,
                                          {expected.shape, expected_count.shape}, radius_of(c) % 100, options);
                variable_box_filter({.image = p.image.view(), .radius = radii.view(), .mask = mask.view()},
                                    {.result = expected.view(), .count = expected_count.view()}, options);
                const any_view count = device.upload(host_image(expected_count.shape).view());
                const std::string what = text_of(c) + " to " + std::string(name_of(out));
                expect_equal(expected, device, c.type, out == dtype::f32 ? 1e-6 : 1e-9, what,
                             [&](const any_view& result) {
                                 cuda::enqueue_sampled_variable_means(p.task, job, device_radii, radius_of(c) % 100,
                                                                      result, count, stream());
                             });
                host_image got(expected_count.shape);
                cuda::copy(count, got.view(), stream());
                EXPECT_TRUE(got.bytes == expected_count.bytes) << what;
            }
            if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace boxsum
