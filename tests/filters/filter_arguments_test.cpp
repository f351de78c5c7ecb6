#include "filters/oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace boxsum {
namespace {

using oracle::picture;

/// The message of the E that `call` throws; "" if it does not.
template <typename E, typename F>
std::string message_of(F&& call) {
    try {
        call();
    } catch (const E& e) {
        return e.what();
    }
    return "";
}

class filter_arguments : public testing::Test {
  protected:
    picture<std::uint8_t> image{1, 6, 8, 1}, bytes{1, 6, 8, 1};
    picture<float> f32{1, 6, 8, 1}, f32b{1, 6, 8, 1};
    picture<double> f64{1, 6, 8, 1};

    void SetUp() override {
        oracle::fill_random(image, 1);
        bytes.fill([](auto...) { return 77; });
    }
    void TearDown() override {
        EXPECT_EQ(oracle::first_difference(bytes.view(), [](auto...) { return 77; }), "") << "written after an error";
    }
};

TEST_F(filter_arguments, windows_hold_their_pixel) {
    const auto message = [&](const window& w) {
        return message_of<invalid_argument>([&] { box_filter({image.view()}, {bytes.view()}, {.window = w}); });
    };
    EXPECT_EQ(message({0, 3}), "window: rows is 0, must be at least 1");
    EXPECT_EQ(message({-3, 3}), "window: rows is -3, must be at least 1");
    EXPECT_EQ(message({4, -16}), "window: cols is -16, must be at least 1");
    EXPECT_EQ(message(window_radius(-1, 2)), "window: rows is -1, must be at least 1");
    EXPECT_EQ(message(window_radius(1, -20)), "window: cols is -39, must be at least 1");
    EXPECT_EQ(message(window_extents{.above = -1, .below = 4}), "window: above is -1, must not be negative");
    EXPECT_EQ(message(window_extents{.above = 2, .below = -2}), "window: below is -2, must not be negative");
    EXPECT_EQ(message(window_extents{.left = -3, .right = 9}), "window: left is -3, must not be negative");
    EXPECT_EQ(message(window_extents{.left = 3, .right = -1}), "window: right is -1, must not be negative");
    EXPECT_EQ(
        message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {}, {.window = 0}); }),
        "window: rows is 0, must be at least 1");
    EXPECT_EQ(message_of<invalid_argument>([&] { local_contrast({image.view()}, {f32.view()}, {}, {.window = 0}); }),
              "window: rows is 0, must be at least 1");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  local_statistics({image.view()}, {.mean = bytes.view()}, {.window = {3, 0}});
              }),
              "window: cols is 0, must be at least 1");
}

TEST(window, one_number_is_square) {
    const filter_options size{.window = 31}, even{.window = 4}, radius{.window = window_radius(3)},
        both{.window = {31, 15}}, extents{.window = window_extents{.above = 8, .right = 2}};
    const auto expect = [](const window& w, std::int64_t above, std::int64_t below, std::int64_t left,
                           std::int64_t right) {
        EXPECT_EQ(w.above, above);
        EXPECT_EQ(w.below, below);
        EXPECT_EQ(w.left, left);
        EXPECT_EQ(w.right, right);
    };
    expect(size.window, 15, 15, 15, 15);
    expect(even.window, 2, 1, 2, 1);
    expect(radius.window, 3, 3, 3, 3);
    expect(both.window, 15, 15, 7, 7);
    expect(extents.window, 8, 0, 0, 2);
    expect(filter_options{}.window, 7, 7, 7, 7);
}

