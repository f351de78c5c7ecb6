#include "core/table_types.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "cuda/queries/box_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/box.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace boxsum::cuda {
namespace {

/// Of one launch, more than memory holds.
constexpr std::int64_t most_boxes = std::int64_t{std::numeric_limits<std::int32_t>::max()} * 512;

void check_table(std::string_view argument, const queried_table& t, int device) {
    const const_any_view& entries = t.table.entries;
    check_read(argument, entries);
    check_form(argument, t.table.form, entries.shape);
    check_table_type(argument, entries.shape.type);
    boxsum::detail::check_table_access(argument, entries, t.channel, t.plane);
    check_device_pointer(argument, entries.data, device);
}

void check_memory(const std::string& argument, const void* data, std::size_t alignment, int device) {
    if (data == nullptr) throw invalid_argument(argument + ": data is null");
    if (const auto beside = reinterpret_cast<std::uintptr_t>(data) % alignment; beside != 0)
        throw invalid_argument(argument + ": data lies " + std::to_string(beside) + " bytes behind a multiple of " +
                               std::to_string(alignment));
    check_device_pointer(argument, data, device);
}

/// Whether there is anything to do.
bool check_lists(const device_boxes& boxes, const std::string& name, const any_device_span& out, int device) {
    if (boxes.count < 0 || boxes.count > most_boxes)
        throw invalid_argument("boxes: count is " + std::to_string(boxes.count) + ", must be 0 to " +
                               std::to_string(most_boxes));
    if (out.count != boxes.count)
        throw invalid_argument(name + ": has " + std::to_string(out.count) + " entries, but there are " +
                               std::to_string(boxes.count) + " boxes");
    if (boxes.data != nullptr && boxes.edges != nullptr)
        throw invalid_argument("boxes: data and edges are given, of which a list has one");
    if (boxes.count == 0) return false;
    if (boxes.edges != nullptr)
        check_memory("boxes", boxes.edges, alignof(fractional_box), device);
    else
        check_memory("boxes", boxes.data, alignof(box), device);
    check_memory(name, out.data, size_of(out.type), device);
    return true;
}

/// A table beside that of sums.
void check_beside(const std::string& argument, const queried_table& table, const const_any_table_view& sums,
                  int device) {
    check_table(argument, table, device);
    const auto check_same = [&](const char* what, std::int64_t value, std::int64_t of_sums) {
        if (value != of_sums)
            throw invalid_argument(argument + ": " + what + " is " + std::to_string(value) + ", but that of sums is " +
                                   std::to_string(of_sums));
    };
    const table_form &form = table.table.form, &of_sums = sums.form;
    if (form != of_sums)
        throw invalid_argument(argument + ": its form is " + text_of(form) + ", but that of sums is " +
                               text_of(of_sums));
    check_same("rows", table.table.entries.shape.rows, sums.entries.shape.rows);
    check_same("cols", table.table.entries.shape.cols, sums.entries.shape.cols);
}

/// What counts, if some pixels may not.
std::optional<queried_table> checked_counts(const moment_views& tables, const device_boxes& boxes, std::int64_t channel,
                                            std::int64_t plane, int device) {
    if (!std::isfinite(tables.min_count) || tables.min_count < 0)
        throw invalid_argument("min_count: is " + text_of(tables.min_count) + ", must be finite and not negative");
    if (tables.counts.entries.data == nullptr) {
        check_no_counts("", tables, "a device");
        return {};
    }
    const queried_table counts{tables.counts, channel, plane};
    check_beside("counts", counts, tables.sums, device);
    check_count_type(tables.counts.entries.shape.type);
    if (tables.sums.form.has_offset())
        throw unsupported("sums: form is " + text_of(tables.sums.form) +
                          ", tables with counts are taken without an offset");
    if (boxes.edges != nullptr)
        throw unsupported("boxes: edges are given, but the pixels that count are counted as a whole");
    return counts;
}

}  // namespace

