// Non-local means of images whose pixels may not count on a device, against their definition in long double.

#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/non_local_oracle.hpp"
#include "support/sampled_non_local_reference.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/non_local_means.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::below;
using test::block;
using test::device_block;
using test::lying;
using test::sampled_pixels;

struct shape {
    std::int64_t rows, cols, channels, planes;
    window search, patch;
};

class device_sampled_non_local_means : public test::gpu_stream_test {
  protected:
    /// All of result and count of a plan's second run and of a call that waits, in poisoned memory of any strides.
    template <typename T, typename Out, typename Count>
    void check(const shape& s, border_mode border) {
        test::sample_setting samples = test::any_samples<T>(s.channels, s.planes, random_);
        samples.mask_channels = 1;
        if (std::is_same_v<Count, std::uint32_t>) samples.weighted = false;
        sampled_pixels<T> from(s.rows, s.cols, s.channels, s.planes, samples, random_);
        filter_options how{.window = s.search,
                           .border = border,
                           .rounding = below(random_, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                           .nan = samples.nan,
                           .nodata = samples.nodata};
        if (border == border_mode::constant) how.border_value = below(random_, 3) == 0 ? samples.nodata.value_or(3) : 5;
        if (below(random_, 2) == 0) how.fill = 17;
        if (samples.weighted)
            how.min_weight = static_cast<double>(below(random_, 30)) / 4;
        else
            how.min_count = 1 + below(random_, 4);
        const double range = std::is_same_v<T, std::uint16_t> ? 65535 : 255;
        // Where the strength is small, pixels that do not count themselves have weights far below 1 only.
        const non_local_rule rule{.patch = s.patch,
                                  .strength = range / (below(random_, 3) == 0 ? 25 : 3),
                                  .noise = below(random_, 2) == 0 ? 0 : range / 20};
        SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) +
                     ", " + std::string(name_of(border)) + (samples.masked ? ", masked" : "") +
                     (samples.weighted ? ", weighted" : ""));
        block<Out> result(s.rows, s.cols, s.channels, s.planes, lying::anyhow, random_);
        block<Count> count(s.rows, s.cols, s.channels, s.planes, lying::anyhow, random_);
        const auto filter = [&](bool planned) {
            result.for_each([](auto, auto, auto, auto, Out& x) { x = 99; });
            count.for_each([](auto, auto, auto, auto, Count& x) { x = 99; });
            const device_block<T> image(from.image, stream());
            const device_block<std::uint8_t> mask(from.mask, stream());
            const device_block<float> weights(from.weights, stream());
            const device_block<Out> to(result, stream());
            const device_block<Count> number(count, stream());
            const non_local_inputs in{.image = image.view(),
                                      .mask = samples.masked ? const_any_view(mask.view()) : const_any_view{},
                                      .weights = samples.weighted ? const_any_view(weights.view()) : const_any_view{}};
            const filter_outputs out{.result = to.view(), .count = number.view()};
            if (planned) {
                const cuda::non_local_means_plan plan(in, out, rule, how);
                cuda::workspace workspace(plan.workspace_bytes(), stream());
                plan.run_async(in, out, workspace, stream());
                plan.run_async(in, out, workspace, stream());
            } else {
                cuda::non_local_means(in, out, stream(), rule, how);
            }
            to.download();
            number.download();
            return std::pair(result.bytes(), count.bytes());
        };
        const auto before = filter(true);
        // Bytes without weights are as accurate as those that all count.
        const bool in_single = std::is_same_v<T, std::uint8_t> && !samples.weighted;
        const double off = (in_single ? 0x1p-17 : 0x1p-40) * range;
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    const test::non_local_definition wanted = test::sampled_non_local(from, r, c, plane, rule, how);
                    for (std::int64_t k = 0; k < s.channels; ++k) {
                        const auto found = static_cast<double>(result.view()(r, c, k, plane));
                        ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(wanted.count));
                        if (wanted.similar == 0) {
                            const double fill = how.fill.value_or(
                                std::is_integral_v<Out> ? 0 : std::numeric_limits<double>::quiet_NaN());
                            ASSERT_TRUE(found == fill || (std::isnan(found) && std::isnan(fill))) << r << ", " << c;
                            continue;
                        }
                        const auto exact = static_cast<double>(wanted.values[static_cast<std::size_t>(k)]);
                        if constexpr (std::is_integral_v<Out>) {
                            const double half = how.rounding == rounding_mode::half_up ? 0.5 : 0;
                            ASSERT_GE(found, std::floor(exact + half - off)) << r << ", " << c;
                            ASSERT_LE(found, std::floor(exact + half + off)) << r << ", " << c;
                        } else {
                            ASSERT_NEAR(found, exact, off + std::numeric_limits<Out>::epsilon() * range)
                                << r << ", " << c;
                        }
                    }
                }
        ASSERT_TRUE(result.is_untouched_between());
        ASSERT_TRUE(count.is_untouched_between());

        // What does not count might be anything, and a call that waits has the same bits.
        from.spoil(random_);
        ASSERT_TRUE(filter(false) == before);
    }

    shape any_shape() {
        const auto reach = [&](std::int64_t most) {
            return window_extents{below(random_, most), below(random_, most), below(random_, most),
                                  below(random_, most)};
        };
        return {1 + below(random_, 9),
                1 + below(random_, 9),
                1 + below(random_, 3),
                1 + below(random_, 2),
                reach(5),
                reach(3)};
    }

    std::mt19937_64 random_{8};
};

