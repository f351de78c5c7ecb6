// The guided filter of images whose pixels may not count on a device, against its definition in long double.

#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/sampled_guided_reference.hpp"

#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/memory.hpp>

#include <algorithm>
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
using test::wide;

struct shape {
    std::int64_t rows, cols, channels, planes, guides;  ///< no guides: the image is its own
    boxsum::window window;
    double epsilon = 40;
};

class device_sampled_guided_filter : public test::gpu_stream_test {
  protected:
    /// All of result and count of a plan's second run and of a call that waits, in poisoned memory of any strides.
    template <typename T, typename G, typename Out, typename Count>
    void check(const shape& s, lying how_lying = lying::anyhow) {
        constexpr border_mode borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                           border_mode::mirror, border_mode::wrap};
        test::sample_setting samples = test::any_samples<T>(s.channels, s.planes, random_);
        if (std::is_same_v<Count, std::uint32_t>) samples.weighted = false;
        sampled_pixels<T> from(s.rows, s.cols, s.channels, s.planes, samples, random_, how_lying);
        block<G> guide(s.rows, s.cols, std::max<std::int64_t>(s.guides, 1), below(random_, 2) == 0 ? 1 : s.planes,
                       how_lying, random_);
        guide.for_each([&](auto, auto, auto, auto, G& x) {
            x = static_cast<G>(random_() % 256);
            if constexpr (std::is_floating_point_v<G>)
                if (samples.nan == nan_mode::omit && below(random_, 8) == 0) x = std::numeric_limits<G>::quiet_NaN();
        });
        filter_options how{.window = s.window,
                           .border = borders[below(random_, std::size(borders))],
                           .rounding = below(random_, 2) == 0 ? rounding_mode::half_up : rounding_mode::floor,
                           .nan = samples.nan,
                           .nodata = samples.nodata};
        if (below(random_, 2) == 0) how.fill = 17;
        if (samples.weighted)
            how.min_weight = static_cast<double>(below(random_, 12)) / 4;
        else
            how.min_count = 1 + below(random_, 5);
        SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) +
                     ", " + std::to_string(s.guides) + " guides, " + std::string(name_of(how.border)) +
                     (samples.masked ? ", masked" : "") + (samples.weighted ? ", weighted" : ""));
        block<Out> result(s.rows, s.cols, s.channels, s.planes, how_lying, random_);
        block<Count> count(s.rows, s.cols, s.channels, s.planes, how_lying, random_);
        const bool counts = below(random_, 4) != 0;

        const auto filter = [&](bool planned) {
            const device_block<T> image(from.image, stream());
            const device_block<G> by(guide, stream());
            const device_block<std::uint8_t> mask(from.mask, stream());
            const device_block<float> weights(from.weights, stream());
            result.for_each([](auto, auto, auto, auto, Out& x) { x = 99; });
            count.for_each([](auto, auto, auto, auto, Count& x) { x = 99; });
            const device_block<Out> to(result, stream());
            const device_block<Count> number(count, stream());
            const guided_inputs in{.image = image.view(),
                                   .guide = s.guides > 0 ? const_any_view(by.view()) : const_any_view{},
                                   .mask = samples.masked ? const_any_view(mask.view()) : const_any_view{},
                                   .weights = samples.weighted ? const_any_view(weights.view()) : const_any_view{}};
            const filter_outputs out{.result = to.view(), .count = counts ? any_view(number.view()) : any_view{}};
            if (planned) {
                const cuda::guided_filter_plan plan(in, out, {.epsilon = s.epsilon}, how);
                cuda::workspace workspace(plan.workspace_bytes(), stream());
                plan.run_async(in, out, workspace, stream());
                plan.run_async(in, out, workspace, stream());
                stream().synchronize();
            } else {
                cuda::guided_filter(in, out, stream(), {.epsilon = s.epsilon}, how);
            }
            to.download();
            number.download();
            return std::pair(result.bytes(), count.bytes());
        };
        const auto before = filter(true);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t k = 0; k < s.channels; ++k)
                compare<T, G, Out>(s, from, guide, how, result, count, counts, k, plane);
        if (HasFatalFailure()) return;
        ASSERT_TRUE(result.is_untouched_between());
        ASSERT_TRUE(count.is_untouched_between());

        // What does not count might be anything, and a call that waits has the same bits.
        from.spoil(random_);
        ASSERT_TRUE(filter(false) == before);
    }

    /// Results and counts of a channel of a plane.
    template <typename T, typename G, typename Out, typename Count>
    void compare(const shape& s, const sampled_pixels<T>& from, const block<G>& guide, const filter_options& how,
                 const block<Out>& result, const block<Count>& count, bool counts, std::int64_t k, std::int64_t plane) {
        const bool itself = s.guides == 0;
        const auto n = static_cast<std::size_t>(std::max<std::int64_t>(s.guides, 1));
        const auto guide_at = [&](std::int64_t y, std::int64_t x, std::size_t i) {
            return itself ? static_cast<wide>(from.image.view()(y, x, k, plane))
                          : static_cast<wide>(guide.view()(y, x, static_cast<std::int64_t>(i),
                                                           guide.view().planes() == 1 ? 0 : plane));
        };
        const auto wanted = test::sampled_guided(from, k, plane, n, guide_at, itself, s.epsilon, how);
        constexpr bool doubles = std::is_same_v<T, double> || std::is_same_v<Out, double> || std::is_same_v<G, double>;
        constexpr wide range = sizeof(T) == 2 ? 65535 : 255;
        const wide noise = std::sqrt(static_cast<wide>(s.epsilon));
        const wide most = sizeof(T) == 1 ? 25.5L : sizeof(T) == 2 ? 6553.5L : 64, scale = std::min(noise, most);
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c) {
                const auto i = static_cast<std::size_t>(r * s.cols + c);
                const auto found = static_cast<double>(result.view()(r, c, k, plane));
                if (counts) {
                    ASSERT_EQ(static_cast<double>(count.view()(r, c, k, plane)), static_cast<double>(wanted.counts[i]));
                }
                if (!wanted.values[i]) {
                    const double fill =
                        how.fill.value_or(std::is_integral_v<Out> ? 0 : std::numeric_limits<double>::quiet_NaN());
                    ASSERT_TRUE(found == fill || (std::isnan(found) && std::isnan(fill)))
                        << r << ", " << c << ": " << found << ", not filled";
                    continue;
                }
                wide bound = wide{1e-10} * range;
                if (!doubles) {
                    wide x = 0;
                    for (std::size_t g = 0; g < n; ++g) x += std::abs(guide_at(r, c, g));
                    bound += (0x1p-25L * wanted.largest_a[i] + 0x1p-26L * scale / noise) * x +
                             0x1p-25L * wanted.largest_b[i] + 0x1p-24L * scale;
                }
                const wide exact = *wanted.values[i];
                if constexpr (std::is_integral_v<Out>) {
                    const wide half = how.rounding == rounding_mode::half_up ? 0.5L : 0,
                               highest = std::numeric_limits<Out>::max();
                    const auto rounded = [&](wide x) { return std::clamp(std::floor(x + half), wide{0}, highest); };
                    ASSERT_GE(static_cast<wide>(found), rounded(exact - bound)) << r << ", " << c;
                    ASSERT_LE(static_cast<wide>(found), rounded(exact + bound)) << r << ", " << c;
                } else {
                    const wide rounding = static_cast<wide>(std::numeric_limits<Out>::epsilon()) * std::abs(exact);
                    ASSERT_LE(std::abs(static_cast<wide>(found) - exact), bound + rounding)
                        << r << ", " << c << ": " << found << ", not " << static_cast<double>(exact);
                }
            }
    }

    std::mt19937_64 random_{7};
};

