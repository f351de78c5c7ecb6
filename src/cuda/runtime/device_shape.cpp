#include "core/checked_size.hpp"
#include "core/tensor_checks.hpp"
#include "core/view_checks.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/table.hpp>

namespace boxsum::cuda {

view_shape device_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes) {
    constexpr std::int64_t unit = 256;
    view_shape shape{type, planes, rows, cols, channels, 0, 0};
    const auto elements = checked_multiply(cols, channels);
    const auto row = elements ? checked_multiply(*elements, static_cast<std::int64_t>(size_of(type))) : elements;
    const auto padded = row ? checked_add(*row, unit - 1) : row;
    // Strides that do not fit stay 0, and the check refuses them by their extents.
    shape.row_stride = padded ? *padded / unit * unit : 0;
    shape.plane_stride = checked_multiply(rows, shape.row_stride).value_or(0);
    checked_span_bytes("image", shape);
    return shape;
}

histogram_shape device_histogram_shape(dtype type, std::int64_t bins, std::int64_t image_rows, std::int64_t image_cols,
                                       table_form form, std::int64_t planes) {
    constexpr std::int64_t unit = 256;
    check_form(form);
    tensor_shape shape{type,
                       planes,
                       bins,
                       boxsum::detail::checked_table_extent("image_rows", image_rows, form),
                       boxsum::detail::checked_table_extent("image_cols", image_cols, form),
                       0,
                       0,
                       0};
    const auto row = checked_multiply(shape.cols, static_cast<std::int64_t>(size_of(type)));
    const auto padded = row ? checked_add(*row, unit - 1) : row;
    // Strides that do not fit stay 0, and the check refuses them by their extents.
    shape.row_stride = padded ? *padded / unit * unit : 0;
    shape.bin_stride = checked_multiply(shape.rows, shape.row_stride).value_or(0);
    shape.plane_stride = checked_multiply(bins, shape.bin_stride).value_or(0);
    checked_tensor_bytes("histograms", shape);
    return {shape, form};
}

std::size_t span_bytes(const view_shape& shape) {
    return static_cast<std::size_t>(checked_span_bytes("image", shape));
}

}  // namespace boxsum::cuda
