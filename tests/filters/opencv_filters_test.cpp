// Cross-check with OpenCV, an oracle that shares no line with this project. Built where OpenCV is.
#include "filters/oracle.hpp"

#include <boxsum/filters.hpp>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <cmath>
#include <cstdint>

namespace boxsum {
namespace {

using oracle::picture;

template <typename T>
cv::Mat mat_of(const image_view<T>& v) {
    return {static_cast<int>(v.rows()), static_cast<int>(v.cols()),
            CV_MAKETYPE(cv::DataType<T>::depth, static_cast<int>(v.channels())), v.data(),
            static_cast<std::size_t>(v.row_stride())};
}

int opencv_border(border_mode border) {
    return border == border_mode::reflect     ? cv::BORDER_REFLECT
           : border == border_mode::replicate ? cv::BORDER_REPLICATE
                                              : cv::BORDER_CONSTANT;
}

template <typename T>
class opencv_filters : public testing::Test {};
using types = testing::Types<std::uint8_t, std::uint16_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(opencv_filters, types);

TYPED_TEST(opencv_filters, box_filter_agrees) {
    using T = TypeParam;
    const double tolerance = std::is_integral_v<T> ? 1e-9 : 1e-12;
    for (const std::int64_t channels : {1, 3, 4})
        for (const window_radius r : {window_radius(1), {3, 0}, {5, 9}, {20, 31}})
            // OpenCV reflects at most once, so windows stay within the image here.
            for (const border_mode border : {border_mode::reflect, border_mode::replicate, border_mode::constant}) {
                picture<T> image(1, 47, 66, channels, 2);
                oracle::fill_random(image, 21);
                picture<double> ours(1, 47, 66, channels), theirs(1, 47, 66, channels);
                box_filter({image.view()}, {ours.view()}, {.window = r, .border = border});
                cv::Mat result = mat_of(theirs.view());
                cv::boxFilter(mat_of(image.view()), result, CV_64F,
                              {static_cast<int>(2 * r.cols + 1), static_cast<int>(2 * r.rows + 1)}, {-1, -1}, true,
                              opencv_border(border));
                ASSERT_EQ(static_cast<void*>(result.data), static_cast<void*>(theirs.view().data()));
                EXPECT_EQ(oracle::first_difference(
                              ours.view(), [&](auto... at) { return theirs.view()(at...); },
                              [&](double a, double b) { return std::abs(a - b) <= tolerance * (1 + std::abs(a)); }),
                          "")
                    << channels << " channels, radius " << r.rows << ", " << r.cols << ' ' << name_of(border);
            }
}

/// No ties with odd windows: the nearest integer is the nearest integer.
TEST(opencv_integer_filters, blur_of_bytes_agrees) {
    for (const std::int64_t r : {1, 2, 7, 20}) {
        picture<std::uint8_t> image(1, 83, 101, 3), ours(1, 83, 101, 3), theirs(1, 83, 101, 3);
        oracle::fill_random(image, 4);
        box_filter({image.view()}, {ours.view()}, {.window = window_radius(r), .border = border_mode::reflect});
        cv::Mat result = mat_of(theirs.view());
        const int size = static_cast<int>(2 * r + 1);
        cv::blur(mat_of(image.view()), result, {size, size}, {-1, -1}, cv::BORDER_REFLECT);
        EXPECT_EQ(oracle::first_difference(ours.view(), [&](auto... at) { return theirs.view()(at...); }), "") << r;
    }
}

TEST(opencv_integer_filters, variance_agrees_with_sqr_box_filter) {
    picture<std::uint8_t> image(1, 64, 71, 1);
    oracle::fill_random(image, 6);
    picture<double> variance(1, 64, 71, 1), mean(1, 64, 71, 1), square(1, 64, 71, 1);
    local_statistics({image.view()}, {.variance = variance.view()},
                     {.window = {9, 13}, .border = border_mode::reflect});
    cv::Mat m = mat_of(mean.view()), q = mat_of(square.view());
    cv::boxFilter(mat_of(image.view()), m, CV_64F, {13, 9}, {-1, -1}, true, cv::BORDER_REFLECT);
    cv::sqrBoxFilter(mat_of(image.view()), q, CV_64F, {13, 9}, {-1, -1}, true, cv::BORDER_REFLECT);
    EXPECT_EQ(
        oracle::first_difference(
            variance.view(), [&](auto... at) { return square.view()(at...) - mean.view()(at...) * mean.view()(at...); },
            [](double a, double b) { return std::abs(a - b) <= 1e-8 * (1 + a); }),
        "");
}

}  // namespace
}  // namespace boxsum
