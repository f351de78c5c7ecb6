#include "image_io/image_file.hpp"

#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/input_file.hpp"
#include "image_io/rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace boxsum::cli {
namespace {

image_format format_of(std::span<const std::byte> bytes) {
    if (const auto format = format_from_bytes(bytes)) return *format;
    throw input_error("it is none of PNG, JPEG, TIFF, WebP, PBM, PGM, PPM, PFM, NPY, BMP, OpenEXR, FITS");
}

image decode(const encoded_bytes& file, const read_options& options) {
    const image_format format = format_of(file.bytes);
    if (options.page.value_or(1) != 1 && format != image_format::tiff && format != image_format::fits)
        throw input_error("it has no page " + std::to_string(*options.page) + "; only TIFF and FITS have pages");
    switch (format) {
        case image_format::png:
            return read_png(file);
        case image_format::jpeg:
            return read_jpeg(file);
        case image_format::webp:
            return read_webp(file);
        case image_format::tiff:
            return read_tiff(file, options);
        case image_format::pnm:
            return read_pnm(file);
        case image_format::pfm:
            return read_pfm(file);
        case image_format::npy:
            return read_npy(file, options);
        case image_format::bmp:
            return read_bmp(file);
        case image_format::exr:
            return read_exr(file, options);
        case image_format::fits:
            return read_fits(file, options);
    }
    throw input_error("unknown format");
}

/// One channel, from 1 on.
image band_of(const image& source, int band) {
    const view_shape& s = source.view.shape;
    if (band > s.channels) throw input_error("it has no band " + std::to_string(band));
    if (s.channels == 1) return source;
    const writable_image out = allocate_image(packed_shape(s.type, s.rows, s.cols, 1));
    const std::size_t element = size_of(s.type), pixel = element * static_cast<std::size_t>(s.channels);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const std::byte* from = row_of(source.view, r).data() + static_cast<std::size_t>(band - 1) * element;
        std::byte* to = out.row(r);
        for (std::int64_t c = 0; c < s.cols; ++c, from += pixel, to += element) std::memcpy(to, from, element);
    }
    image result = source;
    result.view = out.view;
    result.owner = out.owner;
    result.alpha = false;
    return result;
}

/// Turned and mirrored as EXIF's orientation asks for, which is then 1: what reads the result need not know of it.
image upright(const image& source) {
    const view_shape& s = source.view.shape;
    const int o = source.orientation;
    const bool turned = o >= 5, rows_back = o == 3 || o == 4 || o == 7 || o == 8,
               cols_back = o == 2 || o == 3 || o == 6 || o == 7;
    const writable_image out =
        allocate_image(packed_shape(s.type, turned ? s.cols : s.rows, turned ? s.rows : s.cols, s.channels));
    const std::size_t pixel = size_of(s.type) * static_cast<std::size_t>(s.channels);
    const view_shape& t = out.view.shape;
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const std::int64_t across = rows_back ? t.rows - 1 - r : r;
        std::byte* to = out.row(r);
        for (std::int64_t c = 0; c < t.cols; ++c, to += pixel) {
            const std::int64_t along = cols_back ? t.cols - 1 - c : c;
            const std::byte* const row = row_of(source.view, turned ? along : across).data();
            std::memcpy(to, row + static_cast<std::size_t>(turned ? across : along) * pixel, pixel);
        }
    }
    image result = source;
    result.view = out.view;
    result.owner = out.owner;
    result.orientation = 1;
    if (source.metadata) {
        auto metadata = std::make_shared<image_metadata>(*source.metadata);
        if (turned) std::swap(metadata->horizontal_per_cm, metadata->vertical_per_cm);
        if (!std::exchange(metadata->geo, {}).empty())
            result.note = "its GeoTIFF tags do not fit the image turned upright";
        result.metadata = std::move(metadata);
    }
    return result;
}

/// What a format holds, for the check and for its message.
struct capability {
    bool holds;
    std::string_view what;
};

capability capability_of(image_format format, const view_shape& s) {
    const bool grey_or_rgb = s.channels == 1 || s.channels == 3;
    const bool unsigned_8_16 = s.type == dtype::u8 || s.type == dtype::u16;
    switch (format) {
        case image_format::png:
            return {unsigned_8_16, "8u and 16u with 1 to 4 channels"};
        case image_format::jpeg:
            return {s.type == dtype::u8 && grey_or_rgb && s.rows <= 65500 && s.cols <= 65500,
                    "8u with 1 or 3 channels, at most 65500 x 65500"};
        case image_format::webp:
            return {s.type == dtype::u8 && s.channels >= 3 && s.rows <= 16383 && s.cols <= 16383,
                    "8u with 3 or 4 channels, at most 16383 x 16383"};
        case image_format::pnm:
            return {unsigned_8_16 && grey_or_rgb, "8u and 16u with 1 or 3 channels"};
        case image_format::pfm:
            return {s.type == dtype::f32 && grey_or_rgb, "32f with 1 or 3 channels"};
        case image_format::tiff:
            return {s.rows <= 0x7fffffff && s.cols <= 0x7fffffff, "at most 2147483647 rows and columns"};
        case image_format::npy:
            return {true, "everything"};
        default:
            return {false, "nothing that is written"};
    }
}

/// Single bits are for what has two values.
void check_black_and_white(const std::string& path, image_format format, const const_any_view& pixels) {
    const bool holds = format == image_format::png || format == image_format::tiff || format == image_format::pnm;
    const view_shape& s = pixels.shape;
    bool two = s.type == dtype::u8 && s.channels == 1;
    for (std::int64_t r = 0; two && r < s.rows; ++r) {
        const std::span<const std::byte> row = row_of(pixels, r);
        two = std::all_of(row.begin(), row.end(), [](std::byte b) { return b == std::byte{0} || b == std::byte{255}; });
    }
    if (holds && two) return;
    throw unsupported("cannot write '" + output_name(path) + "': " +
                      (holds ? "single bits hold one channel of black and white only"
                             : std::string(name_of(format)) + " has no single bits; png, tiff and pnm have"));
}

