#pragma once

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cstdint>
#include <utility>

namespace boxsum::cuda {

/// Whether an event takes the time when it happens.
enum class timing : std::uint8_t { on, off };

/// An owned event of the current device.
class event {
  public:
    explicit event(timing time = timing::on) {
        BOXSUM_CUDA_TRY(cudaEventCreateWithFlags(&handle_, time == timing::on ? 0U : cudaEventDisableTiming));
    }
    event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    event& operator=(event&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    event(const event&) = delete;  // two owners
    event& operator=(const event&) = delete;
    ~event() {
        if (handle_ != nullptr) (void)cudaEventDestroy(handle_);
    }

    /// Happens when the work enqueued so far is done.
    void record(stream_ref stream) { BOXSUM_CUDA_TRY(cudaEventRecord(handle_, stream.get())); }

    /// Work enqueued on `stream` from here on comes behind the event as last recorded.
    void precede(stream_ref stream) const { BOXSUM_CUDA_TRY(cudaStreamWaitEvent(stream.get(), handle_, 0)); }

    /// Waits for it. Throws cuda_error for what failed on the way.
    void synchronize() const { BOXSUM_CUDA_TRY(cudaEventSynchronize(handle_)); }

    /// Both take the time, and must have happened.
    double seconds_since(const event& earlier) const {
        float milliseconds = 0;
        BOXSUM_CUDA_TRY(cudaEventElapsedTime(&milliseconds, earlier.handle_, handle_));
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    cudaEvent_t handle_ = nullptr;
};

}  // namespace boxsum::cuda
