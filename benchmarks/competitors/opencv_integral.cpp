#include "competitors/opencv_integral.hpp"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace boxsum::bench {
namespace {

/// OpenCV's depth of an element type; -1 where it has none. 32u stands for 32s: the same bits.
int depth_of(dtype type) {
    switch (type) {
        case dtype::u8:
            return CV_8U;
        case dtype::u16:
            return CV_16U;
        case dtype::s16:
            return CV_16S;
        case dtype::u32:
        case dtype::s32:
            return CV_32S;
        case dtype::f32:
            return CV_32F;
        case dtype::f64:
            return CV_64F;
        default:
            return -1;
    }
}

}  // namespace

bool opencv_has_integral(dtype input, dtype table, std::optional<dtype> squares) {
    const int in = depth_of(input);
    const int out = depth_of(table);
    if (squares && *squares != dtype::u64 && *squares != dtype::f64) return false;
    if (in == CV_8U) return out == CV_32S || out == CV_32F || out == CV_64F;
    if (in == CV_16U || in == CV_16S || in == CV_64F) return out == CV_64F;
    return in == CV_32F && (out == CV_32F || out == CV_64F);
}

void run_opencv_integral(const const_any_view& image, dtype table_type, void* table, std::optional<dtype> squares_type,
                         void* squares) {
    const view_shape& s = image.shape;
    const int channels = static_cast<int>(s.channels);
    const int rows = static_cast<int>(s.rows);
    const int cols = static_cast<int>(s.cols);
    const cv::Mat in(rows, cols, CV_MAKETYPE(depth_of(s.type), channels), const_cast<void*>(image.data),
                     static_cast<std::size_t>(s.row_stride));
    cv::Mat sums(rows + 1, cols + 1, CV_MAKETYPE(depth_of(table_type), channels), table);
    if (!squares_type) {
        cv::integral(in, sums, depth_of(table_type));
        return;
    }
    cv::Mat square_sums(rows + 1, cols + 1, CV_MAKETYPE(CV_64F, channels), squares);
    cv::integral(in, sums, square_sums, depth_of(table_type), CV_64F);
}

std::string opencv_version() {
    cv::setNumThreads(1);
    std::string features;
    for (const int feature : {CV_CPU_AVX512_SKX, CV_CPU_AVX2, CV_CPU_SSE4_2})
        if (cv::checkHardwareSupport(feature)) {
            features = cv::getHardwareFeatureName(feature);
            break;
        }
    return cv::getVersionString() + " (" + features + ")";
}

}  // namespace boxsum::bench
