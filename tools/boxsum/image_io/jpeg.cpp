#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"

#include <jerror.h>
#include <jpeglib.h>  // needs <cstddef> and <cstdio> before it

#include <array>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

// libjpeg reports errors by a callback that may not return: it jumps. As in png.cpp, functions that call setjmp keep
// only plain data in their frames.

namespace boxsum::cli {
namespace {

/// Samples that a byte of entropy-coded data can stand for: at least one bit per 8 x 8 block of the least subsampled
/// component with Huffman coding, a small fraction of a bit with arithmetic coding.
constexpr double best_huffman_ratio = 4096;
constexpr double best_arithmetic_ratio = 65536;

/// A progressive file may revisit its pixels in any number of scans, each a few bytes long.
constexpr int most_scans = 500;

struct jpeg_errors {
    jpeg_error_mgr manager{};
    std::jmp_buf jump{};
    char message[JMSG_LENGTH_MAX] = "libjpeg failed";
};

[[noreturn]] void on_error(j_common_ptr info) {
    auto& errors = *reinterpret_cast<jpeg_errors*>(info->err);  // manager is the first member
    errors.manager.format_message(info, errors.message);
    std::longjmp(errors.jump, 1);
}

/// libjpeg warns about damage and invents the missing pixels; here damage is an error.
void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;  // a trace message
    const int code = info->err->msg_code;
    if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR) return;
    on_error(info);
}

void on_output(j_common_ptr) {}

jpeg_error_mgr* prepare(jpeg_errors& errors) {
    jpeg_error_mgr* manager = jpeg_std_error(&errors.manager);
    manager->error_exit = on_error;
    manager->emit_message = on_message;
    manager->output_message = on_output;
    return manager;
}

bool is_cmyk(const jpeg_decompress_struct& info) {
    return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

struct jpeg_reader {
    jpeg_errors errors;
    jpeg_progress_mgr progress{};
    jpeg_decompress_struct info{};

    jpeg_reader() { info.err = prepare(errors); }
    jpeg_reader(const jpeg_reader&) = delete;
    jpeg_reader& operator=(const jpeg_reader&) = delete;
    ~jpeg_reader() { jpeg_destroy_decompress(&info); }
};

void on_progress(j_common_ptr info) {
    const auto* reader = reinterpret_cast<jpeg_decompress_struct*>(info);
    if (reader->input_scan_number <= most_scans) return;
    auto& errors = *reinterpret_cast<jpeg_errors*>(info->err);
    std::snprintf(errors.message, sizeof(errors.message), "it has more than %d scans", most_scans);
    std::longjmp(errors.jump, 1);
}

bool read_header(jpeg_reader& reader, std::span<const std::byte> bytes) {
    if (setjmp(reader.errors.jump) != 0) return false;
    jpeg_create_decompress(&reader.info);
    reader.progress.progress_monitor = on_progress;
    reader.info.progress = &reader.progress;
    jpeg_save_markers(&reader.info, JPEG_APP0 + 1, 0xffff);  // EXIF
    jpeg_save_markers(&reader.info, JPEG_APP0 + 2, 0xffff);  // ICC
    jpeg_mem_src(&reader.info, reinterpret_cast<const unsigned char*>(bytes.data()),
                 static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&reader.info, TRUE);
    return true;
}

bool read_pixels(jpeg_reader& reader, const writable_image& pixels) {
    if (setjmp(reader.errors.jump) != 0) return false;
    reader.info.out_color_space = is_cmyk(reader.info)              ? JCS_CMYK
                                  : pixels.view.shape.channels == 1 ? JCS_GRAYSCALE
                                                                    : JCS_RGB;
    jpeg_start_decompress(&reader.info);
    while (reader.info.output_scanline < reader.info.output_height) {
        JSAMPROW row = reinterpret_cast<JSAMPROW>(pixels.row(reader.info.output_scanline));
        jpeg_read_scanlines(&reader.info, &row, 1);
    }
    jpeg_finish_decompress(&reader.info);
    return true;
}

struct icc_profile {
    JOCTET* data = nullptr;
    unsigned size = 0;

    icc_profile() = default;
    icc_profile(const icc_profile&) = delete;
    icc_profile& operator=(const icc_profile&) = delete;
    ~icc_profile() { std::free(data); }
};

bool read_profile(jpeg_reader& reader, icc_profile& profile) {
    if (setjmp(reader.errors.jump) != 0) return false;
    return jpeg_read_icc_profile(&reader.info, &profile.data, &profile.size) != 0;
}

void read_metadata(jpeg_reader& reader, image& result) {
    const jpeg_decompress_struct& info = reader.info;
    for (jpeg_saved_marker_ptr marker = info.marker_list; marker != nullptr; marker = marker->next)
        if (marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 && std::memcmp(marker->data, "Exif", 5) == 0)
            result.orientation =
                exif_orientation({reinterpret_cast<const std::byte*>(marker->data), marker->data_length});
    image_metadata metadata;
    icc_profile profile;
    if (!is_cmyk(info) && read_profile(reader, profile)) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(profile.data);
        metadata.icc.assign(bytes, bytes + profile.size);
    }
    constexpr double cm_per_inch = 2.54;
    const double unit = info.density_unit == 1 ? cm_per_inch : 1;
    if (info.saw_JFIF_marker != 0 && (info.density_unit == 1 || info.density_unit == 2)) {
        metadata.horizontal_per_cm = info.X_density / unit;
        metadata.vertical_per_cm = info.Y_density / unit;
    }
    if (!metadata.icc.empty() || metadata.horizontal_per_cm > 0)
        result.metadata = std::make_shared<image_metadata>(std::move(metadata));
}

