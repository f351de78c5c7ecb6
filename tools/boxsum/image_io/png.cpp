#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"

#include <png.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

// libpng reports errors by longjmp: every function below that calls setjmp keeps only plain data in its frame, and
// everything with a destructor lives in its caller.

namespace boxsum::cli {
namespace {

/// Deflate cannot expand a byte to more than this (zlib's documentation: 1032:1).
constexpr double best_ratio = 1032;

struct png_state {
    png_structp png = nullptr;
    png_infop info = nullptr;
    char message[256] = "libpng failed";

    // reading
    std::span<const std::byte> rest;
    // writing
    output_file* out = nullptr;
    std::exception_ptr thrown;

    png_state() = default;
    png_state(const png_state&) = delete;
    png_state& operator=(const png_state&) = delete;
    ~png_state() {
        if (out == nullptr)
            png_destroy_read_struct(&png, &info, nullptr);
        else
            png_destroy_write_struct(&png, &info);
    }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
    auto& state = *static_cast<png_state*>(png_get_error_ptr(png));
    std::snprintf(state.message, sizeof(state.message), "%s", message);
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep destination, std::size_t size) {
    auto& state = *static_cast<png_state*>(png_get_io_ptr(png));
    if (size > state.rest.size()) png_error(png, "it is truncated");
    std::memcpy(destination, state.rest.data(), size);
    state.rest = state.rest.subspan(size);
}

void on_write(png_structp png, png_bytep source, std::size_t size) {
    auto& state = *static_cast<png_state*>(png_get_io_ptr(png));
    try {
        state.out->write({reinterpret_cast<const std::byte*>(source), size});
        return;
    } catch (...) {  // must not unwind through libpng
        state.thrown = std::current_exception();
    }
    png_error(png, "write failed");
}

void on_flush(png_structp) {}

struct png_extents {
    png_uint_32 rows = 0, cols = 0;
    std::uint64_t stored_bits_per_row = 0;
    int depth = 0;
    int channels = 0;
};

/// Reads up to the pixels and asks for plain 8- or 16-bit samples.
bool start_reading(png_state& state, png_extents& extents) {
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_set_read_fn(state.png, &state, on_read);
    png_set_user_limits(state.png, 0x7fffffff, 0x7fffffff);
    png_read_info(state.png, state.info);
    extents.rows = png_get_image_height(state.png, state.info);
    extents.cols = png_get_image_width(state.png, state.info);
    extents.stored_bits_per_row = std::uint64_t{extents.cols} * png_get_channels(state.png, state.info) *
                                  png_get_bit_depth(state.png, state.info);
    png_set_expand(state.png);
    if (std::endian::native == std::endian::little) png_set_swap(state.png);
    png_set_interlace_handling(state.png);
    png_read_update_info(state.png, state.info);
    extents.depth = png_get_bit_depth(state.png, state.info);
    extents.channels = png_get_channels(state.png, state.info);
    return true;
}

bool read_pixels(png_state& state, png_bytepp rows) {
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_read_image(state.png, rows);
    png_read_end(state.png, nullptr);
    return true;
}

bool write_pixels(png_state& state, const view_shape& shape, png_bytepp rows) {
    static constexpr int color_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                          PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(state.png)) != 0) return false;
    png_set_write_fn(state.png, &state, on_write, on_flush);
    png_set_user_limits(state.png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(shape.cols), static_cast<png_uint_32>(shape.rows),
                 static_cast<int>(8 * size_of(shape.type)), color_types[shape.channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(state.png, state.info);
    if (std::endian::native == std::endian::little) png_set_swap(state.png);
    png_write_image(state.png, rows);
    png_write_end(state.png, nullptr);
    return true;
}

}  // namespace

image read_png(const encoded_bytes& file) {
    png_state state;
    state.rest = file.bytes;
    state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    if (state.png != nullptr) state.info = png_create_info_struct(state.png);
    if (state.info == nullptr) throw out_of_memory("libpng cannot allocate its state");

    png_extents extents;
    if (!start_reading(state, extents)) throw input_error(state.message);
    const view_shape shape =
        packed_shape(extents.depth == 16 ? dtype::u16 : dtype::u8, extents.rows, extents.cols, extents.channels);
    check_plausible_size(shape, extents.rows * (extents.stored_bits_per_row / 8 + 1), file.bytes.size(), best_ratio);

    const writable_image pixels = allocate_image(shape);
    std::vector<png_bytep> rows(extents.rows);
    for (png_uint_32 r = 0; r < extents.rows; ++r) rows[r] = reinterpret_cast<png_bytep>(pixels.row(r));
    if (!read_pixels(state, rows.data())) throw input_error(state.message);
    image result = pixels;
    result.alpha = extents.channels == 2 || extents.channels == 4;
    return result;
}

void write_png(output_file& out, const const_any_view& pixels) {
    png_state state;
    state.out = &out;
    state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    if (state.png != nullptr) state.info = png_create_info_struct(state.png);
    if (state.info == nullptr) throw out_of_memory("libpng cannot allocate its state");

    std::vector<png_bytep> rows;
    for (std::int64_t r = 0; r < pixels.shape.rows; ++r)  // libpng copies rows before it changes them
        rows.push_back(reinterpret_cast<png_bytep>(const_cast<std::byte*>(row_of(pixels, r).data())));
    if (write_pixels(state, pixels.shape, rows.data())) return;
    if (state.thrown) std::rethrow_exception(state.thrown);
    throw io_error("cannot write '" + output_name(out.path()) + "': " + state.message);
}

}  // namespace boxsum::cli
