#pragma once

#include "cuda/runtime/cuda_try.hpp"

namespace boxsum::cuda {

/// A function of the driver, found through the runtime: nothing links the driver, so that everything loads where there
/// is none. `version` is that of CUDA whose form of the function is meant; null where the driver does not have it.
template <typename Function>
Function* driver_function(const char* name, unsigned version) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    BOXSUM_CUDA_TRY(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
    return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(function) : nullptr;
}

}  // namespace boxsum::cuda
