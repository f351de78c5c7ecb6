#pragma once

#include "core/algorithm_record.hpp"

namespace boxsum {

/// The CPU's convolve(), of plain views (convolve.cpp).
extern const algorithm_record simd_convolve_record;

}  // namespace boxsum
