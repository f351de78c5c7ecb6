#pragma once

// In place of src/cuda/device/dependent_launch.cuh.

#include "support/emulation/machine.hpp"

#include <cstdint>

namespace boxsum {
namespace emulation {

void let_successor_start();

/// How often so far a thread has done that.
std::uint64_t early_starts();

}  // namespace emulation

namespace cuda {

inline void wait_for_predecessor() {
    emulation::wait_for_predecessor();
}

inline void let_successor_start() {
    emulation::let_successor_start();
}

}  // namespace cuda
}  // namespace boxsum
