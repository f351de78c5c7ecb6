#pragma once

#include "measure/device_race.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace boxsum::bench {

/// A batch of frames of 8u, and how many bins.
struct histogram_extents {
    std::int64_t rows = 0, cols = 0, bins = 0, planes = 1;
};

/// Random frames on a device and room for their tensors (32u; uniform ranges over [0, 256)), and what these must hold.
class device_tensors {
  public:
    /// As many tensors as exceed the second-level cache together, at most `most_tensors`: launches that go round them
    /// write to memory. Throws out_of_memory.
    device_tensors(const histogram_extents& extents, int most_tensors, cuda::stream_ref stream);

    const histogram_extents& extents() const { return extents_; }
    const binning& bins() const { return bins_; }
    const_any_view image() const { return {image_.data(), image_shape_}; }
    /// Pixels of the frames in host memory, packed.
    const std::vector<std::uint8_t>& pixels() const { return pixels_; }

    int count() const { return static_cast<int>(tensors_.size()); }
    std::size_t tensor_bytes() const { return tensors_.front().size(); }
    /// That of launch number i, which may exceed the count.
    any_histogram_view tensor(int i) const {
        return {{tensors_[static_cast<std::size_t>(i) % tensors_.size()].data(), shape_.entries}, shape_.form};
    }

    /// Enqueues bytes that are no histogram.
    void poison(int i, cuda::stream_ref stream) const;

    /// A launch of an algorithm on the tensor of its number; it shares ownership of the plan and the workspace. Throws
    /// what histogram_plan throws. Lives no longer than this object.
    device_launch launch_of(const histogram_options& options, cuda::stream_ref stream) const;

    /// Waits, and names the first row of tensor(0) that differs from what the CPU counts ("frame 0, bin 3, row 7");
    /// empty where there is none.
    std::string mismatch(cuda::stream_ref stream) const;

  private:
    const_any_view host_image(std::int64_t plane) const;
    const histogram_table<std::uint32_t>& expected(std::int64_t plane) const;

    histogram_extents extents_;
    binning bins_;
    std::vector<std::uint8_t> pixels_;
    view_shape image_shape_;
    histogram_shape shape_;
    cuda::device_buffer image_;
    std::vector<cuda::device_buffer> tensors_;
    mutable histogram_table<std::uint32_t> expected_;
    mutable std::optional<std::int64_t> expected_plane_;
};

}  // namespace boxsum::bench
