#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/shadow.hpp>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// variance_shadows() of boxsum/shadow.hpp for tables, receivers, rectangles and results in device memory: the same
/// bits, a thread a pixel. All lies in memory of one device, that of the stream. Only enqueues: neither allocates nor
/// waits, and can be captured into a graph. `options.threads` has no effect.
///
///     boxsum::cuda::variance_shadows_async({d_moments, d_receiver, d_rectangle}, {d_visibility}, stream,
///                                          {.min_variance = 1e-4});
///
/// Throws what variance_shadows() throws; invalid_argument for host or foreign memory, too, and unsupported without a
/// device. Errors of the kernel surface at the next checked call.
void variance_shadows_async(const shadow_inputs& inputs, const shadow_outputs& outputs, stream_ref stream,
                            const shadow_options& options = {});

/// The same, and waits.
void variance_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, stream_ref stream,
                      const shadow_options& options = {});

}  // namespace cuda
}  // namespace boxsum
