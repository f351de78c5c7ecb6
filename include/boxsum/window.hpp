#pragma once

#include <boxsum/export.hpp>

#include <cstdint>

namespace boxsum BOXSUM_EXPORT {

/// Half extents: a window of 2*rows + 1 rows and 2*cols + 1 columns around its pixel. 0 means the pixel's own row or
/// column. `window_radius(3)` is square, 7 x 7.
struct window_radius {
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    constexpr window_radius(std::int64_t both) : rows(both), cols(both) {}  // NOLINT: one number is square
    constexpr window_radius(std::int64_t r, std::int64_t c) : rows(r), cols(c) {}

    friend bool operator==(window_radius, window_radius) = default;
};

/// Extents: a window of that many rows and columns. `window_size(31)` is square, 31 x 31. The pixel is the middle one;
/// of an even number that behind the middle, as with SciPy and OpenCV: 4 rows are 2 above the pixel, its own, 1 below.
struct window_size {
    std::int64_t rows = 1;
    std::int64_t cols = 1;

    constexpr window_size(std::int64_t both) : rows(both), cols(both) {}  // NOLINT: one number is square
    constexpr window_size(std::int64_t r, std::int64_t c) : rows(r), cols(c) {}

    friend bool operator==(window_size, window_size) = default;
};

/// How far a window reaches from its pixel, in rows and columns.
struct window_extents {
    std::int64_t above = 0;
    std::int64_t below = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;
};

/// The window around a pixel, of every filter: rows r - above .. r + below, columns c - left .. c + right. It is made
/// from a size, a radius or its extents, and one number is always square:
///
///     boxsum::box_filter({image}, {result}, {.window = 31});                               // 31 x 31
///     boxsum::box_filter({image}, {result}, {.window = {31, 15}});                         // 31 rows, 15 columns
///     boxsum::box_filter({image}, {result}, {.window = boxsum::window_radius(3)});         // 7 x 7
///     boxsum::box_filter({image}, {result}, {.window = boxsum::window_extents{.left = 8}});  // 1 x 9
///
/// Extents are not negative. They may exceed the image.
struct window {
    std::int64_t above = 0;
    std::int64_t below = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;

    /// 15 x 15
    constexpr window() : window(15) {}
    constexpr window(std::int64_t size) : window(size, size) {}  // NOLINT: one number is square
    constexpr window(std::int64_t rows, std::int64_t cols) : window(window_size(rows, cols)) {}
    constexpr window(window_size s)  // NOLINT: a size is a window
        : above(s.rows / 2), below(s.rows - above - 1), left(s.cols / 2), right(s.cols - left - 1) {}
    constexpr window(window_radius r)  // NOLINT: a radius is a window
        : above(r.rows), below(r.rows), left(r.cols), right(r.cols) {}
    constexpr window(window_extents e)  // NOLINT: so are extents
        : above(e.above), below(e.below), left(e.left), right(e.right) {}

    friend bool operator==(const window&, const window&) = default;
};

}  // namespace boxsum
