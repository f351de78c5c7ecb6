// The filters on the device against the CPU's: the same bits for integer images, the documented bound for floating
// ones, and of those decisions against the device's own thresholds.

#include "support/captured_graph.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace boxsum {
namespace {

using test::filter_case;
using test::host_image;
using test::largest_difference;
using test::options_of;
using test::packed;
using test::radius_of;

std::vector<filter_case> cases() {
    std::vector<filter_case> all;
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64})
        for (const border_mode border : test::all_borders)
            for (const window& w :
                 {window(window_radius(0)), window(window_radius(1, 2)), window(window_radius(7, 3)),
                  window(window_radius(40, 90)), window(window_radius(0, 400)), window(window_radius(333, 1000)),
                  window(6, 10), window(window_extents{.above = 9, .right = 4}),
                  window(window_extents{.above = 2, .below = 150, .left = 300})}) {
                all.push_back({type, 97, 131, 1, 1, w, border});
                all.push_back({type, 40, 61, 3, 2, w, border});
            }
    all.push_back({dtype::u8, 1, 1, 1, 1, 7, border_mode::reflect});
    all.push_back({dtype::u8, 1, 500, 1, 1, 7, border_mode::replicate});
    all.push_back({dtype::u8, 700, 1, 1, 1, window_radius(300, 3), border_mode::reflect});
    return all;
}

class gpu_filters : public test::gpu_test {
  protected:
    void SetUp() override {
        test::gpu_test::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        if (!contains(cuda_type_pairs{}, type_pair{dtype::u16, dtype::u64})) GTEST_SKIP() << "needs BOXSUM_TYPES=all";
        stream_.emplace();
    }
    cuda::stream_ref stream() const { return *stream_; }

    /// Calls f(image, results) with everything on the device and fetches the results; f also runs on the host memory
    /// itself, which must give the same.
    template <typename F>
    void run_both(host_image& image, std::vector<host_image>& results, const std::string& what, F f) {
        std::vector<cuda::device_buffer> memory;
        const auto on_device = [&](const view_shape& s) {
            const view_shape d = cuda::device_shape(s.type, s.rows, s.cols, s.channels, s.planes);
            memory.emplace_back(cuda::span_bytes(d), stream());
            return any_view{memory.back().data(), d};
        };
        const any_view device_image = on_device(image.shape);
        cuda::copy(image.view(), device_image, stream());
        std::vector<any_view> device_results, host_results;
        std::vector<host_image> from_host = results;
        for (std::size_t i = 0; i < results.size(); ++i) {
            device_results.push_back(on_device(results[i].shape));
            host_results.push_back(from_host[i].view());
        }
        f(device_image, device_results);
        f(image.view(), host_results);
        for (std::size_t i = 0; i < results.size(); ++i) {
            cuda::copy(device_results[i], results[i].view(), stream());
            EXPECT_TRUE(results[i].bytes == from_host[i].bytes) << what << ": device and host memory";
        }
    }

    std::optional<cuda::stream> stream_;
};

/// Images of small floats have errors far below this: sums of at most 12707 values of magnitude 1 in double.
constexpr double floating_tolerance = 1e-9;

void expect_same(host_image& expected, host_image& got, dtype image, const std::string& what) {
    if (!is_floating(image)) {
        EXPECT_TRUE(expected.bytes == got.bytes)
            << what << ": largest difference " << largest_difference(expected, got);
        return;
    }
    EXPECT_LE(largest_difference(expected, got), expected.shape.type == dtype::f32 ? 1e-6 : floating_tolerance) << what;
}

/// `yes` where a pixel exceeds its threshold.
void expect_decisions(const host_image& image, const host_image& limit, const host_image& got, unsigned yes,
                      const std::string& what) {
    const auto* const limits = reinterpret_cast<const double*>(limit.bytes.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.bytes.size(); ++i) {
        const double x = image.shape.type == dtype::f32 ? reinterpret_cast<const float*>(image.bytes.data())[i]
                                                        : reinterpret_cast<const double*>(image.bytes.data())[i];
        wrong += std::to_integer<unsigned>(got.bytes[i]) != (x > limits[i] ? yes : 0);
    }
    EXPECT_EQ(wrong, 0u) << what << ", decisions with " << yes;
}

