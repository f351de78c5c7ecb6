#pragma once

#include "core/algorithm_record.hpp"

namespace boxsum {

/// The production CPU backend (sat_simd.cpp).
extern const algorithm_record simd_sat_record;

}  // namespace boxsum