shape any_shape(std::mt19937_64& random, std::int64_t guides) {
    const auto reach = [&] { return below(random, below(random, 4) == 0 ? 9 : 3); };
    const auto extent = [&] { return 1 + below(random, below(random, 4) == 0 ? 40 : 9); };
    return {extent(),
            extent(),
            1 + below(random, 3),
            1 + below(random, 2),
            guides,
            window_extents{reach(), reach(), reach(), reach()}};
}

TEST_F(device_sampled_guided_filter, is_its_definition) {
    for (int i = 0; i < 12; ++i) {
        check<std::uint8_t, std::uint8_t, std::uint8_t, std::uint32_t>(any_shape(random_, 0));
        check<float, float, float, double>(any_shape(random_, 0));
        check<double, double, double, float>(any_shape(random_, 0));
        check<std::uint16_t, std::uint8_t, float, double>(any_shape(random_, 0));
        check<std::uint8_t, std::uint8_t, std::uint8_t, double>(any_shape(random_, 1));
        check<float, float, double, std::uint32_t>(any_shape(random_, 1));
        check<float, float, float, std::uint32_t>(any_shape(random_, 1));
        check<std::uint8_t, std::uint8_t, float, double>(any_shape(random_, 3));
        check<std::uint8_t, float, double, double>(any_shape(random_, 2));
        check<double, std::uint16_t, double, double>(any_shape(random_, 4));
        if (HasFatalFailure()) return;
    }
}

