// A radius for every pixel on a device, where pixels may not count, with every border and rounding: against the
// definition and the CPU.

#include "support/sampled_radii.hpp"

#include "core/visit_types.hpp"
#include "cuda/filters/device_strips.hpp"
#include "filters/filter_jobs.hpp"
#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::below;
using test::block;
using test::device_block;
using test::expected_mean;
using test::lying;
using test::sample_setting;
using test::sampled_pixels;
using test::sums_around;

constexpr float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();

/// Whether the build has the tables of such images.
template <typename T>
bool has_tables(bool weighted) {
    const auto sums = weighted                          ? type_pair{dtype::f64, dtype::f64}
                      : std::is_floating_point_v<T>     ? type_pair{dtype_of<T>, dtype::f64}
                      : std::is_same_v<T, std::int16_t> ? type_pair{dtype::u16, dtype::u32}
                                                        : type_pair{dtype_of<T>, dtype::u32};
    return contains(cuda_type_pairs{}, sums) && contains(cuda_type_pairs{}, type_pair{dtype::u8, dtype::u32});
}

class sampled_radii : public test::gpu_stream_test {
  protected:
    template <typename T, typename Out, typename Count>
    void check_random(std::mt19937_64& random) {
        const std::int64_t rows = 1 + below(random, 14), cols = 1 + below(random, 16), channels = 1 + below(random, 3),
                           planes = 1 + below(random, 2);
        sample_setting s = test::any_samples<T>(channels, planes, random);
        if (std::is_same_v<Count, std::uint32_t>) s.weighted = false;
        const bool plain = below(random, 4) == 0;  // for the kernels of windows that all count
        if (plain) s = {};
        if (std::is_integral_v<Out> && !std::is_same_v<T, Out>) return;
        if (!has_tables<T>(s.weighted)) return;
        sampled_pixels<T> from(rows, cols, channels, planes, s, random);
        block<std::uint8_t> radius(rows, cols, 1, below(random, 2) == 0 ? 1 : planes, lying::anyhow, random);
        std::int64_t largest = 0;
        radius.for_each([&](auto, auto, auto, auto, std::uint8_t& r) {
            r = static_cast<std::uint8_t>(below(random, below(random, 4) == 0 ? 40 : 4));
            largest = std::max<std::int64_t>(largest, r);
        });
        filter_options how{.border = test::every_border[below(random, std::size(test::every_border))],
                           .rounding = below(random, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                           .nan = s.nan,
                           .nodata = s.nodata};
        if (how.border == border_mode::constant) how.border_value = below(random, 3) == 0 ? s.nodata.value_or(3) : 5;
        if (below(random, 2) == 0) how.fill = 17;
        if (s.weighted)
            how.min_weight = static_cast<double>(below(random, 12)) / 4;
        else
            how.min_count = 1 + below(random, 2) * below(random, 6);
        if (plain) {
            how.rounding = rounding_mode::half_up;
            how.min_count = 1;
        }
        const bool counted = !plain && below(random, 3) != 0;
        SCOPED_TRACE(std::string(name_of(dtype_of<T>)) + " to " + std::string(name_of(dtype_of<Out>)) + ", " +
                     std::to_string(rows) + " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", " +
                     std::string(name_of(how.border)) + (s.masked ? ", masked" : "") +
                     (s.weighted ? ", weighted" : "") + (counted ? ", counted" : ""));

        block<Out> result(rows, cols, channels, planes, lying::anyhow, random);
        block<Count> count(rows, cols, channels, planes, lying::anyhow, random);
        const auto expect_definition = [&](const char* form) {
            result.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Out& found) {
                const std::int64_t around = radius.view()(r, c, 0, radius.view().planes() == 1 ? 0 : plane);
                const auto w = sums_around(from, r, c, k, plane, around, how);
                const Out wanted = expected_mean<Out>(w, how, s.weighted);
                const bool both_nan = wanted != wanted && found != found;
                ASSERT_TRUE(both_nan || found == wanted)
                    << form << ", plane " << plane << ", row " << r << ", col " << c << ", channel " << k << ", radius "
                    << around << ": " << static_cast<double>(found) << ", not " << static_cast<double>(wanted);
                if (counted) {
                    ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(w.weight)) << form;
                }
                found = Out{99};
                count.view()(r, c, k, plane) = Count{99};
            });
            ASSERT_TRUE(result.is_untouched_between()) << form;
            ASSERT_TRUE(count.is_untouched_between()) << form;
        };
        const device_block<T> d_image(from.image, stream());
        const device_block<std::uint8_t> d_radius(radius, stream()), d_mask(from.mask, stream());
        const device_block<float> d_weights(from.weights, stream());
        const variable_inputs on_host{.image = from.image.view(),
                                      .radius = radius.view(),
                                      .mask = from.mask_view(),
                                      .weights = from.weights_view()};
        variable_inputs on_device{.image = d_image.view(), .radius = d_radius.view()};
        if (s.masked) on_device.mask = d_mask.view();
        if (s.weighted) on_device.weights = d_weights.view();
        if (below(random, 2) == 0) on_device.largest_radius = largest;

        filter_outputs to_host{.result = result.view()};
        if (counted) to_host.count = count.view();
        cuda::variable_box_filter(on_host, to_host, stream(), how);
        expect_definition("host memory");
        const device_block<Out> d_result(result, stream());
        const device_block<Count> d_count(count, stream());
        filter_outputs to_device{.result = d_result.view()};
        if (counted) to_device.count = d_count.view();
        const auto fetch = [&] {
            d_result.download();
            d_count.download();
        };
        cuda::variable_box_filter(on_device, to_device, stream(), how);
        fetch();
        expect_definition("device memory");
        if (HasFatalFailure()) return;
        // A map of any radii needs wide tables, which not every build has.
        on_device.largest_radius = largest;
        cuda::variable_box_filter_async(on_device, to_device, workspace_, stream(), how);
        fetch();
        expect_definition("enqueued");
    }

    cuda::workspace workspace_;
};

