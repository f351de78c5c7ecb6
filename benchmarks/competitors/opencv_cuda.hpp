#pragma once

#include <boxsum/cuda/stream.hpp>

#include <cstdint>

namespace boxsum::bench {

/// Whether OpenCV's module cudaarithm was found when this was built. Debian packages none; a build of OpenCV with CUDA
/// on CMAKE_PREFIX_PATH is found.
bool opencv_cuda_available();

inline constexpr const char* opencv_cuda_absent =
    "OpenCV's CUDA module (opencv_cudaarithm) was not found when this was built";

/// cv::cuda::integral, 8u32s, of a packed n x n image into a packed (n + 1) x (n + 1) table on the device. It takes
/// memory from a pool, so it cannot be captured. Throws unsupported where it was not found.
void opencv_cuda_integral(const void* image, void* table, std::int64_t n, cuda::stream_ref stream);

}  // namespace boxsum::bench