TEST_F(device_sampled_non_local_means, are_their_definition) {
    for (int i = 0; i < 4; ++i)
        for (const border_mode border : test::every_border) {
            check<std::uint8_t, std::uint8_t, std::uint32_t>(any_shape(), border);
            check<std::uint8_t, double, double>(any_shape(), border);
            check<std::uint16_t, std::uint16_t, float>(any_shape(), border);
            check<float, float, double>(any_shape(), border);
            check<double, double, std::uint32_t>(any_shape(), border);
            if (HasFatalFailure()) return;
        }
}

/// Several tiles, four channels, and patches wider than a line of warps.
TEST_F(device_sampled_non_local_means, of_several_tiles_are_their_definition) {
    for (const border_mode border : {border_mode::shrink, border_mode::wrap}) {
        check<std::uint8_t, std::uint8_t, std::uint32_t>({20, 75, 1, 1, 3, 3}, border);
        check<float, double, double>({33, 66, 4, 1, window_extents{1, 0, 2, 1}, 2}, border);
        check<std::uint8_t, double, double>({3, 9, 1, 1, 2, window_extents{1, 0, 30, 20}}, border);
        if (HasFatalFailure()) return;
    }
}

/// Bytes have a kernel for patches of 3, 5 or 7 rows of one or two words.
TEST_F(device_sampled_non_local_means, patches_of_bytes_are_their_definition) {
    for (const border_mode border : test::every_border)
        for (const std::int64_t rows : {3, 5, 7}) {
            const auto part = [&](std::int64_t n) {
                const std::int64_t before = below(random_, n);
                return std::pair(before, n - 1 - before);
            };
            const auto [above, under] = part(rows);
            const auto [left, right] = part(rows == 3 ? 1 + below(random_, 4) : 5 + below(random_, 4));
            const window_extents patch{above, under, left, right}, search{below(random_, 8), 3, 2, below(random_, 9)};
            check<std::uint8_t, std::uint8_t, std::uint32_t>({1 + below(random_, 22), 70, 1, 1, search, patch}, border);
            check<std::uint8_t, double, double>({7, 1 + below(random_, 20), 3, 2, search, patch}, border);
            if (HasFatalFailure()) return;
        }
}

/// A NaN that counts acts where windows or patches reach it, one that does not nowhere.
TEST_F(device_sampled_non_local_means, keep_what_is_not_finite_to_its_surroundings) {
    constexpr std::int64_t n = 31;
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    for (const float odd : {none, std::numeric_limits<float>::infinity(), 1e30F}) {
        std::vector<float> x(n, 3);
        std::vector<std::uint8_t> mask(n, 1);
        mask[4] = 0;
        x[4] = none;
        x[15] = odd;
        std::vector<double> out(n);
        cuda::non_local_means({.image = image_view<const float>(x.data(), 1, n),
                               .mask = image_view<const std::uint8_t>(mask.data(), 1, n)},
                              {image_view<double>(out.data(), 1, n)}, stream(),
                              {.patch = window_radius(0, 1), .strength = 1}, {.window = window_radius(0, 3)});
        for (std::size_t i = 0; i < n; ++i)
            if (i < 11 || i > 19) {
                EXPECT_EQ(out[i], 3) << i;
            }
        EXPECT_EQ(std::isnan(out[14]), std::isnan(odd) || std::isinf(odd));
    }
}

}  // namespace
}  // namespace boxsum