void box_sums_async(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& sums,
                    stream_ref stream, std::int64_t channel, std::int64_t plane) {
    const device_scope scope(device_of(stream));
    const queried_table queried{table, channel, plane};
    check_table("table", queried, current_device());
    if (boxes.edges != nullptr)
        check_real_type("sums", sums.type);
    else if (sums.type != table.entries.shape.type)
        throw invalid_argument("sums: type is " + std::string(name_of(sums.type)) + ", but that of table is " +
                               std::string(name_of(table.entries.shape.type)));
    if (!check_lists(boxes, "sums", sums, current_device())) return;
    if (boxes.edges != nullptr)
        enqueue_edge_sums(queried, boxes, sums, stream);
    else
        enqueue_box_sums(queried, boxes, sums.data, stream);
}

void box_means_async(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& means,
                     stream_ref stream, std::int64_t channel, std::int64_t plane) {
    const device_scope scope(device_of(stream));
    const queried_table queried{table, channel, plane};
    check_table("table", queried, current_device());
    check_real_type("means", means.type);
    if (check_lists(boxes, "means", means, current_device()))
        (boxes.edges != nullptr ? enqueue_edge_means : enqueue_box_means)(queried, boxes, means, stream);
}

void box_means_async(const moment_views& tables, const device_boxes& boxes, const any_device_span& means,
                     stream_ref stream, std::int64_t channel, std::int64_t plane) {
    const device_scope scope(device_of(stream));
    const queried_table sums{tables.sums, channel, plane};
    check_table("sums", sums, current_device());
    const auto counts = checked_counts(tables, boxes, channel, plane, current_device());
    if (!counts) return box_means_async(tables.sums, boxes, means, stream, channel, plane);
    check_real_type("means", means.type);
    if (check_lists(boxes, "means", means, current_device()))
        enqueue_counted({sums, *counts, nullptr, tables.min_count, tables.fill}, boxes, means, stream);
}

void box_variances_async(const moment_views& tables, const device_boxes& boxes, const any_device_span& variances,
                         stream_ref stream, std::int64_t channel, std::int64_t plane) {
    const device_scope scope(device_of(stream));
    const queried_table sums{tables.sums, channel, plane}, squares{tables.squares, channel, plane};
    check_table("sums", sums, current_device());
    check_beside("squares", squares, tables.sums, current_device());
    const auto counts = checked_counts(tables, boxes, channel, plane, current_device());
    check_real_type("variances", variances.type);
    if (!check_lists(boxes, "variances", variances, current_device())) return;
    if (counts)
        enqueue_counted({sums, *counts, &squares, tables.min_count, tables.fill}, boxes, variances, stream);
    else
        (boxes.edges != nullptr ? enqueue_edge_variances : enqueue_box_variances)(sums, squares, boxes, variances,
                                                                                  stream);
}

void box_sums(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& sums,
              stream_ref stream, std::int64_t channel, std::int64_t plane) {
    box_sums_async(table, boxes, sums, stream, channel, plane);
    stream.synchronize();
}

void box_means(const const_any_table_view& table, const device_boxes& boxes, const any_device_span& means,
               stream_ref stream, std::int64_t channel, std::int64_t plane) {
    box_means_async(table, boxes, means, stream, channel, plane);
    stream.synchronize();
}

void box_means(const moment_views& tables, const device_boxes& boxes, const any_device_span& means, stream_ref stream,
               std::int64_t channel, std::int64_t plane) {
    box_means_async(tables, boxes, means, stream, channel, plane);
    stream.synchronize();
}

void box_variances(const moment_views& tables, const device_boxes& boxes, const any_device_span& variances,
                   stream_ref stream, std::int64_t channel, std::int64_t plane) {
    box_variances_async(tables, boxes, variances, stream, channel, plane);
    stream.synchronize();
}

}  // namespace boxsum::cuda
