#pragma once

#include "core/visit_histogram.hpp"

/// What BOXSUM_TYPES compiled of integral histograms for CUDA. Host code always has everything.
namespace boxsum {

#if defined(BOXSUM_TYPES_MIN)
using cuda_histogram_inputs = dtype_list<u8, f32>;
using cuda_histogram_counts = dtype_list<u32>;
using cuda_histogram_entries = dtype_list<u32, f32>;
#else
using cuda_histogram_inputs = histogram_pixels;
using cuda_histogram_counts = histogram_counts;
using cuda_histogram_entries = histogram_entries;
#endif

}  // namespace boxsum
