// Images filtered in parts with a halo: every filter gives the bits of the whole image.

#include "filters/oracle.hpp"

#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace boxsum::in_parts {
namespace {

using oracle::picture;

constexpr border_mode borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                   border_mode::constant, border_mode::mirror};

const std::vector<window>& windows() {
    static const std::vector<window> list = {window_radius(0),
                                             window_radius(3),
                                             window_radius(1, 70),
                                             window_size(4),
                                             window_radius(9, 2),
                                             window_extents{.above = 6},
                                             window_extents{.above = 2, .below = 11, .left = 40, .right = 3}};
    return list;
}

/// Heights of strips: 1, 7, the window's reach and one more.
std::set<std::int64_t> heights(const window& w) {
    const std::int64_t reach = std::max(w.above, w.below);
    return {1, 7, std::max<std::int64_t>(reach, 1), reach + 1};
}

template <typename View>
View rows_of(const View& v, std::int64_t first, std::int64_t end) {
    return View(v.row(first), end - first, v.cols(), v.row_stride(), v.channels(), v.planes(), v.plane_stride());
}

/// Calls run(inputs, first, end) for strips of `height` rows of results, each given with what its windows take.
template <typename T, typename Run>
void in_strips(const image_view<T>& image, const filter_options& options, std::int64_t height, Run&& run) {
    const window& w = options.window;
    for (std::int64_t first = 0; first < image.rows(); first += height) {
        const std::int64_t end = std::min(image.rows(), first + height);
        // A mirrored border is seen by windows that begin above it: more rows than the halo where it is higher above
        // than below. Those then have results, too, which are dropped.
        std::int64_t from = std::max<std::int64_t>(0, first - w.above), to = std::min(image.rows(), end + w.below);
        if (options.border == border_mode::reflect || options.border == border_mode::mirror) {
            const std::int64_t high = w.above + w.below + (options.border == border_mode::mirror ? 1 : 0);
            if (from == 0) to = std::max(to, std::min(image.rows(), high));
            if (to == image.rows()) from = std::min(from, std::max<std::int64_t>(0, to - high));
        }
        const std::int64_t from_result = from == 0 ? 0 : from + w.above;
        const std::int64_t to_result = to == image.rows() ? to : to - w.below;
        ASSERT_LE(from_result, first);
        ASSERT_GE(to_result, end);
        run(filter_inputs{rows_of(image, from, to), {from, 0}, {image.rows(), image.cols()}}, from_result, to_result);
    }
}

template <typename Out>
std::string rows_differ(const image_view<Out>& strip, const picture<Out>& whole, std::int64_t first) {
    return oracle::first_difference(strip, [&](std::int64_t r, auto... at) { return whole.view()(r + first, at...); });
}

template <typename T>
class parts : public testing::Test {};
using all_types = testing::Types<std::uint8_t, std::uint16_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(parts, all_types);

