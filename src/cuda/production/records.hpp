#pragma once

#include "core/algorithm_record.hpp"

/// The tuned GPU kernels.
namespace boxsum {

extern constinit const algorithm_record sat_fast_record;
extern constinit const algorithm_record sat_outwards_record;
extern constinit const algorithm_record histogram_fast_record;

}  // namespace boxsum
