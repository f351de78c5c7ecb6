#pragma once

#include "cuda/device/layers.cuh"

/// Kernels of sums become kernels of sums of squares by the type of the pixel.
namespace boxsum::cuda {

/// A pixel of which the square is summed.
template <typename Pixel>
struct squared {
    Pixel x;
};

template <typename Sum, typename Pixel>
__device__ inline Sum widen(squared<Pixel> x) {
    const Sum value = widen<Sum>(x.x);
    return value * value;
}

}  // namespace boxsum::cuda