TYPED_TEST(parts, have_the_bits_of_the_whole) {
    using T = TypeParam;
    for (const std::int64_t channels : {1, 3}) {
        picture<T> image(2, 41, 37, channels, 3);
        oracle::fill_random(image, 5);
        if constexpr (std::is_floating_point_v<T>) image.view()(17, 8) = std::numeric_limits<T>::infinity();
        for (const border_mode& border : borders)
            for (const window& w : windows()) {
                // Addresses: one number of channels for each border and window, both for each of them.
                const auto turn = (&border - borders) + (&w - windows().data());
                if (oracle::sanitized && (turn % 2 == 0) == (channels == 1)) continue;
                const filter_options options{
                    .window = w, .border = border, .border_value = border == border_mode::constant ? 3.0 : 0.0};
                picture<T> mean(2, 41, 37, channels);
                picture<double> mean_beside(2, 41, 37, channels), variance(2, 41, 37, channels);
                picture<std::uint8_t> bradley(2, 41, 37, channels), sauvola(2, 41, 37, channels);
                picture<float> contrast(2, 41, 37, channels);
                box_filter({image.view()}, {mean.view()}, options);
                local_statistics({image.view()}, {.mean = mean_beside.view(), .variance = variance.view()}, options);
                adaptive_threshold({image.view()}, {bradley.view()}, {.method = threshold_method::bradley}, options);
                adaptive_threshold({image.view()}, {sauvola.view()}, {}, options);
                local_contrast({image.view()}, {contrast.view()}, {}, options);
                for (const std::int64_t height : heights(w)) {
                    SCOPED_TRACE(std::string(name_of(border)) + ", window " + std::to_string(w.above) + "," +
                                 std::to_string(w.below) + "," + std::to_string(w.left) + "," +
                                 std::to_string(w.right) + ", strips of " + std::to_string(height));
                    in_strips(image.view(), options, height,
                              [&](const filter_inputs& in, std::int64_t first, std::int64_t end) {
                                  const std::int64_t rows = end - first;
                                  picture<T> part(2, rows, 37, channels, 1);
                                  box_filter(in, {part.view()}, options);
                                  EXPECT_EQ(rows_differ(part.view(), mean, first), "");
                                  picture<double> m(2, rows, 37, channels), v(2, rows, 37, channels, 2);
                                  local_statistics(in, {.mean = m.view(), .variance = v.view()}, options);
                                  EXPECT_EQ(rows_differ(m.view(), mean_beside, first), "");
                                  EXPECT_EQ(rows_differ(v.view(), variance, first), "");
                                  picture<std::uint8_t> t(2, rows, 37, channels);
                                  adaptive_threshold(in, {t.view()}, {.method = threshold_method::bradley}, options);
                                  EXPECT_EQ(rows_differ(t.view(), bradley, first), "");
                                  adaptive_threshold(in, {t.view()}, {}, options);
                                  EXPECT_EQ(rows_differ(t.view(), sauvola, first), "");
                                  picture<float> n(2, rows, 37, channels);
                                  local_contrast(in, {n.view()}, {}, options);
                                  EXPECT_EQ(rows_differ(n.view(), contrast, first), "");
                                  ASSERT_TRUE(part.guards_intact() && v.guards_intact());
                              });
                    ASSERT_FALSE(testing::Test::HasFailure());
                }
            }
    }
}

/// Radii of a map: sums of integers are exact whatever table they come from.
TYPED_TEST(parts, of_integers_have_the_bits_of_the_whole_with_a_radius_per_pixel) {
    using T = TypeParam;
    constexpr std::int64_t largest = 5;
    picture<T> image(2, 41, 37, 2, 3);
    oracle::fill_random(image, 6);
    picture<std::uint8_t> radius(1, 41, 37, 1);
    radius.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return (r * 3 + c) % (largest + 1); });
    for (const border_mode border : borders) {
        filter_options options{.border = border};
        picture<T> whole(2, 41, 37, 2);
        variable_box_filter({image.view(), radius.view()}, {whole.view()}, options);
        filter_options strips = options;
        strips.window = window_radius(largest);
        for (const std::int64_t height : {1, 7, 5, 6}) {
            in_strips(image.view(), strips, height, [&](const filter_inputs& in, std::int64_t first, std::int64_t end) {
                picture<T> part(2, end - first, 37, 2, 1);
                variable_box_filter({in.image, rows_of(radius.view(), first, end), largest, in.at, in.whole},
                                    {part.view()}, options);
                EXPECT_EQ(oracle::first_difference(
                              part.view(), [&](std::int64_t r, auto... at) { return whole.view()(r + first, at...); },
                              [](auto a, auto b) {
                                  return std::is_integral_v<T> ? a == b : std::abs(static_cast<double>(a - b)) < 1e-4;
                              }),
                          "")
                    << name_of(border) << ", strips of " << height;
            });
        }
    }
}

/// What a part lacks is what it is refused for: without the border's own rows a strip is another image.
TEST(parts_of_floats, need_their_place) {
    picture<double> image(1, 41, 37, 1);
    oracle::fill_random(image, 7);
    const filter_options options{.window = 9};
    picture<double> whole(1, 41, 37, 1), part(1, 17, 37, 1), with_place(1, 9, 37, 1);
    box_filter({image.view()}, {whole.view()}, options);
    box_filter({rows_of(image.view(), 10, 27)}, {part.view()}, options);
    box_filter({rows_of(image.view(), 10, 27), {10, 0}, {41, 37}}, {with_place.view()}, options);
    EXPECT_EQ(rows_differ(with_place.view(), whole, 14), "");
    EXPECT_NE(rows_differ(rows_of(part.view(), 4, 13), whole, 14), "")
        << "blocks that begin elsewhere round as these do";
}

}  // namespace
}  // namespace boxsum::in_parts
