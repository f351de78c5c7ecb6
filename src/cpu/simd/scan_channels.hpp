#pragma once

// Rows of two to four interleaved channels. Part of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"

namespace boxsum::cpu {
namespace {

/// Row sums of one row with interleaved channels: a shift-and-add scan by multiples of the channel count.
template <typename T>
struct interleaved_sums {
    static constexpr int lanes = vec<T>::lanes;
    static constexpr int max_steps = lanes > 8 ? 3 : lanes > 4 ? 2 : 1;  // two channels: 2, 4, 8 < lanes
    lane_map<T> shift[max_steps];
    lane_map<T> last_pixel;  // the sums of the last pixel, repeated in the rhythm of the next vector
    vec<T> left;

    BOXSUM_INLINE explicit interleaved_sums(int channels) : left(zero<T>()) {
        int source[lanes];
        for (int step = 0; step < max_steps; ++step) {
            for (int i = 0; i < lanes; ++i) source[i] = i - (channels << step) < 0 ? -1 : i - (channels << step);
            shift[step] = make_lane_map<T>(source);
        }
        for (int i = 0; i < lanes; ++i) source[i] = lanes - channels + i % channels;
        last_pixel = make_lane_map<T>(source);
    }
    BOXSUM_INLINE vec<T> operator()(vec<T> v) {
        for (int step = 0; step < max_steps; ++step) v = add(v, permute(v, shift[step]));
        const vec<T> sums = add(v, left);
        left = permute(sums, last_pixel);
        return sums;
    }
};

template <typename In, typename Out, bool Square, stores Policy>
void scan_interleaved(const tile& t) {
    constexpr int columns = vec<Out>::lanes;
    const int channels = static_cast<int>(t.channels);
    auto* const carry = static_cast<Out*>(t.carry);
    auto* const buffer = static_cast<Out*>(t.row_buffer);
    interleaved_sums<Out> sums(channels);
    pixel_shift<Out, 4> shift(t);
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const image = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        Out* const table = reinterpret_cast<Out*>(at(t.table, row * t.table_stride));
        if (t.border > 0) put_border<4>(t, row, table);
        const Out* const above = static_cast<const Out*>(row_above<Out>(t, Policy, row));
        Out left[columns];
        for (int i = 0; i < columns; ++i) left[i] = t.carry_in ? carry[row * channels + i % channels] : Out{};
        sums.left = load(left);
        streamed_row<Out> streamed;
        if constexpr (Policy == stores::streaming) streamed.begin(table);
        std::int64_t i = 0;
        shift.step = 0;
        const auto scan = [&](vec<Out> pixels) __attribute__((always_inline)) {
            vec<Out> x[1] = {pixels};
            make_terms<Out, Square>(x, shift);
            return sums(x[0]);
        };
        read_ahead<Policy> ahead(t, row, t.elements * static_cast<std::int64_t>(sizeof(In)), 1);
        const auto edge = [&]() __attribute__((always_inline)) {
            const int last = t.elements - i < columns ? static_cast<int>(t.elements - i) : columns;
            const vec<Out> s = scan(load_pixels_edge<In, Out>(image + i, last));
            const vec<Out> entry = add(load_above_edge(above == nullptr ? nullptr : above + i, last), s);
            if constexpr (Policy == stores::streaming) {
                streamed.put_edge(i, entry, last);
                store_edge(buffer + i, entry, last);
            } else {
                store_edge(table + i, entry, last);
            }
            i += last;
        };
        if (Policy == stores::streaming && streamed_row<Out>::begins_with_edge) edge();
        const std::int64_t ends[] = {ahead.turn / static_cast<std::int64_t>(sizeof(In)), t.elements};
        for (const std::int64_t end : ends) {
            for (; i + columns <= end; i += columns) {
                const vec<Out> s = scan(load_pixels<In, Out>(image + i));
                const vec<Out> entry = add(load_above(above == nullptr ? nullptr : above + i), s);
                if ((i & (64 / static_cast<int>(sizeof(In)) - 1)) == 0) ahead(image + i);
                if constexpr (Policy == stores::streaming) {
                    streamed.put(i, entry);
                    store(buffer + i, entry);
                } else {
                    store(table + i, entry);
                }
            }
            ahead.take_turn();
        }
        const std::int64_t whole = i;
        if (i < t.elements) edge();
        if constexpr (Policy == stores::streaming) streamed.end(t.elements);
        if (t.carry != nullptr && whole == t.elements) {
            // Only whole tiles are continued; they end on a whole vector, and the next begins with lane 0 of `left`.
            store(left, sums.left);
            for (int c = 0; c < channels; ++c) carry[row * channels + c] = left[c];
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

}  // namespace
}  // namespace boxsum::cpu
