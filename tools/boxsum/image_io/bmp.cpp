#include "errors.hpp"
#include "image_io/codecs.hpp"

#if defined(BOXSUM_HAS_STB)
#include "image_io/memory_limit.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#include <stb/stb_image.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

namespace boxsum::cli {
namespace {

/// What the file's header says, little endian. The decoder takes what is missing at a file's end for zeros and knows
/// other formats without a signature, so the header is checked before it is called.
class bmp_header {
  public:
    explicit bmp_header(std::span<const std::byte> bytes) : bytes_(bytes) {
        constexpr std::uint32_t core = 12, info = 40, version_4 = 108, version_5 = 124;
        pixels_at = number(10, 4);
        size_ = number(14, 4);
        if (size_ != core && size_ != info && size_ != version_4 && size_ != version_5)
            throw input_error("its BMP header has " + std::to_string(size_) + " bytes; 12, 40, 108 and 124 are known");
        old_ = size_ == core;
        const auto extent = [&](std::size_t at) -> std::int64_t {
            if (old_) return number(at, 2);
            return static_cast<std::int32_t>(number(at, 4));
        };
        cols = extent(18);
        rows = extent(old_ ? 20 : 22);
        if (rows < 0) rows = -rows;  // from top to bottom
        bits = number(old_ ? 24 : 28, 2);
        const std::uint32_t compression = old_ ? 0 : number(30, 4);
        constexpr std::uint32_t plain = 0, bit_fields = 3;
        if (compression != plain && compression != bit_fields)
            throw input_error("its BMP pixels are compressed, which is not read");
        if (old_ && bits <= 8)  // the decoder loses its place in that palette
            throw input_error("its BMP header is the first one of OS/2, with a palette, which is not read");
        if (pixels_at < start + size_) throw input_error("its BMP header is malformed");
    }

    /// Throws unless all rows are there.
    void check_complete() const {
        constexpr std::int64_t most = 1 << 24;
        if (cols < 1 || rows < 1 || cols > most || rows > most)
            throw input_error("its extents are " + std::to_string(rows) + " x " + std::to_string(cols) +
                              ", must be 1 to " + std::to_string(most));
        const std::int64_t row_bytes = (cols * bits + 31) / 32 * 4;
        const auto size = static_cast<std::int64_t>(bytes_.size());
        if (row_bytes > size / rows || row_bytes * rows > size - pixels_at)
            throw input_error("its pixels need " + std::to_string(row_bytes) + " bytes a row, but the file has " +
                              std::to_string(size) + ": it is truncated");
    }

    /// Whether pixels are numbers of a palette of greys.
    bool is_grey() const {
        if (bits > 8) return false;
        constexpr std::size_t entry = 4;
        for (std::size_t at = start + size_; at + entry <= static_cast<std::size_t>(pixels_at); at += entry)
            if (number(at, 1) != number(at + 1, 1) || number(at, 1) != number(at + 2, 1)) return false;
        return true;
    }

    std::int64_t rows = 0, cols = 0, bits = 0, pixels_at = 0;

  private:
    static constexpr std::uint32_t start = 14;  // of the header proper

    std::uint32_t number(std::size_t at, std::size_t bytes) const {
        if (at + bytes > bytes_.size()) throw input_error("it ends within its BMP header");
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint32_t>(bytes_[at + i]) << (8 * i);
        return value;
    }

    std::span<const std::byte> bytes_;
    std::uint32_t size_ = 0;
    bool old_ = false;
};

/// Some of the channels of what was decoded.
image channels_of(const stbi_uc* pixels, const bmp_header& header, std::int64_t stored, std::int64_t kept) {
    const writable_image out = allocate_image(packed_shape(dtype::u8, header.rows, header.cols, kept));
    auto* to = static_cast<std::uint8_t*>(out.view.data);
    for (std::int64_t i = 0; i < header.rows * header.cols; ++i, pixels += stored) to = std::copy_n(pixels, kept, to);
    return out;
}

}  // namespace

image read_bmp(const encoded_bytes& file) {
    const bmp_header header(file.bytes);
    header.check_complete();
    if (file.bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw input_error("it has 2 GiB or more, which BMP does not allow");
    const memory_reservation decoded(static_cast<std::uint64_t>(header.rows * header.cols) * 4, "decoding a BMP");
    int cols = 0, rows = 0, channels = 0;
    const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
        stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file.bytes.data()), static_cast<int>(file.bytes.size()),
                              &cols, &rows, &channels, 0),
        &stbi_image_free);
    if (pixels == nullptr || cols != header.cols || rows != header.rows)
        throw input_error("its BMP is malformed, or of a kind that is not read");
    if (channels == 3) return channels_of(pixels.get(), header, 3, header.is_grey() ? 1 : 3);
    // Most files of 32 bits have no opacity: the decoder says that all is opaque.
    bool opaque = true;
    for (std::int64_t i = 0; opaque && i < header.rows * header.cols; ++i) opaque = pixels.get()[4 * i + 3] == 255;
    image result = channels_of(pixels.get(), header, 4, opaque ? 3 : 4);
    result.alpha = !opaque;
    return result;
}

}  // namespace boxsum::cli

#else

namespace boxsum::cli {

image read_bmp(const encoded_bytes&) {
    throw input_error("it is a BMP, which this build does not read (it was made without stb_image)");
}

}  // namespace boxsum::cli

#endif