TEST_F(sampled_radii, are_their_definition) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 40; ++i) {
        check_random<std::uint8_t, std::uint8_t, std::uint32_t>(random);
        check_random<std::uint8_t, double, double>(random);
        check_random<std::uint8_t, std::uint8_t, double>(random);
        check_random<std::uint16_t, std::uint16_t, float>(random);
        check_random<std::int16_t, std::int16_t, double>(random);
        check_random<std::int16_t, float, std::uint32_t>(random);
        check_random<float, float, double>(random);
        check_random<float, double, std::uint32_t>(random);
        check_random<double, double, double>(random);
        check_random<double, double, std::uint32_t>(random);
        if (HasFatalFailure()) return;
    }
}

/// Strips of host memory, and parts of images on the device, have the results of the whole.
TEST_F(sampled_radii, of_strips_and_parts_are_those_of_the_whole) {
    std::mt19937_64 random(12);
    constexpr std::int64_t rows = 40, cols = 9, most = 4;
    for (const bool weighted : {false, true}) {
        if (!has_tables<std::uint8_t>(weighted)) continue;
        sampled_pixels<std::uint8_t> from(rows, cols, 2, 2,
                                          {.masked = true, .weighted = weighted, .mask_planes = 2, .nodata = 9}, random,
                                          lying::row_major);
        block<std::uint8_t> radius(rows, cols, 1, 1, lying::row_major, random);
        radius.for_each(
            [&](auto, auto, auto, auto, std::uint8_t& r) { r = static_cast<std::uint8_t>(below(random, most + 1)); });
        for (const border_mode border : test::every_border) {
            const filter_options how{.border = border, .nodata = 9, .fill = 200};
            const variable_inputs in{.image = from.image.view(),
                                     .radius = radius.view(),
                                     .mask = from.mask_view(),
                                     .weights = from.weights_view()};
            block<std::uint8_t> expected(rows, cols, 2, 2, lying::row_major, random),
                result(rows, cols, 2, 2, lying::row_major, random);
            block<double> expected_count(rows, cols, 2, 2, lying::row_major, random),
                count(rows, cols, 2, 2, lying::row_major, random);
            variable_box_filter(in, {.result = expected.view(), .count = expected_count.view()}, how);
            const auto expect_same = [&](const char* what) {
                result.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k,
                                    std::uint8_t x) {
                    ASSERT_EQ(x, expected.view()(r, c, k, plane)) << what << ", " << name_of(border) << ", row " << r;
                    ASSERT_EQ(count.view()(r, c, k, plane), expected_count.view()(r, c, k, plane)) << what;
                });
            };
            const auto shape_of = [](const const_any_view& v) {
                return v.data == nullptr ? std::nullopt : std::optional(v.shape);
            };
            const filters::window_job job = filters::variable_job(
                {.image = in.image.shape, .mask = shape_of(in.mask), .weights = shape_of(in.weights)}, in.radius.shape,
                {result.view().shape(), count.view().shape()}, most, how);
            const cuda::window_filter filter{.windows = job, .consume = [job](const cuda::filter_step& at) {
                                                 cuda::enqueue_sampled_variable_means(at.task, job, at.radius, most,
                                                                                      at.results[0], at.results[4],
                                                                                      at.stream);
                                             }};
            cuda::execute(filter, {in.image, {result.view(), {}, {}, {}, count.view()}, in.radius, in.mask, in.weights},
                          stream(), 7 * in.image.shape.row_stride);
            expect_same("strips");
            if (border == border_mode::wrap) continue;

            const device_block<std::uint8_t> d_image(from.image, stream()), d_mask(from.mask, stream()),
                d_radius(radius, stream()), d_result(result, stream());
            const device_block<float> d_weights(from.weights, stream());
            const device_block<double> d_count(count, stream());
            const auto some = [](const auto& view, std::int64_t first, std::int64_t end) {
                auto part = any_view(view);
                part.data = view.row(first);
                part.shape.rows = end - first;
                return part;
            };
            for (std::int64_t first = 0; first < rows; first += 15) {
                const std::int64_t end = std::min(first + 15, rows), from_row = std::max<std::int64_t>(first - most, 0),
                                   to_row = std::min(end + most, rows);
                variable_inputs part{.image = some(d_image.view(), from_row, to_row),
                                     .radius = some(d_radius.view(), first, end),
                                     .largest_radius = most,
                                     .at = {from_row, 0},
                                     .whole = {rows, cols},
                                     .mask = some(d_mask.view(), from_row, to_row)};
                if (weighted) part.weights = some(d_weights.view(), from_row, to_row);
                cuda::variable_box_filter_async(
                    part, {.result = some(d_result.view(), first, end), .count = some(d_count.view(), first, end)},
                    workspace_, stream(), how);
            }
            d_result.download();
            d_count.download();
            expect_same("parts");
            if (HasFatalFailure()) return;
        }
    }
}

