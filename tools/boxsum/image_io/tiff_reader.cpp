#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/tiff_handle.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace boxsum::cli {
namespace {

/// The best compression that a scheme can reach, so that a lying header is refused before memory is allocated.
double best_ratio(std::uint16_t compression) {
    switch (compression) {
        case COMPRESSION_NONE:
            return 1;
        case COMPRESSION_PACKBITS:
            return 64;  // 128 bytes from 2
        case COMPRESSION_DEFLATE:
        case COMPRESSION_ADOBE_DEFLATE:
            return 1032;
        case COMPRESSION_LZW:
        case COMPRESSION_JPEG:
            return 4096;  // a string of at most 4096 bytes from 12 bits; see jpeg.cpp
        default:
            return 65536;  // Zstandard, LZMA, WebP, LERC
    }
}

/// What the tags say about samples and how they lie in the file.
struct tiff_layout {
    std::int64_t rows = 0, cols = 0, channels = 1;
    std::size_t sample_bytes = 1;
    std::uint16_t sample_format = SAMPLEFORMAT_UINT;
    std::uint16_t compression = COMPRESSION_NONE;
    std::uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    bool separate = false;

    /// Channels that lie together in a strip or tile.
    std::int64_t together() const { return separate ? 1 : channels; }
    std::size_t pixel_bytes() const { return static_cast<std::size_t>(channels) * sample_bytes; }
    std::size_t stored_pixel_bytes() const { return static_cast<std::size_t>(together()) * sample_bytes; }
};

template <typename T>
T tag(TIFF* tiff, std::uint32_t name, T fallback) {
    T value{};
    return TIFFGetFieldDefaulted(tiff, name, &value) == 1 ? value : fallback;
}

void check_photometric(TIFF* tiff, const tiff_layout& layout) {
    switch (layout.photometric) {
        case PHOTOMETRIC_MINISBLACK:
        case PHOTOMETRIC_MINISWHITE:
        case PHOTOMETRIC_RGB:
            return;
        case PHOTOMETRIC_PALETTE:
            if (layout.channels == 1 && layout.sample_bytes == 1 && layout.sample_format == SAMPLEFORMAT_UINT) return;
            throw input_error("it has a palette for other than one channel of 8 bits");
        case PHOTOMETRIC_YCBCR:
            if (layout.compression == COMPRESSION_JPEG) {
                TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
                return;
            }
            [[fallthrough]];
        default:
            throw input_error("its photometric interpretation is " + std::to_string(layout.photometric) +
                              "; grey, RGB, palette and JPEG's YCbCr are read");
    }
}

tiff_layout read_layout(TIFF* tiff) {
    tiff_layout layout;
    layout.rows = tag<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
    layout.cols = tag<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
    layout.channels = tag<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    layout.compression = tag<std::uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    layout.photometric =
        tag<std::uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, layout.channels < 3 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB);
    layout.separate = tag<std::uint16_t>(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE &&
                      layout.channels > 1;
    layout.sample_format = tag<std::uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    if (layout.sample_format == SAMPLEFORMAT_VOID) layout.sample_format = SAMPLEFORMAT_UINT;
    const int bits = tag<std::uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
    const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    const bool known = layout.sample_format == SAMPLEFORMAT_UINT || layout.sample_format == SAMPLEFORMAT_INT ||
                       (layout.sample_format == SAMPLEFORMAT_IEEEFP && bits != 8);
    if (!whole || !known)
        throw input_error("its samples have " + std::to_string(bits) + " bits and format " +
                          std::to_string(layout.sample_format) +
                          "; integers of 8, 16, 32, 64 bits and floats of 16, 32, 64 bits are read");
    layout.sample_bytes = static_cast<std::size_t>(bits) / 8;
    if (tag<std::uint32_t>(tiff, TIFFTAG_IMAGEDEPTH, 1) != 1 || tag<std::uint32_t>(tiff, TIFFTAG_TILEDEPTH, 1) != 1)
        throw input_error("it is a volume, not an image");
    check_photometric(tiff, layout);
    return layout;
}

dtype type_of(const tiff_layout& layout) {
    const bool integer_signed = layout.sample_format == SAMPLEFORMAT_INT;
    if (layout.sample_format == SAMPLEFORMAT_IEEEFP)
        return layout.sample_bytes == 2 ? dtype::f16 : layout.sample_bytes == 4 ? dtype::f32 : dtype::f64;
    switch (layout.sample_bytes) {
        case 1:
            return dtype::u8;  // signed samples are widened afterwards
        case 2:
            return integer_signed ? dtype::s16 : dtype::u16;
        case 4:
            return integer_signed ? dtype::s32 : dtype::u32;
        default:
            return integer_signed ? dtype::s64 : dtype::u64;
    }
}

/// Copies a decoded block (a strip or tile, `stride` bytes a row) to its place; `channel` is the first of its channels.
void place(const writable_image& pixels, const tiff_layout& layout, const std::byte* block, std::size_t stride,
           std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols, std::int64_t channel) {
    const std::size_t stored = layout.stored_pixel_bytes();
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::byte* from = block + static_cast<std::size_t>(r) * stride;
        std::byte* to = pixels.row(row + r) + static_cast<std::size_t>(col) * layout.pixel_bytes() +
                        static_cast<std::size_t>(channel) * layout.sample_bytes;
        if (!layout.separate) {
            std::memcpy(to, from, static_cast<std::size_t>(cols) * stored);
            continue;
        }
        for (std::int64_t c = 0; c < cols; ++c, from += stored, to += layout.pixel_bytes())
            std::memcpy(to, from, layout.sample_bytes);
    }
}

