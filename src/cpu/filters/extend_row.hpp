#pragma once

#include "filters/window_axis.hpp"

#include <algorithm>
#include <cstdint>

namespace boxsum::filters {

/// Copies columns of a row, one after the other, from there forwards or backwards.
template <typename T>
void copy_mirrored(T* to, const T* last, std::int64_t cols, std::int64_t channels) {
    if (channels == 1) {
        for (std::int64_t i = 0; i < cols; ++i) to[i] = last[-i];
        return;
    }
    for (std::int64_t i = 0; i < cols; ++i)
        for (std::int64_t k = 0; k < channels; ++k) to[i * channels + k] = last[-i * channels + k];
}

/// Repeats one column.
template <typename T>
void repeat_column(T* to, const T* from, std::int64_t cols, std::int64_t channels) {
    if (channels == 1) {
        std::fill_n(to, cols, from[0]);
        return;
    }
    for (std::int64_t i = 0; i < cols; ++i)
        for (std::int64_t k = 0; k < channels; ++k) to[i * channels + k] = from[k];
}

/// Continues a row, whose first column x points to, to both sides as far as windows along it reach: with a border that
/// continues the image. `constant` is every element beyond a constant border.
template <typename T>
void extend_row(T* x, const window_axis& axis, std::int64_t channels, T constant) {
    const std::int64_t before = axis.before, after = axis.after, extent = axis.extent;
    T* const left = x - before * channels;
    T* const right = x + extent * channels;
    switch (axis.border) {
        case border_mode::shrink:
            return;
        case border_mode::constant:
            std::fill_n(left, before * channels, constant);
            std::fill_n(right, after * channels, constant);
            return;
        case border_mode::replicate:
            repeat_column(left, x, before, channels);
            repeat_column(right, right - channels, after, channels);
            return;
        case border_mode::mirror:
        case border_mode::wrap:
            for (std::int64_t i = -before; i < 0; ++i)
                std::copy_n(x + axis.source(i) * channels, channels, x + i * channels);
            for (std::int64_t i = extent; i < extent + after; ++i)
                std::copy_n(x + axis.source(i) * channels, channels, x + i * channels);
            return;
        case border_mode::reflect:
            break;
    }
    // Neither side reaches 2 * extent: the image mirrored, then the image.
    const std::int64_t mirrored_left = std::min(before, extent), mirrored_right = std::min(after, extent);
    copy_mirrored(x - mirrored_left * channels, x + (mirrored_left - 1) * channels, mirrored_left, channels);
    copy_mirrored(right, right - channels, mirrored_right, channels);
    std::copy_n(x + (2 * extent - before) * channels, (before - mirrored_left) * channels, left);
    std::copy_n(x, (after - mirrored_right) * channels, right + mirrored_right * channels);
}

}  // namespace boxsum::filters
