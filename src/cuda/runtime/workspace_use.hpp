#pragma once

#include "core/algorithm_record.hpp"

#include <boxsum/cuda/workspace.hpp>

#include <cstddef>

namespace boxsum::cuda {

inline constexpr std::size_t all_of_workspace = ~std::size_t{0};

/// One call's use of a workspace: looks at it, and keeps other threads out until it goes. Where an exception ends it,
/// all of the memory is zeroed behind what was enqueued, as after reserve(): the rest of the call, which would have
/// left the memory as other calls want it, does not come.
///
/// A call finds `clean` bytes from the start as calls leave them to each other: zero, or words with tags. What one has
/// left to leave() is zeroed for the first that wants so much, and from then on behind each.
class workspace_use {
  public:
    /// Throws invalid_argument unless the workspace has `needed` bytes on `device` and is on `stream`.
    workspace_use(workspace& memory, std::size_t needed, int device, stream_ref stream)
        : workspace_use(memory, needed, device, stream, needed) {}
    workspace_use(workspace& memory, std::size_t needed, int device, stream_ref stream, std::size_t clean);
    workspace_use(const workspace_use&) = delete;
    workspace_use& operator=(const workspace_use&) = delete;
    ~workspace_use();

    /// All of it, header and all.
    void* data() const noexcept;
    std::size_t bytes() const noexcept;

    /// Has so many bytes clean for what the call enqueues from now on.
    void want_clean(std::size_t clean) const;

    /// Behind a call that has left anything from byte `first` on: zeroes of it what a call has wanted clean; all while
    /// the stream is captured, since replays are not seen here.
    void leave(std::size_t first) const;

    /// The stream and the memory behind the header, up to the first `bytes` of all, as records take it.
    execution execution_of(const parameter_values& parameters, std::size_t bytes) const;
    execution execution_of(const parameter_values& parameters) const { return execution_of(parameters, bytes()); }

  private:
    void zero(std::size_t first, std::size_t end) const;

    workspace::state& state_;
    int exceptions_;
};

/// The last bytes of a workspace, from a multiple of 256 on, as scratch of a call, which may find anything there. At
/// the end, so that a record which zeroes all it has where its epochs end has all before it.
class workspace_end {
  public:
    /// `needed`: as workspace_use has it, at least `bytes`.
    workspace_end(workspace& memory, std::size_t needed, std::size_t bytes, int device, stream_ref stream);

    std::byte* data() const noexcept { return static_cast<std::byte*>(use_.data()) + before_; }
    const workspace_use& use() const noexcept { return use_; }
    std::size_t bytes_before() const noexcept { return before_; }

    /// Behind the call: other plans tag words there, and take any others for theirs. Where nothing is before it, that
    /// is the header, too: a fresh workspace.
    void leave() const { use_.leave(before_); }

  private:
    workspace_use use_;
    std::size_t before_;
};

/// Moves a workspace in which nothing is under way to another stream of its device, which need not wait.
void hand_over_idle(workspace& memory, stream_ref stream) noexcept;

}  // namespace boxsum::cuda
