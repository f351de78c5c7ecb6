#pragma once

#include "core/algorithm_record.hpp"

namespace boxsum {

/// The oracle (sat_reference.cpp), as a record: slow, obvious, every pair, layout and shape.
extern const algorithm_record reference_sat_record;

/// The oracle of integral histograms (histogram_reference.cpp).
extern const algorithm_record reference_histogram_record;

/// The oracle of convolutions (convolve_reference.cpp).
extern const algorithm_record reference_convolve_record;

}  // namespace boxsum
