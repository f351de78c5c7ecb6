#pragma once

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cuda_runtime_api.h>

#include <nppdefs.h>

namespace boxsum::bench {

/// What NPP asks of the current device and the stream.
inline NppStreamContext npp_context(cuda::stream_ref stream) {
    static const NppStreamContext device = [] {
        NppStreamContext context{};
        cudaDeviceProp properties{};
        BOXSUM_CUDA_TRY(cudaGetDevice(&context.nCudaDeviceId));
        BOXSUM_CUDA_TRY(cudaGetDeviceProperties(&properties, context.nCudaDeviceId));
        context.nMultiProcessorCount = properties.multiProcessorCount;
        context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
        context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
        context.nSharedMemPerBlock = properties.sharedMemPerBlock;
        context.nCudaDevAttrComputeCapabilityMajor = properties.major;
        context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
        return context;
    }();
    NppStreamContext context = device;
    context.hStream = stream.get();
    return context;
}

}  // namespace boxsum::bench
