#pragma once

#include <cuda_runtime_api.h>

namespace boxsum::cuda {

/// Throws out_of_memory for a failed allocation, else cuda_error, with the call, the place and CUDA's name and text of
/// the error. Clears the thread's last error first; one that corrupted the context cannot be cleared and comes again.
[[noreturn]] void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line);

inline void check(cudaError_t code, const char* call, const char* file, int line) {
    if (code != cudaSuccess) throw_cuda_error(code, call, file, line);
}

}  // namespace boxsum::cuda

/// Every call of the CUDA runtime goes through this:
///
///     BOXSUM_CUDA_TRY(cudaMemsetAsync(data, 0, bytes, stream));
#define BOXSUM_CUDA_TRY(...) ::boxsum::cuda::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
