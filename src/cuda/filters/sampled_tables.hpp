#pragma once

#include "cuda/filters/window_kernels.hpp"
#include "filters/window_job.hpp"

#include <boxsum/cuda/sat.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace boxsum::cuda {

class workspace_use;

/// An image and what says which of its pixels count, of one plane; mask and weights without data are not given.
struct sampled_pixels {
    const_any_view image, mask, weights;
};

/// Of numbers of pixels that fit 32 bits, or not.
dtype count_type(const filters::window_job& job);

/// Images of the pixels that count, and tables of what counts, planned: everything but memory. Immutable.
class sampled_tables {
  public:
    /// Of rows of a job's image, whose pixels are of this shape and `offset` above the job's. The device that is
    /// current then is the plan's.
    sampled_tables(const filters::window_job& job, const view_shape& pixels, std::int64_t offset);

    /// The image that sums are to be made of: 0 where a pixel does not count; 64f, times weights, where those are.
    const view_shape& summed() const noexcept { return summed_; }

    /// Device memory, a multiple of 256.
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t workspace_bytes() const noexcept;

    /// Enqueues that image into the first of bytes() bytes at `space`, and the tables behind it, which `to` names.
    const_any_view enqueue(const sampled_pixels& pixels, void* space, const workspace_use& workspace,
                           std::size_t workspace_bytes, stream_ref stream, sample_tables& to) const;

  private:
    std::size_t reserve(const view_shape& shape);

    nan_mode nan_;
    std::optional<double> nodata_;  ///< as `pixels` have it
    bool weighted_;
    std::size_t bytes_ = 0;
    view_shape summed_, flags_, counts_, weighed_, weights_;
    std::size_t flags_at_, counts_at_, weighed_at_ = 0, weights_at_ = 0, any_infinite_at_ = 0;
    sat_plan counts_plan_;
    std::optional<sat_plan> weights_plan_;
};

}  // namespace boxsum::cuda
