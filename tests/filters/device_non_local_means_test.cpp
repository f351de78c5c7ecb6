// Non-local means on a device against the definition: the kernel for bytes and the one for everything else.

#include "cuda/filters/non_local_kernels.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "support/gpu.hpp"
#include "support/non_local_oracle.hpp"
#include "support/strided_block.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/error.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace boxsum {
namespace {

using test::every_border;
using test::random_pixels;
using setting = test::non_local_setting;

constexpr std::size_t shared_bytes = 227 * 1024;

filter_options options_of(const setting& s) {
    return {.window = s.search, .border = s.border, .border_value = s.border_value, .rounding = s.rounding};
}
non_local_rule rule_of(const setting& s) {
    return {.patch = s.patch, .strength = s.strength, .noise = s.noise};
}

class device_non_local_means : public test::gpu_stream_test {
  protected:
    cuda::device_buffer uploaded(const std::vector<std::byte>& bytes) const {
        cuda::device_buffer there(bytes.size(), stream());
        const auto n = static_cast<std::int64_t>(bytes.size());
        cuda::copy(image_view<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(bytes.data()), 1, n),
                   image_view<std::uint8_t>(static_cast<std::uint8_t*>(there.data()), 1, n), stream());
        return there;
    }
    std::vector<std::byte> downloaded(const cuda::device_buffer& there, std::size_t size) const {
        std::vector<std::byte> bytes(size);
        const auto n = static_cast<std::int64_t>(size);
        cuda::copy(image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(there.data()), 1, n),
                   image_view<std::uint8_t>(reinterpret_cast<std::uint8_t*>(bytes.data()), 1, n), stream());
        return bytes;
    }

    /// As plans of other operations want to find it.
    bool is_zero(cuda::workspace& workspace) const {
        const auto bytes = static_cast<std::int64_t>(workspace.bytes());
        std::vector<std::uint8_t> found(workspace.bytes(), 1);
        const cuda::workspace_use use(workspace, 0, workspace.device(), stream(), cuda::all_of_workspace);
        if (bytes > 0)
            cuda::copy(image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(use.data()), 1, bytes),
                       image_view<std::uint8_t>(found.data(), 1, bytes), stream());
        return std::all_of(found.begin(), found.end(), [](std::uint8_t x) { return x == 0; });
    }

    /// Every element and what lies between: image and result have strides of their own.
    template <typename P, typename Out>
    void check(const setting& s, test::lying how = test::lying::row_major) {
        std::mt19937_64 random(static_cast<std::uint64_t>(s.rows * 31 + s.cols));
        const std::vector<P> pixels = random_pixels<P>(s.planes * s.rows * s.cols * s.channels, 3);
        const test::block<P> image(s.rows, s.cols, s.channels, s.planes, how, random);
        const test::block<Out> result(s.rows, s.cols, s.channels, s.planes,
                                      how == test::lying::row_major ? how : test::lying::anyhow, random);
        std::size_t at = 0;
        image.for_each([&](auto, auto, auto, auto, P& x) { x = pixels[at++]; });
        const cuda::device_buffer d_image = uploaded(image.bytes()), d_result = uploaded(result.bytes());
        const const_any_view in{static_cast<std::byte*>(d_image.data()) + image.offset(), image.view().shape()};
        const filter_outputs out{{static_cast<std::byte*>(d_result.data()) + result.offset(), result.view().shape()}};
        const cuda::non_local_means_plan plan({in}, out, rule_of(s), options_of(s));
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        plan.run_async({in}, out, workspace, stream());
        stream().synchronize();
        EXPECT_TRUE(is_zero(workspace));
        const std::vector<std::byte> found = downloaded(d_result, result.bytes().size());
        std::memcpy(const_cast<std::byte*>(result.bytes().data()), found.data(), found.size());
        EXPECT_TRUE(result.is_untouched_between());
        const image_view<const P> pixels_of(image.view());
        std::string wrong;
        result.for_each([&](auto plane, auto r, auto c, auto k, Out x) {
            if (wrong.empty()) wrong = test::non_local_complaint<P>(s, pixels_of, r, c, k, plane, x);
        });
        EXPECT_EQ(wrong, "") << s.rows << " x " << s.cols << " x " << s.channels << ", patch " << s.patch.above << ", "
                             << s.patch.below << ", " << s.patch.left << ", " << s.patch.right << ", "
                             << name_of(s.border) << ", noise " << s.noise;
    }

    /// Of the kernel for bytes.
    void check_bytes(const setting& s) {
        const filters::non_local_job job{.search = s.search, .patch = s.patch, .border = s.border};
        const image_view<const std::uint8_t> image(nullptr, s.rows, s.cols, 0, s.channels);
        EXPECT_TRUE(cuda::byte_patches_support(cuda::make_non_local_task(job, image.shape()), shared_bytes));
        check<std::uint8_t, double>(s);
    }
};

