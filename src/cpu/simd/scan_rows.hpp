#pragma once

// Rows of one channel, of any type. Part of scan_kernels.hpp.

#include "cpu/simd/row_group.hpp"
#include "cpu/simd/sum_rows.hpp"

namespace boxsum::cpu {
namespace {

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

    /// Reads one vector of columns of four rows, and asks for what comes later in the rows `down` bytes behind them.
    template <part Part>
    BOXSUM_INLINE void read(std::int64_t i, int count, std::int64_t down = 0) {
        vec<Scan> x[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) {
            if constexpr (Part == part::edge) {
                x[q] = load_pixels_edge<In, Scan>(rows.image[q] + i, count);
            } else {
                x[q] = load_pixels<In, Scan>(rows.image[q] + i);
                if ((i & (64 / static_cast<int>(sizeof(In)) - 1)) == 0) ahead(at(rows.image[q] + i, down));
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
    using adder_type = starts_adder<In, Scan, Out, Square>;
    pixel_shift<Scan> shift(t);
    const adder_type adder(t);
    const std::int64_t next_unread = t.left_elements > 0 ? 2 * rows_per_pass : rows_per_pass;
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<In, Out> rows(t, row, row_above<Out>(t, Policy, row));
        alignas(16) Scan left[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) left[q] = t.carry_in && q < rows.rows ? carry[row + q] : Scan{};
        column_scan<In, Scan, Out, Square, Policy> scan{
            rows,
            column_writer<Policy, Out>(t, rows),
            row_sums<Scan>(left),
            read_ahead<Policy>(t, row, elements * static_cast<std::int64_t>(sizeof(In)), next_unread),
            t.fetch_table,
            shift};
        starts_below<adder_type> below(t, adder, row + rows_per_pass);
        std::int64_t i = 0;
        const auto edge = [&]() __attribute__((always_inline)) {
            const int count = elements - i < columns ? static_cast<int>(elements - i) : columns;
            scan.template scan<part::edge>(i, count);
            i += count;
        };
        vec<Scan> x[rows_per_pass];
        const auto step = [&](std::int64_t down) __attribute__((always_inline)) {
            auto current = scan.sums;
            scan.template read<part::whole>(i + columns, columns, down);
            current.give(x, scan.plus);
            for (int g = 0; g < row_sums<Scan>::groups; ++g) scan.sums.left[g] = current.left[g];
            scan.template write<part::whole>(x, i, columns);
        };

        if (Policy == stores::streaming && streamed_row<Out>::begins_with_edge) edge();
        const bool whole = rows.rows >= rows_per_pass && i + columns <= elements;
        if (whole) {
            scan.template read<part::whole>(i, columns);
            const std::int64_t beside = below.columns_beside(rows.image, i) + columns;
            const std::int64_t end = beside < elements ? beside : elements;
            for (; i + 2 * columns <= end; i += columns) {
                below.take(rows.image, i);
                step(rows_per_pass * t.image_stride);
            }
        }
        below.finish();
        if (whole) {
            const std::int64_t ends[] = {scan.ahead.turn / static_cast<std::int64_t>(sizeof(In)), elements};
            for (const std::int64_t end : ends) {
                for (; i + 2 * columns <= end; i += columns) step(0);
                scan.ahead.take_turn();
            }
            scan.sums.give(x, scan.plus);
            scan.template write<part::whole>(x, i, columns);
            i += columns;
        } else {
            for (; i + columns <= elements; i += columns) scan.template scan<part::few_rows>(i, columns);
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