TEST_F(gpu_filters, box_filter_agrees_with_the_cpu) {
    for (const filter_case& c : cases())
        for (const dtype out : {c.type, dtype::f32, dtype::f64}) {
            host_image image(packed(c.type, c.rows, c.cols, c.channels, c.planes));
            fill(image.view(), pattern::random, 7);
            const filter_options options = options_of(c);
            host_image expected(packed(out, c.rows, c.cols, c.channels, c.planes));
            std::vector<host_image> got{expected};
            box_filter({image.view()}, {expected.view()}, options);
            run_both(image, got, text_of(c), [&](const const_any_view& from, std::vector<any_view>& to) {
                cuda::box_filter({from}, {to[0]}, stream(), options);
            });
            expect_same(expected, got[0], c.type, text_of(c) + " to " + std::string(name_of(out)));
            if (HasFailure()) return;
        }
}

TEST_F(gpu_filters, local_statistics_agree_with_the_cpu) {
    for (const filter_case& c : cases()) {
        host_image image(packed(c.type, c.rows, c.cols, c.channels, c.planes));
        fill(image.view(), pattern::random, 8);
        const filter_options options = options_of(c);
        const view_shape real = packed(dtype::f64, c.rows, c.cols, c.channels, c.planes);
        std::vector<host_image> expected{host_image(real), host_image(real)};
        std::vector<host_image> got = expected;
        local_statistics({image.view()}, {expected[0].view(), expected[1].view()}, options);
        run_both(image, got, text_of(c), [&](const const_any_view& from, std::vector<any_view>& to) {
            cuda::local_statistics({from}, {to[0], to[1]}, stream(), options);
        });
        for (std::size_t i = 0; i < 2; ++i) expect_same(expected[i], got[i], c.type, text_of(c));
        if (HasFailure()) return;
    }
}

TEST_F(gpu_filters, thresholds_agree_with_the_cpu) {
    for (const threshold_method method :
         {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola, threshold_method::wolf})
        for (const filter_case& c : cases()) {
            host_image image(packed(c.type, c.rows, c.cols, c.channels, c.planes));
            fill(image.view(), pattern::random, 9);
            threshold_rule rule{.method = method};
            const filter_options options = options_of(c);
            const std::string what = std::string(name_of(method)) + " " + text_of(c);
            const auto run = [&](dtype type) {
                std::vector<host_image> got{host_image(packed(type, c.rows, c.cols, c.channels, c.planes))};
                run_both(image, got, what, [&](const const_any_view& from, std::vector<any_view>& to) {
                    cuda::adaptive_threshold({from}, {to[0]}, stream(), rule, options);
                });
                return got[0];
            };
            if (is_floating(c.type)) {  // a pixel at the CPU's threshold may fall on either side of the device's
                rule.output = threshold_output::threshold;
                const host_image limit = run(dtype::f64);
                for (const threshold_output output : {threshold_output::zero_255, threshold_output::zero_one}) {
                    rule.output = output;
                    expect_decisions(image, limit, run(dtype::u8), output == threshold_output::zero_one ? 1 : 255,
                                     what);
                }
            } else {
                host_image expected(packed(dtype::u8, c.rows, c.cols, c.channels, c.planes));
                adaptive_threshold({image.view()}, {expected.view()}, rule, options);
                host_image got = run(dtype::u8);
                expect_same(expected, got, c.type, what);
            }
            if (HasFailure()) return;
        }
}

TEST_F(gpu_filters, local_contrast_agrees_with_the_cpu) {
    for (const filter_case& c : cases()) {
        host_image image(packed(c.type, c.rows, c.cols, c.channels, c.planes));
        fill(image.view(), pattern::random, 10);
        const contrast_rule rule{is_floating(c.type) ? 0.5 : 1e-6};  // above the noise of a constant window
        const filter_options options = options_of(c);
        host_image expected(packed(dtype::f32, c.rows, c.cols, c.channels, c.planes));
        std::vector<host_image> got{expected};
        local_contrast({image.view()}, {expected.view()}, rule, options);
        run_both(image, got, text_of(c), [&](const const_any_view& from, std::vector<any_view>& to) {
            cuda::local_contrast({from}, {to[0]}, stream(), rule, options);
        });
        expect_same(expected, got[0], c.type, text_of(c));
        if (HasFailure()) return;
    }
}

