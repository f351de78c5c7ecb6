#pragma once

#include "core/problem.hpp"

#include <boxsum/cuda/histogram.hpp>

namespace boxsum::cuda {

/// What cuda::integral_histogram does, with at most `most_bins` bins at a time for histograms in host memory, so that
/// tests get groups without filling a device.
void integral_histogram_in_groups(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                                  stream_ref stream, const histogram_options& options, std::int64_t most_bins);

/// The part of a problem that a tensor of bins first_bin .. first_bin + tensor.bins - 1 holds.
problem group_of(const problem& all, std::int64_t first_bin, const tensor_shape& tensor);

}  // namespace boxsum::cuda
