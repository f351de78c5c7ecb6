#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

namespace boxsum::cuda {

/// Writes the sum of each row of each channel of each plane to `sums`, and of these the means of planes and channels to
/// `means`. In the order of core/lane_sums.hpp.
void enqueue_image_means(const const_any_view& image, double* sums, double* means, stream_ref stream);

}  // namespace boxsum::cuda
