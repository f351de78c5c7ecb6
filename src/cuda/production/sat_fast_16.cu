#include "cuda/production/sat_fast_launch.cuh"

namespace boxsum::cuda {

template void enqueue_fast<u16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<u16>(std::span<const sat_geometry>, dtype, bool, const execution&);
template void enqueue_fast<s16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<s16>(std::span<const sat_geometry>, dtype, bool, const execution&);
template void enqueue_fast<f16>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<f16>(std::span<const sat_geometry>, dtype, bool, const execution&);

}  // namespace boxsum::cuda
