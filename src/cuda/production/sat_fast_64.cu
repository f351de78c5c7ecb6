#include "cuda/production/sat_fast_launch.cuh"

namespace boxsum::cuda {

template void enqueue_fast<f64>(const sat_geometry&, dtype, bool, const fast_limits&, const execution&);
template void enqueue_fast_list<f64>(std::span<const sat_geometry>, dtype, bool, const execution&);

}  // namespace boxsum::cuda