/// Memory that kernels read several pixels of at once.
TEST_F(device_sampled_guided_filter, of_plain_memory_is_its_definition) {
    for (int i = 0; i < 4; ++i) {
        check<std::uint8_t, std::uint8_t, std::uint8_t, std::uint32_t>({24, 160, 1, 1, 0, 5, 400}, lying::row_major);
        check<float, float, float, float>({20, 96, 1, 2, 1, window_radius(3, 2), 0.5}, lying::row_major);
        check<float, std::uint8_t, float, float>({9, 64, 1, 1, 3, 3}, lying::row_major);
        if (HasFatalFailure()) return;
    }
}

/// Windows of more rows than a batch has bands, wider than blocks, and several times beyond the image.
TEST_F(device_sampled_guided_filter, of_large_windows_is_its_definition) {
    for (int i = 0; i < 3; ++i) {
        check<float, float, float, double>({90, 20, 1, 1, 1, window_radius(40, 2)});
        check<std::uint8_t, std::uint8_t, float, std::uint32_t>({2, 900, 1, 1, 0, window_radius(1, 450)});
        check<std::uint8_t, std::uint8_t, float, std::uint32_t>({2, 1200, 1, 1, 0, window_radius(1, 509)});
        check<std::uint8_t, float, float, double>({6, 5, 2, 1, 1, window_extents{19, 0, 23, 4}});
        check<float, float, double, double>({6, 5, 1, 1, 2, window_extents{17, 2, 3, 21}});
        if (HasFatalFailure()) return;
    }
}

/// A count is one of all pixels where none is taken out, and results have the bits of those without.
TEST_F(device_sampled_guided_filter, counts_where_all_count) {
    constexpr std::int64_t rows = 21, cols = 70, channels = 2;
    const auto x = test::random_pixels<std::uint8_t>(rows * cols * channels, 3, 0, 1);
    const image_view<const std::uint8_t> image(x.data(), rows, cols, 0, channels);
    for (const border_mode border : {border_mode::shrink, border_mode::mirror}) {
        const filter_options how{.window = window_extents{3, 1, 2, 40}, .border = border};
        std::vector<float> plain(x.size()), counted(x.size());
        std::vector<std::uint32_t> count(x.size()), wanted(x.size());
        std::vector<std::uint8_t> means(x.size());
        const auto result = [&](std::vector<float>& to) {
            return image_view<float>(to.data(), rows, cols, 0, channels);
        };
        const auto counts = [&](std::vector<std::uint32_t>& to) {
            return image_view<std::uint32_t>(to.data(), rows, cols, 0, channels);
        };
        cuda::guided_filter({.image = image}, {result(plain)}, stream(), {}, how);
        cuda::guided_filter({.image = image}, {result(counted), counts(count)}, stream(), {}, how);
        box_filter({.image = image}, {image_view<std::uint8_t>(means.data(), rows, cols, 0, channels), counts(wanted)},
                   how);
        EXPECT_EQ(plain, counted);
        EXPECT_EQ(count, wanted);
    }
}

