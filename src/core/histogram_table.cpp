#include "core/checked_size.hpp"
#include "core/tensor_checks.hpp"
#include "core/view_checks.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum {
namespace {

[[noreturn]] void too_large(std::string_view argument, const tensor_shape& s) {
    throw invalid_argument(std::string(argument) + ": " + std::to_string(s.planes) + " x " + std::to_string(s.bins) +
                           " x " + std::to_string(s.rows) + " x " + std::to_string(s.cols) +
                           " elements do not fit a 64-bit address space");
}

/// `count` blocks of `block` bytes, `stride` apart.
std::int64_t checked_blocks(std::string_view argument, std::string_view name, const tensor_shape& s, std::int64_t block,
                            std::int64_t count, std::int64_t stride, std::string_view what) {
    if (count == 1) return block;
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const auto refuse = [&](const std::string& rule) {
        throw invalid_argument(std::string(argument) + ": " + std::string(name) + " is " + std::to_string(stride) +
                               ", " + rule);
    };
    if (stride % element != 0) refuse("must be a multiple of the element size, " + std::to_string(element));
    if (stride < block) refuse("smaller than " + std::string(what) + " of " + std::to_string(block) + " bytes");
    const auto before = checked_multiply(count - 1, stride);
    const auto all = before ? checked_add(*before, block) : before;
    if (!all) too_large(argument, s);
    return *all;
}

}  // namespace

view_shape tables_of_first_bin(const tensor_shape& s) {
    return {s.type, s.planes, s.rows, s.cols, 1, s.row_stride, s.plane_stride};
}

std::int64_t checked_tensor_bytes(std::string_view argument, const tensor_shape& s) {
    view_shape table = tables_of_first_bin(s);
    if (table.planes > 1) table.planes = 1;  // the stride between planes steps over all bins: checked below
    const std::int64_t table_bytes = checked_span_bytes(argument, table);
    if (s.bins < 1 || s.bins > binning::max_bins)
        throw invalid_argument(std::string(argument) + ": bins is " + std::to_string(s.bins) + ", must be 1 to " +
                               std::to_string(binning::max_bins));
    const std::int64_t plane = checked_blocks(argument, "bin_stride", s, table_bytes, s.bins, s.bin_stride, "a table");
    return checked_blocks(argument, "plane_stride", s, plane, s.planes, s.plane_stride, "a plane");
}

histogram_shape packed_histograms(const view_shape& image, std::int64_t bins, dtype type, table_form form) {
    tensor_shape s{type, image.planes, bins, form.table_extent(image.rows), form.table_extent(image.cols), 0, 0, 0};
    s.row_stride = checked_multiply(s.cols, static_cast<std::int64_t>(size_of(type))).value_or(0);
    s.bin_stride = checked_multiply(s.rows, s.row_stride).value_or(0);
    s.plane_stride = checked_multiply(s.bins, s.bin_stride).value_or(0);
    return {s, form};
}

std::int64_t check_tensor(std::string_view argument, const const_any_tensor_view& tensor) {
    const std::int64_t bytes = checked_tensor_bytes(argument, tensor.shape);
    view_shape element = tables_of_first_bin(tensor.shape);
    element.planes = 1;
    check_view(argument, {tensor.data, element});
    if (reinterpret_cast<std::uintptr_t>(tensor.data) > UINTPTR_MAX - static_cast<std::uintptr_t>(bytes))
        too_large(argument, tensor.shape);
    return bytes;
}

namespace detail {

owned_tensor allocate_tensor(const host_allocator& from, dtype type, std::int64_t planes, std::int64_t bins,
                             std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t cache_line = 64;
    tensor_shape shape{type, planes, bins, rows, cols, 0, 0, 0};
    // Strides of a hopeless size are not padded, or 0; the check below refuses the extents.
    const auto row = checked_multiply(cols, static_cast<std::int64_t>(size_of(type)));
    const auto padded = row ? checked_add(*row, cache_line - 1) : row;
    shape.row_stride = padded ? *padded / cache_line * cache_line : row.value_or(0);
    const auto bin = checked_multiply(rows, shape.row_stride);
    shape.bin_stride = bin ? *bin : 0;
    const auto plane = checked_multiply(bins, shape.bin_stride);
    shape.plane_stride = plane ? *plane : 0;
    const std::int64_t bytes = checked_tensor_bytes("histograms", shape);
    return {host_buffer(static_cast<std::size_t>(bytes), from), shape};
}

}  // namespace detail
}  // namespace boxsum
