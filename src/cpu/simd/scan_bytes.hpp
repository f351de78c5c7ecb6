#pragma once

// Rows of bytes by dot products, where the instruction set has them. Part of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"
#include "cpu/simd/sum_rows.hpp"

namespace boxsum::cpu {
namespace {

#if defined(BOXSUM_BYTE_DOT)

/// Row sums of bytes by dot products. A vector of bytes is a number of groups of four. A dot product with ones gives
/// the sum of each group; the sums of two rows share a 32-bit lane (a vector holds at most 64 * 255 < 2^15), so that
/// one scan over groups serves both. The sum up to a byte is then that of the groups up to its own, less a dot product
/// of its group with weights that count the bytes behind it. About 26 operations per 64 pixels with AVX-512 VNNI.
///
/// The stages of the next vector are written between the entries of this one. In program order they keep each other
/// waiting in the scheduler: 18.2 against 15.9 cycles per 64 pixels (Zen 4, GCC 12).
struct byte_sums {
    static constexpr int columns = vector_bytes;
    using bytes = decltype(load_bytes(nullptr));

    u32x left[rows_per_pass];  // sum of each row left of the next vector, in all lanes
    bytes pixels[rows_per_pass];
    u32x packed[rows_per_pass / 2];  // sums of groups, becoming prefix sums; row 2h + 1 in the upper halves
    u32x upto[rows_per_pass];        // sums of a row up to the end of each group, groups transposed
    bytes groups[rows_per_pass];     // pixels, groups transposed

