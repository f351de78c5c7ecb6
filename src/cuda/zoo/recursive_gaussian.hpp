#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstddef>

/// The exhibit recursive_gaussian.cu, which is no table: tests and benchmarks call it by itself.
namespace boxsum::cuda {

/// Of the workspace for images of this shape, 32f or 64f.
std::size_t recursive_gaussian_bytes(const view_shape& image);

/// Enqueues a recursive Gaussian of `sigma` pixels, 1 to 100, of all channels and planes; beyond the image are zeros.
/// Image and result are 32f or 64f, both the same, of the same extents, in device memory, and plain (rows in the order
/// of addresses); they may be one. Arguments are checked, memory is not. Throws unsupported where exhibits are not
/// built.
void enqueue_recursive_gaussian(const const_any_view& image, const any_view& result, double sigma, void* workspace,
                                stream_ref stream);

}  // namespace boxsum::cuda
