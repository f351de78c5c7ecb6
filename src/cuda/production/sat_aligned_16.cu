#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template bool enqueue_aligned<u16>(const sat_geometry&, dtype, bool, int, const execution&);
template bool enqueue_aligned<s16>(const sat_geometry&, dtype, bool, int, const execution&);
template bool enqueue_aligned<f16>(const sat_geometry&, dtype, bool, int, const execution&);

}  // namespace boxsum::cuda
