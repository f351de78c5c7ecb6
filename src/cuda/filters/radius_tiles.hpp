#pragma once

#include "cuda/filters/window_kernels.hpp"

/// Means with a radius for every pixel where radii are small, without a table in memory: a block makes that of its
/// pixels and those around them in shared memory, where entries anywhere are read as fast as neighbours are
/// (radius_tiles.cu).
namespace boxsum::cuda {

/// Whether these windows of radii up to `most` are taken so. `counted`: a count is wanted, too.
bool radius_tiles_support(const filters::window_job& job, std::int64_t most, bool counted);

/// Means of the task's windows, which has no table, and their counts, which may have no data; `mask`: that of the
/// plane, named from row 0, or none. Radii below 0 count as 0, above `most` as `most`.
void enqueue_radius_tiles(const window_task& task, const filters::window_job& job, const const_any_view& mask,
                          const const_any_view& radius, std::int64_t most, const any_view& result,
                          const any_view& count, stream_ref stream);

}  // namespace boxsum::cuda