TEST_F(device_non_local_means, follow_the_definition) {
    for (const border_mode border : every_border) {
        check<std::uint8_t, double>({.rows = 11, .cols = 17, .channels = 2, .border = border, .border_value = 9});
        check<std::uint8_t, std::uint8_t>({.rows = 9, .cols = 14, .channels = 3, .border = border, .noise = 20});
        check<float, double>(
            {.rows = 8, .cols = 9, .channels = 2, .planes = 2, .patch = window_radius(2, 1), .border = border});
        check<double, double>(
            {.rows = 7, .cols = 12, .patch = window_radius(0), .border = border, .border_value = 0.5});
        check<std::uint16_t, std::uint16_t>(
            {.rows = 10, .cols = 6, .border = border, .strength = 2e4, .rounding = rounding_mode::floor});
    }
    check<float, float>({.rows = 9, .cols = 9, .channels = 4, .border = border_mode::mirror});
    check<std::uint8_t, float>({.rows = 20,
                                .cols = 70,
                                .search = window_radius(2, 1),
                                .patch = window_radius(4),
                                .border = border_mode::wrap});
    check<std::uint16_t, double>(
        {.rows = 20, .cols = 35, .channels = 4, .patch = window_radius(2), .strength = 1e4, .noise = 3000});
}

/// Every kind of word and slot, windows of more distances than there are slots, tiles with and without all pixels.
TEST_F(device_non_local_means, patches_of_bytes_follow_the_definition) {
    for (const border_mode border : every_border)
        for (const double noise : {0., 40.}) {
            setting s{.rows = 37,
                      .cols = 69,
                      .search = window_radius(2, 1),
                      .patch = window_radius(3),
                      .border = border,
                      .strength = 70,
                      .noise = noise,
                      .border_value = 200};
            check_bytes(s);
            s = {.rows = 12,
                 .cols = 20,
                 .search = window_extents{20, 15, 1, 0},
                 .patch = window_radius(2),
                 .border = border,
                 .strength = 90,
                 .noise = noise,
                 .border_value = 3};
            if (border != border_mode::shrink || noise > 0) check_bytes(s);
            s = {.rows = 19,
                 .cols = 25,
                 .channels = 3,
                 .search = window_extents{6, 7, 1, 0},
                 .patch = window_radius(3),
                 .border = border,
                 .strength = 90,
                 .noise = noise,
                 .border_value = 99};
            check_bytes(s);
        }
    for (const window& patch : {window(window_size(3, 3)), window(window_size(3, 1)), window(window_size(3, 4)),
                                window(window_size(5, 8)), window(window_size(7, 5)), window(window_size(7, 8)),
                                window(window_extents{0, 6, 7, 0}), window(window_extents{2, 0, 0, 3})}) {
        check_bytes({.rows = 21,
                     .cols = 66,
                     .search = window_extents{1, 2, 0, 3},
                     .patch = patch,
                     .border = border_mode::mirror});
        check_bytes({.rows = 33, .cols = 40, .search = window_extents{2, 0, 3, 1}, .patch = patch, .noise = 25});
        check_bytes({.rows = 18,
                     .cols = 12,
                     .channels = 3,
                     .search = window_radius(1),
                     .patch = patch,
                     .border = border_mode::wrap});
    }
    check_bytes(
        {.rows = 2, .cols = 3, .search = window_radius(8), .patch = window_radius(3), .border = border_mode::reflect});
    check_bytes(
        {.rows = 70, .cols = 9, .search = window_extents{}, .patch = window_radius(3), .border = border_mode::reflect});
    check<std::uint8_t, std::uint8_t>({.rows = 30, .cols = 67, .search = window_radius(2), .patch = window_radius(3)});
    check<std::uint8_t, float>({.rows = 30,
                                .cols = 67,
                                .channels = 3,
                                .search = window_radius(1),
                                .patch = window_radius(3),
                                .border = border_mode::wrap,
                                .noise = 9});
}

