#include "core/packed_views.hpp"

#include "core/view_checks.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace boxsum {
namespace {

/// Of pixels that lie side by side on both sides.
void copy_rows(const const_any_view& from, const any_view& to) {
    const view_shape &f = from.shape, &t = to.shape;
    const std::int64_t row = f.cols * f.channels * static_cast<std::int64_t>(size_of(f.type));
    const bool at_once = f.row_stride == row && t.row_stride == row;
    for (std::int64_t plane = 0; plane < f.planes; ++plane) {
        const auto* source = static_cast<const std::byte*>(from.data) + plane * f.plane_stride;
        auto* target = static_cast<std::byte*>(to.data) + plane * t.plane_stride;
        for (std::int64_t r = 0; r < (at_once ? 1 : f.rows); ++r)
            std::memcpy(target + r * t.row_stride, source + r * f.row_stride,
                        static_cast<std::size_t>(at_once ? row * f.rows : row));
    }
}

/// By tiles, so that a side that runs across rows meets its cache lines again.
template <typename Word>
void copy_words(const const_any_view& from, const any_view& to) {
    constexpr std::int64_t side = 64;
    const view_shape& s = from.shape;
    const image_view<const Word> source(static_cast<const Word*>(from.data), from.shape);
    const image_view<Word> target(static_cast<Word*>(to.data), to.shape);
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t top = 0; top < s.rows; top += side)
            for (std::int64_t left = 0; left < s.cols; left += side)
                for (std::int64_t r = top; r < std::min(top + side, s.rows); ++r)
                    for (std::int64_t c = left; c < std::min(left + side, s.cols); ++c)
                        for (std::int64_t k = 0; k < s.channels; ++k) target(r, c, k, plane) = source(r, c, k, plane);
}

/// Memory for the elements of a shape, which becomes that of the memory.
host_buffer take_memory(view_shape& s) {
    detail::owned_table made = detail::allocate_table({}, s.type, s.rows, s.cols, s.channels, s.planes);
    s = made.shape;
    return std::move(made.memory);
}

}  // namespace

void copy_elements(const const_any_view& from, const any_view& to) {
    if (has_packed_pixels(from.shape) && has_packed_pixels(to.shape)) return copy_rows(from, to);
    switch (size_of(from.shape.type)) {
        case 1:
            return copy_words<std::uint8_t>(from, to);
        case 2:
            return copy_words<std::uint16_t>(from, to);
        case 4:
            return copy_words<std::uint32_t>(from, to);
        default:
            return copy_words<std::uint64_t>(from, to);
    }
}

packed_input::packed_input(const const_any_view& given, takes_shape takes) : view_(given) {
    if (given.data == nullptr || takes(given.shape)) return;
    memory_ = take_memory(view_.shape);
    view_.data = memory_.data();
    copy_elements(given, {memory_.data(), view_.shape});
}

packed_output::packed_output(const any_view& given, takes_shape takes) : given_(given), view_(given) {
    if (given.data == nullptr || takes(given.shape)) return;
    memory_ = take_memory(view_.shape);
    view_.data = memory_.data();
}

void packed_output::unpack() const {
    if (view_.data != given_.data) copy_elements(view_, given_);
}

}  // namespace boxsum
