#pragma once

// Rows of bytes in 16-bit words, for AVX2, where a dot product of bytes takes three operations. Part of
// scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"

namespace boxsum::cpu {
namespace {

#if defined(BOXSUM_BYTE_WORDS)

/// Row sums of bytes. A vector is eight groups of four bytes, which are moved so that its low half has the groups 0, 2,
/// 4, 6 and its high half 1, 3, 5, 7: then words and double words that are interleaved within the halves come out in
/// the order of their columns. The sums of the first two and of all bytes of a group are two words. Sums of groups of
/// two rows share a 32-bit lane (a vector holds at most 32 * 255 < 2^15), so that one scan over groups serves both, and
/// what lies before a group is added to its words. The sum up to the first byte of a pair is that up to the second,
/// less that byte.
///
/// About 28 operations for 32 pixels of a row instead of 36 by dot products, and no more values at a time than there
/// are registers. Entries have 4 bytes: those of 8 have no room beside the words.
template <typename Out, stores Policy>
struct word_scan {
    static_assert(sizeof(Out) == 4);
    static constexpr int columns = vector_bytes;
    static constexpr int quarter = columns / 4;

    const row_group<std::uint8_t, Out>& rows;
    column_writer<Policy, Out> writer;
    bool fetch_table;
    const sum_shift& shift;
    read_ahead<Policy> ahead;
    u32x left[rows_per_pass];  // sum of each row left of the next vector, in all lanes

    /// `count` columns from i on.
    template <part Part>
    BOXSUM_INLINE void scan(std::int64_t i, int count) {
        vec<Out> entry[4];
        for (int m = 0; m < 4; ++m) {
            const Out* const above = rows.above == nullptr ? nullptr : rows.above + i + m * quarter;
            entry[m] = Part == part::edge ? load_above_edge(above, count - m * quarter) : load_above(above);
        }
        if constexpr (Part == part::whole && Policy == stores::cached)
            if (fetch_table) writer.fetch(i, 4, byte_table_fetch_bytes);
        for (int h = 0; h < rows_per_pass / 2; ++h) {
            byte_vector pixels[2];
            byte_vector within[2];
            for (int b = 0; b < 2; ++b) {
                const std::uint8_t* const p = rows.image[2 * h + b] + i;
                if constexpr (Part == part::edge) {
                    pixels[b] = even_groups_first(load_bytes_edge(p, count));
                } else {
                    pixels[b] = even_groups_first(load_bytes(p));
                    ahead(p);
                }
                within[b] = sums_within_groups(pixels[b]);
            }
            const group_sums before(within[0], within[1]);
            for (int b = 0; b < 2; ++b) {
                const int q = 2 * h + b;
                const byte_vector second = add_words(within[b], b == 0 ? before.low_words() : before.high_words());
                const byte_vector first = subtract_words(second, odd_bytes(pixels[b]));
                const u32x upto[4] = {
                    low_quarter(interleave_low(first, second)), high_quarter(interleave_low(first, second)),
                    low_quarter(interleave_high(first, second)), high_quarter(interleave_high(first, second))};
                for (int m = 0; m < 4; ++m) {
                    u32x s[1] = {add(left[q], upto[m])};
                    if constexpr (shifts_sums<Out>)
                        if (shift.takes_something()) shift(s, i + m * quarter);
                    vec<Out> sums[1];
                    convert<Out>(s[0], sums);
                    entry[m] = add(entry[m], sums[0]);
                    writer.template put<Part>(q, i + m * quarter, entry[m], count - m * quarter);
                }
                left[q] = add(left[q], b == 0 ? before.low_total() : before.high_total());
            }
        }
        for (int m = 0; m < 4; ++m) writer.template keep<Part>(i + m * quarter, entry[m], count - m * quarter);
    }
};

template <typename Out, stores Policy>
void scan_bytes_in_words(const tile& t) {
    using word_scan = cpu::word_scan<Out, Policy>;
    constexpr int columns = word_scan::columns;
    auto* const carry = static_cast<std::uint32_t*>(t.carry);
    const sum_shift shift(t);
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<std::uint8_t, Out> rows(t, row, row_above<Out>(t, Policy, row));
        word_scan scan{rows,
                       column_writer<Policy, Out>(t, rows),
                       t.fetch_table,
                       shift,
                       read_ahead<Policy>(t, row, t.elements, rows_per_pass),
                       {}};
        for (int q = 0; q < rows_per_pass; ++q)
            scan.left[q] = splat(t.carry_in && q < rows.rows ? shift.start(carry[row + q]) : 0);
        std::int64_t i = 0;
        const auto edge = [&]() __attribute__((always_inline)) {
            const int count = t.elements - i < columns ? static_cast<int>(t.elements - i) : columns;
            scan.template scan<part::edge>(i, count);
            i += count;
        };
        if (Policy == stores::streaming) edge();
        if (rows.rows < rows_per_pass) {
            for (; i + columns <= t.elements; i += columns) scan.template scan<part::few_rows>(i, columns);
        } else {
            const std::int64_t ends[] = {scan.ahead.turn, t.elements};
            for (const std::int64_t end : ends) {
                for (; i + columns <= end; i += columns) scan.template scan<part::whole>(i, columns);
                scan.ahead.take_turn();
            }
        }
        while (i < t.elements) edge();
        scan.writer.finish(t.elements);
        if (t.carry != nullptr)
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q)
                carry[row + q] = shift.end(first_lane(scan.left[q]), t.elements);
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

#endif  // BOXSUM_BYTE_WORDS

}  // namespace
}  // namespace boxsum::cpu