/// What `read` makes of a file's bytes; errors name the file.
template <typename Read>
auto reading(const std::string& path, Read read) {
    try {
        return read(open_input(path, [](std::span<const std::byte> bytes) { format_of(bytes); }));
    } catch (const input_error& e) {
        const std::string message = e.what();
        if (message.starts_with("cannot ")) throw;  // open_input() has named the file
        throw input_error("cannot read '" + input_name(path) + "': " + message);
    }
}

/// What the format and the other options make of the options.
write_options options_of(const output_file& out, image_format format, const write_options& given) {
    write_options options = given;
    const std::string_view path = out.path();
    if ((format == image_format::tiff && options.compress == tiff_compression::g4) ||
        (format == image_format::pnm && options.bits == 0 && (path.ends_with(".pbm") || path.ends_with(".PBM"))))
        options.bits = 1;
    return options;
}

void check_pixels(const output_file& out, image_format format, const const_any_view& pixels,
                  const write_options& options) {
    check_can_hold(out.path(), format, pixels.shape);
    if (options.bits == 1) check_black_and_white(out.path(), format, pixels);
}

}  // namespace

image read_image(const std::string& path, const read_options& options) {
    return reading(path, [&](const encoded_bytes& file) {
        image result = decode(file, options);
        const image_format format = format_of(file.bytes);
        const bool selects = format == image_format::tiff || format == image_format::npy ||
                             format == image_format::exr || format == image_format::fits;
        if (options.band > 0 && !selects) result = band_of(result, options.band);
        if (result.orientation != 1) result = upright(result);
        if (!result.note.empty()) print_note(std::string("'") + input_name(path) + "': " + result.note);
        return result;
    });
}

int count_pages(const std::string& path) {
    return reading(path, [](const encoded_bytes& file) {
        const image_format format = format_of(file.bytes);
        if (format == image_format::tiff) return tiff_pages(file);
        return format == image_format::fits ? fits_images(file) : 1;
    });
}

image_format output_format(const std::string& path, const std::string& chosen, std::string_view option) {
    const auto format = chosen.empty() ? format_from_path(path) : format_from_name(chosen);
    if (format && !is_read_only(*format)) return *format;
    if (!chosen.empty())
        throw usage_error(std::string(option) + ": '" + chosen + "' is none of png, jpeg, tiff, webp, pnm, pfm, npy" +
                          (format ? "; it is only read" : ""));
    if (format)
        throw usage_error("cannot write '" + path + "': " + std::string(name_of(*format)) +
                          " files are only read; write one of png, jpeg, tiff, webp, pnm, pfm, npy");
    throw usage_error("cannot tell the format of '" + path +
                      "' from its name: end it in .png, .jpg, .tif, .webp, .pbm, .pgm, .ppm, .pfm or .npy, or give " +
                      std::string(option));
}

void check_can_hold(const std::string& path, image_format format, const view_shape& pixels) {
    const capability c = capability_of(format, pixels);
    if (!c.holds)
        throw unsupported("cannot write '" + output_name(path) + "': the format " + std::string(name_of(format)) +
                          " holds " + std::string(c.what) + ", not " + std::to_string(pixels.rows) + " x " +
                          std::to_string(pixels.cols) + " of " + std::string(name_of(pixels.type)) + " with " +
                          std::to_string(pixels.channels) + (pixels.channels == 1 ? " channel" : " channels"));
}

void note_what_is_lost(const image& source, image_format format, const std::string& input) {
    if (!source.metadata) return;
    const bool tags = format == image_format::tiff;
    const bool profiles =
        tags || format == image_format::png || format == image_format::jpeg || format == image_format::webp;
    std::string lost;
    const std::vector<image_metadata::tiff_tag>& geo = source.metadata->geo;
    const bool places = std::any_of(geo.begin(), geo.end(), [](const image_metadata::tiff_tag& tag) {
        return tag.number != geo_tags::gdal_nodata;
    });
    if (!tags && !geo.empty()) lost = places ? "GeoTIFF tags" : "nodata value";
    if (!profiles && !source.metadata->icc.empty()) lost += lost.empty() ? "colour profile" : " and colour profile";
    if (!lost.empty())
        print_note("'" + input_name(input) + "': its " + lost + " cannot be kept in " + std::string(name_of(format)));
}

void write_image(output_file& out, image_format format, const image& source, const write_options& given) {
    const const_any_view& pixels = source.view;
    const write_options options = options_of(out, format, given);
    check_pixels(out, format, pixels, options);
    switch (format) {
        case image_format::png:
            return write_png(out, source, options);
        case image_format::jpeg:
            return write_jpeg(out, source, options.quality);
        case image_format::webp:
            return write_webp(out, source, options.quality);
        case image_format::tiff:
            return write_tiff(out, source, options);
        case image_format::pnm:
            return write_pnm(out, source, options);
        case image_format::pfm:
            return write_pfm(out, pixels);
        case image_format::npy:
            return write_npy(out, pixels);
        default:  // has been refused
            return;
    }
}

void write_pages(output_file& out, int count, const std::function<image(int page)>& page, const write_options& given) {
    const write_options options = options_of(out, image_format::tiff, given);
    write_tiff_pages(
        out, count,
        [&](int number) {
            image pixels = page(number);
            check_pixels(out, image_format::tiff, pixels.view, options);
            return pixels;
        },
        options);
}

}  // namespace boxsum::cli
