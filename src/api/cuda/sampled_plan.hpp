#pragma once

#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/workspace.hpp>

#include <cstddef>
#include <optional>

namespace boxsum::cuda {

/// sat_async() of a call with pixels that may not count: images of those that do, in the workspace, and tables of them.
class sampled_call {
  public:
    /// Throws what cuda::sat_async() promises.
    sampled_call(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options, int device);

    std::size_t workspace_bytes() const noexcept;

    void run_async(workspace& memory, stream_ref stream);

  private:
    struct image_in_workspace {
        any_view view;
        std::size_t at = 0;
    };

    /// An image of the call's extents, whose memory is where a run has its workspace.
    image_in_workspace reserve(dtype type);

    const sat_inputs& inputs_;
    const sat_outputs& outputs_;
    int device_;
    std::size_t work_bytes_ = 0;
    std::optional<image_in_workspace> pixels_, counts_, squares_, weights_;
    std::optional<sat_plan> sums_plan_, squares_plan_, counts_plan_;
};

}  // namespace boxsum::cuda
