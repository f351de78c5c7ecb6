#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace boxsum::cli {

enum class image_format : std::uint8_t { png, jpeg, tiff, pnm, pfm, npy, webp, bmp, exr, fits };

/// "png", "jpeg", "tiff", "pnm", "pfm", "npy", "webp", "bmp", "exr", "fits"
std::string_view name_of(image_format format) noexcept;

/// The names above, and the usual endings of file names ("jpg", "tif", "pgm", "ppm"), in any case of letters.
std::optional<image_format> format_from_name(std::string_view name) noexcept;

/// Whether the tool reads files of a format and does not write them.
bool is_read_only(image_format format) noexcept;

/// By the ending of a file name.
std::optional<image_format> format_from_path(std::string_view path);

/// By the first bytes of a file, whatever it is called.
std::optional<image_format> format_from_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace boxsum::cli
