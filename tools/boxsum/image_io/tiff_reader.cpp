#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/tiff_handle.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
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
    std::size_t sample_bytes = 1;  ///< as read: of fewer bits than 8 one
    int bits = 8;                  ///< as stored
    std::int64_t band = -1;        ///< the only channel that is read, from 0; -1: all
    std::uint16_t sample_format = SAMPLEFORMAT_UINT;
    std::uint16_t compression = COMPRESSION_NONE;
    std::uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    bool separate = false;

    /// Channels that lie together in a strip or tile.
    std::int64_t together() const { return separate ? 1 : channels; }
    std::int64_t channels_read() const { return band < 0 ? channels : 1; }
    std::size_t pixel_bytes() const { return static_cast<std::size_t>(channels_read()) * sample_bytes; }
    std::size_t stored_pixel_bytes() const { return static_cast<std::size_t>(together()) * sample_bytes; }
    std::size_t stored_row_bytes(std::int64_t pixels) const {
        return static_cast<std::size_t>((pixels * together() * bits + 7) / 8);
    }
    /// Whether blocks of the file are rows of the image as they are.
    bool direct() const { return !separate && bits >= 8 && band < 0; }
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
            throw input_error("it has a palette for other than one channel of 1 to 8 bits");
        case PHOTOMETRIC_SEPARATED:
            if (layout.channels == 4 && layout.sample_bytes <= 2 && layout.sample_format == SAMPLEFORMAT_UINT) return;
            throw input_error("its inks are not four of 8 or 16 bits: cyan, magenta, yellow, black");
        case PHOTOMETRIC_YCBCR:
            if (layout.compression == COMPRESSION_JPEG) {
                TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
                return;
            }
            [[fallthrough]];
        default:
            throw input_error("its photometric interpretation is " + std::to_string(layout.photometric) +
                              "; grey, RGB, palette, CMYK and JPEG's YCbCr are read");
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
    const bool few = (bits == 1 || bits == 2 || bits == 4) && layout.sample_format == SAMPLEFORMAT_UINT;
    const bool whole = few || bits == 8 || bits == 16 || bits == 32 || bits == 64;
    const bool known = layout.sample_format == SAMPLEFORMAT_UINT || layout.sample_format == SAMPLEFORMAT_INT ||
                       (layout.sample_format == SAMPLEFORMAT_IEEEFP && bits != 8);
    if (!whole || !known)
        throw input_error("its samples have " + std::to_string(bits) + " bits and format " +
                          std::to_string(layout.sample_format) +
                          "; integers of 1, 2, 4, 8, 16, 32, 64 bits and floats of 16, 32, 64 bits are read");
    layout.sample_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(bits) / 8);
    layout.bits = bits;
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

/// A row of samples of 1, 2 or 4 bits as bytes: 0 to 255, or the numbers themselves for a palette.
std::vector<std::byte> unpacked(const std::byte* row, std::int64_t samples, const tiff_layout& layout) {
    const unsigned most = (1U << layout.bits) - 1;
    const unsigned scale = layout.photometric == PHOTOMETRIC_PALETTE ? 1 : 255 / most;
    std::vector<std::byte> bytes(static_cast<std::size_t>(samples));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::size_t at = i * static_cast<std::size_t>(layout.bits);
        const auto shift = 8 - static_cast<unsigned>(at % 8) - static_cast<unsigned>(layout.bits);
        bytes[i] = static_cast<std::byte>((std::to_integer<unsigned>(row[at / 8]) >> shift & most) * scale);
    }
    return bytes;
}

