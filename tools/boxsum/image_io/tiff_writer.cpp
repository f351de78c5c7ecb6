#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"
#include "image_io/tiff_handle.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr std::int64_t strip_bytes = std::int64_t{1} << 20;

std::uint16_t scheme_of(const write_options& options) {
    switch (options.compress) {
        case tiff_compression::packbits:
            return COMPRESSION_PACKBITS;
        case tiff_compression::lzw:
            return COMPRESSION_LZW;
        case tiff_compression::deflate:
            return COMPRESSION_ADOBE_DEFLATE;
        case tiff_compression::zstd:
            return COMPRESSION_ZSTD;
        case tiff_compression::g4:
            return COMPRESSION_CCITTFAX4;
        case tiff_compression::none:
            break;
    }
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
            t.number, count, count, type, FIELD_CUSTOM, 1, static_cast<unsigned char>(type == TIFF_ASCII ? 0 : 1),
            names};
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

void set_tags(TIFF* tiff, const view_shape& s, bool alpha, std::int64_t rows_per_strip, const write_options& options) {
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
        const std::uint16_t kind = alpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED;
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
    }
}

constexpr std::int64_t classic_limit = 4'000'000'000;  // offsets of 32 bits, and room for directories

std::int64_t packed_row(const view_shape& s, const write_options& options) {
    return options.bits == 1 ? (s.cols + 7) / 8 : row_bytes(s);
}

/// Whether pages of that shape need offsets of 64 bits.
bool is_big(const view_shape& s, const write_options& options, std::int64_t pages = 1) {
    return packed_row(s, options) > classic_limit / s.rows / pages;
}

/// Collects rows of a page to strips.
class strip_writer {
  public:
    strip_writer(tiff_handle& handle, const image& about, const write_options& options)
        : handle_(handle), bits_(options.bits == 1) {
        const view_shape& s = about.view.shape;
        row_bytes_ = packed_row(s, options);
        // G4 describes a row by the one above it: a page is one strip, as readers of faxes expect it.
        const bool one_strip = options.compress == tiff_compression::g4 && row_bytes_ * s.rows < classic_limit / 4;
        rows_per_strip_ = one_strip ? s.rows : std::clamp<std::int64_t>(strip_bytes / row_bytes_, 1, s.rows);
        set_tags(handle_.get(), s, about.alpha, rows_per_strip_, options);
        if (about.metadata) set_metadata(handle_.get(), *about.metadata);
        strip_.resize(static_cast<std::size_t>(rows_per_strip_ * row_bytes_));
    }

    void write(const const_any_view& rows) {
        for (std::int64_t r = 0; r < rows.shape.rows; ++r) {
            const std::span<const std::byte> row = row_of(rows, r);
            std::byte* const to = strip_.data() + rows_ * row_bytes_;
            if (bits_)
                pack_bits(row, to);
            else
                std::memcpy(to, row.data(), row.size());
            if (++rows_ == rows_per_strip_) write_strip();
        }
    }

    void finish() {
        if (rows_ > 0) write_strip();
    }

  private:
    void write_strip() {
        const auto bytes = static_cast<tmsize_t>(std::exchange(rows_, 0) * row_bytes_);
        if (TIFFWriteEncodedStrip(handle_.get(), number_++, strip_.data(), bytes) < 0) handle_.fail_writing();
    }

    tiff_handle& handle_;
    bool bits_;
    std::int64_t row_bytes_ = 0, rows_per_strip_ = 1;
    std::vector<std::byte> strip_;
    std::int64_t rows_ = 0;  // in the strip
    std::uint32_t number_ = 0;
};

}  // namespace

row_sink tiff_rows(output_file& out, const image& about, const write_options& options) {
    struct one_page {
        tiff_handle handle;
        strip_writer rows;
        one_page(output_file& file, const image& like, const write_options& how)
            : handle(file, is_big(like.view.shape, how)), rows(handle, like, how) {}
    };
    const auto page = std::make_shared<one_page>(out, about, options);
    return {[page](const const_any_view& rows) { page->rows.write(rows); },
            [page] {
                page->rows.finish();
                page->handle.close_written();
            }};
}

void write_tiff(output_file& out, const image& source, const write_options& options) {
    const row_sink rows = tiff_rows(out, source, options);
    rows.write(source.view);
    rows.finish();
}

void write_tiff_pages(output_file& out, int count, const std::function<image(int page)>& page,
                      const write_options& options) {
    image pixels = page(1);
    tiff_handle handle(out, is_big(pixels.view.shape, options, count));
    for (int number = 1;; pixels = page(++number)) {
        strip_writer rows(handle, pixels, options);
        TIFFSetField(handle.get(), TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        TIFFSetField(handle.get(), TIFFTAG_PAGENUMBER, number - 1, count);
        rows.write(pixels.view);
        rows.finish();
        if (number == count) return handle.close_written();
        handle.end_page();
    }
}

}  // namespace boxsum::cli
