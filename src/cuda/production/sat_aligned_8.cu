#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template void enqueue_aligned<u8>(const sat_geometry&, dtype, bool, int, const execution&);

// Here, for 8u32u is in every list of types.
bool aligned_kernels_available() {
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(
            &attributes,
            sat_aligned_kernel<u8, u32, aligned_columns::groups, aligned_load::box, aligned_store::straight, 1, 1>) ==
        cudaSuccess)
        return true;
    (void)cudaGetLastError();  // no image for this device: not an error of the next call
    return false;
}

}  // namespace boxsum::cuda