/// What sums of many pixels are rounded by would show in fits of few: here of two pixels of one guide, in one column of
/// windows behind many others.
TEST_F(device_sampled_guided_filter, of_few_pixels_is_its_definition) {
    for (const std::int64_t guides : {0, 1}) {
        const shape s{20, 560, 1, 1, guides, window_extents{19, 19, 60, 60}, 0.02};
        sampled_pixels<float> from(s.rows, s.cols, 1, 1, {.masked = true}, random_, lying::row_major);
        block<float> guide(s.rows, s.cols, 1, 1, lying::row_major, random_);
        const auto any = [this] { return static_cast<float>(random_() % 0xffffff) * 0x1p-16f; };
        const auto lone = [](std::int64_t r, std::int64_t c) { return r == 7 && (c == 215 || c == 335); };
        from.image.for_each([&](auto, auto, auto, auto, float& x) { x = 64 + any() / 2; });
        guide.for_each([&](auto, std::int64_t r, std::int64_t c, auto, float& x) {
            x = lone(r, c) ? 99.9f : c < 210 ? any() : 1e5f;
        });
        from.mask.for_each(
            [&](auto, std::int64_t r, std::int64_t c, auto, std::uint8_t& m) { m = c < 210 || lone(r, c) ? 1 : 0; });
        block<float> result(s.rows, s.cols, 1, 1, lying::row_major, random_);
        block<std::uint32_t> count(s.rows, s.cols, 1, 1, lying::row_major, random_);
        const device_block<float> image(from.image, stream()), by(guide, stream()), to(result, stream());
        const device_block<std::uint8_t> mask(from.mask, stream());
        const device_block<std::uint32_t> number(count, stream());
        const filter_options how{.window = s.window, .min_count = 2};
        cuda::guided_filter({.image = image.view(),
                             .guide = guides > 0 ? const_any_view(by.view()) : const_any_view{},
                             .mask = mask.view()},
                            {.result = to.view(), .count = number.view()}, stream(), {.epsilon = s.epsilon}, how);
        to.download();
        number.download();
        compare<float, float, float, std::uint32_t>(s, from, guide, how, result, count, true, 0, 0);
        if (HasFatalFailure()) return;
    }
}

TEST_F(device_sampled_guided_filter, what_is_not_finite_acts_on_windows_that_hold_it) {
    constexpr std::int64_t rows = 30, cols = 150, size = rows * cols;
    const auto guide = test::random_pixels<float>(size, 4, 0, 1);
    std::vector<std::uint8_t> mask(size, 1);
    for (std::int64_t i = 0; i < size; i += 7) mask[static_cast<std::size_t>(i)] = 0;
    constexpr std::size_t at = 18 * cols + 111, masked = 7 * 300;
    static_assert(at % 7 != 0);
    for (const bool guided : {false, true})
        for (const float wrong :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
            auto image = test::random_pixels<float>(size, 3, 0, 1);
            const auto filtered = [&] {
                std::vector<float> result(size, -1);
                const auto view = [](const auto& x) { return const_any_view(image_view(x.data(), rows, cols)); };
                cuda::guided_filter(
                    {.image = view(image), .guide = guided ? view(guide) : const_any_view{}, .mask = view(mask)},
                    {image_view<float>(result.data(), rows, cols)}, stream(), {}, {.window = 5, .fill = -7});
                return result;
            };
            const auto clean = filtered();
            image[masked] = wrong;
            EXPECT_EQ(filtered(), clean) << wrong;
            image[at] = wrong;
            const auto spoilt = filtered();
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < cols; ++c) {
                    const auto i = static_cast<std::size_t>(r * cols + c);
                    if (std::abs(r - 18) > 4 || std::abs(c - 111) > 4) {  // others may make it then
                        ASSERT_NEAR(clean[i], spoilt[i], 3e-7) << r << ", " << c << ", " << wrong;
                    } else if (!std::isfinite(wrong)) {
                        ASSERT_EQ(std::isnan(spoilt[i]), guided || mask[i] != 0) << r << ", " << c << ", " << wrong;
                    }
                }
        }
}

/// A fit that exists is one however large epsilon is.
TEST_F(device_sampled_guided_filter, of_any_epsilon_is_its_definition) {
    for (const double epsilon : {1e-315, 1e-6, 1e18, 1e200, 1e306}) {
        check<float, float, float, double>({12, 40, 1, 1, 0, 5, epsilon});
        check<std::uint8_t, std::uint8_t, std::uint8_t, double>({12, 40, 1, 1, 1, 5, epsilon});
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace boxsum
