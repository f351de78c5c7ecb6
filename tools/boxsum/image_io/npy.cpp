#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Format: NumPy Enhancement Proposal 1 and numpy.lib.format (versions 1.0, 2.0 and 3.0).

namespace boxsum::cli {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct npy_header {
    std::string descr;
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
    std::size_t data_offset = 0;
};

/// Parses the header's Python dictionary: strings, True, False and a tuple of integers are all that may occur.
class dictionary_parser {
  public:
    explicit dictionary_parser(std::string_view text) : rest_(text) {}

    npy_header parse() {
        npy_header header;
        bool descr = false, order = false, shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string_view key = string();
            expect(':');
            if (key == "descr" && !descr) {
                if (peek() == '[') throw input_error("its elements are records (structured dtype), not numbers");
                header.descr = string();
                descr = true;
            } else if (key == "fortran_order" && !order) {
                header.fortran_order = boolean();
                order = true;
            } else if (key == "shape" && !shape) {
                header.shape = tuple();
                shape = true;
            } else {
                fail();
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty() || !descr || !order || !shape) fail();
        return header;
    }

  private:
    [[noreturn]] static void fail() { throw input_error("its NPY header is malformed"); }

    void skip_space() {
        const std::size_t end = rest_.find_first_not_of(" \t\n\r\f\v");
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
    }

    char peek() {
        skip_space();
        return rest_.empty() ? '\0' : rest_.front();
    }

