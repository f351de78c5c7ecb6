#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles_of_channels<f64>(const sat_geometry&, dtype, bool,
                                                                              const device_limits&);

}  // namespace boxsum::cuda
