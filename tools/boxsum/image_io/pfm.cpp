#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/netpbm_header.hpp"
#include "image_io/rows.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

namespace boxsum::cli {
namespace {

/// The sign tells the byte order: negative is little-endian.
double parse_scale(std::string_view word) {
    const std::string text(word.substr(0, 64));
    char* end = nullptr;
    const double scale = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !std::isfinite(scale) || scale == 0)
        throw input_error("its scale is '" + text + "', must be a number other than 0");
    return scale;
}

}  // namespace

image read_pfm(const encoded_bytes& file) {
    netpbm_scanner scanner(file.bytes);
    const std::int64_t channels = scanner.kind() == 'F' ? 3 : 1;
    const std::int64_t cols = scanner.integer("the width");
    const std::int64_t rows = scanner.integer("the height");
    const double scale = parse_scale(scanner.word("the scale"));
    scanner.one_space();
    const view_shape shape = packed_shape(dtype::f32, rows, cols, channels);
    const std::span<const std::byte> samples = scanner.rest();
    if (samples.size() < static_cast<std::uint64_t>(shape.plane_stride))
        throw input_error("its pixels need " + std::to_string(shape.plane_stride) + " bytes, but " +
                          std::to_string(samples.size()) + " follow the header: it is truncated");

    const writable_image pixels = allocate_image(shape);
    const auto row_size = static_cast<std::size_t>(shape.row_stride);
    const bool swapped = (scale > 0) == (std::endian::native == std::endian::little);
    for (std::int64_t r = 0; r < rows; ++r) {  // stored from the bottom up
        std::byte* row = pixels.row(rows - 1 - r);
        std::memcpy(row, samples.data() + static_cast<std::size_t>(r) * row_size, row_size);
        if (swapped) swap_byte_order({row, row_size}, sizeof(float));
    }
    return pixels;
}

void write_pfm(output_file& out, const const_any_view& pixels) {
    const view_shape& s = pixels.shape;
    const std::string header = std::string(s.channels == 1 ? "Pf" : "PF") + "\n" + std::to_string(s.cols) + " " +
                               std::to_string(s.rows) + "\n" +
                               (std::endian::native == std::endian::little ? "-1.0" : "1.0") + "\n";
    out.write(std::as_bytes(std::span(header)));
    for (std::int64_t r = s.rows; r-- > 0;) out.write(row_of(pixels, r));
}

}  // namespace boxsum::cli
