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

/// Eight pixels a byte, the first in its highest bit, which is set where the pixel is not 0.
inline void pack_bits(std::span<const std::byte> row, std::byte* to) {
    for (std::size_t i = 0; i < row.size(); i += 8) {
        unsigned bits = 0;
        for (std::size_t k = 0; k < 8; ++k)
            bits = bits << 1 | (i + k < row.size() && row[i + k] != std::byte{0} ? 1U : 0U);
        *to++ = static_cast<std::byte>(bits);
    }
}

/// The bytes of one row.
inline std::span<const std::byte> row_of(const const_any_view& pixels, std::int64_t r) {
    return {static_cast<const std::byte*>(pixels.data) + r * pixels.shape.row_stride,
            static_cast<std::size_t>(row_bytes(pixels.shape))};
}

}  // namespace boxsum::cli
