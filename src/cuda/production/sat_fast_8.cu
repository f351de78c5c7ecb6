#include "cuda/production/sat_fast_launch.cuh"

namespace boxsum::cuda {

template void enqueue_fast<u8>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<u8>(std::span<const sat_geometry>, dtype, bool, const execution&);

}  // namespace boxsum::cuda