/// Copies a decoded block (a strip or tile, `stride` bytes a row) to its place; `channel` is the first of its channels.
void place(const writable_image& pixels, const tiff_layout& layout, const std::byte* block, std::size_t stride,
           std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols, std::int64_t channel) {
    const std::size_t stored = layout.stored_pixel_bytes();
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::byte* from = block + static_cast<std::size_t>(r) * stride;
        std::vector<std::byte> bytes;
        if (layout.bits < 8) {
            bytes = unpacked(from, cols * layout.together(), layout);
            from = bytes.data();
        }
        if (layout.band >= 0 && !layout.separate) from += static_cast<std::size_t>(layout.band) * layout.sample_bytes;
        std::byte* to = pixels.row(row + r) + static_cast<std::size_t>(col) * layout.pixel_bytes() +
                        static_cast<std::size_t>(layout.band < 0 ? channel : 0) * layout.sample_bytes;
        if (!layout.separate && layout.band < 0) {
            std::memcpy(to, from, static_cast<std::size_t>(cols) * stored);
            continue;
        }
        for (std::int64_t c = 0; c < cols; ++c, from += stored, to += layout.pixel_bytes())
            std::memcpy(to, from, layout.sample_bytes);
    }
}

void read_strips(const tiff_handle& file, const tiff_layout& layout, const writable_image& pixels) {
    const std::size_t stride = layout.stored_row_bytes(layout.cols);
    if (TIFFScanlineSize64(file.get()) != stride) throw input_error("its rows have an unknown size");
    const std::int64_t strip_rows = std::min<std::int64_t>(
        layout.rows, std::max<std::uint32_t>(1, tag<std::uint32_t>(file.get(), TIFFTAG_ROWSPERSTRIP, 1)));
    std::vector<std::byte> strip(layout.direct() ? 0 : static_cast<std::size_t>(strip_rows) * stride);
    for (std::int64_t channel = 0; channel < layout.channels; channel += layout.together()) {
        if (layout.separate && layout.band >= 0 && channel != layout.band) continue;
        for (std::int64_t row = 0; row < layout.rows; row += strip_rows) {
            const std::int64_t rows = std::min(strip_rows, layout.rows - row);
            const auto bytes = static_cast<tmsize_t>(static_cast<std::size_t>(rows) * stride);
            std::byte* block = layout.direct() ? pixels.row(row) : strip.data();
            const std::uint32_t number =
                TIFFComputeStrip(file.get(), static_cast<std::uint32_t>(row), static_cast<std::uint16_t>(channel));
            const tmsize_t got = TIFFReadEncodedStrip(file.get(), number, block, bytes);
            if (got < 0) file.fail_reading();
            if (got != bytes)
                throw input_error("strip " + std::to_string(number) + " holds " + std::to_string(got) + " of " +
                                  std::to_string(bytes) + " bytes: it is truncated");
            if (!layout.direct()) place(pixels, layout, block, stride, row, 0, rows, layout.cols, channel);
        }
    }
}

