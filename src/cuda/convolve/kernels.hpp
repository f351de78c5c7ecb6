#pragma once

#include "convolve/job.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cstddef>
#include <vector>

/// The kernels of convolution. Weights lie on the device, in the result's type and in the order that each wants.
namespace boxsum::cuda {

/// An algorithm, chosen for a job: what to put on the device, and how to enqueue it.
struct convolve_algorithm {
    const char* name;
    /// Empty: it can; else why not.
    const char* (*refuses)(const convolution::job&);
    std::vector<double> (*weights)(const convolution::job&);
    void (*enqueue)(const convolution::job&, const void* image, void* result, const void* weights, stream_ref stream);
};

/// A thread a pixel.
extern const convolve_algorithm convolve_direct;
/// The paper's.
extern const convolve_algorithm convolve_ssam;
/// Ours: for small kernels, and for all.
extern const convolve_algorithm convolve_systolic;
extern const convolve_algorithm convolve_tiled;

}  // namespace boxsum::cuda
