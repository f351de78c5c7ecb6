#pragma once

#include <boxsum/cuda/box.hpp>

#include <cstdint>

/// Kernels over tables that stay on the device; arguments have been checked, there is at least one box.
namespace boxsum::cuda {

/// One channel of one plane of a table.
struct queried_table {
    const_any_table_view table;
    std::int64_t channel = 0;
    std::int64_t plane = 0;
};

void enqueue_box_sums(const queried_table& table, const device_boxes& boxes, void* sums, stream_ref stream);
void enqueue_box_means(const queried_table& table, const device_boxes& boxes, const any_device_span& means,
                       stream_ref stream);
void enqueue_box_variances(const queried_table& table, const queried_table& squares, const device_boxes& boxes,
                           const any_device_span& variances, stream_ref stream);

/// The same of boxes with edges within pixels.
void enqueue_edge_sums(const queried_table& table, const device_boxes& boxes, const any_device_span& sums,
                       stream_ref stream);
void enqueue_edge_means(const queried_table& table, const device_boxes& boxes, const any_device_span& means,
                        stream_ref stream);
void enqueue_edge_variances(const queried_table& table, const queried_table& squares, const device_boxes& boxes,
                            const any_device_span& variances, stream_ref stream);

/// The same of the pixels that count. `squares` is null for means.
struct counted_query {
    queried_table sums, counts;
    const queried_table* squares;
    double min_count, fill;
};
void enqueue_counted(const counted_query& query, const device_boxes& boxes, const any_device_span& out,
                     stream_ref stream);

}  // namespace boxsum::cuda
