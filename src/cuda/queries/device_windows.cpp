#include "cuda/queries/table_windows.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/window_queries.hpp>

namespace boxsum::cuda {

void window_sums_async(const const_any_table_view& table, const any_view& sums, stream_ref stream,
                       const window_query_options& options) {
    const device_scope scope(device_of(stream));
    const window_query query = checked_window_sums(table, sums, options);
    check_device_pointer("table", table.entries.data, current_device());
    check_device_pointer("sums", sums.data, current_device());
    enqueue_windows(query, stream);
}

void window_means_async(const const_any_table_view& table, const any_view& means, stream_ref stream,
                        const window_query_options& options) {
    const device_scope scope(device_of(stream));
    const window_query query = checked_window_means(table, means, options);
    check_device_pointer("table", table.entries.data, current_device());
    check_device_pointer("means", means.data, current_device());
    enqueue_windows(query, stream);
}

void window_variances_async(const moment_views& tables, const any_view& variances, stream_ref stream,
                            const window_query_options& options) {
    const device_scope scope(device_of(stream));
    const window_query query = checked_window_variances(tables, variances, options);
    check_device_pointer("sums", tables.sums.entries.data, current_device());
    check_device_pointer("squares", tables.squares.entries.data, current_device());
    check_device_pointer("variances", variances.data, current_device());
    enqueue_windows(query, stream);
}

void window_sums(const const_any_table_view& table, const any_view& sums, stream_ref stream,
                 const window_query_options& options) {
    window_sums_async(table, sums, stream, options);
    stream.synchronize();
}

void window_means(const const_any_table_view& table, const any_view& means, stream_ref stream,
                  const window_query_options& options) {
    window_means_async(table, means, stream, options);
    stream.synchronize();
}

void window_variances(const moment_views& tables, const any_view& variances, stream_ref stream,
                      const window_query_options& options) {
    window_variances_async(tables, variances, stream, options);
    stream.synchronize();
}

}  // namespace boxsum::cuda
