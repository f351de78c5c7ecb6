#pragma once

#include <boxsum/cuda/stream.hpp>

/// The sections of gpu_sat_bench. Each prints a JSON object for everything that it times; what is wrong says so and
/// counts as a failure in scripts/bench_gpu.
namespace boxsum::bench {

/// Squares of growing size over a copy, launched from a stream; those that fit on the chip from a graph; and every
/// registered algorithm.
void table_section(cuda::stream_ref stream);
void small_section(cuda::stream_ref stream);
void algorithms_section(cuda::stream_ref stream);

/// What a call takes the host: of a plan beside an empty kernel, and without a plan.
void host_section(cuda::stream_ref stream);

/// Other layouts beside the inclusive one, prime extents beside the next multiple of a tile.
void layouts_section(cuda::stream_ref stream);

/// Tables with an origin or an offset beside the plain one.
void forms_section(cuda::stream_ref stream);

/// Parts of larger tables, seeded with what is around them, beside the same tables by themselves.
void carries_section(cuda::stream_ref stream);

/// Tables of squares, planes, channels; lists of images beside one call an image.
void special_section(cuda::stream_ref stream);

/// Sums, means and variances of a million boxes of tables on the device, beside as many reads.
void boxes_section(cuda::stream_ref stream);

/// What others have, where it was found.
void peers_section(cuda::stream_ref stream);

/// Filters on the device, and between the host's memory and it beside the link.
void filters_section(cuda::stream_ref stream);

/// Windows around every pixel of images on the device over a copy of all that is read and written, non-local means,
/// and blobs.
void windows_section(cuda::stream_ref stream);
void non_local_means_rows(cuda::stream_ref stream);  ///< of it
void blob_rows(cuda::stream_ref stream);             ///< of it

/// Box means of others, where they were found.
void window_peers_section(cuda::stream_ref stream);

/// Convolutions with kernels of growing size over a copy.
void convolve_section(cuda::stream_ref stream);

/// Variance shadows of a frame of 1080 x 1920 from maps of two sizes, with their tables; recursive filters over a copy.
void shadows_section(cuda::stream_ref stream);
void recursive_section(cuda::stream_ref stream);

}  // namespace boxsum::bench
