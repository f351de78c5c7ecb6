#include "competitors/opencv_windows.hpp"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace boxsum::bench {
namespace {

cv::Mat mat_of(const void* data, const view_shape& s) {
    const int depth = s.type == dtype::f32 ? CV_32F : s.type == dtype::u16 ? CV_16U : CV_8U;
    return {static_cast<int>(s.rows), static_cast<int>(s.cols), CV_MAKETYPE(depth, 1), const_cast<void*>(data),
            static_cast<std::size_t>(s.row_stride)};
}

cv::Size window_of(std::int64_t radius) {
    const int edge = static_cast<int>(2 * radius + 1);
    return {edge, edge};
}

}  // namespace

void run_opencv_blur(const const_any_view& image, const any_view& result, std::int64_t radius) {
    cv::Mat to = mat_of(result.data, result.shape);
    cv::blur(mat_of(image.data, image.shape), to, window_of(radius), {-1, -1}, cv::BORDER_REFLECT);
}

void run_opencv_threshold(const const_any_view& image, const any_view& result, std::int64_t radius) {
    cv::Mat to = mat_of(result.data, result.shape);
    cv::adaptiveThreshold(mat_of(image.data, image.shape), to, 255, cv::ADAPTIVE_THRESH_MEAN_C, cv::THRESH_BINARY,
                          static_cast<int>(2 * radius + 1), 0);
}

void run_opencv_moments(const const_any_view& image, const any_view& means, const any_view& squares,
                        std::int64_t radius) {
    const cv::Mat from = mat_of(image.data, image.shape);
    cv::Mat to = mat_of(means.data, means.shape), to_squares = mat_of(squares.data, squares.shape);
    cv::boxFilter(from, to, CV_32F, window_of(radius), {-1, -1}, true, cv::BORDER_REFLECT);
    cv::sqrBoxFilter(from, to_squares, CV_32F, window_of(radius), {-1, -1}, true, cv::BORDER_REFLECT);
}

}  // namespace boxsum::bench
