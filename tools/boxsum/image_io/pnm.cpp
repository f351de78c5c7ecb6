#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/netpbm_header.hpp"
#include "image_io/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr std::int64_t max_8bit = 255, max_16bit = 65535;

template <typename T>
void read_ascii(netpbm_scanner& scanner, const writable_image& out, std::int64_t maxval) {
    T* sample = static_cast<T*>(out.view.data);
    for (T* end = sample + out.view.shape.plane_stride / static_cast<std::int64_t>(sizeof(T)); sample != end;
         ++sample) {
        const std::int64_t value = scanner.integer("a sample");
        if (value > maxval)
            throw input_error("a sample is " + std::to_string(value) + ", above the maximal value " +
                              std::to_string(maxval));
        *sample = static_cast<T>(value);
    }
}

template <typename T>
void check_maximum(const writable_image& pixels, std::int64_t maxval) {
    const T* sample = static_cast<const T*>(pixels.view.data);
    for (const T* end = sample + pixels.view.shape.plane_stride / static_cast<std::int64_t>(sizeof(T)); sample != end;
         ++sample)
        if (*sample > maxval)
            throw input_error("a sample is " + std::to_string(*sample) + ", above the maximal value " +
                              std::to_string(maxval));
}

void read_binary(std::span<const std::byte> samples, const writable_image& out, std::int64_t maxval) {
    const auto bytes = static_cast<std::size_t>(out.view.shape.plane_stride);
    if (samples.size() < bytes)
        throw input_error("its pixels need " + std::to_string(bytes) + " bytes, but " + std::to_string(samples.size()) +
                          " follow the header: it is truncated");
    std::memcpy(out.view.data, samples.data(), bytes);
    if (out.view.shape.type == dtype::u16) {
        if constexpr (std::endian::native == std::endian::little)
            swap_byte_order({static_cast<std::byte*>(out.view.data), bytes}, 2);
        if (maxval < max_16bit) check_maximum<std::uint16_t>(out, maxval);
    } else if (maxval < max_8bit) {
        check_maximum<std::uint8_t>(out, maxval);
    }
}

template <typename T>
bool within(const const_any_view& pixels, std::int64_t maxval) {
    bool all = true;
    for (std::int64_t r = 0; r < pixels.shape.rows; ++r) {
        const T* const row = reinterpret_cast<const T*>(row_of(pixels, r).data());
        all = all && std::all_of(row, row + pixels.shape.cols * pixels.shape.channels,
                                 [maxval](T value) { return value <= maxval; });
    }
    return all;
}

/// That of the file that an image comes from, where its pixels still keep to it and its samples have as many bytes.
std::int64_t maxval_of(const image& source) {
    const bool wide = source.view.shape.type == dtype::u16;
    const std::int64_t most = wide ? max_16bit : max_8bit, maxval = source.maxval;
    if (maxval == 0 || maxval > most || (wide && maxval <= max_8bit)) return most;
    const bool kept = wide ? within<std::uint16_t>(source.view, maxval) : within<std::uint8_t>(source.view, maxval);
    return kept ? maxval : most;
}

/// PBM: a bit or a digit is 1 where the pixel is black.
image read_pbm(netpbm_scanner& scanner, bool ascii) {
    const std::int64_t cols = scanner.integer("the width");
    const std::int64_t rows = scanner.integer("the height");
    scanner.one_space();
    const view_shape shape = packed_shape(dtype::u8, rows, cols, 1);
    const std::span<const std::byte> bits = scanner.rest();
    const std::int64_t row_size = (cols + 7) / 8;
    const std::int64_t least = ascii ? rows * cols : rows * row_size;  // no overflow: plane_stride is larger
    if (static_cast<std::int64_t>(bits.size()) < least)
        throw input_error("the header claims " + std::to_string(rows) + " x " + std::to_string(cols) +
                          " bits, but only " + std::to_string(bits.size()) + " bytes follow: it is truncated");
    const writable_image pixels = allocate_image(shape);
    const auto white = [](bool black) { return black ? std::byte{0} : std::byte{255}; };
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const bool black = ascii ? scanner.digit()
                                     : (bits[static_cast<std::size_t>(r * row_size + c / 8)] >> (7 - c % 8) &
                                        std::byte{1}) != std::byte{0};
            pixels.row(r)[c] = white(black);
        }
    return pixels;
}