void read_strips(const tiff_handle& file, const tiff_layout& layout, const writable_image& pixels) {
    const std::size_t stride = static_cast<std::size_t>(layout.cols) * layout.stored_pixel_bytes();
    if (TIFFScanlineSize64(file.get()) != stride) throw input_error("its rows have an unknown size");
    const std::int64_t strip_rows = std::min<std::int64_t>(
        layout.rows, std::max<std::uint32_t>(1, tag<std::uint32_t>(file.get(), TIFFTAG_ROWSPERSTRIP, 1)));
    std::vector<std::byte> strip(layout.separate ? static_cast<std::size_t>(strip_rows) * stride : 0);
    for (std::int64_t channel = 0; channel < layout.channels; channel += layout.together())
        for (std::int64_t row = 0; row < layout.rows; row += strip_rows) {
            const std::int64_t rows = std::min(strip_rows, layout.rows - row);
            const auto bytes = static_cast<tmsize_t>(static_cast<std::size_t>(rows) * stride);
            std::byte* block = layout.separate ? strip.data() : pixels.row(row);
            const std::uint32_t number =
                TIFFComputeStrip(file.get(), static_cast<std::uint32_t>(row), static_cast<std::uint16_t>(channel));
            const tmsize_t got = TIFFReadEncodedStrip(file.get(), number, block, bytes);
            if (got < 0) file.fail_reading();
            if (got != bytes)
                throw input_error("strip " + std::to_string(number) + " holds " + std::to_string(got) + " of " +
                                  std::to_string(bytes) + " bytes: it is truncated");
            if (layout.separate) place(pixels, layout, block, stride, row, 0, rows, layout.cols, channel);
        }
}

void read_tiles(const tiff_handle& file, const tiff_layout& layout, const writable_image& pixels,
                std::size_t file_bytes) {
    const std::int64_t tile_rows = tag<std::uint32_t>(file.get(), TIFFTAG_TILELENGTH, 0);
    const std::int64_t tile_cols = tag<std::uint32_t>(file.get(), TIFFTAG_TILEWIDTH, 0);
    const view_shape tile_shape =
        packed_shape(pixels.view.shape.type, tile_rows, tile_cols, layout.together());  // checks the product
    const auto tile_bytes = static_cast<std::uint64_t>(tile_shape.plane_stride);
    check_plausible_size(tile_shape, tile_bytes, file_bytes, best_ratio(layout.compression));
    if (TIFFTileSize64(file.get()) != tile_bytes) throw input_error("its tiles have an unknown size");
    std::vector<std::byte> tile(tile_bytes);
    for (std::int64_t channel = 0; channel < layout.channels; channel += layout.together())
        for (std::int64_t row = 0; row < layout.rows; row += tile_rows)
            for (std::int64_t col = 0; col < layout.cols; col += tile_cols) {
                const std::uint32_t number =
                    TIFFComputeTile(file.get(), static_cast<std::uint32_t>(col), static_cast<std::uint32_t>(row), 0,
                                    static_cast<std::uint16_t>(channel));
                const tmsize_t got =
                    TIFFReadEncodedTile(file.get(), number, tile.data(), static_cast<tmsize_t>(tile_bytes));
                if (got < 0) file.fail_reading();
                if (static_cast<std::uint64_t>(got) != tile_bytes)
                    throw input_error("tile " + std::to_string(number) + " holds " + std::to_string(got) + " of " +
                                      std::to_string(tile_bytes) + " bytes: it is truncated");
                place(pixels, layout, tile.data(), static_cast<std::size_t>(tile_shape.row_stride), row, col,
                      std::min(tile_rows, layout.rows - row), std::min(tile_cols, layout.cols - col), channel);
            }
}

