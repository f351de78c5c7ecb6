#define BOXSUM_VECTOR_WRAPPER "cpu/simd/vector_avx2.hpp"
#include "cpu/simd/scan_kernels.hpp"

namespace boxsum::cpu {

constinit const kernel_set avx2_kernels = make_kernel_set("avx2");

}  // namespace boxsum::cpu