TEST_F(gpu_filters, radius_maps_agree_with_the_cpu) {
    for (const filter_case& c : cases()) {
        host_image image(packed(c.type, c.rows, c.cols, c.channels, c.planes));
        fill(image.view(), pattern::random, 11);
        host_image radii(packed(dtype::u16, c.rows, c.cols, 1, c.planes));
        auto* const values = reinterpret_cast<std::uint16_t*>(radii.bytes.data());
        for (std::int64_t i = 0; i < c.planes * c.rows * c.cols; ++i)
            values[i] = static_cast<std::uint16_t>(i * 131 % (radius_of(c) + 1));
        filter_options options = options_of(c);
        options.window = {};
        for (const dtype out : {c.type, dtype::f64}) {
            host_image expected(packed(out, c.rows, c.cols, c.channels, c.planes));
            std::vector<host_image> got{expected};
            variable_box_filter({image.view(), radii.view()}, {expected.view()}, options);
            test::device_images device(stream());
            const any_view device_radii = device.upload(radii.view());
            bool on_device = true;  // first
            run_both(image, got, text_of(c), [&](const const_any_view& from, std::vector<any_view>& to) {
                const const_any_view map = on_device ? device_radii : radii.view();
                cuda::variable_box_filter({from, map}, {to[0]}, stream(), options);
                on_device = false;
            });
            expect_same(expected, got[0], c.type, text_of(c) + " to " + std::string(name_of(out)));
            if (HasFailure()) return;
        }
    }
}

/// Numbers of pixels beyond 32 bits.
TEST_F(gpu_filters, radius_maps_count_windows_that_repeat_the_image) {
    host_image radii(packed(dtype::u16, 23, 31, 1));
    auto* const values = reinterpret_cast<std::uint16_t*>(radii.bytes.data());
    for (int i = 0; i < 23 * 31; ++i) values[i] = static_cast<std::uint16_t>(i % 3 == 0 ? 40000 - i : i % 90);
    host_image mask = test::random_image(packed(dtype::u8, 23, 31, 1), 16);
    for (std::byte& m : mask.bytes) m &= std::byte{3};
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16})
        for (const border_mode border : {border_mode::reflect, border_mode::replicate, border_mode::constant,
                                         border_mode::mirror, border_mode::wrap}) {
            host_image image = test::random_image(packed(type, 23, 31, 2), 17), expected(image.shape),
                       count(packed(dtype::f64, 23, 31, 2)), got(image.shape), got_count(count.shape);
            const filter_options options{.border = border, .border_value = 7, .nodata = 5};
            variable_box_filter({.image = image.view(), .radius = radii.view(), .mask = mask.view()},
                                {.result = expected.view(), .count = count.view()}, options);
            cuda::variable_box_filter({.image = image.view(), .radius = radii.view(), .mask = mask.view()},
                                      {.result = got.view(), .count = got_count.view()}, stream(), options);
            EXPECT_TRUE(got.bytes == expected.bytes) << name_of(type) << ", " << name_of(border);
            EXPECT_TRUE(got_count.bytes == count.bytes) << name_of(type) << ", " << name_of(border);
        }
}

TEST_F(gpu_filters, many_strips_give_what_one_does) {
    for (const std::int64_t radius : {1, 60, 1300}) {
        host_image image(packed(dtype::u8, 5000, 9001, 1, 1));  // some six strips
        fill(image.view(), pattern::random, 10);
        const filter_options options{.window = window_radius(radius, 17), .border = border_mode::reflect};
        host_image expected(image.shape);
        std::vector<host_image> got{expected};
        box_filter({image.view()}, {expected.view()}, options);
        run_both(image, got, "strips", [&](const const_any_view& from, std::vector<any_view>& to) {
            cuda::box_filter({from}, {to[0]}, stream(), options);
        });
        EXPECT_TRUE(expected.bytes == got[0].bytes) << "radius " << radius;
    }
}

TEST_F(gpu_filters, wide_tables_serve_large_windows) {
    host_image image(packed(dtype::u8, 4000, 5000, 1, 1));
    fill(image.view(), pattern::all_max, 1);  // 20 million pixels of 255: beyond 32 bits
    for (const window_radius radius : {window_radius(1999, 2499), {1500, 1500}}) {
        const filter_options options{.window = radius};
        const view_shape real = packed(dtype::f64, 4000, 5000, 1, 1);
        std::vector<host_image> expected{host_image(real), host_image(real)};
        std::vector<host_image> got = expected;
        local_statistics({image.view()}, {expected[0].view(), expected[1].view()}, options);
        run_both(image, got, "wide", [&](const const_any_view& from, std::vector<any_view>& to) {
            cuda::local_statistics({from}, {to[0], to[1]}, stream(), options);
        });
        for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(expected[i].bytes == got[i].bytes);
    }
}

