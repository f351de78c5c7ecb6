#pragma once

#include "image_io/metadata.hpp"
#include "image_io/output_file.hpp"

#include <boxsum/table.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace boxsum::cli {

/// An image that can be read, and what keeps its bytes alive: a pooled block, or the mapped file itself. Copies share
/// the bytes.
struct image {
    const_any_view view;
    std::shared_ptr<const void> owner;
    std::string note = {};  ///< what the reader left out and the user should know ("it has several pages; ...")
    bool alpha = false;     ///< the last channel is the pixels' opacity, no colour
    std::shared_ptr<const image_metadata> metadata = {};  ///< null: none
    int orientation = 1;                                  ///< EXIF's, as read; read_image() turns the image upright
    std::int64_t maxval = 0;  ///< the value of white where it is not the type's largest (PGM and PPM); else 0

    /// Channels that are no opacity.
    std::int64_t colours() const { return view.shape.channels - (alpha ? 1 : 0); }
};

/// An image being filled: packed rows from the shared pool.
struct writable_image {
    any_view view;
    std::shared_ptr<host_buffer> owner;

    operator image() const { return {.view = view, .owner = owner}; }  // NOLINT: a filled image is an image

    /// First byte of a row.
    std::byte* row(std::int64_t r) const { return static_cast<std::byte*>(view.data) + r * view.shape.row_stride; }
};

/// What is read of a file that has more than one image or channel.
struct read_options {
    std::optional<int> page = {};  ///< of TIFF, and of FITS the image, from 1; else the first, with a note of others
    int band = 0;                  ///< from 1; 0: all channels
};

enum class tiff_compression : std::uint8_t { none, packbits, lzw, deflate, zstd, g4 };

/// How pixels are packed into a file.
struct write_options {
    int quality = 95;  ///< JPEG's and WebP's
    tiff_compression compress = tiff_compression::none;
    std::optional<int> level = {};  ///< of PNG and of TIFF's deflate, 0 to 9; default: fast
    int bits = 0;                   ///< 1: black and white as single bits (PNG, TIFF, PBM); 0: as the pixels are
    bool durable = false;           ///< --sync: durability::disk

    durability kind() const { return durable ? durability::disk : durability::system; }
};

/// Bytes of one packed row.
std::int64_t row_bytes(const view_shape& shape);

/// A packed shape. Throws input_error, naming the extents, unless rows and cols are at least 1, channels are 1 to 4 and
/// the size in bytes fits 63 bits.
view_shape packed_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels);

/// Throws out_of_memory, naming the size, when it and what is in use exceed memory_limit().
writable_image allocate_image(const view_shape& packed);

/// Throws input_error when decoding `pixel_bytes` from a file of `file_bytes` would take a better compression than
/// `ratio`, the best that the format allows: such a header lies, and nothing was allocated for it yet.
void check_plausible_size(const view_shape& shape, std::uint64_t pixel_bytes, std::uint64_t file_bytes, double ratio);

/// The file's bytes and what keeps them alive.
struct encoded_bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};

/// Red, green and blue of cyan, magenta, yellow and black (8u or 16u), without a profile: (white - ink)(white - black).
/// `inverted`: the samples are what is left of white, as Adobe's are.
image rgb_of_cmyk(const writable_image& inks, bool inverted);

/// Reverses the bytes of every element, for files of the other byte order.
void swap_byte_order(std::span<std::byte> elements, std::size_t element_bytes);

}  // namespace boxsum::cli
