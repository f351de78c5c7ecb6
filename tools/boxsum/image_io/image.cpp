#include "image_io/image.hpp"

#include "errors.hpp"
#include "image_io/memory_limit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace boxsum::cli {
namespace {

std::string text_of(const view_shape& s) {
    return std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " + std::to_string(s.channels) + " of " +
           std::string(name_of(s.type));
}

/// A block, and its share of what the process may take.
struct reserved_block {
    memory_reservation reservation;
    host_buffer memory;
};

template <typename Word>
void swap_words(std::span<std::byte> elements) {
    for (std::size_t i = 0; i + sizeof(Word) <= elements.size(); i += sizeof(Word)) {
        Word word;
        std::memcpy(&word, elements.data() + i, sizeof(Word));
        if constexpr (sizeof(Word) == 2)
            word = __builtin_bswap16(word);
        else if constexpr (sizeof(Word) == 4)
            word = __builtin_bswap32(word);
        else
            word = __builtin_bswap64(word);
        std::memcpy(elements.data() + i, &word, sizeof(Word));
    }
}

template <typename T>
void convert_inks(const writable_image& inks, const writable_image& rgb, bool inverted) {
    constexpr std::uint64_t white = std::numeric_limits<T>::max();
    const auto light = [&](T ink) { return inverted ? ink : white - ink; };
    const auto* from = static_cast<const T*>(inks.view.data);
    auto* to = static_cast<T*>(rgb.view.data);
    for (std::int64_t i = 0; i < inks.view.shape.rows * inks.view.shape.cols; ++i, from += 4)
        for (int k = 0; k < 3; ++k) *to++ = static_cast<T>((light(from[k]) * light(from[3]) + white / 2) / white);
}

template <typename T>
void divide_rows_by_alpha(const writable_image& pixels) {
    const view_shape& s = pixels.view.shape;
    constexpr double white = std::is_integral_v<T> ? static_cast<double>(std::numeric_limits<T>::max()) : 1;
    for (std::int64_t r = 0; r < s.rows; ++r) {
        T* p = reinterpret_cast<T*>(pixels.row(r));
        for (std::int64_t c = 0; c < s.cols; ++c, p += s.channels) {
            const auto alpha = static_cast<double>(p[s.channels - 1]);
            if (!(alpha > 0)) continue;
            for (std::int64_t k = 0; k + 1 < s.channels; ++k) {
                const double colour = static_cast<double>(p[k]) * white / alpha;
                if constexpr (std::is_integral_v<T>)
                    p[k] = static_cast<T>(std::min(white, std::floor(colour + 0.5)));
                else
                    p[k] = static_cast<T>(colour);
            }
        }
    }
}

}  // namespace

std::int64_t row_bytes(const view_shape& shape) {
    return shape.cols * shape.channels * static_cast<std::int64_t>(size_of(shape.type));
}

view_shape packed_shape(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels) {
    view_shape s;
    s.type = type;
    s.rows = rows;
    s.cols = cols;
    s.channels = channels;
    if (rows < 1 || cols < 1)
        throw input_error("the image is empty (" + std::to_string(rows) + " rows x " + std::to_string(cols) + " cols)");
    if (channels < 1 || channels > 4)
        throw input_error("the image has " + std::to_string(channels) +
                          " channels; 1 to 4 are read, or one of any number (--band)");
    std::int64_t elements_per_row = 0;
    if (__builtin_mul_overflow(cols, channels, &elements_per_row) ||
        __builtin_mul_overflow(elements_per_row, static_cast<std::int64_t>(size_of(type)), &s.row_stride) ||
        __builtin_mul_overflow(rows, s.row_stride, &s.plane_stride))
        throw input_error("the extents " + text_of(s) + " overflow 64 bits");
    return s;
}

writable_image allocate_image(const view_shape& packed) {
    const auto bytes = static_cast<std::uint64_t>(packed.plane_stride);
    const auto block = std::make_shared<reserved_block>();
    block->reservation = memory_reservation(bytes, text_of(packed));
    block->memory = memory_pool::shared().acquire(bytes);
    return {{block->memory.data(), packed}, std::shared_ptr<host_buffer>(block, &block->memory)};
}

image rgb_of_cmyk(const writable_image& inks, bool inverted) {
    const view_shape& s = inks.view.shape;
    const writable_image rgb = allocate_image(packed_shape(s.type, s.rows, s.cols, 3));
    if (s.type == dtype::u8)
        convert_inks<std::uint8_t>(inks, rgb, inverted);
    else
        convert_inks<std::uint16_t>(inks, rgb, inverted);
    image result = rgb;
    result.note = "its CMYK is converted without a colour profile";
    return result;
}

void divide_by_alpha(const writable_image& pixels) {
    switch (pixels.view.shape.type) {
        case dtype::u8:
            return divide_rows_by_alpha<std::uint8_t>(pixels);
        case dtype::u16:
            return divide_rows_by_alpha<std::uint16_t>(pixels);
        case dtype::f32:
            return divide_rows_by_alpha<float>(pixels);
        case dtype::f64:
            return divide_rows_by_alpha<double>(pixels);
        default:
            throw input_error("its colours are multiplied by their opacity, as " +
                              std::string(name_of(pixels.view.shape.type)) + "; of 8u, 16u, 32f and 64f they are read");
    }
}

void check_plausible_size(const view_shape& shape, std::uint64_t pixel_bytes, std::uint64_t file_bytes, double ratio) {
    constexpr double slack = 4096;  // headers, and formats whose smallest image is a few bytes
    if (static_cast<double>(pixel_bytes) > static_cast<double>(file_bytes) * ratio + slack)
        throw input_error("the header claims " + text_of(shape) + ", more than " + std::to_string(file_bytes) +
                          " bytes can hold");
}

void swap_byte_order(std::span<std::byte> elements, std::size_t element_bytes) {
    if (element_bytes == 2) swap_words<std::uint16_t>(elements);
    if (element_bytes == 4) swap_words<std::uint32_t>(elements);
    if (element_bytes == 8) swap_words<std::uint64_t>(elements);
}

}  // namespace boxsum::cli
