#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window_queries.hpp>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// window_sums() of boxsum/window_queries.hpp for a table and results in device memory, with any strides: the same
/// bits, but that a NaN may be another one. All lies in memory of one device, that of the stream. Only enqueues:
/// neither allocates nor waits, and can be captured into a graph. `options.threads` has no effect.
///
///     boxsum::cuda::window_means_async(d_table, d_means, stream, {.window = 31});
///
/// Throws what window_sums() throws; invalid_argument for host or foreign memory, too, and unsupported without a
/// device. Errors of the kernel surface at the next checked call.
void window_sums_async(const const_any_table_view& table, const any_view& sums, stream_ref stream,
                       const window_query_options& options = {});

/// The same, and waits.
void window_sums(const const_any_table_view& table, const any_view& sums, stream_ref stream,
                 const window_query_options& options = {});

/// window_means(), as window_sums_async().
void window_means_async(const const_any_table_view& table, const any_view& means, stream_ref stream,
                        const window_query_options& options = {});

/// The same, and waits.
void window_means(const const_any_table_view& table, const any_view& means, stream_ref stream,
                  const window_query_options& options = {});

/// window_variances(), as window_sums_async().
void window_variances_async(const moment_views& tables, const any_view& variances, stream_ref stream,
                            const window_query_options& options = {});

/// The same, and waits.
void window_variances(const moment_views& tables, const any_view& variances, stream_ref stream,
                      const window_query_options& options = {});

}  // namespace cuda
}  // namespace boxsum
