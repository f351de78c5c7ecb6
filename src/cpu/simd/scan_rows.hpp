#pragma once

// Rows of one channel, of any type. Part of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"

namespace boxsum::cpu {
namespace {

/// The sums of four rows over one vector of columns, and the sum of each row so far.
///
/// block_lanes rows at a time are transposed within 128-bit blocks, so that a scan along a row becomes additions of
/// whole vectors, and the totals of all blocks and rows come out as one vector: 35 operations for four rows of 16
/// floats, against 48 for a shift-and-add scan of each row. In two stages, so that the first of the next vector can be
/// written before the second of this one. Zen 4, 32f32f in cache, cycles per vector: shift-and-add 10.8, transposed
/// 7.8, in stages 6.9.
template <typename T>
struct row_sums {
    static constexpr int block_lanes = 16 / static_cast<int>(sizeof(T));
    static constexpr int groups = static_cast<int>(rows_per_pass) / block_lanes;
    vec<T> left[groups];                  // lane q of every block: sum of row q left of the vector of stage two
    vec<T> columns[groups][block_lanes];  // transposed: prefix sums within blocks
    vec<T> totals[groups];                // prefix sums of blocks

    BOXSUM_INLINE explicit row_sums(const T* carry) {
        for (int g = 0; g < groups; ++g) left[g] = load_block(carry + g * block_lanes);
    }
    BOXSUM_INLINE void save(T* carry) const {
        for (int g = 0; g < groups; ++g) store_first_block(carry + g * block_lanes, left[g]);
    }

    /// Stage one, of pixels.
    BOXSUM_INLINE void take(const vec<T> (&x)[rows_per_pass]) {
        for (int g = 0; g < groups; ++g) {
            for (int k = 0; k < block_lanes; ++k) columns[g][k] = x[g * block_lanes + k];
            transpose_blocks(columns[g]);
            for (int k = 1; k < block_lanes; ++k) columns[g][k] = add(columns[g][k], columns[g][k - 1]);
            totals[g] = scan_blocks(columns[g][block_lanes - 1]);
        }
    }
    /// Stage two: row sums.
    BOXSUM_INLINE void give(vec<T> (&x)[rows_per_pass], const second_adder<T>& plus) {
        for (int g = 0; g < groups; ++g) {
            const vec<T> before = add(shift_blocks(totals[g]), left[g]);
            left[g] = add(left[g], last_block(totals[g]));
            vec<T> v[block_lanes];
            for (int k = 0; k < block_lanes; ++k) v[k] = plus(columns[g][k], before);
            transpose_blocks(v);
            for (int k = 0; k < block_lanes; ++k) x[g * block_lanes + k] = v[k];
        }
    }
};

template <typename In, typename Scan, typename Out, bool Square, stores Policy>
struct column_scan {
    static constexpr int columns = vec<Scan>::lanes;
    static constexpr int parts = static_cast<int>(sizeof(Out) / sizeof(Scan));
    static constexpr int lanes = vec<Out>::lanes;
    const row_group<In, Out>& rows;
    column_writer<Policy, Out> writer;
    row_sums<Scan> sums;
    read_ahead<Policy> ahead;
    bool fetch_table;
    pixel_shift<Scan>& shift;
    second_adder<Scan> plus = {};
    second_adder<Out> plus_row = {};

    /// Reads one vector of columns of four rows.
    template <part Part>
    BOXSUM_INLINE void read(std::int64_t i, int count) {
        vec<Scan> x[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) {
            if constexpr (Part == part::edge) {
                x[q] = load_pixels_edge<In, Scan>(rows.image[q] + i, count);
            } else {
                x[q] = load_pixels<In, Scan>(rows.image[q] + i);
                if ((i & (64 / static_cast<int>(sizeof(In)) - 1)) == 0) ahead(rows.image[q] + i);
            }
        }
        make_terms<Out, Square>(x, shift);
        sums.take(x);
    }

    /// Writes its entries, up to element `last`.
    template <part Part>
    BOXSUM_INLINE void write(const vec<Scan> (&x)[rows_per_pass], std::int64_t i, int last) {
        vec<Out> entry[parts];
        for (int k = 0; k < parts; ++k) {
            const Out* const above = rows.above == nullptr ? nullptr : rows.above + i + k * lanes;
            entry[k] = Part == part::edge ? load_above_edge(above, last - k * lanes) : load_above(above);
        }
        if constexpr (Part == part::whole && Policy == stores::cached)
            if (fetch_table) writer.fetch(i, parts, table_fetch_bytes);
        for (int q = 0; q < rows_per_pass; ++q) {
            vec<Out> s[parts];
            convert<Out>(x[q], s);
            for (int k = 0; k < parts; ++k) {
                entry[k] = plus_row(entry[k], s[k]);
                writer.template put<Part>(q, i + k * lanes, entry[k], last - k * lanes);
            }
        }
        for (int k = 0; k < parts; ++k) writer.template keep<Part>(i + k * lanes, entry[k], last - k * lanes);
    }

    template <part Part>
    BOXSUM_INLINE void scan(std::int64_t i, int count) {
        read<Part>(i, count);
        vec<Scan> x[rows_per_pass];
        sums.give(x, plus);
        write<Part>(x, i, count);
    }
};

template <typename In, typename Scan, typename Out, bool Square, stores Policy>
void scan_tile(const tile& t) {
    constexpr int columns = vec<Scan>::lanes;
    const std::int64_t elements = t.elements;
    auto* const carry = static_cast<Scan*>(t.carry);
    pixel_shift<Scan> shift(t);
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<In, Out> rows(t, row, row_above<Out>(t, Policy, row));
        alignas(16) Scan left[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) left[q] = t.carry_in && q < rows.rows ? carry[row + q] : Scan{};
        column_scan<In, Scan, Out, Square, Policy> scan{
            rows,
            column_writer<Policy, Out>(t, rows),
            row_sums<Scan>(left),
            read_ahead<Policy>(t, row, elements * static_cast<std::int64_t>(sizeof(In)), rows_per_pass),
            t.fetch_table,
            shift};
        std::int64_t i = 0;
        const auto edge = [&]() __attribute__((always_inline)) {
            const int count = elements - i < columns ? static_cast<int>(elements - i) : columns;
            scan.template scan<part::edge>(i, count);
            i += count;
        };

        if (Policy == stores::streaming && streamed_row<Out>::begins_with_edge) edge();
        if (rows.rows < rows_per_pass) {
            for (; i + columns <= elements; i += columns) scan.template scan<part::few_rows>(i, columns);
        } else if (i + columns <= elements) {
            vec<Scan> x[rows_per_pass];
            scan.template read<part::whole>(i, columns);
            const std::int64_t ends[] = {scan.ahead.turn / static_cast<std::int64_t>(sizeof(In)), elements};
            for (const std::int64_t end : ends) {
                for (; i + 2 * columns <= end; i += columns) {
                    auto current = scan.sums;
                    scan.template read<part::whole>(i + columns, columns);
                    current.give(x, scan.plus);
                    for (int g = 0; g < row_sums<Scan>::groups; ++g) scan.sums.left[g] = current.left[g];
                    scan.template write<part::whole>(x, i, columns);
                }
                scan.ahead.take_turn();
            }
            scan.sums.give(x, scan.plus);
            scan.template write<part::whole>(x, i, columns);
            i += columns;
        }
        while (i < elements) edge();
        scan.writer.finish(elements);
        if (t.carry != nullptr) {
            scan.sums.save(left);
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q) carry[row + q] = left[q];
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

}  // namespace
}  // namespace boxsum::cpu
