#pragma once

// Rows that start anywhere, past the caches, for instruction sets that join two vectors in many instructions: AVX2
// takes four for each, and registers that it has not (Zen 4, 8u32u of rows in cache: 78 cycles for 64 pixels where the
// limit is 33). Part of scan_kernels.hpp.

#include "cpu/simd/sum_rows.hpp"

namespace boxsum::cpu {
namespace {

#if !defined(BOXSUM_VECTOR_JOINER)

struct element_bytes {
    std::int64_t image, table, carry;
};

inline constexpr std::int64_t line_bytes = 64;

BOXSUM_INLINE std::int64_t bytes_into_line(const void* p) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) % std::uintptr_t{line_bytes});
}

/// A few columns of four rows, to which a kernel of ordinary stores writes. Whole lines of the table leave from here,
/// read from wherever they start; the rest of a row waits for the next columns, right before them.
struct row_stage {
    static constexpr std::int64_t columns_bytes = 2048;  ///< of entries: a multiple of tile_columns_unit of any type
    static constexpr std::int64_t stride = columns_bytes + line_bytes;  ///< before each row what waits, or the border
    alignas(line_bytes) std::byte bytes[line_bytes + rows_per_pass * stride];

    std::byte* rows() { return bytes + line_bytes; }
};

/// What is on a stage.
struct staged_columns {
    std::byte* entries;  ///< of row_stage::stride
    std::byte* table;    ///< where they go
    std::int64_t rows;
    std::int64_t bytes;   ///< of the entries of a row
    std::int64_t border;  ///< bytes before the entries, where rows begin
    bool rows_begin, rows_end;
};

/// What lies from `from` to `end` goes to the table, to `to`; but for what begins a line that ends in the next columns,
/// which goes to before them.
BOXSUM_INLINE void write_lines(const std::byte* from, const std::byte* end, std::byte* to, std::byte* next_columns) {
    if (const std::int64_t behind = bytes_into_line(to); behind != 0) {  // only where a row begins
        const std::int64_t count = end - from < line_bytes - behind ? end - from : line_bytes - behind;
        copy_small<line_bytes / 2>(to, from, static_cast<int>(count));
        from += count;
        to += count;
    }
    using words = std::uint32_t;
    for (; from + line_bytes <= end; from += line_bytes, to += line_bytes)
        for (std::int64_t part = 0; part < line_bytes; part += vector_bytes)
            stream(reinterpret_cast<words*>(to + part), load(reinterpret_cast<const words*>(from + part)));
    const std::int64_t rest = end - from;
    copy_small<line_bytes / 2>(next_columns == nullptr ? to : next_columns - rest, from, static_cast<int>(rest));
}

/// `next`: the stage of the columns to the right, if rows do not end here.
BOXSUM_INLINE void leave_stage(const staged_columns& c, std::int64_t table_stride, std::byte* next) {
    for (std::int64_t q = 0; q < c.rows; ++q) {
        const std::byte* const entries = c.entries + q * row_stage::stride;
        std::byte* const table = c.table + q * table_stride;
        const std::int64_t before = c.rows_begin ? c.border : bytes_into_line(table);
        write_lines(entries - before, entries + c.bytes, table - before,
                    c.rows_end ? nullptr : next + q * row_stage::stride);
    }
}

/// The lines at the ends of four rows, which ordinary stores will write.
BOXSUM_INLINE void fetch_ends(const std::byte* row, std::int64_t stride, std::int64_t border, std::int64_t bytes) {
    for (std::int64_t q = 0; q < rows_per_pass; ++q) {
        prefetch(row + q * stride - border);
        prefetch(row + q * stride + bytes - 1);
    }
}

/// Pixels some columns ahead, or of the rows below: a kernel that is given few columns does not look that far.
BOXSUM_INLINE void fetch_pixels(const tile& t, const element_bytes& bytes, std::int64_t row, std::int64_t column) {
    const std::int64_t of_stage = row_stage::columns_bytes / bytes.table * bytes.image;
    const std::int64_t row_bytes = t.elements * bytes.image;
    std::int64_t ahead = column * bytes.image + row_stage::columns_bytes;
    if (ahead >= row_bytes) ahead += rows_per_pass * t.image_stride - row_bytes;
    for (std::int64_t q = 0; q < rows_per_pass; ++q)
        for (std::int64_t k = 0; k < of_stage; k += line_bytes)
            prefetch_far(at(t.image, (row + q) * t.image_stride + ahead + k));
}