TEST_F(device_non_local_means, take_windows_and_patches_of_any_extents) {
    for (const border_mode border : every_border) {
        const window lopsided = window_extents{1, 3, 0, 2}, more = window_extents{3, 0, 4, 1};
        check<std::uint8_t, double>({.rows = 9, .cols = 11, .search = lopsided, .patch = more, .border = border});
        check<std::uint16_t, double>(
            {.rows = 9, .cols = 11, .search = more, .patch = lopsided, .border = border, .strength = 2e4});
        check<float, double>(
            {.rows = 3, .cols = 4, .search = window_radius(6), .patch = window_radius(4), .border = border});
        check<std::uint8_t, double>({.rows = 1, .cols = 1, .search = window_radius(2), .border = border});
        check<double, double>(
            {.rows = 7, .cols = 1, .search = window_size(4, 6), .patch = window_size(2, 8), .border = border});
    }
}

TEST_F(device_non_local_means, take_any_strides) {
    for (const test::lying how : {test::lying::anyhow, test::lying::repeated}) {
        check<std::uint8_t, std::uint8_t>({.rows = 13, .cols = 22, .planes = 3, .patch = window_radius(3)}, how);
        check<std::uint16_t, float>({.rows = 8, .cols = 10, .channels = 3, .planes = 2, .strength = 2e4}, how);
        check<float, float>({.rows = 8, .cols = 10, .channels = 2, .border = border_mode::wrap}, how);
        check<double, double>({.rows = 9, .cols = 7, .border = border_mode::reflect}, how);
    }
}

/// Patches of more samples than sums in 32 bits have.
TEST_F(device_non_local_means, large_patches_are_summed_exactly) {
    std::vector<std::uint8_t> pixels(3 * 400);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = i / 400 % 2 == 0 ? 0 : 255;
    std::vector<double> result(pixels.size());
    // Rows and their neighbours differ everywhere by 255, but for the two that wrap.
    const image_view<std::uint8_t> image(pixels.data(), 2, 100, 400, 4);
    cuda::non_local_means({image}, {image_view<double>(result.data(), 2, 100, 0, 4)}, stream(),
                          {.patch = window_radius(64), .strength = 255},
                          {.window = {3, 1}, .border = border_mode::wrap});
    const double w = std::exp(-1.0), even = 255 * 2 * w / (1 + 2 * w), odd = 255 / (1 + 2 * w);
    for (std::size_t i = 0; i < 800; ++i) ASSERT_NEAR(result[i], i / 400 == 0 ? even : odd, 1e-3) << i;
}

/// The same from any tile, and from both kernels: where windows end before the image does, parts see what the whole
/// does.
TEST_F(device_non_local_means, tiles_do_not_show) {
    const std::int64_t rows = 60, cols = 150, top = 3, left = 5, high = 50, broad = 120;
    const auto expect = [&]<typename P>(P, double strength) {
        const std::vector<P> pixels = random_pixels<P>(rows * cols, 8);
        std::vector<double> all(pixels.size()), part(static_cast<std::size_t>(high * broad));
        const image_view<const P> image(pixels.data(), rows, cols);
        const image_view<const P> some(image.row(top) + left, high, broad, cols * static_cast<std::int64_t>(sizeof(P)));
        const image_view<double> result(all.data(), rows, cols), of_part(part.data(), high, broad);
        const non_local_rule rule{.patch = window_radius(3), .strength = strength};
        const filter_options how{.window = window_radius(8, 2)};
        cuda::non_local_means({image}, {result}, stream(), rule, how);
        cuda::non_local_means({some}, {of_part}, stream(), rule, how);
        for (std::int64_t r = 11; r < high - 11; ++r)
            for (std::int64_t c = 5; c < broad - 5; ++c)
                ASSERT_EQ(of_part(r, c), result(top + r, left + c)) << r << ", " << c;
        // In pixels that are computed by different kernels.
        std::vector<double> continued(all.size());
        cuda::non_local_means({image}, {image_view<double>(continued.data(), rows, cols)}, stream(), rule,
                              {.window = window_radius(8, 2), .border = border_mode::mirror});
        for (std::int64_t r = 11; r < rows - 11; ++r)
            for (std::int64_t c = 5; c < cols - 5; ++c)
                ASSERT_EQ(continued[static_cast<std::size_t>(r * cols + c)], result(r, c)) << r << ", " << c;
    };
    expect(std::uint8_t{}, 70);
    expect(float{}, 70);
}

