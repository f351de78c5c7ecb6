#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template void enqueue_aligned_channels<f64>(const sat_geometry&, dtype, bool, int, const execution&);

}  // namespace boxsum::cuda