/// Takes the columns from `from` to `end` of what the four rows from `row` on start with (starts_below), whose lanes
/// are kept in memory from one stage to the next.
using start_function = void (*)(const tile& t, std::int64_t row, std::int64_t from, std::int64_t end,
                                std::byte (&lanes)[rows_per_pass][vector_bytes]);
template <typename Adder>
void start_rows(const tile& t, std::int64_t row, std::int64_t from, std::int64_t end,
                std::byte (&lanes)[rows_per_pass][vector_bytes]) {
    using lane = typename Adder::lane;
    const Adder adder(t);
    starts_below<Adder> below(t, adder, row);
    below.sums.i = from;
    if (from > 0)
        for (int q = 0; q < rows_per_pass; ++q) below.sums.lanes[q] = load(reinterpret_cast<const lane*>(lanes[q]));
    if (end < t.left_elements) {
        below.sums.take(t, adder, row, end);
        for (int q = 0; q < rows_per_pass; ++q) store(reinterpret_cast<lane*>(lanes[q]), below.sums.lanes[q]);
    } else {
        below.finish();
    }
}
template <>
inline void start_rows<no_adder>(const tile&, std::int64_t, std::int64_t, std::int64_t,
                                 std::byte (&)[rows_per_pass][vector_bytes]) {}

/// `scan` writes ordinary stores. Through two stages in turn: what was written last has not reached the cache, and a
/// load of parts of two stores waits until they have, which are behind those that go past it.
void scan_staged(const tile& t, tile_function scan, start_function start, const element_bytes& bytes) {
    row_stage stages[2];
    alignas(vector_bytes) std::byte lanes[rows_per_pass][vector_bytes];
    std::uint64_t sums[rows_per_pass * 4];  // of 4 channels
    static_assert(sizeof(sums[0]) == carry_bytes);
    const std::int64_t columns = row_stage::columns_bytes / bytes.table;
    const std::int64_t border = t.border * bytes.table;
    tile s = t;
    s.table_stride = row_stage::stride;
    s.fetch_table = false;
    s.left_elements = 0;
    staged_columns before{};  // which wait for the kernel to be elsewhere
    std::int64_t turn = 0;
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const bool more_rows = row + rows_per_pass < t.rows;
        std::byte* const table = at(t.table, row * t.table_stride);
        fetch_ends(table + rows_per_pass * t.table_stride, t.table_stride, border, t.elements * bytes.table);
        s.rows = more_rows ? rows_per_pass : t.rows - row;
        s.carry = t.carry == nullptr ? static_cast<void*>(sums) : at(t.carry, row * t.channels * bytes.carry);
        if (t.border_values != nullptr) s.border_values = at(t.border_values, row * border);
        for (std::int64_t i = 0; i == 0 || i < t.elements; i += columns, ++turn) {
            std::byte* const entries = stages[turn % 2].rows();
            s.elements = t.elements - i < columns ? t.elements - i : columns;
            s.border = i == 0 ? t.border : 0;
            s.carry_in = i > 0 || t.carry_in;
            s.image = at(t.image, row * t.image_stride + i * bytes.image);
            s.table = entries;
            s.above = row > 0 ? t.row_buffer : t.above;
            if (s.above != nullptr) s.above = at(s.above, i * bytes.table);
            if (t.offsets != nullptr) s.offsets = t.offsets + i % t.channels;
            scan(s);
            leave_stage(before, t.table_stride, entries);
            before = {entries, table + i * bytes.table,     s.rows, s.elements * bytes.table, border,
                      i == 0,  i + s.elements == t.elements};
            fetch_pixels(t, bytes, row, i);
            if (!more_rows) continue;
            if (i < t.left_elements) start(t, row + rows_per_pass, i, i + s.elements, lanes);
            const std::byte* const last = entries + (rows_per_pass - 1) * row_stage::stride;
            for (std::int64_t k = 0; k < before.bytes; k += vector_bytes)
                store(at(t.row_buffer, i * bytes.table + k), load(last + k));
        }
    }
    leave_stage(before, t.table_stride, nullptr);
    stream_fence();
}

/// Rows that start on a line go there from registers. From a multiple of a vector on, each line would wait for its
/// other half, and loads for stores of the same place of another page: twice as long.
template <tile_function Aligned, tile_function Cached, typename In, typename Out, typename Carry, typename Adder>
void scan_past_caches(const tile& t) {
    if (bytes_into_line(t.table) == 0 && t.table_stride % line_bytes == 0)
        Aligned(t);
    else
        scan_staged(t, Cached, start_rows<Adder>, {sizeof(In), sizeof(Out), sizeof(Carry)});
}

#endif  // BOXSUM_VECTOR_JOINER

}  // namespace
}  // namespace boxsum::cpu