/// The kernel for bytes and the other one.
TEST_F(device_non_local_means, both_kernels_have_the_same_bits) {
    const std::int64_t rows = 40, cols = 70;
    const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols * 3, 5);
    std::vector<std::byte> bytes(pixels.size());
    std::memcpy(bytes.data(), pixels.data(), bytes.size());
    const cuda::device_buffer image = uploaded(bytes);
    for (const auto& [noise, channels] : {std::pair{0., 1}, {30., 1}, {0., 3}, {30., 3}}) {
        const view_shape of_image = image_view<std::uint8_t>(nullptr, rows, cols, 0, channels).shape(),
                         of_result = image_view<double>(nullptr, rows, cols, 0, channels).shape();
        const filters::non_local_job job{.search = window_radius(9, 1),
                                         .patch = window_radius(3),
                                         .border = border_mode::reflect,
                                         .scale = 1. / 3600,
                                         .noise = 2 * noise * noise};
        cuda::non_local_task task = cuda::make_non_local_task(job, of_image);
        const cuda::device_buffer held(cuda::held_bytes(task), stream());
        task.pixels = held.data();
        cuda::enqueue_held_pixels(task, {image.data(), of_image}, job, stream());
        const std::size_t size = static_cast<std::size_t>(rows * cols * channels) * sizeof(double);
        std::vector<std::byte> found[2];
        for (const bool fast : {false, true}) {
            const cuda::device_buffer result(size, stream());
            task.area = {0, rows, 0, cols};
            task.result = {result.data(), of_result};
            task.result.shape.col_stride = of_result.pixel_stride();
            if (fast)
                cuda::enqueue_byte_patches(task, stream());
            else
                cuda::enqueue_non_local_means(task, std::array{task.area}, stream());
            found[fast ? 1 : 0] = downloaded(result, size);
        }
        EXPECT_TRUE(found[0] == found[1]) << noise << ", " << channels;
    }
}

TEST_F(device_non_local_means, are_the_cpus_within_both_bounds) {
    const std::int64_t rows = 48, cols = 90;
    std::mt19937 random(11);
    std::normal_distribution<double> noise(0, 10);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols));
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>(std::clamp((i % 90 < 50 ? 60 : 190) + noise(random), 0.0, 255.0));
    const image_view<const std::uint8_t> image(pixels.data(), rows, cols);
    for (const border_mode border : every_border) {
        std::vector<float> here(pixels.size()), there(pixels.size());
        const non_local_rule rule{.strength = 8, .noise = 10};
        const filter_options how{.window = window_radius(5), .border = border, .border_value = 60};
        non_local_means({image}, {image_view<float>(here.data(), rows, cols)}, rule, how);
        cuda::non_local_means({image}, {image_view<float>(there.data(), rows, cols)}, stream(), rule, how);
        for (std::size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(here[i], there[i], 2 * 255 * 0x1p-17) << i;
    }
}

TEST_F(device_non_local_means, what_is_not_finite_stays_where_it_is_seen) {
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> pixels = random_pixels<float>(30 * 30, 4), clean(900), spoilt(900);
        const image_view<const float> image(pixels.data(), 30, 30);
        const filter_options how{.window = window_radius(2)};
        const non_local_rule rule{.patch = window_radius(1), .strength = 50};
        cuda::non_local_means({image}, {image_view<float>(clean.data(), 30, 30)}, stream(), rule, how);
        pixels[12 * 30 + 15] = wrong;
        cuda::non_local_means({image}, {image_view<float>(spoilt.data(), 30, 30)}, stream(), rule, how);
        for (int r = 0; r < 30; ++r)
            for (int c = 0; c < 30; ++c) {
                const auto i = static_cast<std::size_t>(r * 30 + c);
                const int far = std::max(std::abs(r - 12), std::abs(c - 15));
                if (far <= 2) {
                    EXPECT_FALSE(std::isfinite(spoilt[i])) << r << ", " << c;
                } else if (far > 3) {
                    EXPECT_EQ(spoilt[i], clean[i]) << r << ", " << c;
                }
            }
    }
}

