#pragma once

// Rows of bytes in 16-bit words, for AVX2, where a dot product of bytes takes three operations. Part of
// scan_kernels.hpp.

#include "cpu/simd/sum_rows.hpp"

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
///
/// The sums of two rows are a chain of some 20 operations, and what becomes entries of them waits in the scheduler: so
/// the sums of the next two rows are written between the entries of these, and those of the first two come from the
/// columns to the right. The loop is there twice, once without the offset of a form: a question for every vector is a
/// fifth of its instructions. Cycles per 64 pixels in cache (Zen 4, GCC 12): 30 in program order, 25 so.
template <typename Out, stores Policy>
struct word_scan {
    static_assert(sizeof(Out) == 4);
    static constexpr int columns = vector_bytes;
    static constexpr int quarter = columns / 4;

    /// Rows 2h and 2h + 1 of a vector of columns.
    struct pair_sums {
        byte_vector odd[2];
        byte_vector within[2];  // groups
        group_sums before;
    };

    const row_group<std::uint8_t, Out>& rows;
    column_writer<Policy, Out> writer;
    bool fetch_table;
    const sum_shift& shift;
    read_ahead<Policy> ahead;
    u32x left[rows_per_pass];  // sum of each row left of the next vector, in all lanes
    pair_sums first_pair;      // of the next vector of columns, between begin() or step() and step()

    template <part Part>
    BOXSUM_INLINE void read(pair_sums& sums, int h, std::int64_t i, int count) const {
        for (int b = 0; b < 2; ++b) {
            const std::uint8_t* const p = rows.image[2 * h + b] + i;
            byte_vector pixels;
            if constexpr (Part == part::edge) {
                pixels = even_groups_first(load_bytes_edge(p, count));
            } else {
                pixels = even_groups_first(load_bytes(p));
                ahead(p);
            }
            sums.within[b] = sums_within_groups(pixels);
            sums.odd[b] = odd_bytes(pixels);
        }
    }
    BOXSUM_INLINE static void add_up(pair_sums& sums) { sums.before = group_sums(sums.within[0], sums.within[1]); }

    template <part Part>
    BOXSUM_INLINE void load_entries(vec<Out> (&entry)[4], std::int64_t i, int count) const {
        for (int m = 0; m < 4; ++m) {
            const Out* const above = rows.above == nullptr ? nullptr : rows.above + i + m * quarter;
            entry[m] = Part == part::edge ? load_above_edge(above, count - m * quarter) : load_above(above);
        }
    }
    /// What a form's offset takes from the sums of each row of a vector of columns.
    struct taken_sums {
        u32x of_quarter[4];
        BOXSUM_INLINE taken_sums(const sum_shift& shift, std::int64_t i) {
            for (int m = 0; m < 4; ++m)
                of_quarter[m] = shift.any ? shift.taken(i + m * quarter) : zero<std::uint32_t>();
        }
    };
    struct nothing_taken {
        BOXSUM_INLINE nothing_taken(const sum_shift&, std::int64_t) {}
    };
    template <bool Shifts>
    using taken = std::conditional_t<Shifts, taken_sums, nothing_taken>;

    /// Row 2h + b, which turns the entries of the row above into its own.
    template <part Part, bool Shifts>
    BOXSUM_INLINE void put(vec<Out> (&entry)[4], const pair_sums& sums, [[maybe_unused]] const taken<Shifts>& off,
                           int h, int b, std::int64_t i, int count) {
        const int q = 2 * h + b;
        const byte_vector second =
            add_words(sums.within[b], b == 0 ? sums.before.low_words() : sums.before.high_words());
        const byte_vector first = subtract_words(second, sums.odd[b]);
        const u32x upto[4] = {low_quarter(interleave_low(first, second)), high_quarter(interleave_low(first, second)),
                              low_quarter(interleave_high(first, second)),
                              high_quarter(interleave_high(first, second))};
        for (int m = 0; m < 4; ++m) {
            u32x s[1] = {add(left[q], upto[m])};
            if constexpr (Shifts) s[0] = shift.less(s[0], off.of_quarter[m]);
            vec<Out> of_row[1];
            convert<Out>(s[0], of_row);
            entry[m] = add(entry[m], of_row[0]);
            writer.template put<Part>(q, i + m * quarter, entry[m], count - m * quarter);
        }
        left[q] = add(left[q], b == 0 ? sums.before.low_total() : sums.before.high_total());
    }
    template <part Part>
    BOXSUM_INLINE void keep(const vec<Out> (&entry)[4], std::int64_t i, int count) const {
        for (int m = 0; m < 4; ++m) writer.template keep<Part>(i + m * quarter, entry[m], count - m * quarter);
    }

