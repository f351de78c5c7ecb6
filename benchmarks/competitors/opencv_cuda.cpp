#include "competitors/opencv_cuda.hpp"

#include <boxsum/error.hpp>

#if defined(BOXSUM_BENCH_OPENCV_CUDA)
#include <opencv2/core/cuda.hpp>
#include <opencv2/core/cuda_stream_accessor.hpp>
#include <opencv2/cudaarithm.hpp>

#include <stdexcept>
#endif

namespace boxsum::bench {

#if defined(BOXSUM_BENCH_OPENCV_CUDA)

bool opencv_cuda_available() {
    return true;
}

void opencv_cuda_integral(const void* image, void* table, std::int64_t n, cuda::stream_ref stream) {
    const int side = static_cast<int>(n);
    const cv::cuda::GpuMat in(side, side, CV_8UC1, const_cast<void*>(image), static_cast<std::size_t>(side));
    cv::cuda::GpuMat out(side + 1, side + 1, CV_32SC1, table, static_cast<std::size_t>(side + 1) * 4);
    cv::cuda::Stream queue = cv::cuda::StreamAccessor::wrapStream(stream.get());
    cv::cuda::integral(in, out, queue);
    if (out.data != table) throw std::runtime_error("cv::cuda::integral wrote to memory of its own");
}

#else

bool opencv_cuda_available() {
    return false;
}

void opencv_cuda_integral(const void*, void*, std::int64_t, cuda::stream_ref) {
    throw unsupported(opencv_cuda_absent);
}

#endif

}  // namespace boxsum::bench
