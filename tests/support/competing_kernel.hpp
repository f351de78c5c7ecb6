#pragma once

#include <boxsum/cuda/stream.hpp>

#include <memory>

namespace boxsum::test {

/// A kernel that holds all multiprocessors but a few: its blocks take the whole shared memory of theirs, so that
/// nothing else fits, until they are released. Whatever runs beside it must be loaded and have its memory before: the
/// first launch of a kernel and allocations may wait for all others.
class competing_kernel {
  public:
    /// Returns once all its blocks run. They give up by themselves after `seconds`.
    competing_kernel(int free_multiprocessors, double seconds);
    competing_kernel(const competing_kernel&) = delete;
    competing_kernel& operator=(const competing_kernel&) = delete;
    ~competing_kernel();

    void release();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Whether everything enqueued on the stream is done within so many seconds.
bool finishes_within(cuda::stream_ref stream, double seconds);

}  // namespace boxsum::test
