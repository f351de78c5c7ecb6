#include "errors.hpp"
#include "image_io/codecs.hpp"

#include <png.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
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

    std::span<const std::byte> rest;

    png_state() = default;
    png_state(const png_state&) = delete;
    png_state& operator=(const png_state&) = delete;
    ~png_state() { png_destroy_read_struct(&png, &info, nullptr); }
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

/// What the chunks before the pixels say about them; those behind them are left alone.
void read_metadata(const png_state& state, image& result) {
    image_metadata metadata;
    png_charp name = nullptr;
    png_bytep profile = nullptr;
    png_uint_32 size = 0;
    int compression = 0;
    if (png_get_iCCP(state.png, state.info, &name, &compression, &profile, &size) != 0) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(profile);
        metadata.icc.assign(bytes, bytes + size);
    }
    png_uint_32 x = 0, y = 0;
    int unit = 0;
    constexpr double cm_per_metre = 100;
    if (png_get_pHYs(state.png, state.info, &x, &y, &unit) != 0 && unit == PNG_RESOLUTION_METER) {
        metadata.horizontal_per_cm = x / cm_per_metre;
        metadata.vertical_per_cm = y / cm_per_metre;
    }
    png_bytep exif = nullptr;
    png_uint_32 exif_size = 0;
    if (png_get_eXIf_1(state.png, state.info, &exif_size, &exif) != 0) {
        const std::span block{reinterpret_cast<const std::byte*>(exif), exif_size};
        result.orientation = exif_orientation(block);
        if (exif_says_more(block)) metadata.not_kept.emplace_back("EXIF data");
    }
    if (png_get_text(state.png, state.info, nullptr, nullptr) > 0) metadata.not_kept.emplace_back("texts");
    result.metadata = std::make_shared<image_metadata>(std::move(metadata));
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
    read_metadata(state, result);
    return result;
}

}  // namespace boxsum::cli
