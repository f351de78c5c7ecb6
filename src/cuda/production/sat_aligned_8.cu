#include "cuda/production/sat_aligned_launch.cuh"

namespace boxsum::cuda {

template std::unique_ptr<const prepared_table> prepare_tiles<u8>(const sat_geometry&, dtype, bool,
                                                                 const device_limits&);

// Here, for 8u32u is in every list of types.
device_limits limits_of_device() {
    int device = 0, multiprocessors = 0, major = 0;
    BOXSUM_CUDA_TRY(cudaGetDevice(&device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    cudaFuncAttributes code{};
    const auto kernel =
        sat_aligned_kernel<u8, u32, aligned_columns::groups, aligned_load::rows, aligned_store::anywhere, 1, 1>;
    if (cudaFuncGetAttributes(&code, kernel) != cudaSuccess)
        (void)cudaGetLastError();  // no code for this device: launches will say so
    return {multiprocessors, major >= 9 && code.ptxVersion >= 90};
}

}  // namespace boxsum::cuda
