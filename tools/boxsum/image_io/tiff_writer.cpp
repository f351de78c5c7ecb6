#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"
#include "image_io/tiff_handle.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr std::int64_t strip_bytes = std::int64_t{1} << 20;

void set_tags(TIFF* tiff, const view_shape& s, std::int64_t rows_per_strip) {
    const bool color = s.channels >= 3;
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(s.rows));
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(s.cols));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(s.channels));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * size_of(s.type)));
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                 is_floating(s.type) ? SAMPLEFORMAT_IEEEFP
                 : is_signed(s.type) ? SAMPLEFORMAT_INT
                                     : SAMPLEFORMAT_UINT);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, color ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows_per_strip));
    if (s.channels == 2 || s.channels == 4) {
        const std::uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    }
}

}  // namespace

void write_tiff(output_file& out, const const_any_view& pixels) {
    const view_shape& s = pixels.shape;
    const std::int64_t packed = row_bytes(s);
    constexpr std::int64_t classic_limit = std::int64_t{4'000'000'000};  // offsets of 32 bits, and room for directories
    tiff_handle handle(out, packed > classic_limit / s.rows);
    const std::int64_t rows_per_strip = std::clamp<std::int64_t>(strip_bytes / packed, 1, s.rows);
    set_tags(handle.get(), s, rows_per_strip);

    std::vector<std::byte> strip(static_cast<std::size_t>(rows_per_strip * packed));
    std::uint32_t number = 0;
    for (std::int64_t row = 0; row < s.rows; row += rows_per_strip, ++number) {
        std::size_t bytes = 0;
        for (std::int64_t r = row; r < std::min(row + rows_per_strip, s.rows); ++r) {
            const std::span<const std::byte> source = row_of(pixels, r);
            std::memcpy(strip.data() + bytes, source.data(), source.size());
            bytes += source.size();
        }
        if (TIFFWriteEncodedStrip(handle.get(), number, strip.data(), static_cast<tmsize_t>(bytes)) < 0)
            handle.fail_writing();
    }
    handle.close_written();
}

}  // namespace boxsum::cli