/// A plan that allocated or waited could not be captured.
TEST_F(gpu_filters, plans_are_captured_into_graphs) {
    const view_shape shape = packed(dtype::u8, 300, 401, 1, 2), real = packed(dtype::f32, 300, 401, 1, 2);
    test::device_images device(stream());
    host_image first = test::random_image(shape, 12), second = test::random_image(shape, 13);
    host_image radii = test::random_image(packed(dtype::u8, 300, 401, 1, 1), 14);
    const any_view image = device.upload(first.view()), radius = device.upload(radii.view());
    const filter_options options{.window = {21, 30}, .border = border_mode::reflect};
    const threshold_rule wolf{.method = threshold_method::wolf};
    const contrast_rule contrast{.epsilon = 2};
    host_image mask = test::random_image(packed(dtype::u8, 300, 401, 1, 1), 15);
    for (std::byte& m : mask.bytes) m &= std::byte{1};
    const any_view device_mask = device.upload(mask.view());
    const filter_options by_mask{.border = border_mode::mirror, .nodata = 3, .min_count = 4, .fill = 9};
    // Means, ink, means by radius, variances, contrast, means by radius of what counts.
    std::vector<host_image> expected{host_image(shape), host_image(shape), host_image(shape),
                                     host_image(real),  host_image(real),  host_image(shape)};
    std::vector<any_view> to;
    for (host_image& result : expected) to.push_back(device.upload(result.view()));
    const cuda::box_filter_plan means({image}, {to[0]}, options);
    const cuda::adaptive_threshold_plan ink({image}, {to[1]}, wolf, options);
    const cuda::variable_box_filter_plan by_radius({image, radius}, {to[2]});
    const cuda::local_statistics_plan variances({image}, {.variance = to[3]}, options);
    const cuda::local_contrast_plan contrasts({image}, {to[4]}, contrast, options);
    const variable_inputs some{.image = image, .radius = radius, .mask = device_mask};
    const cuda::variable_box_filter_plan of_some(some, {to[5]}, by_mask);
    cuda::workspace workspace(
        std::max({means.workspace_bytes(), ink.workspace_bytes(), by_radius.workspace_bytes(),
                  variances.workspace_bytes(), contrasts.workspace_bytes(), of_some.workspace_bytes()}),
        stream());
    const test::captured_graph graph(stream(), [&] {
        means.run_async({image}, {to[0]}, workspace, stream());
        ink.run_async({image}, {to[1]}, workspace, stream());
        by_radius.run_async({image, radius}, {to[2]}, workspace, stream());
        variances.run_async({image}, {.variance = to[3]}, workspace, stream());
        contrasts.run_async({image}, {to[4]}, workspace, stream());
        of_some.run_async(some, {to[5]}, workspace, stream());
    });
    for (host_image* now : {&first, &second, &first}) {
        cuda::copy(now->view(), image, stream());
        graph.replay(stream());
        box_filter({now->view()}, {expected[0].view()}, options);
        adaptive_threshold({now->view()}, {expected[1].view()}, wolf, options);
        variable_box_filter({now->view(), radii.view()}, {expected[2].view()});
        local_statistics({now->view()}, {.variance = expected[3].view()}, options);
        local_contrast({now->view()}, {expected[4].view()}, contrast, options);
        variable_box_filter({.image = now->view(), .radius = radii.view(), .mask = mask.view()}, {expected[5].view()},
                            by_mask);
        for (std::size_t i = 0; i < to.size(); ++i) {
            host_image got(expected[i].shape);
            cuda::copy(to[i], got.view(), stream());
            EXPECT_TRUE(got.bytes == expected[i].bytes) << i;
        }
    }
}

TEST_F(gpu_filters, mixtures_of_host_and_device_memory_are_refused) {
    host_image image(packed(dtype::u8, 16, 16, 1, 1));
    const cuda::device_buffer memory(16 * 16, stream());
    EXPECT_THROW(cuda::box_filter({image.view()}, {any_view{memory.data(), image.shape}}, stream()), invalid_argument);
    EXPECT_THROW(cuda::box_filter({const_any_view{memory.data(), image.shape}}, {image.view()}, stream()),
                 invalid_argument);
    host_image result(packed(dtype::u32, 16, 16, 1, 1));
    EXPECT_THROW(cuda::box_filter({image.view()}, {result.view()}, stream()), unsupported);
}

}  // namespace
}  // namespace boxsum