/// What counts and is not finite acts on the windows that have it.
TEST_F(sampled_radii, keep_what_is_not_finite_to_its_windows) {
    const auto check = [&]<typename T>(T, bool weighted) {
        if (!has_tables<T>(weighted)) return;
        const std::vector<T> x{1, 2, none, 4, 5, inf, 7, none, -inf, 10};
        const std::vector<float> w{1, 1, 1, 2, 2, 1, 1, 0, 1, 1};
        const std::vector<std::uint8_t> mask{1, 1, 1, 1, 1, 1, 1, 0, 1, 1}, radius(10, 1);
        for (const bool tall : {false, true}) {
            const std::int64_t rows = tall ? 10 : 1, cols = tall ? 1 : 10;
            std::vector<double> out(10), wide(10);
            const auto of = [&](std::int64_t reach, std::vector<double>& to) {
                const std::vector<std::uint8_t> around(10, static_cast<std::uint8_t>(reach));
                variable_inputs in{.image = image_view<const T>(x.data(), rows, cols),
                                   .radius = image_view<const std::uint8_t>(around.data(), rows, cols),
                                   .mask = image_view<const std::uint8_t>(mask.data(), rows, cols)};
                if (weighted) in.weights = image_view<const float>(w.data(), rows, cols);
                cuda::variable_box_filter(in, {.result = image_view<double>(to.data(), rows, cols)}, stream());
            };
            of(1, out);
            EXPECT_EQ(out[0], 1.5);
            for (const std::size_t i : {1U, 2U, 3U}) EXPECT_TRUE(std::isnan(out[i])) << i;
            for (const std::size_t i : {4U, 5U, 6U}) EXPECT_EQ(out[i], static_cast<double>(inf)) << i;
            for (const std::size_t i : {7U, 8U, 9U}) EXPECT_EQ(out[i], -static_cast<double>(inf)) << i;
            of(20, wide);
            for (const double mean : wide) EXPECT_TRUE(std::isnan(mean));
        }
        // The same inside an image.
        constexpr std::int64_t n = 9;
        std::vector<T> image(n * n, T{2});
        image[4 * n + 4] = static_cast<T>(inf);
        image[4 * n + 1] = static_cast<T>(-inf);
        const std::vector<std::uint8_t> ones(n * n, 1);
        const std::vector<float> even(n * n, 0.5F);
        std::vector<double> out(n * n);
        variable_inputs in{.image = image_view<const T>(image.data(), n, n),
                           .radius = image_view<const std::uint8_t>(ones.data(), n, n),
                           .mask = image_view<const std::uint8_t>(ones.data(), n, n)};
        if (weighted) in.weights = image_view<const float>(even.data(), n, n);
        cuda::variable_box_filter(in, {.result = image_view<double>(out.data(), n, n)}, stream());
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c) {
                const bool near_row = r >= 3 && r <= 5, more = near_row && c >= 3 && c <= 5, less = near_row && c <= 2;
                EXPECT_EQ(out[static_cast<std::size_t>(r * n + c)], more   ? static_cast<double>(inf)
                                                                    : less ? -static_cast<double>(inf)
                                                                           : 2)
                    << r << ", " << c;
            }
    };
    for (const bool weighted : {false, true}) {
        check(0.0F, weighted);
        check(0.0, weighted);
    }
}

