#pragma once

#include <boxsum/export.hpp>

#include <cstddef>
#include <utility>

struct CUstream_st;

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Non-owning name of a CUDA stream: converts from `cudaStream_t` without needing the toolkit's headers. Cannot be made
/// from 0 or nullptr by accident: the legacy default stream is `stream_ref::legacy_default()`.
class stream_ref {
  public:
    stream_ref(CUstream_st* stream) noexcept : stream_(stream) {}  // NOLINT: a cudaStream_t is a stream_ref
    stream_ref(int) = delete;
    stream_ref(std::nullptr_t) = delete;

    /// The device's legacy default stream (handle 0), which synchronises with all blocking streams.
    static stream_ref legacy_default() noexcept { return {static_cast<CUstream_st*>(nullptr)}; }

    /// The handle, a `cudaStream_t`.
    CUstream_st* get() const noexcept { return stream_; }

    /// Waits for everything enqueued so far. Throws cuda_error for what failed on the way.
    void synchronize() const;

    friend bool operator==(stream_ref, stream_ref) = default;

  private:
    CUstream_st* stream_;
};

/// An owned stream of the device that is current when it is made; does not synchronise with the legacy default stream.
class stream {
  public:
    /// Throws unsupported without a device.
    stream();
    stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    stream& operator=(stream&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    stream(const stream&) = delete;  // two owners of one queue
    stream& operator=(const stream&) = delete;
    ~stream();

    operator stream_ref() const noexcept { return {handle_}; }  // NOLINT
    CUstream_st* get() const noexcept { return handle_; }
    void synchronize() const { stream_ref(handle_).synchronize(); }

  private:
    CUstream_st* handle_ = nullptr;
};

}  // namespace cuda
}  // namespace boxsum
