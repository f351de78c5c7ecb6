#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>

#include <cstdint>

/// Questions to tables in device memory, for many boxes at once: sums, means and variances. Boxes and results lie in
/// device memory, too. The results are those of box_sums(), box_means() and box_variances() of boxsum/box.hpp for the
/// same table, to the last bit; a NaN may be another one. Kernels that make boxes themselves use boxsum/cuda/box.cuh.
///
/// The host does not see the boxes. One that is empty (or, with edges within pixels, has no area), or not inside the
/// image, or, in an exclusive table, touches the last row or column, has the answer NaN, and the sum 0 where sums are
/// integers.
///
/// Tables have entries of 32u, 32s, 64u, 64s, 32f or 64f, in any form: an offset is added back. Everything lies in
/// memory of one device, that of the stream; results overlap neither tables nor boxes. The functions that end in _async
/// only enqueue: they neither allocate nor wait, and can be captured into a graph. Errors of the kernels surface at the
/// next checked call.
///
/// All throw invalid_argument, naming the argument and its value, for a table that is wrong in itself, for host,
/// foreign or misaligned memory, counts that differ, a channel or a plane that the table lacks, and results of another
/// type; unsupported for other tables, a min_count without counts, and without a device.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Boxes in device memory, aligned as such: of whole pixels, which are read fastest where they start on 16 bytes, or,
/// if `edges` is set, with edges within pixels.
struct device_boxes {
    const box* data = nullptr;
    std::int64_t count = 0;
    const fractional_box* edges = nullptr;
};

/// Values in device memory whose type is known at run time only. Does not own.
struct any_device_span {
    void* data = nullptr;
    dtype type = dtype::u8;
    std::int64_t count = 0;

    any_device_span() = default;
    any_device_span(void* values, dtype value_type, std::int64_t value_count)
        : data(values), type(value_type), count(value_count) {}

    template <typename T>
    any_device_span(T* values, std::int64_t value_count) : any_device_span(values, dtype_of<T>, value_count) {}
};

/// `sums` has one value for each box, of the table's type; of boxes with edges within pixels 64f, or 32f, which are the
/// same rounded.
///
///     boxsum::cuda::box_sums_async(d_table, {d_boxes, count}, {d_sums, count}, stream);
///     boxsum::cuda::box_sums_async(d_table, {.count = count, .edges = d_edges}, {d_integrals, count}, stream);
void box_sums_async(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& sums,
                    stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// The same, and waits.
void box_sums(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& sums,
              stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// `means` are 64f, or 32f, which are the same rounded.
void box_means_async(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& means,
                     stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// The same, and waits.
void box_means(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& means,
               stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// Means of the pixels that count (moment_views::counts), `tables.fill` where too few do; of boxes of whole pixels.
void box_means_async(const moment_views& tables, const device_boxes& boxes, const any_device_span& means,
                     stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// The same, and waits.
void box_means(const moment_views& tables, const device_boxes& boxes, const any_device_span& means, stream_ref stream,
               std::int64_t channel = 0, std::int64_t plane = 0);

/// Population variances from the tables of sums and of squares, which have the same extents and form; of the pixels
/// that count, as box_means_async(). `variances` are 64f, or 32f, which are the same rounded.
void box_variances_async(const moment_views& tables, const device_boxes& boxes, const any_device_span& variances,
                         stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

/// The same, and waits.
void box_variances(const moment_views& tables, const device_boxes& boxes, const any_device_span& variances,
                   stream_ref stream, std::int64_t channel = 0, std::int64_t plane = 0);

}  // namespace cuda
}  // namespace boxsum
