#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/convolve/kernels.hpp"

/// The kernels of convolution as records. `buffers::weights` are on the device: those of weights_for().
namespace boxsum {

extern constinit const algorithm_record convolve_tiled_record;
extern constinit const algorithm_record convolve_systolic_record;
extern constinit const algorithm_record convolve_ssam_record;
extern constinit const algorithm_record convolve_direct_record;

namespace cuda {

/// The kernel's weights in the order that one of these records wants. Only where `built`.
std::vector<double> weights_for(const algorithm_record& record, const convolution::job& j);

}  // namespace cuda
}  // namespace boxsum