TEST_F(device_non_local_means, strengths_and_noise_of_any_size) {
    const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(400, 9);
    const image_view<const std::uint8_t> image(pixels.data(), 20, 20);
    const auto filtered = [&](double strength, double noise) {
        std::vector<std::uint8_t> result(400);
        cuda::non_local_means({image}, {image_view<std::uint8_t>(result.data(), 20, 20)}, stream(),
                              {.strength = strength, .noise = noise}, {.window = 5, .border = border_mode::wrap});
        return result;
    };
    EXPECT_EQ(filtered(1e-150, 0), pixels);  // no patch is like another
    EXPECT_EQ(filtered(1e-150, 1e-3), pixels);
    EXPECT_EQ(filtered(1e-150, 300), filtered(1e150, 0));  // all are alike
    EXPECT_EQ(filtered(1, 1e300), filtered(1e150, 0));
}

TEST_F(device_non_local_means, refusals) {
    std::vector<std::uint8_t> bytes(64), out(64, 9);
    const image_view<std::uint8_t> image(bytes.data(), 8, 8), result(out.data(), 8, 8);
    const auto message = [](auto call) {
        try {
            call();
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    const auto plan = [&](const non_local_inputs& in, const filter_outputs& to, const non_local_rule& rule = {},
                          const filter_options& how = {}) {
        return message([&] { cuda::non_local_means_plan(in, to, rule, how); });
    };
    EXPECT_EQ(plan({image}, {result}, {.strength = 0}),
              "strength: is 0, must be finite and above 0, and so must its square and the inverse of that");
    EXPECT_EQ(plan({image}, {result}, {}, {.threads = -1}), "threads: is -1, must be 0 (automatic) or more");
    EXPECT_EQ(plan({image}, {image_view<std::uint8_t>(nullptr, 7, 8)}),
              "result: rows is 7, but that of the image is 8");
    EXPECT_EQ(plan({image}, {result, image}), "count: type is 8u, must be one of 32u, 32f, 64f");
    EXPECT_EQ(plan({.image = image, .weights = image}, {result}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(plan({.image = image, .mask = image_view<std::uint8_t>(bytes.data(), 4, 8, 0, 2)}, {result}),
              "mask: channels is 2, must be 1: the channels of a pixel count together");
    EXPECT_EQ(message([&] { cuda::non_local_means({.image = image, .mask = result}, {result}, stream()); }),
              "result: overlaps mask");
    EXPECT_EQ(message([&] { cuda::non_local_means({image}, {image}, stream()); }), "result: overlaps image");
    EXPECT_EQ(message([&] { cuda::non_local_means({image}, {result}, stream(), {.noise = -1}); }),
              "noise: is -1, must be finite and not negative");
    const cuda::device_buffer there(64, stream());
    const image_view<std::uint8_t> on_device(static_cast<std::uint8_t*>(there.data()), 8, 8);
    EXPECT_EQ(message([&] { cuda::non_local_means({on_device}, {result}, stream()); }),
              "result: is host memory, but the image is device memory");
    const cuda::non_local_means_plan made({image}, {result});
    cuda::workspace workspace(made.workspace_bytes(), stream());
    EXPECT_EQ(message([&] { made.run_async({on_device}, {on_device}, workspace, stream()); }),
              "result: overlaps image");
    EXPECT_EQ(
        message([&] { made.run_async({.image = on_device, .mask = on_device}, {on_device}, workspace, stream()); }),
        "mask: given, but the plan was made without");
    const std::string on_host = message([&] { made.run_async({image}, {on_device}, workspace, stream()); });
    EXPECT_EQ(on_host.substr(0, 7), "image: ") << on_host;
    const image_view<std::uint8_t> smaller(static_cast<std::uint8_t*>(there.data()), 8, 7);
    const std::string other = message([&] { made.run_async({smaller}, {on_device}, workspace, stream()); });
    EXPECT_EQ(other.substr(0, 7), "image: ") << other;
    EXPECT_EQ(out, std::vector<std::uint8_t>(64, 9));
}

}  // namespace
}  // namespace boxsum
