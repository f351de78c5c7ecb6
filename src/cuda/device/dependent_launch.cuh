#pragma once

/// Programmatic dependent launch (launch_shape::overlaps_predecessor): the blocks of a kernel start while those of its
/// predecessor on the stream still run. Compiled to nothing for compute capabilities before 9.0, which do not have it:
/// code for these would run beside its predecessor unprotected, so that launches ask device_limits::launches_overlap().
namespace boxsum::cuda {

/// Before anything that the predecessor writes is read, or what it reads is written: waits for its end. Partner of the
/// launch attribute, and complete: a predecessor that waited itself has everything before it behind it.
__device__ inline void wait_for_predecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// From here on the successor's blocks may start wherever there is room.
__device__ inline void let_successor_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace boxsum::cuda
