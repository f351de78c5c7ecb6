#pragma once

// Launches, and what else of the CUDA runtime takes a kernel.

#include "cuda_runtime_api.h"
#include "support/emulation/machine.hpp"
#include "support/emulation/settings.hpp"

#include <tuple>
#include <utility>

enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};
union cudaLaunchAttributeValue {
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned numAttrs = 0;
};

namespace boxsum::emulation {

cudaError_t allow_shared_bytes(const void* kernel, int bytes);

/// Checks what a device would refuse, and that no kernel wrote around an allocation.
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, const kernel_call& call);

}  // namespace boxsum::emulation

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute, int value) {
    return boxsum::emulation::allow_shared_bytes(reinterpret_cast<const void*>(kernel), value);
}

struct cudaFuncAttributes {
    int ptxVersion;  ///< of the code that was compiled, times 10
};
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*)(Parameters...)) {
    *attributes = {10 * boxsum::emulation::configure().code};
    return cudaSuccess;
}

template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(Parameters...), int, std::size_t) {
    *blocks = 1;
    return cudaSuccess;
}

/// Returns when the kernel has ended. Throws boxsum::emulation::failure.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
    struct bound {
        void (*kernel)(Parameters...);
        std::tuple<Parameters...> arguments;
    } const call{kernel, {std::forward<Arguments>(arguments)...}};
    return boxsum::emulation::launch(
        *config, reinterpret_cast<const void*>(kernel),
        {[](const void* state) {
             const auto& now = *static_cast<const bound*>(state);
             std::apply(now.kernel, now.arguments);
         },
         &call});
}

inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
