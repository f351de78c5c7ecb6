#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template bool enqueue_aligned_squares<u8>(const sat_geometry&, const sat_geometry&, squares_triple, int,
                                          const execution&);

}  // namespace boxsum::cuda
