#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/memory_limit.hpp"
#include "image_io/metadata.hpp"
#include "image_io/rows.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Chunks by the PNG specification, packed by libdeflate: libpng packs with zlib, which takes several times as long.

namespace boxsum::cli {
namespace {

void append_u32(std::vector<std::byte>& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(value >> shift));
}

void append(std::vector<std::byte>& to, std::string_view text) {
    for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

void write_chunk(output_file& out, std::string_view name, std::span<const std::byte> data) {
    std::vector<std::byte> head;
    append_u32(head, static_cast<std::uint32_t>(data.size()));
    append(head, name);
    std::uint32_t crc = libdeflate_crc32(0, head.data() + 4, 4);
    if (!data.empty()) crc = libdeflate_crc32(crc, data.data(), data.size());  // of no bytes it would start anew
    std::vector<std::byte> tail;
    append_u32(tail, crc);
    out.write(head);
    out.write(data);
    out.write(tail);
}

std::vector<std::byte> packed(std::span<const std::byte> bytes, int level) {
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
        libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
    if (compressor == nullptr) throw out_of_memory("libdeflate cannot allocate its state");
    std::vector<std::byte> result(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()));
    result.resize(libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(), result.data(), result.size()));
    return result;
}

/// Samples in the file's byte order.
void copy_row(std::span<const std::byte> row, std::size_t element, std::byte* to) {
    std::memcpy(to, row.data(), row.size());
    if (std::endian::native == std::endian::little) swap_byte_order({to, row.size()}, element);
}

/// The rows, each behind the number of its filter: differences from the pixel to the left (1) of 8- and 16-bit samples,
/// none (0) of bits. With the fast levels one filter is as small as the choice among five, and much faster.
std::vector<std::byte> filtered(const const_any_view& pixels, bool bits) {
    const view_shape& s = pixels.shape;
    const auto row_size = static_cast<std::size_t>(bits ? (s.cols + 7) / 8 : row_bytes(s));
    const std::size_t element = size_of(s.type), pixel = element * static_cast<std::size_t>(s.channels);
    std::vector<std::byte> result((row_size + 1) * static_cast<std::size_t>(s.rows));
    std::vector<std::byte> plain(row_size);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        std::byte* to = result.data() + static_cast<std::size_t>(r) * (row_size + 1);
        if (bits) {
            pack_bits(row_of(pixels, r), to + 1);
            continue;
        }
        *to++ = std::byte{1};
        copy_row(row_of(pixels, r), element, plain.data());
        std::memcpy(to, plain.data(), pixel);
        const auto* const from = reinterpret_cast<const std::uint8_t*>(plain.data());
        auto* const difference = reinterpret_cast<std::uint8_t*>(to);
        for (std::size_t i = pixel; i < row_size; ++i)
            difference[i] = static_cast<std::uint8_t>(from[i] - from[i - pixel]);
    }
    return result;
}

void write_metadata(output_file& out, const image_metadata& metadata, int level) {
    if (!metadata.icc.empty()) {
        std::vector<std::byte> data;
        append(data, std::string_view("ICC profile\0\0", 13));
        const std::vector<std::byte> profile = packed(metadata.icc, level);
        data.insert(data.end(), profile.begin(), profile.end());
        write_chunk(out, "iCCP", data);
    }
    constexpr double most = 2e7;
    const double x = metadata.horizontal_per_cm, y = metadata.vertical_per_cm;
    if (x > 0 && y > 0 && x < most && y < most) {
        std::vector<std::byte> data;
        append_u32(data, static_cast<std::uint32_t>(std::lround(x * 100)));
        append_u32(data, static_cast<std::uint32_t>(std::lround(y * 100)));
        data.push_back(std::byte{1});  // a metre
        write_chunk(out, "pHYs", data);
    }
}

}  // namespace

void write_png(output_file& out, const image& source, const write_options& options) {
    const view_shape& s = source.view.shape;
    constexpr int fastest = 1;
    const int level = options.level.value_or(fastest);
    const bool bits = options.bits == 1;
    const auto raw_bytes = static_cast<std::uint64_t>(s.rows) * static_cast<std::uint64_t>(row_bytes(s) + 1);
    const memory_reservation both(2 * raw_bytes, "packing a PNG");

    out.write(std::as_bytes(std::span("\x89PNG\r\n\x1a\n", 8)));
    std::vector<std::byte> header;
    append_u32(header, static_cast<std::uint32_t>(s.cols));
    append_u32(header, static_cast<std::uint32_t>(s.rows));
    constexpr std::array<std::uint8_t, 4> colour_types = {0, 4, 2, 6};  // grey, with alpha, RGB, with alpha
    header.push_back(static_cast<std::byte>(bits ? 1 : 8 * size_of(s.type)));
    header.push_back(static_cast<std::byte>(colour_types[static_cast<std::size_t>(s.channels - 1)]));
    header.resize(header.size() + 3);  // the only compression and filters, not interlaced
    write_chunk(out, "IHDR", header);
    if (source.metadata) write_metadata(out, *source.metadata, level);

    const std::vector<std::byte> data = packed(filtered(source.view, bits), level);
    constexpr std::size_t largest_chunk = std::size_t{1} << 30;
    for (std::size_t at = 0; at < data.size(); at += largest_chunk)
        write_chunk(out, "IDAT", std::span(data).subspan(at, std::min(largest_chunk, data.size() - at)));
    write_chunk(out, "IEND", {});
}

}  // namespace boxsum::cli