    bool accept(char c) {
        if (peek() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char c) {
        if (!accept(c)) fail();
    }

    bool accept_word(std::string_view word) {
        skip_space();
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    std::string_view string() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') fail();
        const std::size_t end = rest_.find(quote, 1);
        if (end == std::string_view::npos) fail();
        const std::string_view text = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return text;
    }

    bool boolean() {
        if (accept_word("True")) return true;
        if (!accept_word("False")) fail();
        return false;
    }

    std::vector<std::int64_t> tuple() {
        std::vector<std::int64_t> values;
        expect('(');
        while (!accept(')')) {
            skip_space();
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
            if (error != std::errc() || value < 0) fail();
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
            if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // written by Python 2
            values.push_back(value);
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return values;
    }

    std::string_view rest_;
};

npy_header read_header(std::span<const std::byte> bytes) {
    const auto byte_at = [&](std::size_t i) -> std::size_t {
        if (i >= bytes.size()) throw input_error("it ends within its NPY header");
        return std::to_integer<std::size_t>(bytes[i]);
    };
    const std::size_t major = byte_at(magic.size());
    if (major < 1 || major > 3) throw input_error("its NPY version is " + std::to_string(major) + "; 1 to 3 are read");
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    const std::size_t length_at = magic.size() + 2;
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= byte_at(length_at + i) << (8 * i);
    const std::size_t text_at = length_at + length_bytes;
    if (length > bytes.size() - text_at) throw input_error("it ends within its NPY header");
    npy_header header = dictionary_parser({reinterpret_cast<const char*>(bytes.data()) + text_at, length}).parse();
    header.data_offset = text_at + length;
    return header;
}

/// What is in the file, and the type in which the tool keeps it.
struct element_type {
    std::size_t stored_bytes = 0;
    dtype type = dtype::u8;
    bool widen_s8 = false;
    bool swapped = false;
};

element_type element_of(const std::string& descr) {
    struct entry {
        std::string_view name;
        dtype type;
    };
    static constexpr entry entries[] = {{"b1", dtype::u8},  {"u1", dtype::u8},  {"i1", dtype::s16}, {"u2", dtype::u16},
                                        {"i2", dtype::s16}, {"u4", dtype::u32}, {"i4", dtype::s32}, {"u8", dtype::u64},
                                        {"i8", dtype::s64}, {"f2", dtype::f16}, {"f4", dtype::f32}, {"f8", dtype::f64}};
    const std::string_view order = "<>=|";
    if (descr.size() == 3 && order.find(descr[0]) != std::string_view::npos)
        for (const entry& e : entries)
            if (descr.compare(1, 2, e.name) == 0) {
                const bool s8 = e.name == "i1";
                const std::size_t bytes = s8 ? 1 : size_of(e.type);
                const bool file_is_big = descr[0] == '>';
                const bool file_is_little = descr[0] == '<';
                const bool machine_is_big = std::endian::native == std::endian::big;
                return {bytes, e.type, s8, bytes > 1 && (machine_is_big ? file_is_little : file_is_big)};
            }
    throw input_error("its elements are '" + descr + "'; booleans, integers and floats of 1 to 8 bytes are read");
}

/// How elements lie in a file.
struct array_order {
    std::int64_t rows, cols, channels;
    std::size_t element_bytes;
    bool fortran;

    std::size_t offset(std::int64_t r, std::int64_t c, std::int64_t k) const {
        const std::int64_t element = fortran ? r + rows * (c + cols * k) : (r * cols + c) * channels + k;
        return static_cast<std::size_t>(element) * element_bytes;
    }
};

/// Copies `count` channels from `first` on in C order, in blocks that both orders go through quickly.
void gather(const std::byte* from, const array_order& order, std::int64_t first, std::int64_t count, std::byte* to) {
    constexpr std::int64_t block = 64;
    for (std::int64_t top = 0; top < order.rows; top += block)
        for (std::int64_t left = 0; left < order.cols; left += block)
            for (std::int64_t r = top; r < std::min(order.rows, top + block); ++r)
                for (std::int64_t c = left; c < std::min(order.cols, left + block); ++c)
                    for (std::int64_t k = 0; k < count; ++k) {
                        const auto place = static_cast<std::size_t>((r * order.cols + c) * count + k);
                        std::memcpy(to + place * order.element_bytes, from + order.offset(r, c, first + k),
                                    order.element_bytes);
                    }
}

std::string descr_of(dtype type) {
    const char order = size_of(type) == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
    const char kind = is_floating(type) ? 'f' : is_signed(type) ? 'i' : 'u';
    return {order, kind, static_cast<char>('0' + size_of(type))};
}

}  // namespace

image read_npy(const encoded_bytes& file, const read_options& options) {
    const npy_header header = read_header(file.bytes);
    const element_type element = element_of(header.descr);
    const std::vector<std::int64_t>& shape = header.shape;
    if (shape.size() != 2 && shape.size() != 3)
        throw input_error("its array has " + std::to_string(shape.size()) +
                          " dimensions; rows x cols or rows x cols x channels are read");
    const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
    if (options.band > channels) throw input_error("it has no band " + std::to_string(options.band));
    const bool one_band = options.band > 0 && channels > 1;
    const view_shape packed = packed_shape(element.type, shape[0], shape[1], one_band ? 1 : channels);

    const std::span<const std::byte> data = file.bytes.subspan(header.data_offset);
    std::uint64_t stored =
        static_cast<std::uint64_t>(packed.plane_stride) / size_of(element.type) * element.stored_bytes;
    if (one_band && __builtin_mul_overflow(stored, static_cast<std::uint64_t>(channels), &stored))
        throw input_error("the extents of its array overflow 64 bits");
    if (data.size() != stored)
        throw input_error("its array needs " + std::to_string(stored) + " bytes, but " + std::to_string(data.size()) +
                          (data.size() < stored ? " follow the header: it is truncated" : " follow the header"));

    const bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % size_of(element.type) == 0;
    if (!element.widen_s8 && !element.swapped && !header.fortran_order && !one_band && aligned)
        return {{data.data(), packed}, file.owner, {}};

    const writable_image copy = allocate_image(packed);
    array_order order{shape[0], shape[1], channels, element.stored_bytes, header.fortran_order};
    const std::size_t bytes =
        static_cast<std::size_t>(packed.plane_stride) / size_of(element.type) * element.stored_bytes;
    // 8-bit samples that become 16s lie in the second half of their place until then.
    auto* const to = static_cast<std::byte*>(copy.view.data) + (element.widen_s8 ? bytes : 0);
    if (header.fortran_order || one_band)
        gather(data.data(), order, one_band ? options.band - 1 : 0, packed.channels, to);
    else
        std::memcpy(to, data.data(), bytes);
    if (element.widen_s8) {
        auto* out = static_cast<std::int16_t*>(copy.view.data);
        for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::int8_t>(to[i]);
    } else if (element.swapped) {
        swap_byte_order({to, bytes}, element.stored_bytes);
    }
    return copy;
}

void write_npy_header(output_file& out, dtype type, std::span<const std::int64_t> extents) {
    std::string shape;
    for (const std::int64_t n : extents) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
    std::string text = "{'descr': '" + descr_of(type) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    // The array starts on a multiple of 64 bytes, so that a mapped file is aligned.
    const std::size_t before = magic.size() + 4;
    text.append(64 - (before + text.size() + 1) % 64, ' ').push_back('\n');
    const std::string length{static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    const std::string header = std::string(magic) + std::string("\x01\x00", 2) + length + text;
    out.write(std::as_bytes(std::span(header)));
}

row_sink npy_rows(output_file& out, const image& about) {
    const view_shape& s = about.view.shape;
    const std::array<std::int64_t, 3> extents = {s.rows, s.cols, s.channels};
    write_npy_header(out, s.type, std::span(extents).first(s.channels > 1 ? 3 : 2));
    return {[&out](const const_any_view& rows) { write_rows(out, rows); }, [] {}};
}

void write_npy(output_file& out, const const_any_view& pixels) {
    npy_rows(out, {.view = pixels, .owner = {}}).write(pixels);
}

}  // namespace boxsum::cli
