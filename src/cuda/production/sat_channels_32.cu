#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template void enqueue_aligned_channels<u32>(const sat_geometry&, dtype, bool, int, const execution&);
template void enqueue_aligned_channels<s32>(const sat_geometry&, dtype, bool, int, const execution&);
template void enqueue_aligned_channels<f32>(const sat_geometry&, dtype, bool, int, const execution&);

}  // namespace boxsum::cuda
