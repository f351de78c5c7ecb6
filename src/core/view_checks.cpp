#include "core/view_checks.hpp"

#include "core/checked_size.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <limits>
#include <string>

namespace boxsum {
namespace {

/// Texts are made where a check has failed and nowhere else: a call that is right allocates nothing for them.
[[noreturn]] void refuse(std::string_view argument, std::string_view what, std::int64_t value, std::string_view rule,
                         std::string_view unit_of_rule = {}) {
    throw invalid_argument(std::string(argument)
                               .append(": ")
                               .append(what)
                               .append(" is ")
                               .append(std::to_string(value))
                               .append(", ")
                               .append(rule)
                               .append(unit_of_rule));
}

[[noreturn]] void too_large(std::string_view argument, const view_shape& s) {
    throw invalid_argument(std::string(argument) + ": " + std::to_string(s.planes) + " x " + std::to_string(s.rows) +
                           " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) +
                           " elements do not fit a 64-bit address space");
}

std::int64_t row_bytes(const view_shape& s) {
    return s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
}

/// checked_span_bytes() of a shape that has passed it.
std::int64_t span_of_checked(const view_shape& s) {
    return (s.planes - 1) * (s.planes > 1 ? s.plane_stride : 0) + (s.rows - 1) * s.row_stride + row_bytes(s);
}

}  // namespace

std::int64_t checked_span_bytes(std::string_view argument, const view_shape& s) {
    const auto element = static_cast<std::int64_t>(size_of(s.type));  // a power of two; 0 for what is no dtype
    if (element == 0) refuse(argument, "type", static_cast<std::int64_t>(s.type), "not a dtype");
    if (s.rows < 1) refuse(argument, "rows", s.rows, "must be at least 1");
    if (s.cols < 1) refuse(argument, "cols", s.cols, "must be at least 1");
    if (s.planes < 1) refuse(argument, "planes", s.planes, "must be at least 1");
    if (s.channels < 1 || s.channels > 4) refuse(argument, "channels", s.channels, "must be 1 to 4");
    const auto check_stride = [&](std::string_view what, std::int64_t stride, std::int64_t least,
                                  std::string_view stepped_over) {
        if ((stride & (element - 1)) != 0)
            refuse(argument, what, stride, "must be a multiple of the element size, ", std::to_string(element));
        if (stride < least) refuse(argument, what, stride, stepped_over, std::to_string(least).append(" bytes"));
    };

    std::int64_t row = 0, plane = 0, all = 0;
    if (__builtin_mul_overflow(s.cols, s.channels * element, &row)) too_large(argument, s);
    // One row steps over nothing, but a negative stride is a mistake everywhere.
    check_stride("row_stride", s.row_stride, s.rows > 1 ? row : 0, "smaller than a row of ");
    if (__builtin_mul_overflow(s.rows - 1, s.row_stride, &plane) || __builtin_add_overflow(plane, row, &plane))
        too_large(argument, s);
    if (s.planes == 1) return plane;

    check_stride("plane_stride", s.plane_stride, plane, "smaller than a plane of ");
    if (__builtin_mul_overflow(s.planes - 1, s.plane_stride, &all) || __builtin_add_overflow(all, plane, &all))
        too_large(argument, s);
    return all;
}

view_shape packed_shape(dtype type, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels) {
    view_shape s{type, planes, rows, cols, channels, 0, 0};
    const auto elements = checked_multiply(cols, channels);
    const auto row = elements ? checked_multiply(*elements, static_cast<std::int64_t>(size_of(type))) : elements;
    s.row_stride = row.value_or(0);
    s.plane_stride = checked_multiply(rows, s.row_stride).value_or(0);
    return s;
}

std::int64_t check_view(std::string_view argument, const const_any_view& view) {
    const std::int64_t bytes = checked_span_bytes(argument, view.shape);
    if (view.data == nullptr) throw invalid_argument(std::string(argument) + ": data is null");
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    if ((address & (size_of(view.shape.type) - 1)) != 0)
        throw invalid_argument(std::string(argument) + ": data is not aligned to its element size of " +
                               std::to_string(size_of(view.shape.type)) + " bytes");
    if (address > std::numeric_limits<std::uintptr_t>::max() - static_cast<std::uintptr_t>(bytes))
        too_large(argument, view.shape);
    return bytes;
}

void check_layout(table_layout layout) {
    switch (layout) {
        case table_layout::inclusive:
        case table_layout::exclusive:
        case table_layout::padded:
            return;
    }
    throw invalid_argument("layout: is " + std::to_string(static_cast<int>(layout)) + ", not a table_layout");
}

void check_store(store_policy store) {
    switch (store) {
        case store_policy::automatic:
        case store_policy::cached:
        case store_policy::streaming:
            return;
    }
    throw invalid_argument("store: is " + std::to_string(static_cast<int>(store)) + ", not a store_policy");
}

namespace {

/// Whether two ranges of bytes meet where both repeat every `stride` bytes.
bool meet_on_circle(std::uintptr_t first, std::int64_t first_bytes, std::uintptr_t second, std::int64_t second_bytes,
                    std::int64_t stride) {
    const auto around = static_cast<std::uintptr_t>(stride);
    const std::uintptr_t gap =
        first <= second ? (second - first) % around : (around - (first - second) % around) % around;
    return gap < static_cast<std::uintptr_t>(first_bytes) || gap + static_cast<std::uintptr_t>(second_bytes) > around;
}

std::int64_t plane_bytes(const view_shape& s) {
    return (s.rows - 1) * s.row_stride + row_bytes(s);
}

}  // namespace

bool overlap(const const_any_view& a, const const_any_view& b) {
    const auto first = reinterpret_cast<std::uintptr_t>(a.data), second = reinterpret_cast<std::uintptr_t>(b.data);
    const auto first_bytes = static_cast<std::uintptr_t>(span_of_checked(a.shape));
    const auto second_bytes = static_cast<std::uintptr_t>(span_of_checked(b.shape));
    if (first + first_bytes <= second || second + second_bytes <= first) return false;
    const view_shape &s = a.shape, &t = b.shape;
    // Two row ranges of one batch: compare where their planes lie within the common stride.
    const std::int64_t plane_stride = s.planes > 1 ? s.plane_stride : t.plane_stride;
    if ((s.planes > 1 || t.planes > 1) && (t.planes == 1 || t.plane_stride == plane_stride) &&
        !meet_on_circle(first, plane_bytes(s), second, plane_bytes(t), plane_stride))
        return false;
    if (s.row_stride != t.row_stride || s.row_stride == 0) return true;
    for (const view_shape* one : {&s, &t})
        if (one->planes != 1 && one->plane_stride % one->row_stride != 0) return true;
    // Two column ranges of one buffer.
    return meet_on_circle(first, row_bytes(s), second, row_bytes(t), s.row_stride);
}

namespace detail {

std::int64_t checked_table_extent(const char* argument, std::int64_t image_extent, const table_form& form) {
    if (image_extent < 1)
        throw invalid_argument(std::string(argument) + ": is " + std::to_string(image_extent) + ", must be at least 1");
    return form.table_extent(image_extent);
}

void check_image(const const_any_view& image) {
    check_view("image", image);
}

}  // namespace detail

}  // namespace boxsum
