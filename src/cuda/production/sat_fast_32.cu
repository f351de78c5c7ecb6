#include "cuda/production/sat_fast_launch.cuh"

namespace boxsum::cuda {

template void enqueue_fast<u32>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<u32>(std::span<const sat_geometry>, dtype, bool, const execution&);
template void enqueue_fast<s32>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<s32>(std::span<const sat_geometry>, dtype, bool, const execution&);
template void enqueue_fast<f32>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<f32>(std::span<const sat_geometry>, dtype, bool, const execution&);

}  // namespace boxsum::cuda