TEST_F(filter_arguments, parts_lie_in_their_whole) {
    picture<std::uint8_t> two(1, 2, 8, 1);
    two.fill([](auto...) { return 77; });
    const auto message = [&](origin at, extent whole, const window& w = 3) {
        return message_of<error>([&] { box_filter({image.view(), at, whole}, {two.view()}, {.window = w}); });
    };
    EXPECT_EQ(message({4, 0}, {}), "at: is 4, 0, but whole does not say of what");
    EXPECT_EQ(message({-1, 0}, {20, 8}), "at: row is -1, but the image has 6 of 20 rows");
    EXPECT_EQ(message({15, 0}, {20, 8}), "at: row is 15, but the image has 6 of 20 rows");
    EXPECT_EQ(message({0, 0}, {5, 8}), "at: row is 0, but the image has 6 of 5 rows");
    EXPECT_EQ(message({2, 0}, {20, 9}), "at: col is 0 and the image has 8 of 9 cols, parts must have whole rows");
    EXPECT_EQ(message({2, 1}, {20, 8}), "at: col is 1 and the image has 8 of 8 cols, parts must have whole rows");
    EXPECT_EQ(message({0, 0}, {std::int64_t{1} << 60, 8}), "whole: rows is 1152921504606846976, must be at most 2^46");
    EXPECT_EQ(
        message({4, 0}, {20, 8}),
        "result: planes x rows x cols x channels are 1 x 2 x 8 x 1, must be those of the windows' rows, 1 x 4 x 8 x 1");
    EXPECT_EQ(message({4, 0}, {20, 8}, 7), "image: has rows 4 to 9 of 20, too few for windows of 7 rows");
    EXPECT_EQ(oracle::first_difference(two.view(), [](auto...) { return 77; }), "") << "written after an error";
    EXPECT_EQ(message({4, 0}, {20, 8}, 5), "");  // rows 6 and 7
    EXPECT_EQ(message_of<unsupported>([&] {
                  adaptive_threshold({image.view(), {4, 0}, {20, 8}}, {bytes.view()},
                                     {.method = threshold_method::wolf}, {.window = 1});
              }),
              "method: is wolf, whose extremes are those of the whole image, of which this is a part");
    picture<std::uint8_t> radius(1, 6, 8, 1);
    radius.fill([](auto...) { return 0; });
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({.image = image.view(), .radius = radius.view(), .at = {4, 0}, .whole = {20, 8}},
                                      {bytes.view()});
              }),
              "largest_radius: is not given, but the image is a part, with a halo of as many rows");
}

TEST_F(filter_arguments, huge_windows_are_cut_or_refused) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    picture<std::uint8_t> a(1, 6, 8, 1), b(1, 6, 8, 1);
    box_filter({image.view()}, {a.view()}, {.window = window_radius(most)});
    box_filter({image.view()}, {b.view()}, {.window = window_radius(8)});
    EXPECT_EQ(oracle::first_difference(a.view(), [&](auto... at) { return b.view()(at...); }), "");
    picture<float> c(1, 6, 8, 1), d(1, 6, 8, 1), from(1, 6, 8, 1);
    oracle::fill_random(from, 2);
    box_filter({from.view()}, {c.view()}, {.window = window_radius(most, most / 2)});
    box_filter({from.view()}, {d.view()}, {.window = window_radius(5, 7)});
    EXPECT_EQ(oracle::first_difference(c.view(), [&](auto... at) { return d.view()(at...); }), "");
    for (const border_mode border : {border_mode::reflect, border_mode::replicate, border_mode::constant})
        EXPECT_NE(message_of<unsupported>([&] {
                      box_filter({image.view()}, {bytes.view()}, {.window = window_radius(most, 3), .border = border});
                  }).find("window: is 18446744073709551615 x 7, windows of more than 2^46 pixels"),
                  std::string::npos);
}

