#pragma once

#include "core/algorithm_record.hpp"

namespace boxsum {

extern const algorithm_record cpu_histogram_record;         ///< cpu.cpp
extern const algorithm_record sequential_histogram_record;  ///< sequential.cpp

}  // namespace boxsum
