#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles<u16>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles<s16>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles<f16>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);

}  // namespace boxsum::cuda