/// So does what is not finite in images all of whose pixels count, which are looked at on the device alone. 1e30 does
/// within the bound of a table.
TEST_F(sampled_radii, of_whole_images_keep_what_is_not_finite) {
    using real = test::wide;
    std::mt19937_64 random(14);
    const auto check = [&]<typename T, typename Out>(T, Out) {
        if (!has_tables<T>(false)) return;
        const std::int64_t rows = 1 + below(random, 40), cols = 1 + below(random, 70), channels = 1 + below(random, 3),
                           planes = 1 + below(random, 3);
        sampled_pixels<T> from(rows, cols, channels, planes, {}, random);
        const auto& image = from.image.view();
        const auto any_pixel = [&]() -> T& {
            return image(below(random, rows), below(random, cols), below(random, channels), below(random, planes));
        };
        const T odd[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity()};
        const auto odd_one = [&] { return odd[below(random, 3)]; };
        const std::int64_t kind = below(random, 6), last = below(random, channels);
        if (kind == 0) image(0, 0, 0, 0) = odd_one();
        if (kind == 1) image(rows - 1, cols - 1, last, below(random, planes)) = odd_one();
        if (kind == 2) image(below(random, rows), below(random, cols), last, below(random, planes)) = odd_one();
        if (kind == 3 || kind == 4)
            for (std::int64_t i = 0; i < 4; ++i) any_pixel() = odd_one();
        const bool huge = kind == 3;
        if (huge) any_pixel() = static_cast<T>(below(random, 2) == 0 ? 1e30 : -1e30);
        std::vector<real> sizes(static_cast<std::size_t>(planes));  // sums of magnitudes
        from.image.for_each([&](std::int64_t plane, auto, auto, auto, T x) {
            if (std::isfinite(x)) sizes[static_cast<std::size_t>(plane)] += std::abs(static_cast<real>(x));
        });
        block<std::uint8_t> radius(rows, cols, 1, below(random, 2) == 0 ? 1 : planes, lying::anyhow, random);
        radius.for_each([&](auto, auto, auto, auto, std::uint8_t& r) {
            r = static_cast<std::uint8_t>(below(random, below(random, 16) == 0 ? 60 : 4));
        });
        const filter_options how{.border = test::every_border[below(random, std::size(test::every_border))],
                                 .border_value = 5,
                                 .rounding = below(random, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor};
        const bool counted = below(random, 3) == 0;
        SCOPED_TRACE(std::string(name_of(dtype_of<T>)) + " to " + std::string(name_of(dtype_of<Out>)) + ", " +
                     std::to_string(rows) + " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", " +
                     std::string(name_of(how.border)) + ", kind " + std::to_string(kind));
        block<Out> result(rows, cols, channels, planes, lying::anyhow, random);
        block<double> count(rows, cols, channels, planes, lying::anyhow, random);
        const auto expect_definition = [&](const char* form) {
            result.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Out& found) {
                const std::int64_t around = radius.view()(r, c, 0, radius.view().planes() == 1 ? 0 : plane);
                const auto w = sums_around(from, r, c, k, plane, around, how);
                const Out wanted = expected_mean<Out>(w, how, false);
                real off = 0;
                if (huge && std::isfinite(wanted)) {
                    const auto times = static_cast<real>((2 * around / rows + 3) * (2 * around / cols + 3));
                    off = times * static_cast<real>(rows + cols) * 0x1p-52L * 4 / w.weight *
                              sizes[static_cast<std::size_t>(plane)] +
                          std::abs(static_cast<real>(wanted)) * 0x1p-22L;
                }
                const bool same =
                    wanted != wanted
                        ? found != found
                        : found == wanted || std::abs(static_cast<real>(found) - static_cast<real>(wanted)) <= off;
                ASSERT_TRUE(same) << form << ", plane " << plane << ", row " << r << ", col " << c << ", channel " << k
                                  << ", radius " << around << ": " << static_cast<double>(found) << ", not "
                                  << static_cast<double>(wanted);
                if (counted) {
                    ASSERT_EQ(count.view()(r, c, k, plane), static_cast<double>(w.weight)) << form;
                }
                found = Out{99};
                count.view()(r, c, k, plane) = 99;
            });
            ASSERT_TRUE(result.is_untouched_between()) << form;
            ASSERT_TRUE(count.is_untouched_between()) << form;
        };
        filter_outputs to_host{.result = result.view()};
        if (counted) to_host.count = count.view();
        cuda::variable_box_filter({.image = image, .radius = radius.view()}, to_host, stream(), how);
        expect_definition("host memory");
        const device_block<T> d_image(from.image, stream());
        const device_block<std::uint8_t> d_radius(radius, stream());
        const device_block<Out> d_result(result, stream());
        const device_block<double> d_count(count, stream());
        filter_outputs to_device{.result = d_result.view()};
        if (counted) to_device.count = d_count.view();
        cuda::variable_box_filter_async({.image = d_image.view(), .radius = d_radius.view(), .largest_radius = 60},
                                        to_device, workspace_, stream(), how);
        d_result.download();
        d_count.download();
        expect_definition("enqueued");
    };
    for (int i = 0; i < 16 && !HasFatalFailure(); ++i) {
        check(0.0F, 0.0F);
        check(0.0F, 0.0);
        check(0.0, 0.0);
        check(0.0, 0.0F);
    }
}