TEST_F(filter_arguments, numbers_are_checked) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {.k = nan}); }),
              "k: is nan, must be finite");
    EXPECT_EQ(
        message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {.k = infinity}); }),
        "k: is inf, must be finite");
    EXPECT_EQ(message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {.range = 0}); }),
              "range: is 0, must be finite and above 0");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  adaptive_threshold({image.view()}, {bytes.view()}, {.method = threshold_method::wolf, .range = 128});
              }),
              "range: is 128, but has no meaning for the method wolf");
    EXPECT_EQ(message_of<invalid_argument>([&] { local_contrast({image.view()}, {f32.view()}, {.epsilon = -1}); }),
              "epsilon: is -1, must be finite and above 0");
    EXPECT_EQ(message_of<invalid_argument>([&] { local_contrast({image.view()}, {f32.view()}, {.epsilon = nan}); }),
              "epsilon: is nan, must be finite and above 0");
    EXPECT_EQ(message_of<invalid_argument>([&] { box_filter({image.view()}, {bytes.view()}, {.threads = -2}); }),
              "threads: is -2, must be 0 (automatic) or more");
    for (const double value : {-1.0, 256.0, 0.5, nan})
        EXPECT_NE(message_of<invalid_argument>([&] {
                      box_filter({image.view()}, {bytes.view()},
                                 {.border = border_mode::constant, .border_value = value});
                  }).find("border_value: is "),
                  std::string::npos)
            << value;
    const auto border_of_floats = [](auto zero, double value) {
        picture<decltype(zero)> from{1, 2, 2, 1}, to{1, 2, 2, 1};
        box_filter({from.view()}, {to.view()}, {.border = border_mode::constant, .border_value = value});
    };
    for (const double value : {1e39, -3.5e38})
        EXPECT_NE(message_of<invalid_argument>([&] { border_of_floats(0.0f, value); }).find("image's type 32f"),
                  std::string::npos)
            << value;
    EXPECT_NO_THROW(border_of_floats(0.0f, -double{std::numeric_limits<float>::max()}));
    EXPECT_NO_THROW(border_of_floats(0.0f, std::numeric_limits<double>::infinity()));
    EXPECT_NO_THROW(border_of_floats(0.0, 1e300));
    EXPECT_EQ(message_of<invalid_argument>(
                  [&] { box_filter({image.view()}, {bytes.view()}, {.border = static_cast<border_mode>(9)}); }),
              "border: is 9, not a border_mode");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  adaptive_threshold({image.view()}, {bytes.view()}, {.method = static_cast<threshold_method>(9)});
              }),
              "method: is 9, not a threshold_method");
}

TEST_F(filter_arguments, what_counts_is_checked) {
    picture<std::uint8_t> mask(1, 6, 8, 1), other(1, 6, 9, 1), colours(1, 6, 8, 3);
    picture<std::uint32_t> count(1, 6, 8, 1);
    const auto message = [&](const filter_inputs& inputs, const filter_options& options, const any_view& counts = {}) {
        return message_of<error>([&] { box_filter(inputs, {bytes.view(), counts}, options); });
    };
    const filter_inputs plain{image.view()};
    EXPECT_EQ(message({.image = image.view(), .mask = other.view()}, {}),
              "mask: rows x cols are 6 x 9, must be the image's 6 x 8");
    EXPECT_EQ(message({.image = image.view(), .mask = colours.view()}, {}),
              "mask: channels is 3, must be 1 or the image's 1");
    EXPECT_EQ(message({.image = image.view(), .mask = f32.view()}, {}), "mask: type is 32f, must be 8u");
    EXPECT_EQ(message({.image = image.view(), .weights = mask.view()}, {}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(message({.image = image.view(), .weights = f32.view()}, {}, count.view()),
              "count: type is 32u, must be one of 32f, 64f");
    EXPECT_EQ(message({.image = image.view(), .mask = bytes.view()}, {}), "result: overlaps mask");
    EXPECT_EQ(message(plain, {.nodata = -9999}), "nodata: is -9999, must be an integer of the image's type 8u");
    EXPECT_EQ(message(plain, {.fill = 256}), "fill: is 256, must be an integer of the result's type 8u");
    EXPECT_EQ(message(plain, {.min_count = 0}), "min_count: is 0, must be at least 1");
    EXPECT_EQ(message(plain, {.min_weight = 1}),
              "min_weight: is 1, but without weights min_count says how much must count");
    EXPECT_EQ(message(plain, {.min_weight = -1}), "min_weight: is -1, must be finite and not negative");
    EXPECT_EQ(message({.image = image.view(), .weights = f32.view()}, {.min_count = 2}),
              "min_count: is 2, but with weights min_weight says how much must count");
    EXPECT_EQ(message(plain, {.rounding = static_cast<rounding_mode>(2)}), "rounding: is 2, not a rounding_mode");
    EXPECT_EQ(message(plain, {.nan = static_cast<nan_mode>(2)}), "nan: is 2, not a nan_mode");
    picture<std::int32_t> sum(1, 6, 8, 1);
    EXPECT_EQ(message_of<unsupported>([&] {
                  local_statistics({image.view()}, {.sum = sum.view()}, {.window = 3001, .border = border_mode::wrap});
              }),
              "sum: type is 32s, too small for windows of 9006001 pixels");
    EXPECT_EQ(message_of<unsupported>(
                  [&] { adaptive_threshold({image.view()}, {bytes.view()}, {.output = threshold_output::threshold}); }),
              "result: type is 8u, must be one of 32f, 64f");
    EXPECT_EQ(message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {.p = 2}); }),
              "p: is 2, but has no meaning for the method sauvola");
    EXPECT_EQ(message_of<invalid_argument>([&] { adaptive_threshold({image.view()}, {bytes.view()}, {.q = 1e-9}); }),
              "q: is 1e-09, but has no meaning for the method sauvola");
}