writable_image widened_s8(const writable_image& pixels) {
    const view_shape& s = pixels.view.shape;
    const writable_image wide = allocate_image(packed_shape(dtype::s16, s.rows, s.cols, s.channels));
    const auto* from = static_cast<const std::int8_t*>(pixels.view.data);
    auto* to = static_cast<std::int16_t*>(wide.view.data);
    for (std::int64_t i = 0; i < s.plane_stride; ++i) to[i] = from[i];
    return wide;
}

writable_image palette_expanded(const tiff_handle& file, const writable_image& pixels) {
    std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1)
        throw input_error("it has no palette, but says so");
    // The palette has 16 bits; old writers fill only the lower 8 of them.
    const bool full = std::any_of(red, red + 256, [](std::uint16_t v) { return v > 255; }) ||
                      std::any_of(green, green + 256, [](std::uint16_t v) { return v > 255; }) ||
                      std::any_of(blue, blue + 256, [](std::uint16_t v) { return v > 255; });
    const int shift = full ? 8 : 0;
    const view_shape& s = pixels.view.shape;
    const writable_image rgb = allocate_image(packed_shape(dtype::u8, s.rows, s.cols, 3));
    const auto* from = static_cast<const std::uint8_t*>(pixels.view.data);
    auto* to = static_cast<std::uint8_t*>(rgb.view.data);
    for (std::int64_t i = 0; i < s.plane_stride; ++i) {
        *to++ = static_cast<std::uint8_t>(red[from[i]] >> shift);
        *to++ = static_cast<std::uint8_t>(green[from[i]] >> shift);
        *to++ = static_cast<std::uint8_t>(blue[from[i]] >> shift);
    }
    return rgb;
}

/// Channels that are colours: the others (transparency, unknown ones) come after them.
std::int64_t colour_channels(const tiff_handle& file, const tiff_layout& layout) {
    std::uint16_t extra = 0;
    std::uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(file.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    return std::max<std::int64_t>(1, layout.channels - extra);
}

/// Whether the last of 2 or 4 channels is said to be opacity.
bool last_is_alpha(const tiff_handle& file, std::int64_t channels) {
    std::uint16_t extra = 0;
    std::uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(file.get(), TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    return (channels == 2 || channels == 4) && extra == 1 &&
           (kinds[0] == EXTRASAMPLE_UNASSALPHA || kinds[0] == EXTRASAMPLE_ASSOCALPHA);
}

/// "Min is white" of unsigned samples: the complement of every bit of the first `colours` channels.
void invert(const writable_image& pixels, const tiff_layout& layout, std::int64_t colours) {
    auto* bytes = static_cast<std::byte*>(pixels.view.data);
    const auto pixel = static_cast<std::int64_t>(layout.pixel_bytes());
    const std::int64_t inverted = colours * static_cast<std::int64_t>(layout.sample_bytes);
    for (std::int64_t at = 0; at < pixels.view.shape.plane_stride; at += pixel)
        for (std::int64_t i = at; i < at + inverted; ++i) bytes[i] = ~bytes[i];
}

}  // namespace

image read_tiff(const encoded_bytes& file, int page) {
    const tiff_handle handle(file.bytes);
    if (page != 1 && TIFFSetDirectory(handle.get(), static_cast<tdir_t>(page - 1)) != 1)
        throw input_error("it has no page " + std::to_string(page) + ", but " +
                          std::to_string(TIFFNumberOfDirectories(handle.get())));
    const tiff_layout layout = read_layout(handle.get());
    const view_shape shape = packed_shape(type_of(layout), layout.rows, layout.cols, layout.channels);
    check_plausible_size(shape, static_cast<std::uint64_t>(shape.plane_stride), file.bytes.size(),
                         best_ratio(layout.compression));

    writable_image pixels = allocate_image(shape);
    if (TIFFIsTiled(handle.get()) != 0)
        read_tiles(handle, layout, pixels, file.bytes.size());
    else
        read_strips(handle, layout, pixels);
    handle.check_undamaged();

    if (layout.photometric == PHOTOMETRIC_PALETTE) pixels = palette_expanded(handle, pixels);
    if (layout.photometric == PHOTOMETRIC_MINISWHITE && layout.sample_format == SAMPLEFORMAT_UINT)
        invert(pixels, layout, colour_channels(handle, layout));
    if (layout.sample_format == SAMPLEFORMAT_INT && layout.sample_bytes == 1) pixels = widened_s8(pixels);

    image result = pixels;
    result.alpha = last_is_alpha(handle, shape.channels);
    if (page == 1 && TIFFLastDirectory(handle.get()) == 0)
        result.note = "it has several pages; the first one is read (--page)";
    return result;
}

}  // namespace boxsum::cli
