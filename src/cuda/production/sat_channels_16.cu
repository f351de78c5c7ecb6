#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template void enqueue_aligned_channels<u16>(const sat_geometry&, dtype, bool, int, const execution&);
template void enqueue_aligned_channels<s16>(const sat_geometry&, dtype, bool, int, const execution&);
template void enqueue_aligned_channels<f16>(const sat_geometry&, dtype, bool, int, const execution&);

}  // namespace boxsum::cuda
