#include "cuda/production/sat_wave_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_wave<u8>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                int);
template void enqueue_wave_lists<u8>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                     const execution&);

}  // namespace boxsum::cuda
