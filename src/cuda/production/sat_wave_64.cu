#include "cuda/production/sat_wave_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_wave<f64>(const sat_geometry&, dtype, bool, const device_limits&,
                                                                 int);
template void enqueue_wave_lists<f64>(std::span<const sat_geometry>, dtype, bool, const device_limits&,
                                      const execution&);

}  // namespace boxsum::cuda
