#pragma once

#include "image_io/image.hpp"

#include <cstddef>
#include <span>

namespace boxsum::cli {

/// Calls visit(bytes) with the pixels from top to bottom: once with everything when the rows are packed, else row by
/// row.
template <typename F>
void for_packed_runs(const const_any_view& pixels, F&& visit) {
    const auto* data = static_cast<const std::byte*>(pixels.data);
    const std::int64_t packed = row_bytes(pixels.shape);
    if (pixels.shape.row_stride == packed) {
        visit(std::span(data, static_cast<std::size_t>(packed * pixels.shape.rows)));
        return;
    }
    for (std::int64_t r = 0; r < pixels.shape.rows; ++r)
        visit(std::span(data + r * pixels.shape.row_stride, static_cast<std::size_t>(packed)));
}

/// The bytes of one row.
inline std::span<const std::byte> row_of(const const_any_view& pixels, std::int64_t r) {
    return {static_cast<const std::byte*>(pixels.data) + r * pixels.shape.row_stride,
            static_cast<std::size_t>(row_bytes(pixels.shape))};
}

}  // namespace boxsum::cli
