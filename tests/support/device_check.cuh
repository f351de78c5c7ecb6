#pragma once

#include "cuda/runtime/launch.cuh"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>

#include <vector>

/// For tests of the kernels' vocabulary: run a kernel on values, fetch what it left.
namespace boxsum::test {

class gpu_kernel_test : public gpu_stream_test {
  protected:
    /// Device memory with these values.
    template <typename T>
    cuda::device_buffer upload(const std::vector<T>& values) const {
        cuda::device_buffer memory(values.size() * sizeof(T), stream());
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(memory.data(), values.data(), memory.size(), cudaMemcpyHostToDevice, stream().get()));
        return memory;
    }

    template <typename T>
    std::vector<T> download(const cuda::device_buffer& memory) const {
        std::vector<T> values(memory.size() / sizeof(T));
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(values.data(), memory.data(), memory.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        return values;
    }

    template <typename T>
    static T* as(const cuda::device_buffer& memory) {
        return static_cast<T*>(memory.data());
    }
};

}  // namespace boxsum::test