TEST_F(filter_arguments, types_and_shapes_are_checked) {
    picture<std::uint32_t> wide(1, 6, 8, 1);
    picture<std::uint64_t> widest(1, 6, 8, 1);
    EXPECT_EQ(message_of<unsupported>([&] { box_filter({widest.view()}, {f32.view()}); }),
              "image: type is 64u, filters take 8u, 16u, 16s, 32u, 32s, 16f, 32f and 64f");
    EXPECT_EQ(message_of<unsupported>([&] { box_filter({image.view()}, {wide.view()}); }),
              "result: type is 32u, must be one of 8u, 32f, 64f");
    EXPECT_EQ(message_of<unsupported>([&] { adaptive_threshold({image.view()}, {f32.view()}); }),
              "result: type is 32f, must be one of 8u");
    EXPECT_EQ(message_of<unsupported>([&] { local_contrast({image.view()}, {f64.view()}); }),
              "result: type is 64f, must be one of 32f");
    EXPECT_EQ(message_of<unsupported>([&] { local_statistics({image.view()}, {.variance = bytes.view()}); }),
              "variance: type is 8u, must be one of 32f, 64f");
    picture<float> shape(1, 6, 9, 1);
    EXPECT_EQ(message_of<invalid_argument>([&] { box_filter({image.view()}, {shape.view()}); }),
              "result: planes x rows x cols x channels are 1 x 6 x 9 x 1, must be the image's 1 x 6 x 8 x 1");
    EXPECT_EQ(message_of<invalid_argument>([&] { local_statistics({image.view()}, {}); }),
              "outputs: none of mean, variance, deviation, sum and count is given");
    EXPECT_NE(message_of<invalid_argument>([&] {
                  box_filter({image_view<const std::uint8_t>(nullptr, 4, 4)}, {bytes.view()});
              }).find("image: data is null"),
              std::string::npos);
    EXPECT_NE(message_of<invalid_argument>([&] {
                  box_filter({image_view<const std::uint8_t>(image.view().data(), 0, 4)}, {bytes.view()});
              }).find("image: rows is 0"),
              std::string::npos);
    EXPECT_NE(message_of<invalid_argument>([&] {
                  box_filter({image.view()}, {image_view<std::uint8_t>(bytes.view().data(), 6, 8, 4)});
              }).find("result: row_stride is 4"),
              std::string::npos);
    picture<std::uint16_t> words(1, 6, 8, 1);
    EXPECT_EQ(message_of<unsupported>([&] {
                  local_statistics({words.view()}, {.variance = f64.view()},
                                   {.window = 65537, .border = border_mode::reflect});
              }),
              "window: has 4295098369 pixels, variances of 16-bit images are supported up to 2^32");
}