void read_tiles(const tiff_handle& file, const tiff_layout& layout, const writable_image& pixels,
                std::size_t file_bytes) {
    const std::int64_t tile_rows = tag<std::uint32_t>(file.get(), TIFFTAG_TILELENGTH, 0);
    const std::int64_t tile_cols = tag<std::uint32_t>(file.get(), TIFFTAG_TILEWIDTH, 0);
    const view_shape tile_shape = packed_shape(pixels.view.shape.type, tile_rows, tile_cols, 1);
    std::uint64_t tile_bytes = 0;
    const std::size_t stride = layout.stored_row_bytes(tile_cols);
    if (__builtin_mul_overflow(stride, static_cast<std::uint64_t>(tile_rows), &tile_bytes))
        throw input_error("the extents of its tiles overflow 64 bits");
    check_plausible_size(tile_shape, tile_bytes, file_bytes, best_ratio(layout.compression));
    if (TIFFTileSize64(file.get()) != tile_bytes) throw input_error("its tiles have an unknown size");
    std::vector<std::byte> tile(tile_bytes);
    for (std::int64_t channel = 0; channel < layout.channels; channel += layout.together()) {
        if (layout.separate && layout.band >= 0 && channel != layout.band) continue;
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
                place(pixels, layout, tile.data(), stride, row, col, std::min(tile_rows, layout.rows - row),
                      std::min(tile_cols, layout.cols - col), channel);
            }
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

writable_image palette_expanded(const tiff_handle& file, const tiff_layout& layout, const writable_image& pixels) {
    std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (TIFFGetField(file.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1)
        throw input_error("it has no palette, but says so");
    // The palette has 16 bits; old writers fill only the lower 8 of them.
    const std::ptrdiff_t entries = std::ptrdiff_t{1} << layout.bits;
    const auto wide = [entries](const std::uint16_t* part) {
        return std::any_of(part, part + entries, [](std::uint16_t v) { return v > 255; });
    };
    const bool full = wide(red) || wide(green) || wide(blue);
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

void read_metadata(TIFF* tiff, image& result) {
    image_metadata metadata;
    std::uint32_t size = 0;
    const void* data = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &size, &data) == 1) {
        const auto* const bytes = static_cast<const std::byte*>(data);
        metadata.icc.assign(bytes, bytes + size);
    }
    constexpr double cm_per_inch = 2.54;
    const auto unit = tag<std::uint16_t>(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
    const auto per_cm = [&](std::uint32_t name) {
        float value = 0;
        if (unit == RESUNIT_NONE || TIFFGetField(tiff, name, &value) != 1) return 0.0;
        return static_cast<double>(value) / (unit == RESUNIT_INCH ? cm_per_inch : 1);
    };
    metadata.horizontal_per_cm = per_cm(TIFFTAG_XRESOLUTION);
    metadata.vertical_per_cm = per_cm(TIFFTAG_YRESOLUTION);
    // libtiff knows these tags by their numbers only: it gives the number of values and the values.
    for (const std::uint32_t number :
         {geo_tags::pixel_scale, geo_tags::tie_points, geo_tags::transformation, geo_tags::directory, geo_tags::doubles,
          geo_tags::texts, geo_tags::gdal_metadata, geo_tags::gdal_nodata}) {
        std::uint32_t count = 0;
        const TIFFField* const field = TIFFFindField(tiff, number, TIFF_ANY);
        if (field == nullptr || TIFFFieldPassCount(field) == 0 || TIFFFieldReadCount(field) != TIFF_VARIABLE2 ||
            TIFFGetField(tiff, number, &count, &data) != 1 || data == nullptr)
            continue;
        image_metadata::tiff_tag& t = metadata.geo.emplace_back();
        t.number = number;
        const TIFFDataType type = TIFFFieldDataType(field);
        if (type == TIFF_SHORT)
            t.shorts.assign(static_cast<const std::uint16_t*>(data), static_cast<const std::uint16_t*>(data) + count);
        else if (type == TIFF_DOUBLE)
            t.doubles.assign(static_cast<const double*>(data), static_cast<const double*>(data) + count);
        else if (type == TIFF_ASCII)
            t.text.assign(static_cast<const char*>(data), ::strnlen(static_cast<const char*>(data), count));
        else
            metadata.geo.pop_back();
    }
    const auto orientation = tag<std::uint16_t>(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (orientation >= 1 && orientation <= 8) result.orientation = orientation;
    if (!metadata.icc.empty() || metadata.horizontal_per_cm > 0 || !metadata.geo.empty())
        result.metadata = std::make_shared<image_metadata>(std::move(metadata));
}

/// Pixels that lie in the file as an image does are not copied: the view is of the file's own bytes.
bool map_strips(TIFF* tiff, const tiff_layout& layout, const view_shape& shape, const encoded_bytes& file,
                image& mapped) {
    const bool plain = layout.photometric == PHOTOMETRIC_MINISBLACK || layout.photometric == PHOTOMETRIC_RGB;
    const bool widened = layout.sample_format == SAMPLEFORMAT_INT && layout.sample_bytes == 1;
    if (TIFFIsTiled(tiff) != 0 || layout.compression != COMPRESSION_NONE || !layout.direct() || !plain || widened ||
        TIFFIsByteSwapped(tiff) != 0 ||
        tag<std::uint16_t>(tiff, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) != FILLORDER_MSB2LSB)
        return false;
    const std::uint64_t strip_rows = std::max<std::uint32_t>(1, tag<std::uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, 1));
    const std::uint64_t start = TIFFGetStrileOffset(tiff, 0);
    std::uint64_t offset = start;
    for (std::uint64_t row = 0, strip = 0; row < static_cast<std::uint64_t>(shape.rows); row += strip_rows, ++strip) {
        const auto number = static_cast<std::uint32_t>(strip);
        const std::uint64_t rows = std::min(strip_rows, static_cast<std::uint64_t>(shape.rows) - row);
        const std::uint64_t bytes = rows * static_cast<std::uint64_t>(shape.row_stride);
        if (TIFFGetStrileOffset(tiff, number) != offset || TIFFGetStrileByteCount(tiff, number) != bytes) return false;
        offset += bytes;
    }
    if (start % layout.sample_bytes != 0 || offset > file.bytes.size()) return false;
    const std::byte* const data = file.bytes.data() + start;
    if (reinterpret_cast<std::uintptr_t>(data) % layout.sample_bytes != 0) return false;
    mapped = {.view = {data, shape}, .owner = file.owner};
    return true;
}

/// What a page says besides its pixels.
void finish(const tiff_handle& handle, const read_options& options, image& result) {
    read_metadata(handle.get(), result);
    if (!options.page && TIFFLastDirectory(handle.get()) == 0)
        result.note = "it has several pages; the first one is read (--page)";
}

}  // namespace

int tiff_pages(const encoded_bytes& file) {
    return static_cast<int>(TIFFNumberOfDirectories(tiff_handle(file.bytes).get()));
}

image read_tiff(const encoded_bytes& file, const read_options& options) {
    const tiff_handle handle(file.bytes);
    const int page = options.page.value_or(1);
    if (page != 1 && TIFFSetDirectory(handle.get(), static_cast<tdir_t>(page - 1)) != 1)
        throw input_error("it has no page " + std::to_string(page) + ", but " +
                          std::to_string(TIFFNumberOfDirectories(handle.get())));
    tiff_layout layout = read_layout(handle.get());
    if (options.band > layout.channels) throw input_error("it has no band " + std::to_string(options.band));
    if (options.band > 0 && layout.channels > 1) layout.band = options.band - 1;
    const view_shape shape = packed_shape(type_of(layout), layout.rows, layout.cols, layout.channels_read());
    std::uint64_t stored = 0;
    const std::size_t row_size =
        layout.stored_row_bytes(layout.cols) * (layout.separate ? static_cast<std::size_t>(layout.channels_read()) : 1);
    if (__builtin_mul_overflow(row_size, static_cast<std::uint64_t>(layout.rows), &stored))
        throw input_error("its extents overflow 64 bits");
    check_plausible_size(shape, stored, file.bytes.size(), best_ratio(layout.compression));

    if (image mapped; map_strips(handle.get(), layout, shape, file, mapped)) {
        mapped.alpha = last_is_alpha(handle, shape.channels);
        finish(handle, options, mapped);
        return mapped;
    }
    writable_image pixels = allocate_image(shape);
    if (TIFFIsTiled(handle.get()) != 0)
        read_tiles(handle, layout, pixels, file.bytes.size());
    else
        read_strips(handle, layout, pixels);
    handle.check_undamaged();

    if (layout.photometric == PHOTOMETRIC_PALETTE) pixels = palette_expanded(handle, layout, pixels);
    if (layout.photometric == PHOTOMETRIC_MINISWHITE && layout.sample_format == SAMPLEFORMAT_UINT)
        invert(pixels, layout, std::min(colour_channels(handle, layout), layout.channels_read()));
    if (layout.sample_format == SAMPLEFORMAT_INT && layout.sample_bytes == 1) pixels = widened_s8(pixels);

    image result = pixels;
    if (layout.photometric == PHOTOMETRIC_SEPARATED && layout.band < 0) result = rgb_of_cmyk(pixels, false);
    result.alpha = layout.band < 0 && last_is_alpha(handle, result.view.shape.channels);
    finish(handle, options, result);
    return result;
}

}  // namespace boxsum::cli
