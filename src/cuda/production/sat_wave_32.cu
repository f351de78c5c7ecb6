#include "cuda/production/sat_wave_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_wave<u32>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<u32>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);
template std::unique_ptr<const prepared_table> prepare_wave<s32>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<s32>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);
template std::unique_ptr<const prepared_table> prepare_wave<f32>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<f32>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);

}  // namespace boxsum::cuda