/// Compressed bytes go to the file as they come. What that throws waits until libjpeg has been left by a jump.
struct jpeg_writer {
    jpeg_errors errors;
    jpeg_compress_struct info{};
    jpeg_destination_mgr destination{};
    output_file& out;
    std::exception_ptr thrown;
    std::array<JOCTET, std::size_t{1} << 15> block;

    explicit jpeg_writer(output_file& file) : out(file) { info.err = prepare(errors); }
    jpeg_writer(const jpeg_writer&) = delete;
    jpeg_writer& operator=(const jpeg_writer&) = delete;
    ~jpeg_writer() { jpeg_destroy_compress(&info); }

    void start_block() {
        destination.next_output_byte = block.data();
        destination.free_in_buffer = block.size();
    }
    bool write(std::size_t size) noexcept {
        try {
            out.write(std::as_bytes(std::span(block.data(), size)));
            return true;
        } catch (...) {
            thrown = std::current_exception();
            return false;
        }
    }
};

jpeg_writer& writer_of(j_compress_ptr info) {
    return *static_cast<jpeg_writer*>(info->client_data);
}

void start_output(j_compress_ptr info) {
    writer_of(info).start_block();
}

boolean write_block(j_compress_ptr info) {
    jpeg_writer& writer = writer_of(info);
    if (!writer.write(writer.block.size())) std::longjmp(writer.errors.jump, 1);
    writer.start_block();
    return TRUE;
}

void write_rest(j_compress_ptr info) {
    jpeg_writer& writer = writer_of(info);
    if (!writer.write(writer.block.size() - writer.destination.free_in_buffer)) std::longjmp(writer.errors.jump, 1);
}

void set_resolution(jpeg_compress_struct& info, const image_metadata& metadata) {
    constexpr double most = 65535;
    if (metadata.horizontal_per_cm < 1 || metadata.horizontal_per_cm > most || metadata.vertical_per_cm < 1 ||
        metadata.vertical_per_cm > most)
        return;
    constexpr double cm_per_inch = 2.54;
    const bool inches =
        metadata.horizontal_per_cm * cm_per_inch < most && metadata.vertical_per_cm * cm_per_inch < most;
    const double unit = inches ? cm_per_inch : 1;
    info.density_unit = inches ? 1 : 2;
    info.X_density = static_cast<UINT16>(std::lround(metadata.horizontal_per_cm * unit));
    info.Y_density = static_cast<UINT16>(std::lround(metadata.vertical_per_cm * unit));
}

bool compress(jpeg_writer& writer, const image& source, int quality) {
    const const_any_view& pixels = source.view;
    if (setjmp(writer.errors.jump) != 0) return false;
    jpeg_create_compress(&writer.info);
    writer.destination.init_destination = start_output;
    writer.destination.empty_output_buffer = write_block;
    writer.destination.term_destination = write_rest;
    writer.info.dest = &writer.destination;
    writer.info.client_data = &writer;
    writer.info.image_height = static_cast<JDIMENSION>(pixels.shape.rows);
    writer.info.image_width = static_cast<JDIMENSION>(pixels.shape.cols);
    writer.info.input_components = static_cast<int>(pixels.shape.channels);
    writer.info.in_color_space = pixels.shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&writer.info);
    jpeg_set_quality(&writer.info, quality, TRUE);
    constexpr int best_with_coarse_colours = 95;
    if (quality > best_with_coarse_colours)
        writer.info.comp_info[0].h_samp_factor = writer.info.comp_info[0].v_samp_factor = 1;
    if (source.metadata) set_resolution(writer.info, *source.metadata);
    jpeg_start_compress(&writer.info, TRUE);
    if (source.metadata && !source.metadata->icc.empty())
        jpeg_write_icc_profile(&writer.info, reinterpret_cast<const JOCTET*>(source.metadata->icc.data()),
                               static_cast<unsigned>(source.metadata->icc.size()));
    while (writer.info.next_scanline < writer.info.image_height) {
        JSAMPROW row =
            reinterpret_cast<JSAMPROW>(const_cast<std::byte*>(row_of(pixels, writer.info.next_scanline).data()));
        jpeg_write_scanlines(&writer.info, &row, 1);
    }
    jpeg_finish_compress(&writer.info);
    return true;
}

}  // namespace

image read_jpeg(const encoded_bytes& file) {
    const auto reader = std::make_unique<jpeg_reader>();
    if (!read_header(*reader, file.bytes)) throw input_error(reader->errors.message);
    const jpeg_decompress_struct& info = reader->info;
    const bool cmyk = is_cmyk(info);
    const view_shape shape = packed_shape(dtype::u8, info.image_height, info.image_width,
                                          cmyk                       ? 4
                                          : info.num_components == 1 ? 1
                                                                     : 3);
    check_plausible_size(shape, static_cast<std::uint64_t>(shape.plane_stride), file.bytes.size(),
                         info.arith_code ? best_arithmetic_ratio : best_huffman_ratio);
    const writable_image pixels = allocate_image(shape);
    image about{.view = {}, .owner = {}};
    read_metadata(*reader, about);  // libjpeg forgets it with the pixels' end
    if (!read_pixels(*reader, pixels)) throw input_error(reader->errors.message);
    image result = pixels;
    if (cmyk) result = rgb_of_cmyk(pixels, info.saw_Adobe_marker != 0);
    result.metadata = about.metadata;
    result.orientation = about.orientation;
    return result;
}

void write_jpeg(output_file& out, const image& source, int quality) {
    const auto writer = std::make_unique<jpeg_writer>(out);
    if (compress(*writer, source, quality)) return;
    if (writer->thrown) std::rethrow_exception(writer->thrown);
    throw io_error("cannot write '" + output_name(out.path()) + "': " + writer->errors.message);
}

}  // namespace boxsum::cli
