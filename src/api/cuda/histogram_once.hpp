#pragma once

#include "core/problem.hpp"

#include <boxsum/cuda/histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace boxsum::cuda {

/// For histograms in host memory, so that tests get parts without filling a device.
struct part_limits {
    std::int64_t bins = binning::max_bins;                        ///< at a time
    std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< of device memory that is taken to be free
    allocator memory = {};
};

/// What cuda::integral_histogram does, within limits.
void integral_histogram_in_parts(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                                 stream_ref stream, const histogram_options& options, const part_limits& limits);

/// The part of a problem that a tensor of bins first_bin .. first_bin + tensor.bins - 1 holds.
problem group_of(const problem& all, std::int64_t first_bin, const tensor_shape& tensor);

}  // namespace boxsum::cuda
