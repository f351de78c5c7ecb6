#pragma once

#include <cstddef>
#include <cstdint>

namespace boxsum::cuda {

/// Cuts a workspace into arrays. One declaration serves twice, so that size and pointers cannot disagree: on nullptr it
/// only measures.
///
///     template <typename Sum>
///     struct scratch {
///         scratch(workspace_slots& slots, std::int64_t n) : sums(slots.take<Sum>(n)), flags(slots.take<int>(n)) {}
///         Sum* sums;
///         int* flags;
///     };
class workspace_slots {
  public:
    explicit workspace_slots(void* base = nullptr) : base_(static_cast<std::byte*>(base)) {}

    /// `count` elements, aligned to 256 bytes.
    template <typename T>
    T* take(std::int64_t count) {
        T* const slot = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + bytes_);
        bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
        return slot;
    }

    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* base_;
    std::size_t bytes_ = 0;
};

}  // namespace boxsum::cuda
