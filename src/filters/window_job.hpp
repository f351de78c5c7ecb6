#pragma once

#include "filters/window_axis.hpp"

#include <boxsum/filters.hpp>

#include <cstdint>

namespace boxsum::filters {

/// Windows of one size over an image, checked.
struct window_job {
    const_any_view image;
    window_axis rows;
    window_axis cols;
    double border_value = 0;  ///< of the image's type
    std::int64_t largest_window = 1;
    int threads = 0;  ///< as asked for

    /// Elements of a row.
    std::int64_t n() const noexcept { return image.shape.cols * image.shape.channels; }
};

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

/// What lies beyond a constant border: a pixel, so a value of the image's type. Windows along rows and columns meet it
/// in double and in that type, and must see the same.
double border_pixel(double border_value, dtype image);

/// Checks image, radius, border and threads, and settles the axes.
window_job make_window_job(const const_any_view& image, window_radius radius, border_mode border, double border_value,
                           int threads);

}  // namespace boxsum::filters
