#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template bool enqueue_aligned<u32>(const problem&, const sat_geometry&, int, const execution&);
template bool enqueue_aligned<s32>(const problem&, const sat_geometry&, int, const execution&);
template bool enqueue_aligned<f32>(const problem&, const sat_geometry&, int, const execution&);

}  // namespace boxsum::cuda
