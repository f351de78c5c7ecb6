#include "cuda/production/sat_fast_launch.cuh"

namespace boxsum::cuda {

template void enqueue_fast<u16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast<s16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast<f16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);

}  // namespace boxsum::cuda
