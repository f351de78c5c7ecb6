#include "image_io/image_file.hpp"

#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/input_file.hpp"

namespace boxsum::cli {
namespace {

image_format format_of(std::span<const std::byte> bytes) {
    if (const auto format = format_from_bytes(bytes)) return *format;
    throw input_error("it is none of PNG, JPEG, TIFF, PGM, PPM, PFM, NPY");
}

image decode(const encoded_bytes& file, const read_options& options) {
    const image_format format = format_of(file.bytes);
    if (options.page != 1 && format != image_format::tiff)
        throw input_error("it has no page " + std::to_string(options.page) + "; only TIFF has pages");
    switch (format) {
        case image_format::png:
            return read_png(file);
        case image_format::jpeg:
            return read_jpeg(file);
        case image_format::tiff:
            return read_tiff(file, options.page);
        case image_format::pnm:
            return read_pnm(file);
        case image_format::pfm:
            return read_pfm(file);
        case image_format::npy:
            return read_npy(file);
    }
    throw input_error("unknown format");
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
        case image_format::pnm:
            return {unsigned_8_16 && grey_or_rgb, "8u and 16u with 1 or 3 channels"};
        case image_format::pfm:
            return {s.type == dtype::f32 && grey_or_rgb, "32f with 1 or 3 channels"};
        case image_format::tiff:
            return {s.rows <= 0x7fffffff && s.cols <= 0x7fffffff, "at most 2147483647 rows and columns"};
        case image_format::npy:
            return {true, "everything"};
    }
    return {false, "nothing"};
}

}  // namespace

image read_image(const std::string& path, const read_options& options) {
    try {
        const encoded_bytes file = open_input(path, [](std::span<const std::byte> bytes) { format_of(bytes); });
        image result = decode(file, options);
        if (!result.note.empty()) print_note(std::string("'") + input_name(path) + "': " + result.note);
        return result;
    } catch (const input_error& e) {
        const std::string message = e.what();
        if (message.starts_with("cannot ")) throw;  // open_input() has named the file
        throw input_error("cannot read '" + input_name(path) + "': " + message);
    }
}

image_format output_format(const std::string& path, const std::string& chosen, std::string_view option) {
    if (!chosen.empty()) {
        if (const auto format = format_from_name(chosen)) return *format;
        throw usage_error(std::string(option) + ": '" + chosen + "' is none of png, jpeg, tiff, pnm, pfm, npy");
    }
    if (const auto format = format_from_path(path)) return *format;
    throw usage_error("cannot tell the format of '" + path +
                      "' from its name: end it in .png, .jpg, .tif, .pgm, .ppm, .pfm or .npy, or give " +
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

void write_image(output_file& out, image_format format, const image& source, const write_options& options) {
    const const_any_view& pixels = source.view;
    check_can_hold(out.path(), format, pixels.shape);
    switch (format) {
        case image_format::png:
            return write_png(out, pixels);
        case image_format::jpeg:
            return write_jpeg(out, pixels, options.quality);
        case image_format::tiff:
            return write_tiff(out, pixels);
        case image_format::pnm:
            return write_pnm(out, source);
        case image_format::pfm:
            return write_pfm(out, pixels);
        case image_format::npy:
            return write_npy(out, pixels);
    }
}

}  // namespace boxsum::cli
