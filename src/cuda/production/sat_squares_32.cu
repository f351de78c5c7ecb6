#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles_with_squares<f32>(const sat_geometry&, const sat_geometry&,
                                                                               squares_triple, const device_limits&);

}  // namespace boxsum::cuda
