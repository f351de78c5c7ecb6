#pragma once

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/memory.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace boxsum::test {

/// Hands out memory of the library's pool, and knows what was asked for and what is still out. Outlives whatever is
/// made with its allocator.
class counting_allocator {
  public:
    cuda::allocator get() {
        return {.name = "counting_allocator", .context = this, .allocate = allocate, .deallocate = deallocate};
    }

    std::size_t allocations() const { return allocations_; }
    std::size_t bytes_out() const {
        const std::lock_guard lock(mutex_);
        std::size_t bytes = 0;
        for (const auto& [data, memory] : out_) bytes += memory.size() - extra;
        return bytes;
    }
    std::size_t buffers_out() const {
        const std::lock_guard lock(mutex_);
        return out_.size();
    }
    std::size_t strays() const { return strays_; }  ///< gave back what was not out, or another size
    CUstream_st* last_stream() const { return last_stream_; }

    std::size_t misaligned_by = 0;  ///< of the next allocations
    bool empty = false;             ///< the next ones get nothing
    bool throws = false;
    std::optional<int> filled_with;  ///< every byte of the next ones

  private:
    static constexpr std::size_t extra = 256;

    static void* allocate(void* context, std::size_t bytes, CUstream_st* stream) {
        auto& self = *static_cast<counting_allocator*>(context);
        const std::lock_guard lock(self.mutex_);
        ++self.allocations_;
        self.last_stream_ = stream;
        if (self.throws) throw std::runtime_error("the framework's own error");
        if (self.empty) return nullptr;
        cuda::device_buffer memory(bytes + extra, stream);
        void* const data = static_cast<std::byte*>(memory.data()) + self.misaligned_by;
        if (self.filled_with) BOXSUM_CUDA_TRY(cudaMemsetAsync(data, *self.filled_with, bytes, stream));
        self.out_.emplace(data, std::move(memory));
        return data;
    }

    static void deallocate(void* context, void* data, std::size_t bytes, CUstream_st* stream) noexcept {
        auto& self = *static_cast<counting_allocator*>(context);
        const std::lock_guard lock(self.mutex_);
        self.last_stream_ = stream;
        const auto found = self.out_.find(data);
        if (found == self.out_.end() || found->second.size() != bytes + extra)
            ++self.strays_;
        else
            self.out_.erase(found);
    }

    mutable std::mutex mutex_;
    std::map<void*, cuda::device_buffer> out_;
    std::size_t allocations_ = 0, strays_ = 0;
    CUstream_st* last_stream_ = nullptr;
};

}  // namespace boxsum::test
