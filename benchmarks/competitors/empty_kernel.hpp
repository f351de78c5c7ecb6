#pragma once

#include <boxsum/cuda/stream.hpp>

namespace boxsum::bench {

/// A kernel that does nothing, launched by the call that the library's kernels are launched by.
void launch_empty_kernel(cuda::stream_ref stream);

}  // namespace boxsum::bench
