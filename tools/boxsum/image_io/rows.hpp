#pragma once

#include "image_io/image.hpp"
#include "image_io/output_file.hpp"

#include <cstddef>
#include <span>

namespace boxsum::cli {

/// Writes the pixels from top to bottom, without what lies between rows.
inline void write_rows(output_file& out, const const_any_view& pixels) {
    const auto* data = static_cast<const std::byte*>(pixels.data);
    const auto packed = static_cast<std::size_t>(row_bytes(pixels.shape));
    const auto stride = static_cast<std::size_t>(pixels.shape.row_stride),
               rows = static_cast<std::size_t>(pixels.shape.rows);
    if (stride == packed)
        out.write({data, packed * rows});
    else
        out.write_rows(data, packed, stride, rows);
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