    BOXSUM_INLINE explicit byte_sums(const std::uint32_t* carry) {
        for (int q = 0; q < rows_per_pass; ++q) left[q] = splat(carry[q]);
    }
    BOXSUM_INLINE void save(std::uint32_t* carry) const {
        for (int q = 0; q < rows_per_pass; ++q) {
            std::uint32_t lanes[u32x::lanes];
            store(lanes, left[q]);
            carry[q] = lanes[0];
        }
    }
    BOXSUM_INLINE void sum_groups() {
        const bytes ones = splat_bytes(0x01010101);
        const u32x none = zero<std::uint32_t>();
        for (int h = 0; h < rows_per_pass / 2; ++h)
            packed[h] = dot_bytes(shift_left_16(dot_bytes(none, pixels[2 * h + 1], ones)), pixels[2 * h], ones);
    }
    BOXSUM_INLINE void scan_within(const group_transposer& transpose) {
        for (int h = 0; h < rows_per_pass / 2; ++h) packed[h] = scan_within_blocks(packed[h]);
        for (int q = 0; q < rows_per_pass; ++q) groups[q] = transpose(pixels[q]);
    }
    BOXSUM_INLINE void scan_across(const block_carrier& carry) {
        for (int h = 0; h < rows_per_pass / 2; ++h) packed[h] = carry(packed[h]);
    }
    BOXSUM_INLINE void unpack(const group_transposer& transpose, const last_lane_splat& last) {
        const u32x low = splat(1);
        const u32x high = splat(0x10000);
        for (int h = 0; h < rows_per_pass / 2; ++h) {
            const u32x total = last(packed[h]);
            const u32x sums{transpose(packed[h].r)};
            upto[2 * h] = dot_words(left[2 * h], sums, low);
            upto[2 * h + 1] = dot_words(left[2 * h + 1], sums, high);
            left[2 * h] = dot_words(left[2 * h], total, low);
            left[2 * h + 1] = dot_words(left[2 * h + 1], total, high);
        }
    }
};

/// Quarter m of a vector of columns of four rows: the entries whose groups are lane m of each block.
template <int m, part Part, typename Out, stores Policy>
BOXSUM_INLINE void write_quarter(const u32x (&upto)[rows_per_pass], const byte_sums::bytes (&groups)[rows_per_pass],
                                 byte_sums::bytes weights, const row_group<std::uint8_t, Out>& rows,
                                 column_writer<Policy, Out>& writer, bool fetch_table, const sum_shift& shift,
                                 std::int64_t i, int end) {
    constexpr int parts = static_cast<int>(sizeof(Out) / 4);
    constexpr int lanes = vec<Out>::lanes;
    const std::int64_t first = i + m * u32x::lanes;
    const int last = end - m * u32x::lanes;
    if (Part == part::edge && last <= 0) return;
    vec<Out> entry[parts];
    for (int k = 0; k < parts; ++k) {
        const Out* const above = rows.above == nullptr ? nullptr : rows.above + first + k * lanes;
        entry[k] = Part == part::edge ? load_above_edge(above, last - k * lanes) : load_above(above);
    }
    if constexpr (Part == part::whole && Policy == stores::cached)
        if (fetch_table) writer.fetch(first, parts, byte_table_fetch_bytes);
    u32x s[rows_per_pass];
    for (int q = 0; q < rows_per_pass; ++q)
        s[q] = dot_bytes({splat_in_block<m>(upto[q].r)}, splat_in_block<m>(groups[q]), weights);
    if constexpr (shifts_sums<Out>)
        if (shift.takes_something()) shift(s, first);
    for (int q = 0; q < rows_per_pass; ++q) {
        vec<Out> sums[parts];
        convert<Out>(s[q], sums);
        for (int k = 0; k < parts; ++k) {
            entry[k] = add(entry[k], sums[k]);
            writer.template put<Part>(q, first + k * lanes, entry[k], last - k * lanes);
        }
    }
    for (int k = 0; k < parts; ++k) writer.template keep<Part>(first + k * lanes, entry[k], last - k * lanes);
}

template <typename Out, stores Policy>
void scan_bytes(const tile& t) {
    constexpr int columns = byte_sums::columns;
    auto* const carry = static_cast<std::uint32_t*>(t.carry);
    const group_transposer transpose;
    const block_carrier carry_blocks;
    const last_lane_splat last_lane;
    const byte_sums::bytes weights = bytes_behind();
    const sum_shift shift(t);
    using adder_type = byte_starts_adder<Out>;
    const adder_type adder(t);
    const std::int64_t next_unread = t.left_elements > 0 ? 2 * rows_per_pass : rows_per_pass;
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<std::uint8_t, Out> rows(t, row, row_above<Out>(t, Policy, row));
        column_writer<Policy, Out> writer(t, rows);
        std::uint32_t left[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) left[q] = t.carry_in && q < rows.rows ? shift.start(carry[row + q]) : 0;
        byte_sums sums(left);
        std::int64_t i = 0;
        read_ahead<Policy> ahead(t, row, t.elements, next_unread);
        starts_below<adder_type> below(t, adder, row + rows_per_pass);

        // Asks for what comes later in the rows `down` bytes behind these.
        const auto load_whole = [&](std::int64_t column, std::int64_t down = 0) __attribute__((always_inline)) {
            for (int q = 0; q < rows_per_pass; ++q) {
                sums.pixels[q] = load_bytes(rows.image[q] + column);
                ahead(at(rows.image[q] + column, down));
            }
        };
        const auto prepare = [&]() __attribute__((always_inline)) {
            sums.sum_groups();
            sums.scan_within(transpose);
            sums.scan_across(carry_blocks);
            sums.unpack(transpose, last_lane);
        };
        const auto write = [&]<part Part>(int last) __attribute__((always_inline)) {
            write_quarter<0, Part>(sums.upto, sums.groups, weights, rows, writer, t.fetch_table, shift, i, last);
            write_quarter<1, Part>(sums.upto, sums.groups, weights, rows, writer, t.fetch_table, shift, i, last);
            write_quarter<2, Part>(sums.upto, sums.groups, weights, rows, writer, t.fetch_table, shift, i, last);
            write_quarter<3, Part>(sums.upto, sums.groups, weights, rows, writer, t.fetch_table, shift, i, last);
            i += last;
        };
        const auto edge = [&]() __attribute__((always_inline)) {
            const int count = t.elements - i < columns ? static_cast<int>(t.elements - i) : columns;
            for (int q = 0; q < rows_per_pass; ++q) sums.pixels[q] = load_bytes_edge(rows.image[q] + i, count);
            prepare();
            write.template operator()<part::edge>(count);
        };

        if (Policy == stores::streaming && streamed_row<Out>::begins_with_edge) edge();
        const auto step = [&](std::int64_t down) __attribute__((always_inline)) {
            u32x upto[rows_per_pass];
            byte_sums::bytes groups[rows_per_pass];
            for (int q = 0; q < rows_per_pass; ++q) {
                upto[q] = sums.upto[q];
                groups[q] = sums.groups[q];
            }
            load_whole(i + columns, down);
            sums.sum_groups();
            write_quarter<0, part::whole>(upto, groups, weights, rows, writer, t.fetch_table, shift, i, columns);
            sums.scan_within(transpose);
            write_quarter<1, part::whole>(upto, groups, weights, rows, writer, t.fetch_table, shift, i, columns);
            sums.scan_across(carry_blocks);
            write_quarter<2, part::whole>(upto, groups, weights, rows, writer, t.fetch_table, shift, i, columns);
            sums.unpack(transpose, last_lane);
            write_quarter<3, part::whole>(upto, groups, weights, rows, writer, t.fetch_table, shift, i, columns);
        };
        const bool whole = rows.rows >= rows_per_pass && i + columns <= t.elements;
        if (whole) {
            load_whole(i);
            prepare();
            const std::int64_t beside = below.columns_beside(rows.image, i) + columns;
            const std::int64_t end = beside < t.elements ? beside : t.elements;
            for (; i + 2 * columns <= end; i += columns) {
                below.take(rows.image, i);
                step(rows_per_pass * t.image_stride);
            }
        }
        below.finish();
        if (whole) {
            const std::int64_t ends[] = {ahead.turn, t.elements};
            for (const std::int64_t end : ends) {
                for (; i + 2 * columns <= end; i += columns) step(0);
                ahead.take_turn();
            }
            write.template operator()<part::whole>(columns);
        } else {
            while (i + columns <= t.elements) {
                load_whole(i);
                prepare();
                write.template operator()<part::few_rows>(columns);
            }
        }
        while (i < t.elements) edge();
        writer.finish(t.elements);
        if (t.carry != nullptr) {
            sums.save(left);
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q) carry[row + q] = shift.end(left[q], t.elements);
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

#endif  // BOXSUM_BYTE_DOT

}  // namespace
}  // namespace boxsum::cpu
