#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles<u32>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles<s32>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles<f32>(const sat_geometry&, dtype, bool,
                                                                  const device_limits&);

}  // namespace boxsum::cuda
