#pragma once

// What nvcc declares before the first line of a .cu file: the first header of all emulated files, precompiled.

#include "support/emulation/intrinsics.hpp"
#include "support/emulation/machine.hpp"
#include "support/emulation/vector_types.hpp"

// Standard headers that kernels use come before the macros below.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __noinline__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block is an operating system thread. `extern __shared__ T name[]` needs a definition in the test (README.md).
#define __shared__ thread_local

// `asm volatile("..." : ...)` becomes a call with the text. Constraints are no C++, so operands are lost.
#define asm
#define volatile(...) ::boxsum::emulation::inline_assembly(#__VA_ARGS__)
