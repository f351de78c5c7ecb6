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

/// Calls run(to, from, count, step) for positions begin .. end - 1 beyond the image on an axis that continues it: the
/// samples from `from` on, forwards (1), backwards (-1), or that one again and again (0).
template <typename Run>
void for_each_run(const window_axis& axis, std::int64_t begin, std::int64_t end, Run&& run) {
    for (std::int64_t i = begin, count = 1; i < end; i += count) {
        const std::int64_t from = axis.source(i), step = i + 1 < end ? axis.source(i + 1) - from : 0;
        count = 1;
        if (step == 1)
            count = std::min(end - i, axis.extent - from);
        else if (step == -1)
            count = std::min(end - i, from + 1);
        else if (axis.border == border_mode::replicate)
            count = end - i;
        run(i, from, count, count == 1 ? 0 : step);
    }
}

/// The same for both sides.
template <typename Run>
void for_each_run(const window_axis& axis, Run&& run) {
    for_each_run(axis, -axis.before, 0, run);
    for_each_run(axis, axis.extent, axis.extent + axis.after, run);
}

/// Continues a row, whose first column x points to, to both sides as far as windows along it reach: with a border that
/// continues the image. `constant` is every element beyond a constant border.
template <typename T>
void extend_row(T* x, const window_axis& axis, std::int64_t channels, T constant) {
    if (axis.border == border_mode::shrink) return;
    if (axis.border == border_mode::constant) {
        std::fill_n(x - axis.before * channels, axis.before * channels, constant);
        std::fill_n(x + axis.extent * channels, axis.after * channels, constant);
        return;
    }
    for_each_run(axis, [&](std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t step) {
        T* const put = x + to * channels;
        const T* const first = x + from * channels;
        if (step > 0)
            std::copy_n(first, count * channels, put);
        else if (step < 0)
            copy_mirrored(put, first, count, channels);
        else
            repeat_column(put, first, count, channels);
    });
}

}  // namespace boxsum::filters
