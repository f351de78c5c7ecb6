#pragma once

#include <boxsum/binning.hpp>
#include <boxsum/cuda/memory.hpp>

namespace boxsum::cuda {

/// The look-up table of a binning in device memory, ready for every stream; nothing for other rules.
device_buffer upload_lookup(const binning& bins);

}  // namespace boxsum::cuda
