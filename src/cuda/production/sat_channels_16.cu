#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles_of_channels<u16>(const sat_geometry&, dtype, bool,
                                                                              const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles_of_channels<s16>(const sat_geometry&, dtype, bool,
                                                                              const device_limits&);
template std::unique_ptr<const prepared_table> prepare_tiles_of_channels<f16>(const sat_geometry&, dtype, bool,
                                                                              const device_limits&);

}  // namespace boxsum::cuda
