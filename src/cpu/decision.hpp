#pragma once

#include "core/algorithm_record.hpp"

#include <boxsum/cpu.hpp>

namespace boxsum::cpu {

/// How the record `simd` computes a problem that it supports.
cpu_decision decision_of(const problem& p, const buffers& memory, const execution& how);

}  // namespace boxsum::cpu