void write_pbm(output_file& out, const const_any_view& pixels) {
    const view_shape& s = pixels.shape;
    const std::string header = "P4\n" + std::to_string(s.cols) + " " + std::to_string(s.rows) + "\n";
    out.write(std::as_bytes(std::span(header)));
    std::vector<std::byte> bits(static_cast<std::size_t>((s.cols + 7) / 8));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        pack_bits(row_of(pixels, r), bits.data());
        for (std::byte& b : bits) b = ~b;
        if (s.cols % 8 != 0) bits.back() &= static_cast<std::byte>(0xff << (8 - s.cols % 8));
        out.write(bits);
    }
}

}  // namespace

image read_pnm(const encoded_bytes& file) {
    netpbm_scanner scanner(file.bytes);
    const char kind = scanner.kind();
    if (kind == '1' || kind == '4') return read_pbm(scanner, kind == '1');
    const bool ascii = kind == '2' || kind == '3';
    const std::int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
    const std::int64_t cols = scanner.integer("the width");
    const std::int64_t rows = scanner.integer("the height");
    const std::int64_t maxval = scanner.integer("the maximal value");
    if (maxval < 1 || maxval > max_16bit)
        throw input_error("its maximal value is " + std::to_string(maxval) + ", must be 1 to 65535");
    scanner.one_space();
    const view_shape shape = packed_shape(maxval > max_8bit ? dtype::u16 : dtype::u8, rows, cols, channels);
    const std::span<const std::byte> samples = scanner.rest();

    // A binary sample takes its own size, an ASCII one at least a digit and (but the last) a space.
    const auto elements = static_cast<std::uint64_t>(shape.plane_stride) / size_of(shape.type);
    const std::uint64_t least = ascii ? elements + (elements - 1) : static_cast<std::uint64_t>(shape.plane_stride);
    if (samples.size() < least)
        throw input_error("the header claims " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                          std::to_string(channels) + " samples, but only " + std::to_string(samples.size()) +
                          " bytes follow: it is truncated");

    // Bytes are pixels as they are: the file's own are looked at, not a copy.
    if (!ascii && maxval == max_8bit) return {.view = {samples.data(), shape}, .owner = file.owner};
    const writable_image pixels = allocate_image(shape);
    image result = pixels;
    if (maxval != max_8bit && maxval != max_16bit) result.maxval = maxval;
    if (!ascii)
        read_binary(samples, pixels, maxval);
    else if (shape.type == dtype::u8)
        read_ascii<std::uint8_t>(scanner, pixels, maxval);
    else
        read_ascii<std::uint16_t>(scanner, pixels, maxval);
    return result;
}

row_sink pnm_rows(output_file& out, const image& about) {
    const view_shape& s = about.view.shape;
    const std::string header = std::string(s.channels == 1 ? "P5" : "P6") + "\n" + std::to_string(s.cols) + " " +
                               std::to_string(s.rows) + "\n" + std::to_string(maxval_of(about)) + "\n";
    out.write(std::as_bytes(std::span(header)));
    if (s.type == dtype::u8 || std::endian::native == std::endian::big)
        return {[&out](const const_any_view& rows) { write_rows(out, rows); }, [] {}, header.size()};
    return {[&out](const const_any_view& rows) {
                std::vector<std::byte> swapped(static_cast<std::size_t>(row_bytes(rows.shape)));
                for (std::int64_t r = 0; r < rows.shape.rows; ++r) {
                    const std::span<const std::byte> row = row_of(rows, r);
                    std::memcpy(swapped.data(), row.data(), row.size());
                    swap_byte_order(swapped, 2);
                    out.write(swapped);
                }
            },
            [] {}};
}

void write_pnm(output_file& out, const image& source, const write_options& options) {
    if (options.bits == 1) return write_pbm(out, source.view);
    pnm_rows(out, source).write(source.view);
}

}  // namespace boxsum::cli
