#pragma once

// In place of src/cuda/device/dependent_launch.cuh.

#include "support/emulation/machine.hpp"

namespace boxsum::cuda {

inline void wait_for_predecessor() {
    emulation::wait_for_predecessor();
}

inline void let_successor_start() {}

}  // namespace boxsum::cuda