/// Where nothing counts nothing is a little more than 0.
TEST_F(sampled_radii, leave_no_weight_where_nothing_counts) {
    if (!has_tables<float>(true)) GTEST_SKIP() << "needs BOXSUM_TYPES=all";
    constexpr std::int64_t n = 24;
    const auto is_gap = [](std::int64_t i) { return (i >= 8 && i < 16) || i >= 22; };
    const auto within = [](std::int64_t i) { return (i >= 9 && i < 15) || i == 23; };  // windows of gaps alone
    std::vector<float> w(n * n), x(n * n, 3);
    const std::vector<std::uint8_t> radius(n * n, 1);
    for (std::int64_t i = 0; i < n * n; ++i)
        w[static_cast<std::size_t>(i)] =
            is_gap(i / n) && is_gap(i % n) ? 0 : 0.1F * static_cast<float>(std::pow(10.0, i % 13 - 6));
    std::vector<double> out(n * n), count(n * n);
    cuda::variable_box_filter(
        {.image = image_view<const float>(x.data(), n, n),
         .radius = image_view<const std::uint8_t>(radius.data(), n, n),
         .weights = image_view<const float>(w.data(), n, n)},
        {.result = image_view<double>(out.data(), n, n), .count = image_view<double>(count.data(), n, n)}, stream(),
        {.fill = -1});
    for (std::int64_t i = 0; i < n * n; ++i) {
        const double mean = out[static_cast<std::size_t>(i)];
        if (within(i / n) && within(i % n)) {
            EXPECT_EQ(count[static_cast<std::size_t>(i)], 0) << i;
            EXPECT_EQ(mean, -1) << i;
        } else if (count[static_cast<std::size_t>(i)] > 1) {
            EXPECT_NEAR(mean, 3, 1e-6) << i;
        }
    }
}

