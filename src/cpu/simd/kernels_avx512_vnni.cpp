#define BOXSUM_VECTOR_WRAPPER "cpu/simd/vector_avx512.hpp"
#include "cpu/simd/scan_kernels.hpp"

namespace boxsum::cpu {

constinit const kernel_set avx512_vnni_kernels = make_kernel_set("avx512-vnni");

}  // namespace boxsum::cpu