TEST_F(filter_arguments, no_result_overlaps_the_image_or_another) {
    const image_view<std::uint8_t> v = image.view();
    EXPECT_EQ(message_of<invalid_argument>([&] { box_filter({v}, {v}); }), "result: overlaps image");
    EXPECT_EQ(message_of<invalid_argument>([&] { adaptive_threshold({v}, {v}); }), "result: overlaps image");
    EXPECT_EQ(
        message_of<invalid_argument>([&] { local_statistics({v}, {.mean = f32.view(), .deviation = f32.view()}); }),
        "deviation: overlaps mean");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  local_statistics({v}, {.mean = f32.view(), .variance = f32b.view(), .deviation = f32b.view()});
              }),
              "deviation: overlaps variance");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({v, bytes.view()}, {bytes.view()});
              }),
              "result: overlaps radius");
    // Two halves of one buffer do not overlap.
    const image_view<const std::uint8_t> left(v.data(), 6, 4, 8);
    const image_view<std::uint8_t> right(v.data() + 4, 6, 4, 8);
    EXPECT_NO_THROW(box_filter({left}, {right}));
}

TEST_F(filter_arguments, radius_maps_are_checked) {
    picture<std::int32_t> radius(1, 6, 8, 1), other(1, 6, 9, 1), two(2, 6, 8, 1), colour(1, 6, 8, 2);
    radius.fill([](std::int64_t, std::int64_t r, std::int64_t c, std::int64_t) { return r == 4 && c == 3 ? -5 : 1; });
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), radius.view()}, {bytes.view()});
              }),
              "radius: is -5 at plane 0, row 4, col 3, must not be negative");
    radius.view()(4, 3) = 5;
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({.image = image.view(), .radius = radius.view(), .largest_radius = 4},
                                      {bytes.view()});
              }),
              "radius: is 5 at plane 0, row 4, col 3, but largest_radius is 4");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({.image = image.view(), .radius = radius.view(), .largest_radius = -1},
                                      {bytes.view()});
              }),
              "largest_radius: is -1, must not be negative");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), radius.view()}, {bytes.view()}, {.window = 3});
              }),
              "window: is 3 x 3, but has no meaning where every pixel has a radius of its own");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), radius.view()}, {bytes.view()}, {.window = {-3, 15}});
              }),
              "window: rows is -3, must be at least 1");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), other.view()}, {bytes.view()});
              }),
              "radius: rows x cols are 6 x 9, must be the result's 6 x 8");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), two.view()}, {bytes.view()});
              }),
              "radius: planes is 2, must be 1 or the image's 1");
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  variable_box_filter({image.view(), colour.view()}, {bytes.view()});
              }),
              "radius: channels is 2, must be 1");
    EXPECT_EQ(message_of<unsupported>([&] {
                  variable_box_filter({image.view(), f32.view()}, {bytes.view()});
              }),
              "radius: type is 32f, must be one of 8u, 16u, 32u, 32s");
}

TEST(filter_names, read_back) {
    for (const border_mode b : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                border_mode::constant, border_mode::mirror, border_mode::wrap})
        EXPECT_EQ(border_from_name(name_of(b)), b);
    for (const threshold_method m :
         {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola, threshold_method::wolf,
          threshold_method::nick, threshold_method::singh, threshold_method::phansalkar})
        EXPECT_EQ(threshold_from_name(name_of(m)), m);
    EXPECT_FALSE(border_from_name("around"));
    EXPECT_FALSE(threshold_from_name(""));
    EXPECT_EQ(default_k(threshold_method::niblack), -0.2);
    EXPECT_EQ(default_range(dtype::u8), 127.5);
    EXPECT_THROW(default_range(dtype::u64), unsupported);
}

}  // namespace
}  // namespace boxsum
