#pragma once

#include "cuda/runtime/planned_problem.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/workspace.hpp>

#include <cstddef>
#include <optional>

namespace boxsum::cuda {

/// What a sat_plan has where pixels may not count: images of those that do, in the workspace, and tables of them. The
/// plan itself has the table of sums, which says device and algorithm. Immutable.
class sampled_plan {
  public:
    /// Of shapes that passed check_sampled(); for the device that is current.
    sampled_plan(const sat_shapes& shapes, const sat_options& options);

    /// Of the table of sums, and of squares that come with it.
    const sat_shapes& sums() const noexcept { return sums_; }

    std::size_t workspace_bytes(const planned_problem& sums) const noexcept;
    std::size_t packed_bytes(const planned_problem& sums) const noexcept;

    /// Of views that were checked.
    void run_async(const planned_problem& sums, const sat_inputs& inputs, const sat_outputs& outputs, workspace& memory,
                   stream_ref stream) const;

  private:
    struct image_in_workspace {
        view_shape shape;
        std::size_t at = 0;  ///< bytes behind what the tables have
    };

    /// An image of the call's extents.
    image_in_workspace reserve(dtype type, const view_shape& like);

    /// Bytes for whichever table needs most: they are made one after the other.
    std::size_t table_bytes(const planned_problem& sums) const noexcept;

    std::size_t image_bytes_ = 0;
    nan_mode nan_ = nan_mode::propagate;
    std::optional<double> nodata_;  ///< a value of the image's type
    std::optional<image_in_workspace> pixels_, counts_, squares_, weights_;
    sat_shapes sums_;
    std::optional<sat_plan> squares_plan_, counts_plan_;
};

}  // namespace boxsum::cuda
