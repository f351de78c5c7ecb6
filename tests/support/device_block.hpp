#pragma once

#include "cuda/runtime/cuda_try.hpp"
#include "support/strided_block.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace boxsum::test {

/// A host block's memory on the device.
template <typename T>
class device_block {
  public:
    device_block(const block<T>& host, cuda::stream_ref stream)
        : host_(host), memory_(host.bytes().size(), stream), stream_(stream) {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(memory_.data(), host.bytes().data(), host.bytes().size(),
                                        cudaMemcpyHostToDevice, stream.get()));
    }

    image_view<T> view() const {
        return {reinterpret_cast<T*>(static_cast<std::byte*>(memory_.data()) + host_.offset()), host_.view().shape()};
    }

    /// After the host's memory was filled, too: what lies between elements included.
    bool equals_host() const {
        std::vector<std::byte> bytes(host_.bytes().size());
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(bytes.data(), memory_.data(), bytes.size(), cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        return bytes == host_.bytes();
    }

    /// All of the memory becomes the host block's, what lies between elements included.
    void download() const {
        std::byte* const first = reinterpret_cast<std::byte*>(host_.view().data()) - host_.offset();
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(first, memory_.data(), memory_.size(), cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
    }

  private:
    const block<T>& host_;
    cuda::device_buffer memory_;
    cuda::stream_ref stream_;
};

}  // namespace boxsum::test
