#include <cstddef>

namespace boxsum::cuda {

/// What sat_pipeline.cuh declares `extern __shared__`: two slots of 64 rows of at most 512 bytes and a word.
alignas(128) thread_local std::byte pixels[2 * 64 * (512 + 4)];

}  // namespace boxsum::cuda
