#pragma once

#include "filters/window_axis.hpp"

#include <boxsum/filters.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace boxsum::filters {

/// The type whose windows are computed for an image: one with kernels that holds its values exactly.
constexpr dtype computed_as(dtype image) noexcept {
    if (image == dtype::f16) return dtype::f32;
    return image == dtype::u32 || image == dtype::s32 ? dtype::f64 : image;
}

/// The largest window over which sums of 32-bit integers are exact in double: below 2^53.
inline constexpr std::int64_t largest_exact_32_bit_window = std::int64_t{1} << 21;

constexpr bool is_32_bit_integer(dtype type) noexcept {
    return type == dtype::u32 || type == dtype::s32;
}

/// The windows of a filter: everything about them but pointers. Rows are numbered in the whole image, of which the
/// given one may be a part.
struct window_job {
    view_shape shape;  ///< of the image
    window_axis rows;  ///< of the whole image
    window_axis cols;
    std::int64_t part_row = 0;   ///< the first that the image has
    std::int64_t first_row = 0;  ///< the first that has a result
    std::int64_t end_row = 0;
    bool some_rows = false;   ///< fewer than might have one
    double border_value = 0;  ///< of the image's type
    rounding_mode rounding = rounding_mode::half_up;
    bool masked = false;
    bool weighted = false;
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};  ///< of the image's type
    std::int64_t min_count = 1;
    double min_weight = 0;
    std::optional<double> fill = {};
    std::int64_t largest_window = 1;
    int threads = 0;  ///< as asked for

    std::int64_t result_rows() const noexcept { return end_row - first_row; }

    /// Whether a window may have pixels that do not count, or too few.
    bool sampled() const noexcept {
        return masked || weighted || nodata || min_count > 1 || (nan == nan_mode::omit && is_floating(shape.type));
    }

    /// Elements of a row.
    std::int64_t n() const noexcept { return shape.cols * shape.channels; }
};

/// Row `row` of a view of its own rows.
template <typename T>
const T* row_of(const const_any_view& view, std::int64_t row, std::int64_t plane) {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(view.data) + plane * view.shape.plane_stride +
                                      row * view.shape.row_stride);
}

template <typename T>
T* row_of(const any_view& view, std::int64_t row, std::int64_t plane) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(view.data) + plane * view.shape.plane_stride +
                                row * view.shape.row_stride);
}

}  // namespace boxsum::filters
