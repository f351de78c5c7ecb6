#pragma once

#include "core/algorithm_record.hpp"

/// The two halves of a CUDA record. The data half is in every build; the functions that need kernels only where nvcc
/// compiles the file:
///
///     constinit const algorithm_record two_r_two_w_record{
///         .info = {.name = "2r2w", ..., .where = backend::cuda, .built = cuda_built},
///         .supports = BOXSUM_DEVICE_FUNCTION(supports),
///         .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
///         .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),  // launches through cuda/runtime/launch.cuh
///         .addition_depth = serial_addition_depth,
///         .cost = cost,
///     };
namespace boxsum {

#ifdef __CUDACC__
inline constexpr bool cuda_built = true;
#define BOXSUM_DEVICE_FUNCTION(name) name
#else
inline constexpr bool cuda_built = false;
#define BOXSUM_DEVICE_FUNCTION(name) nullptr
#endif

}  // namespace boxsum
