#pragma once

/// Registers move between the warps of a block that have different roles, four warps (0 to 3, 4 to 7, ...) at a time.
/// Only for code that is compiled for compute capability 9.0 exactly (sm_90a); elsewhere nothing happens, and kernels
/// ask for fewer blocks a multiprocessor instead.
namespace boxsum::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool registers_move = true;
#else
inline constexpr bool registers_move = false;
#endif

/// Lowers the limit of these four warps. A multiple of 8.
template <int Registers>
__device__ inline void give_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

/// Raises it, once others of the block have given so many.
template <int Registers>
__device__ inline void take_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

}  // namespace boxsum::cuda
