#pragma once

#include <boxsum/convolve.hpp>

#include <cstdint>
#include <vector>

/// Arguments of convolve(), checked once for all backends.
namespace boxsum::convolution {

struct job {
    view_shape image, result;
    int rows = 1, cols = 1;       ///< N and M, of the kernel
    int above = 0, left = 0;      ///< rows and columns of it before the pixel's own
    std::vector<double> weights;  ///< N x M, as they lie on the image
    border_mode border = border_mode::constant;
    double border_value = 0;
};

/// All but the memory of image and result. Throws invalid_argument or unsupported, naming argument and value.
job make_job(const view_shape& image, const image_view<const double>& kernel, const view_shape& result,
             const convolve_options& options);

/// The sample of an axis of `extent` samples that stands at position i of the extended one; -1: the border's value.
constexpr std::int64_t source(std::int64_t i, std::int64_t extent, border_mode border) {
    if (i >= 0 && i < extent) return i;
    if (border == border_mode::replicate) return i < 0 ? 0 : extent - 1;
    if (border != border_mode::reflect) return -1;
    const std::int64_t period = 2 * extent, phase = (i % period + period) % period;
    return phase < extent ? phase : period - 1 - phase;
}

}  // namespace boxsum::convolution
