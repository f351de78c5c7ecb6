#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <string>

/// Two-dimensional convolution with a kernel of weights.
///
///     const double sharpen[] = {0, -1, 0, -1, 5, -1, 0, -1, 0};
///     boxsum::convolve({image, {sharpen, 3, 3}}, {sharp}, {.border = boxsum::border_mode::replicate});
namespace boxsum BOXSUM_EXPORT {

/// How the kernel lies on the image.
enum class kernel_direction : std::uint8_t {
    correlation,  ///< as it stands: what image processing calls a filter (OpenCV's filter2D, SciPy's correlate)
    convolution,  ///< turned by 180 degrees (SciPy's convolve)
};

/// image: 8u, 16u, 16s, 32f or 64f, any planes and channels. Every channel of every plane by itself.
/// kernel: one plane, one channel, 1 x 1 to 64 x 64 weights, finite.
/// Strides may be any (see view_shape). Where pixels of image or result have gaps between them, or lie backwards or
/// across rows, convolve() works on copies without gaps; on devices they lie in the workspace (cuda/convolve.hpp).
struct convolve_inputs {
    const_any_view image;
    image_view<const double> kernel = {};
};

struct convolve_outputs {
    any_view result;
};

struct convolve_options {
    kernel_direction direction = kernel_direction::correlation;
    /// Beyond the image: constant, replicate or reflect; others are invalid_argument. (With shrink, what the weights
    /// add up to would differ.)
    border_mode border = border_mode::constant;
    double border_value = 0;  ///< with border_mode::constant, finite
    int threads = 0;          ///< of the CPU. 0: chosen by size
    /// "auto", or the name of one of algorithms(operation::convolve): "simd" and "reference" on the CPU, "systolic",
    /// "tiled", "ssam" and "direct" on devices (cuda/convolve.hpp).
    std::string algorithm = "auto";
};

/// result(r, c) = sum over i < N, j < M of w(i, j) * image(r + i - h, c + j - v) with the N x M weights w; h = N / 2
/// and v = M / 2, rounded down, as in OpenCV and SciPy. For a convolution w is turned, and h = (N - 1) / 2, v = (M - 1)
/// / 2.
///
/// result: 32f or 64f, the image's planes, rows, cols and channels; 64f for images of 64f. It may not overlap the
/// image. Computed in the result's type, weights rounded to it: within gamma_(N*M + 1) * (sum of |w| * |image|) of the
/// exact one, with gamma_k = k*u / (1 - k*u) and u = 2^-24 or 2^-53, unless it underflows. Weights are added row by
/// row. Where a window holds something that is not finite the result is not finite; other pixels do not notice. The
/// same bits for any number of threads; another instruction set may round products by themselves. Throws
/// invalid_argument (names the argument and its value), unsupported, out_of_memory; nothing is written when an argument
/// is wrong. Working memory a thread: N + 4 rows of cols + M - 1 pixels of the result's type. Thread-safe for distinct
/// results. Source: direct form; on devices Chen, Wahib, Takizawa, Takano, Matsuoka, "A Versatile Software Systolic
/// Execution Model for GPU Memory-Bound Kernels" (SSAM), 2019.
void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options = {});

/// Whether an algorithm of the operation `convolve` convolves images of this type and extents with this kernel, into a
/// result of this type (on the current device). `options.algorithm` is not read. Throws invalid_argument for arguments
/// that are wrong in themselves.
support supports(const algorithm_info& algorithm, const view_shape& image, const image_view<const double>& kernel,
                 dtype result, const convolve_options& options = {});

}  // namespace boxsum
