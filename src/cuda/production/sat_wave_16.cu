#include "cuda/production/sat_wave_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_wave<u16>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<u16>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);
template std::unique_ptr<const prepared_table> prepare_wave<s16>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<s16>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);
template std::unique_ptr<const prepared_table> prepare_wave<f16>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<f16>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);

}  // namespace boxsum::cuda
