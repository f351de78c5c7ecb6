#pragma once

#include "cuda/filters/sampled_tables.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "filters/window_job.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace boxsum::cuda {

/// The tables that windows over some rows of a plane are read from, planned: everything but memory. Immutable.
class table_plan {
  public:
    /// Device memory for what windows are read from, in multiples of 256 bytes.
    struct space {
        std::size_t raised = 0;  ///< a copy of 16s pixels
        std::size_t table = 0;
        std::size_t squares = 0;   ///< 0: not needed
        std::size_t samples = 0;   ///< where pixels may not count: sampled_tables
        std::size_t infinite = 0;  ///< of floats that all count: finite_tables.hpp

        std::size_t total() const noexcept { return raised + table + squares + samples + infinite; }
    };

    /// For `rows` rows of the job's image, which lie `row_stride` bytes apart; squares of integers that all count only.
    /// The device that is current then is the plan's.
    table_plan(const filters::window_job& job, bool squares, std::int64_t rows, std::int64_t row_stride);

    const space& bytes() const noexcept { return space_; }
    std::size_t workspace_bytes() const noexcept;

    /// Enqueues the tables of `part`, rows table_row .. of a plane, into `tables` (space's parts in its order), with
    /// the first bytes of a workspace. The task for its windows, without their rows.
    window_task enqueue(const sampled_pixels& part, std::int64_t table_row, void* tables,
                        const workspace_use& workspace, std::size_t workspace_bytes, stream_ref stream) const;

  private:
    window_task task_;  ///< without pointers
    view_shape pixels_, table_, squares_;
    bool with_squares_;
    dtype numbers_;  ///< of pixels
    space space_;
    std::optional<sampled_tables> samples_;
    sat_plan sums_;
};

/// The same memory named from row 0: only rows that exist may be touched.
template <typename View>
View from_row_zero(View v, std::int64_t first) {
    v.data = reinterpret_cast<decltype(v.data)>(reinterpret_cast<std::uintptr_t>(v.data) -
                                                static_cast<std::uintptr_t>(first * v.shape.row_stride));
    return v;
}

}  // namespace boxsum::cuda
