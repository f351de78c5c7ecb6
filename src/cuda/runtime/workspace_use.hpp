#pragma once

#include "core/algorithm_record.hpp"

#include <boxsum/cuda/workspace.hpp>

#include <cstddef>

namespace boxsum::cuda {

/// One call's use of a workspace: looks at it, and keeps other threads out until it goes.
class workspace_use {
  public:
    /// Throws invalid_argument unless the workspace has `needed` bytes on `device` and is on `stream`.
    workspace_use(workspace& memory, std::size_t needed, int device, stream_ref stream);
    workspace_use(const workspace_use&) = delete;
    workspace_use& operator=(const workspace_use&) = delete;
    ~workspace_use();

    /// All of it, header and all.
    void* data() const noexcept;
    std::size_t bytes() const noexcept;

    /// The stream and the memory behind the header, up to the first `bytes` of all, as records take it.
    execution execution_of(const parameter_values& parameters, std::size_t bytes) const;
    execution execution_of(const parameter_values& parameters) const { return execution_of(parameters, bytes()); }

  private:
    workspace::state& state_;
};

/// Moves a workspace in which nothing is under way to another stream of its device, which need not wait.
void hand_over_idle(workspace& memory, stream_ref stream) noexcept;

}  // namespace boxsum::cuda
