#define BOXSUM_VECTOR_WRAPPER "cpu/simd/vector_neon.hpp"
#include "cpu/simd/scan_kernels.hpp"

namespace boxsum::cpu {

constinit const kernel_set neon_kernels = make_kernel_set("neon");

}  // namespace boxsum::cpu