    /// `count` columns from i on.
    template <part Part>
    BOXSUM_INLINE void scan(std::int64_t i, int count) {
        vec<Out> entry[4];
        load_entries<Part>(entry, i, count);
        const taken<shifts_sums<Out>> off(shift, i);
        for (int h = 0; h < 2; ++h) {
            pair_sums sums;
            read<Part>(sums, h, i, count);
            add_up(sums);
            for (int b = 0; b < 2; ++b) put<Part, shifts_sums<Out>>(entry, sums, off, h, b, i, count);
        }
        keep<Part>(entry, i, count);
    }

    /// The first two rows of a whole vector of columns, before step().
    BOXSUM_INLINE void begin(std::int64_t i) {
        read<part::whole>(first_pair, 0, i, columns);
        add_up(first_pair);
    }
    /// A whole vector of columns of four rows, which begin() or the step to the left has begun. But for the last one it
    /// begins the vector to the right.
    template <bool Shifts, bool Last>
    BOXSUM_INLINE void step(std::int64_t i) {
        vec<Out> entry[4];
        load_entries<part::whole>(entry, i, columns);
        const taken<Shifts> off(shift, i);
        if constexpr (Policy == stores::cached)
            if (fetch_table) writer.fetch(i, 4, byte_table_fetch_bytes);
        pair_sums second_pair;
        read<part::whole>(second_pair, 1, i, columns);
        put<part::whole, Shifts>(entry, first_pair, off, 0, 0, i, columns);
        add_up(second_pair);
        put<part::whole, Shifts>(entry, first_pair, off, 0, 1, i, columns);
        if constexpr (!Last) read<part::whole>(first_pair, 0, i + columns, columns);
        put<part::whole, Shifts>(entry, second_pair, off, 1, 0, i, columns);
        if constexpr (!Last) add_up(first_pair);
        put<part::whole, Shifts>(entry, second_pair, off, 1, 1, i, columns);
        keep<part::whole>(entry, i, columns);
    }
    /// The columns from i on of which a whole vector lies before `end`, and one behind each. Returns what is next.
    template <bool Shifts>
    BOXSUM_INLINE std::int64_t steps(std::int64_t i, std::int64_t end) {
        for (; i + 2 * columns <= end; i += columns) step<Shifts, false>(i);
        return i;
    }
};

template <typename Out, stores Policy>
void scan_bytes_in_words(const tile& t) {
    using word_scan = cpu::word_scan<Out, Policy>;
    constexpr int columns = word_scan::columns;
    auto* const carry = static_cast<std::uint32_t*>(t.carry);
    const sum_shift shift(t);
    const byte_starts_adder<Out> adder(t);
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<std::uint8_t, Out> rows(t, row, row_above<Out>(t, Policy, row));
        word_scan scan{rows,
                       column_writer<Policy, Out>(t, rows),
                       t.fetch_table,
                       shift,
                       read_ahead<Policy>(t, row, t.elements, rows_per_pass),
                       {},
                       {}};
        for (int q = 0; q < rows_per_pass; ++q)
            scan.left[q] = splat(t.carry_in && q < rows.rows ? shift.start(carry[row + q]) : 0);
        std::int64_t i = 0;
        const auto edge = [&]() __attribute__((always_inline)) {
            const int count = t.elements - i < columns ? static_cast<int>(t.elements - i) : columns;
            scan.template scan<part::edge>(i, count);
            i += count;
        };
        if (Policy == stores::streaming && streamed_row<Out>::begins_with_edge) edge();
        if (rows.rows < rows_per_pass) {
            for (; i + columns <= t.elements; i += columns) scan.template scan<part::few_rows>(i, columns);
        } else if (i + columns <= t.elements) {
            scan.begin(i);
            const std::int64_t ends[] = {scan.ahead.turn, t.elements};
            for (const std::int64_t end : ends) {
                if (shifts_sums<Out> && shift.any)
                    i = scan.template steps<shifts_sums<Out>>(i, end);
                else
                    i = scan.template steps<false>(i, end);
                scan.ahead.take_turn();
            }
            scan.template step<shifts_sums<Out>, true>(i);
            i += columns;
        }
        while (i < t.elements) edge();
        scan.writer.finish(t.elements);
        if (t.carry != nullptr)
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q)
                carry[row + q] = shift.end(first_lane(scan.left[q]), t.elements);
        // Not beside the loop, which has no register left: tables in cache took longer so.
        starts_below<byte_starts_adder<Out>>(t, adder, row + rows_per_pass).finish();
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

#endif  // BOXSUM_BYTE_WORDS

}  // namespace
}  // namespace boxsum::cpu
