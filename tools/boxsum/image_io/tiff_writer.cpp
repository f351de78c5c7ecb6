#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"
#include "image_io/tiff_handle.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr std::int64_t strip_bytes = std::int64_t{1} << 20;

std::uint16_t scheme_of(const write_options& options) {
    const std::string& name = options.compress;
    if (name == "packbits") return COMPRESSION_PACKBITS;
    if (name == "lzw") return COMPRESSION_LZW;
    if (name == "deflate") return COMPRESSION_ADOBE_DEFLATE;
    if (name == "zstd") return COMPRESSION_ZSTD;
    if (name == "g4") return COMPRESSION_CCITTFAX4;
    return COMPRESSION_NONE;
}

void set_compression(TIFF* tiff, dtype type, const write_options& options) {
    const std::uint16_t scheme = scheme_of(options);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, static_cast<int>(scheme));
    if (scheme == COMPRESSION_ADOBE_DEFLATE)
        TIFFSetField(tiff, TIFFTAG_ZIPQUALITY, std::max(1, options.level.value_or(1)));
    if (scheme == COMPRESSION_NONE || scheme == COMPRESSION_PACKBITS || options.bits == 1 || type == dtype::f16) return;
    TIFFSetField(tiff, TIFFTAG_PREDICTOR, is_floating(type) ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
}

/// Tags that libtiff does not know have to be described before they are set.
void set_geo_tags(TIFF* tiff, const std::vector<image_metadata::tiff_tag>& tags) {
    static char names[] = "GeoTIFF";
    for (const image_metadata::tiff_tag& t : tags) {
        const TIFFDataType type = !t.shorts.empty() ? TIFF_SHORT : !t.doubles.empty() ? TIFF_DOUBLE : TIFF_ASCII;
        const short count = type == TIFF_ASCII ? TIFF_VARIABLE : TIFF_VARIABLE2;
        const TIFFFieldInfo info = {
            t.number, count, count, type, FIELD_CUSTOM, 1, static_cast<unsigned char>(type == TIFF_ASCII ? 0 : 1), names};
        if (TIFFMergeFieldInfo(tiff, &info, 1) != 0) continue;
        if (type == TIFF_SHORT)
            TIFFSetField(tiff, t.number, static_cast<std::uint32_t>(t.shorts.size()), t.shorts.data());
        else if (type == TIFF_DOUBLE)
            TIFFSetField(tiff, t.number, static_cast<std::uint32_t>(t.doubles.size()), t.doubles.data());
        else
            TIFFSetField(tiff, t.number, t.text.c_str());
    }
}

void set_metadata(TIFF* tiff, const image_metadata& metadata) {
    if (!metadata.icc.empty())
        TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(metadata.icc.size()), metadata.icc.data());
    if (metadata.horizontal_per_cm > 0 && metadata.vertical_per_cm > 0) {
        constexpr double cm_per_inch = 2.54;
        TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
        TIFFSetField(tiff, TIFFTAG_XRESOLUTION, metadata.horizontal_per_cm * cm_per_inch);
        TIFFSetField(tiff, TIFFTAG_YRESOLUTION, metadata.vertical_per_cm * cm_per_inch);
    }
    set_geo_tags(tiff, metadata.geo);
}

void set_tags(TIFF* tiff, const view_shape& s, std::int64_t rows_per_strip, const write_options& options) {
    const bool color = s.channels >= 3;
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(s.rows));
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(s.cols));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(s.channels));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, options.bits == 1 ? 1 : static_cast<int>(8 * size_of(s.type)));
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                 is_floating(s.type) ? SAMPLEFORMAT_IEEEFP
                 : is_signed(s.type) ? SAMPLEFORMAT_INT
                                     : SAMPLEFORMAT_UINT);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, color ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    set_compression(tiff, s.type, options);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows_per_strip));
    if (s.channels == 2 || s.channels == 4) {
        const std::uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    }
}

}  // namespace

void write_tiff(output_file& out, const image& source, const write_options& options) {
    const const_any_view& pixels = source.view;
    const view_shape& s = pixels.shape;
    const bool bits = options.bits == 1;
    const std::int64_t packed = bits ? (s.cols + 7) / 8 : row_bytes(s);
    constexpr std::int64_t classic_limit = std::int64_t{4'000'000'000};  // offsets of 32 bits, and room for directories
    tiff_handle handle(out, packed > classic_limit / s.rows);
    // G4 describes a row by the one above it: a page is one strip, as readers of faxes expect it.
    const bool one_strip = options.compress == "g4" && packed * s.rows < classic_limit / 4;
    const std::int64_t rows_per_strip = one_strip ? s.rows : std::clamp<std::int64_t>(strip_bytes / packed, 1, s.rows);
    set_tags(handle.get(), s, rows_per_strip, options);
    if (source.metadata) set_metadata(handle.get(), *source.metadata);

    std::vector<std::byte> strip(static_cast<std::size_t>(rows_per_strip * packed));
    std::uint32_t number = 0;
    for (std::int64_t top = 0; top < s.rows; top += rows_per_strip, ++number) {
        std::size_t bytes = 0;
        for (std::int64_t r = top; r < std::min(top + rows_per_strip, s.rows); ++r) {
            const std::span<const std::byte> row = row_of(pixels, r);
            if (bits)
                pack_bits(row, strip.data() + bytes);
            else
                std::memcpy(strip.data() + bytes, row.data(), row.size());
            bytes += static_cast<std::size_t>(packed);
        }
        if (TIFFWriteEncodedStrip(handle.get(), number, strip.data(), static_cast<tmsize_t>(bytes)) < 0)
            handle.fail_writing();
    }
    handle.close_written();
}

}  // namespace boxsum::cli
