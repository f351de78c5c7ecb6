#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/types.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Convolutions and box means of others on a device. Of convolutions: 32f images of n x n, packed, with kernels of side
/// x side, of which row side / 2 and column side / 2 lie on the pixel: result(y, x) = sum of kernel(r, c) image(y + r -
/// side / 2, x + c - side / 2).
namespace boxsum::bench {

/// nppiFilter_32f_C1R_Ctx, which leaves the pixels alone whose neighbours are not all in the image. Empty where it can
/// run, else why not.
std::string npp_filter_absent();
/// `kernel` is in device memory, turned by half a circle, as NPP takes it.
void npp_filter(const float* image, const float* kernel, float* result, std::int64_t n, int side,
                cuda::stream_ref stream);

/// nppiFilterBoxBorder_*_C1R_Ctx of 8u, 16u or 32f, windows of 2 radius + 1 pixels a side, the edge's pixels repeated
/// beyond it. It can run where npp_filter can.
void npp_box_mean(dtype type, const void* image, void* result, std::int64_t n, int radius, cuda::stream_ref stream);

/// By FFTs of cuFFT, which is loaded when it is asked for: of the image, times the kernel's, and back. Beyond the image
/// are zeros. The kernel's is made once.
class fft_convolution {
  public:
    /// Throws unsupported where there is no cuFFT.
    fft_convolution(std::int64_t n, int side, const std::vector<double>& kernel, cuda::stream_ref stream);
    ~fft_convolution();
    fft_convolution(const fft_convolution&) = delete;
    fft_convolution& operator=(const fft_convolution&) = delete;

    void run(const float* image, float* result, cuda::stream_ref stream) const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace boxsum::bench