TEST_F(sampled_radii, refuse_what_is_wrong) {
    std::mt19937_64 random(13);
    const block<std::uint8_t> x(3, 4, 1, 1, lying::row_major, random), out(3, 4, 1, 1, lying::row_major, random);
    const block<float> w(3, 4, 1, 1, lying::row_major, random);
    x.for_each([](auto, auto, auto, auto, std::uint8_t& r) { r = 1; });
    const device_block<std::uint8_t> image(x, stream()), radius(x, stream()), result(out, stream());
    const device_block<float> weights(w, stream()), count(w, stream());
    const variable_inputs plain{.image = image.view(), .radius = radius.view(), .largest_radius = 5};
    variable_inputs masked = plain, weighted = plain, mixed = plain;
    masked.mask = image.view();
    weighted.weights = weights.view();
    mixed.mask = x.view();
    const filter_outputs to{.result = result.view()}, counted{.result = result.view(), .count = count.view()};
    EXPECT_COMPLAINT(cuda::variable_box_filter(mixed, to, stream()), "mask: is host memory");
    variable_inputs low = plain;
    low.mask = image_view<const std::uint8_t>(image.view().data(), 2, 4);
    EXPECT_COMPLAINT(cuda::variable_box_filter(low, to, stream()),
                     "mask: rows x cols are 2 x 4, must be the image's 3 x 4");
    variable_inputs over = plain;
    over.mask = result.view();
    EXPECT_COMPLAINT(cuda::variable_box_filter(over, to, stream()), "result: overlaps mask");
    EXPECT_COMPLAINT(cuda::variable_box_filter(plain, to, stream(), {.min_weight = 1}), "min_weight: is 1");
    const cuda::variable_box_filter_plan of_all(plain, to), of_mask(masked, to);
    cuda::workspace workspace(of_mask.workspace_bytes(), stream());
    EXPECT_COMPLAINT(of_all.run_async(masked, to, workspace, stream()), "mask: given, but the plan was made without");
    EXPECT_COMPLAINT(of_all.run_async(weighted, to, workspace, stream()),
                     "weights: given, but the plan was made without");
    EXPECT_COMPLAINT(of_all.run_async(plain, counted, workspace, stream()),
                     "count: given, but the plan was made without");
    EXPECT_COMPLAINT(of_mask.run_async(plain, to, workspace, stream()), "mask: rows is 0, but the plan was made for 3");
    EXPECT_COMPLAINT(of_mask.run_async(mixed, to, workspace, stream()), "mask: ");
    EXPECT_TRUE(result.equals_host());
}

}  // namespace
}  // namespace boxsum
