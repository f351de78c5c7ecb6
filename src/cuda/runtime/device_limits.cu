#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device_limits.hpp"

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace boxsum::cuda {
namespace {

/// Stands for all kernels: they are compiled for the same architectures, but that 90a may stand for 90.
__global__ void any_kernel() {}

/// Asked once for each device: it takes as long as a launch.
bool has_code_for_9_0(int device) {
    static std::array<std::atomic<std::int8_t>, 64> answers{};  // 0 before somebody asked
    const auto ask = [] {
        cudaFuncAttributes code{};
        if (cudaFuncGetAttributes(&code, any_kernel) != cudaSuccess)
            (void)cudaGetLastError();  // no code for this device: launches will say so
        return code.ptxVersion >= 90;
    };
    if (device >= static_cast<int>(answers.size())) return ask();
    std::atomic<std::int8_t>& answer = answers[static_cast<std::size_t>(device)];
    if (const int known = answer.load(std::memory_order_relaxed); known != 0) return known > 0;
    const bool has = ask();
    answer.store(has ? 1 : -1, std::memory_order_relaxed);
    return has;
}

}  // namespace

device_limits limits_of_device() {
    int device = 0, multiprocessors = 0, major = 0;
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    return {multiprocessors, major >= 9 && has_code_for_9_0(device)};
}

}  // namespace boxsum::cuda
