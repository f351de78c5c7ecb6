#pragma once

#include "core/problem.hpp"
#include "core/visit_types.hpp"

/// The element types of integral histograms, and the one way from a pixel to its bin that is not a vector kernel's.
namespace boxsum {

template <typename... Types>
struct dtype_list {};

using histogram_pixels = dtype_list<u8, u16, s32, f32>;
using histogram_counts = dtype_list<u32, u16>;
using histogram_entries = dtype_list<u32, u16, f32>;

/// Calls f.template operator()<T>() for the entry that equals `type`; false if there is none.
template <typename... Types, typename F>
bool visit_one_of(dtype_list<Types...>, dtype type, F&& f) {
    return ((type == dtype_of<Types> ? (f.template operator()<Types>(), true) : false) || ...);
}

template <typename... Types>
constexpr bool contains(dtype_list<Types...>, dtype type) {
    return ((type == dtype_of<Types>) || ...);
}

/// The bin of a pixel, or -1.
template <typename Pixel>
std::int64_t bin_of_pixel(const histogram_problem& h, const std::uint16_t* lookup, Pixel value) {
    if (h.rule == bin_rule::lookup) {
        const std::uint16_t entry = lookup[static_cast<std::size_t>(value)];
        return entry == binning::no_bin ? -1 : entry;
    }
    return uniform_bin(static_cast<double>(value), h.bins, h.lo, h.hi, h.outside);
}

/// Row 0 and column 0 of a padded table come before the first pixel.
inline std::int64_t first_pixel_offset(const problem& p) {
    return p.form.border();
}

/// The table of one bin of one plane.
template <typename T>
image_view<T> table_of_bin(const problem& p, void* tensor, std::int64_t bin, std::int64_t plane) {
    auto* const first = static_cast<std::byte*>(tensor) + plane * p.table.plane_stride + bin * p.histogram->bin_stride;
    return {reinterpret_cast<T*>(first), p.table.rows, p.table.cols, p.table.row_stride};
}

template <typename T>
image_view<const T> typed_view(const void* data, const view_shape& s) {
    return {static_cast<const T*>(data), s};
}

}  // namespace boxsum
