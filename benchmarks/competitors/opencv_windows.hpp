#pragma once

#include <boxsum/view.hpp>

#include <cstdint>

/// OpenCV's filters of windows of 2 r + 1 by 2 r + 1 on one thread, on images of one channel.
namespace boxsum::bench {

/// cv::blur, the border mirrored; both of the same type, 8u, 16u or 32f.
void run_opencv_blur(const const_any_view& image, const any_view& result, std::int64_t radius);

/// cv::adaptiveThreshold by means, of 8u.
void run_opencv_threshold(const const_any_view& image, const any_view& result, std::int64_t radius);

/// cv::boxFilter and cv::sqrBoxFilter: means of pixels and of their squares in 32f. No variance, no root.
void run_opencv_moments(const const_any_view& image, const any_view& means, const any_view& squares,
                        std::int64_t radius);

}  // namespace boxsum::bench
