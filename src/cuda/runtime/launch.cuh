#pragma once

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace boxsum::cuda {

/// How a kernel is launched, as a plain aggregate: `{.grid = tiles, .block = 256}`.
struct launch_shape {
    dim3 grid = 1;
    dim3 block = 1;
    std::size_t shared_bytes = 0;  ///< dynamic; above 48 KiB the kernel's limit is raised first
    unsigned int cluster = 1;      ///< blocks of a cluster along x
    /// Programmatic dependent launch, where device_limits::launches_overlap(): the kernel may start before its
    /// predecessor on the stream has ended, and waits for its results (device/dependent_launch.cuh).
    bool overlaps_predecessor = false;
};

/// Lets a kernel have so much dynamic shared memory on the current device. Static shared memory counts, too, in the
/// 48 KiB that need no permission, so a kernel that has both asks for it whatever `bytes` is.
template <typename... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), int bytes) {
    BOXSUM_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// As launch(), for a kernel that allow_shared_bytes() knows.
template <typename... Parameters, typename... Arguments>
void launch_allowed(void (*kernel)(Parameters...), const launch_shape& shape, stream_ref stream,
                    Arguments&&... arguments) {
    cudaLaunchAttribute attributes[2]{};
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream.get();
    config.attrs = attributes;
    if (shape.cluster > 1) {
        cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = shape.cluster;
        attribute.val.clusterDim.y = 1;
        attribute.val.clusterDim.z = 1;
    }
    if (shape.overlaps_predecessor) {
        cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    BOXSUM_CUDA_TRY(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

/// Launches and checks, so that no call site can forget to: throws cuda_error where the launch is refused (a grid or
/// shared memory that the device does not allow, a kernel that was not compiled for it). Errors of the kernel itself
/// surface at the next checked call after it ran.
///
///     launch(scan_rows<u8, u32>, {.grid = blocks, .block = 256}, how.stream, image, table, rows, cols);
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const launch_shape& shape, stream_ref stream, Arguments&&... arguments) {
    if (shape.shared_bytes > 48 * 1024) allow_shared_bytes(kernel, static_cast<int>(shape.shared_bytes));
    launch_allowed(kernel, shape, stream, std::forward<Arguments>(arguments)...);
}

}  // namespace boxsum::cuda
