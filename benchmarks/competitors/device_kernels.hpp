#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

/// Other implementations, one adapter each. Square images of n x n, packed, on the device.
namespace boxsum::bench {

/// Kernels with the traffic of a table and none of its work: read every element once, write every element of one or two
/// outputs once, with streaming accesses. `variant` 0 to 2 sets how many loads a thread has in flight.
inline constexpr int streaming_variants = 3;
bool has_streaming_convert(dtype in, dtype out);
void streaming_convert(dtype in, dtype out, const void* from, void* to, std::int64_t elements, int variant,
                       cuda::stream_ref stream);
/// 8u -> 32u and 64u: the traffic of sums and squares.
void streaming_convert_twice(const void* from, void* to, void* also_to, std::int64_t elements, int variant,
                             cuda::stream_ref stream);

/// Two passes with CUB: rows by cub::BlockScan, then columns by running sums. 8u32u and 32f32f.
void cub_two_pass(dtype in, const void* image, void* table, std::int64_t n, cuda::stream_ref stream);

/// nppiIntegral_8u32s_C1R_Ctx, or with `out` 32f nppiIntegral_8u32f_C1R_Ctx, into a padded table. False where NPP was
/// not found.
bool npp_available();
void npp_integral(dtype out, const void* image, void* table, std::int64_t n, cuda::stream_ref stream);

}  // namespace boxsum::bench
