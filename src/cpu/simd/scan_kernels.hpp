#pragma once

// The kernels, written once over a vector wrapper (vector_*.hpp) and compiled once per instruction set by
// a translation unit that names its wrapper. Everything is in an unnamed namespace.
//
// A table entry is T(r, c) = T(r - 1, c) + S(r, c) with S the sum of row r up to column c. All kernels compute S in
// registers and add it to the row above, four rows at a time, so that the row above is loaded once for four rows.
// Floats are added in one order, whatever the tiles, threads and stores:
//   within 128-bit blocks of a row from left to right; blocks of a vector by a scan of their totals; that sum to the
//   sum of the row left of the vector; and the result to the entry above.

#include "cpu/simd/kernels.hpp"
#include BOXSUM_VECTOR_WRAPPER

namespace boxsum::cpu {
namespace {

enum class stores { cached, streaming };

/// What is known about a vector of columns of four rows: all exist; fewer rows do; it lies at the edge of the row.
enum class part { whole, few_rows, edge };

BOXSUM_INLINE const std::byte* at(const void* p, std::int64_t bytes) {
    return static_cast<const std::byte*>(p) + bytes;
}
BOXSUM_INLINE std::byte* at(void* p, std::int64_t bytes) {
    return static_cast<std::byte*>(p) + bytes;
}

/// Where to read ahead while rows of a tile are scanned: in the same rows, and towards their end at the start of the
/// rows that come next. Without that, each start of rows waits for memory several times over (0.6 us on Zen 4).
///
/// From memory in two steps: the second-level cache holds many more outstanding lines than the first (24 on Zen 4,
/// where 768 bytes ahead in four rows asked for 48, and 32f32f at 4096^2 took 3460 us instead of 2800).
template <stores Policy>
struct read_ahead {
    static constexpr std::int64_t farthest = Policy == stores::streaming ? 3072 : 512;  // bytes
    static constexpr std::int64_t near_bytes = 256;
    std::int64_t distance;
    std::int64_t turn;  ///< from this byte of the row on the distance is `next`
    std::int64_t next;

    BOXSUM_INLINE read_ahead(const tile& t, std::int64_t row, std::int64_t row_bytes, std::int64_t rows)
        : distance(row_bytes < farthest ? row_bytes : farthest),
          turn(row_bytes - distance),
          // The next rows of this tile, or the first ones of the tile to its right.
          next(distance + (row + rows < t.rows ? rows * t.image_stride - row_bytes : -row * t.image_stride)) {}

    BOXSUM_INLINE void take_turn() { distance = next; }
    BOXSUM_INLINE void operator()(const void* p) const {
        const auto* const here = static_cast<const std::byte*>(p);
        if constexpr (Policy == stores::streaming) {
            prefetch_far(here + distance);
            prefetch(here + near_bytes);
        } else {
            prefetch(here + distance);
        }
    }
};

/// The part of a vector's worth of elements that exists: [first, last).
struct window {
    int first;
    int last;
};

/// Elements of a vector at the edge of a row: those outside the window are zero and not read.
template <typename In>
struct edge_input {
    alignas(vector_bytes) std::byte bytes[vector_bytes];
    BOXSUM_INLINE edge_input(const In* p, window w) {
        constexpr int size = static_cast<int>(sizeof(In));
        load_part(bytes, p, w.first * size, w.last * size);
    }
    BOXSUM_INLINE const In* values() const { return reinterpret_cast<const In*>(bytes); }
};

/// `elements`, but at least none and at most a vector.
template <typename T>
BOXSUM_INLINE int within_vector(int elements) {
    return elements < 0 ? 0 : elements < vec<T>::lanes ? elements : vec<T>::lanes;
}

template <typename T>
BOXSUM_INLINE vec<T> load_above(const T* p) {
    return p == nullptr ? zero<T>() : load(p);
}
template <typename T>
BOXSUM_INLINE vec<T> load_above_edge(const T* p, int last) {
    return p == nullptr ? zero<T>() : load(edge_input<T>(p, {0, within_vector<T>(last)}).values());
}
template <typename T>
BOXSUM_INLINE void store_edge(T* p, vec<T> v, int last) {
    store_part(p, v, within_vector<T>(last) * static_cast<int>(sizeof(T)));
}

/// Four rows of a tile: where they are, and how many of them exist. Rows that do not exist read the last one and are
/// not stored.
template <typename In, typename Out>
struct row_group {
    const In* image[rows_per_pass];
    Out* table[rows_per_pass];
    const Out* above;
    std::int64_t rows;

    BOXSUM_INLINE row_group(const tile& t, std::int64_t row, const void* above_row)
        : above(static_cast<const Out*>(above_row)), rows(t.rows - row) {
        for (std::int64_t q = 0; q < rows_per_pass; ++q) {
            const std::int64_t r = row + (q < rows ? q : rows - 1);
            image[q] = reinterpret_cast<const In*>(at(t.image, r * t.image_stride)) - t.lead;
            table[q] = reinterpret_cast<Out*>(at(t.table, r * t.table_stride));
        }
    }
};

/// Bytes between the entries that are written and the line of the table that is asked for, in each of the four rows:
/// two vectors of the byte kernels, two to four of the others. On Intel's server cores a store that misses the
/// first-level cache holds up the ones behind it (Granite Rapids, in cache: 32f32f 5 %, 32f64f 10 %, squares of 8u 20
/// %, 8u32u 3 %; the others lose up to 5 % with 512 bytes, bytes with 256). AMD's gain nothing (Zen 5).
inline constexpr std::int64_t table_fetch_bytes = 256;
inline constexpr std::int64_t byte_table_fetch_bytes = 512;

/// Writes entries of four rows, as far as they exist.
template <stores Policy, part Part, typename Out>
struct column_writer {
    Out* const (&table)[rows_per_pass];
    Out* buffer;  // streaming: tile::row_buffer
    std::int64_t rows;

    /// The lines of `count` vectors from column i on, `ahead` bytes further.
    BOXSUM_INLINE void fetch(std::int64_t i, int count, std::int64_t ahead) const {
        for (std::int64_t q = 0; q < rows_per_pass; ++q)
            for (int k = 0; k < count; ++k)
                if (k * vector_bytes % 64 == 0) prefetch(at(table[q] + i, ahead + k * vector_bytes));
    }

    BOXSUM_INLINE void put(std::int64_t q, std::int64_t i, vec<Out> v, int last) const {
        if (Part != part::whole && q >= rows) return;
        if constexpr (Part == part::edge) {
            store_edge(table[q] + i, v, last);
        } else if constexpr (Policy == stores::streaming) {
            stream(table[q] + i, v);
        } else {
            store(table[q] + i, v);
        }
    }
    /// The row above of the next four rows.
    BOXSUM_INLINE void keep(std::int64_t i, vec<Out> v, int last) const {
        if constexpr (Policy == stores::cached)
            return;
        else if constexpr (Part == part::edge)
            store_edge(buffer + i, v, last);
        else
            store(buffer + i, v);
    }
};

template <typename Out>
BOXSUM_INLINE const void* row_above(const tile& t, stores policy, std::int64_t row) {
    if (row == 0) return t.above;
    if (policy == stores::streaming) return t.row_buffer;
    return at(t.table, (row - 1) * t.table_stride);
}

// ---- Rows of any type --------------------------------------------------------------------------------------------

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

template <typename In, typename Scan, bool Square>
BOXSUM_INLINE vec<Scan> load_pixels(const In* p) {
    if constexpr (Square)
        return load_squared<Scan>(p);
    else
        return load_as<Scan>(p);
}

template <typename In, typename Scan, typename Out, bool Square, stores Policy>
struct column_scan {
    static constexpr int columns = vec<Scan>::lanes;
    static constexpr int parts = static_cast<int>(sizeof(Out) / sizeof(Scan));
    static constexpr int lanes = vec<Out>::lanes;
    const row_group<In, Out>& rows;
    Out* buffer;
    row_sums<Scan> sums;
    read_ahead<Policy> ahead;
    bool fetch_table;
    second_adder<Scan> plus = {};
    second_adder<Out> plus_row = {};

    /// Reads one vector of columns of four rows.
    template <part Part>
    BOXSUM_INLINE void read(std::int64_t i, window w) {
        vec<Scan> x[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) {
            if constexpr (Part == part::edge) {
                x[q] = load_pixels<In, Scan, Square>(edge_input<In>(rows.image[q] + i, w).values());
            } else {
                x[q] = load_pixels<In, Scan, Square>(rows.image[q] + i);
                if ((i & (64 / static_cast<int>(sizeof(In)) - 1)) == 0) ahead(rows.image[q] + i);
            }
        }
        sums.take(x);
    }

    /// Writes its entries, up to element `last`.
    template <part Part>
    BOXSUM_INLINE void write(const vec<Scan> (&x)[rows_per_pass], std::int64_t i, int last) const {
        vec<Out> entry[parts];
        for (int k = 0; k < parts; ++k) {
            const Out* const above = rows.above == nullptr ? nullptr : rows.above + i + k * lanes;
            entry[k] = Part == part::edge ? load_above_edge(above, last - k * lanes) : load_above(above);
        }
        const column_writer<Policy, Part, Out> writer{rows.table, buffer, rows.rows};
        if constexpr (Part == part::whole && Policy == stores::cached)
            if (fetch_table) writer.fetch(i, parts, table_fetch_bytes);
        for (int q = 0; q < rows_per_pass; ++q) {
            vec<Out> s[parts];
            convert<Out>(x[q], s);
            for (int k = 0; k < parts; ++k) {
                entry[k] = plus_row(entry[k], s[k]);
                writer.put(q, i + k * lanes, entry[k], last - k * lanes);
            }
        }
        for (int k = 0; k < parts; ++k) writer.keep(i + k * lanes, entry[k], last - k * lanes);
    }

    template <part Part>
    BOXSUM_INLINE void scan(std::int64_t i, window w) {
        read<Part>(i, w);
        vec<Scan> x[rows_per_pass];
        sums.give(x, plus);
        write<Part>(x, i, w.last);
    }
};

template <typename In, typename Scan, typename Out, bool Square, stores Policy>
void scan_tile(const tile& t) {
    constexpr int columns = vec<Scan>::lanes;
    const std::int64_t elements = t.elements;
    auto* const carry = static_cast<Scan*>(t.carry);
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<In, Out> rows(t, row, row_above<Out>(t, Policy, row));
        alignas(16) Scan left[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) left[q] = t.carry_in && q < rows.rows ? carry[row + q] : Scan{};
        column_scan<In, Scan, Out, Square, Policy> scan{
            rows, static_cast<Out*>(t.row_buffer), row_sums<Scan>(left),
            read_ahead<Policy>(t, row, elements * static_cast<std::int64_t>(sizeof(In)), rows_per_pass), t.fetch_table};
        std::int64_t i = 0;
        const auto edge = [&](int first, std::int64_t remaining) __attribute__((always_inline)) {
            const int last = remaining < columns ? static_cast<int>(remaining) : columns;
            scan.template scan<part::edge>(i, {first, last});
            i += last;
        };

        if (t.lead > 0) edge(static_cast<int>(t.lead), elements);
        if (rows.rows < rows_per_pass) {
            for (; i + columns <= elements; i += columns) scan.template scan<part::few_rows>(i, {0, columns});
        } else if (i + columns <= elements) {
            vec<Scan> x[rows_per_pass];
            scan.template read<part::whole>(i, {0, columns});
            const std::int64_t ends[] = {scan.ahead.turn / static_cast<std::int64_t>(sizeof(In)), elements};
            for (const std::int64_t end : ends) {
                for (; i + 2 * columns <= end; i += columns) {
                    auto current = scan.sums;
                    scan.template read<part::whole>(i + columns, {0, columns});
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
        while (i < elements) edge(0, elements - i);
        if (t.carry != nullptr) {
            scan.sums.save(left);
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q) carry[row + q] = left[q];
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

// ---- Bytes -------------------------------------------------------------------------------------------------------

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
template <int m, typename Out, stores Policy, part Part>
BOXSUM_INLINE void write_quarter(const u32x (&upto)[rows_per_pass], const byte_sums::bytes (&groups)[rows_per_pass],
                                 byte_sums::bytes weights, const row_group<std::uint8_t, Out>& rows, Out* buffer,
                                 bool fetch_table, std::int64_t i, int end) {
    constexpr int parts = static_cast<int>(sizeof(Out) / 4);
    constexpr int lanes = vec<Out>::lanes;
    const column_writer<Policy, Part, Out> writer{rows.table, buffer, rows.rows};
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
    for (int q = 0; q < rows_per_pass; ++q) {
        const u32x s = dot_bytes({splat_in_block<m>(upto[q].r)}, splat_in_block<m>(groups[q]), weights);
        vec<Out> sums[parts];
        convert<Out>(s, sums);
        for (int k = 0; k < parts; ++k) {
            entry[k] = add(entry[k], sums[k]);
            writer.put(q, first + k * lanes, entry[k], last - k * lanes);
        }
    }
    for (int k = 0; k < parts; ++k) writer.keep(first + k * lanes, entry[k], last - k * lanes);
}

template <typename Out, stores Policy>
void scan_bytes(const tile& t) {
    constexpr int columns = byte_sums::columns;
    auto* const carry = static_cast<std::uint32_t*>(t.carry);
    const group_transposer transpose;
    const block_carrier carry_blocks;
    const last_lane_splat last_lane;
    const byte_sums::bytes weights = bytes_behind();
    for (std::int64_t row = 0; row < t.rows; row += rows_per_pass) {
        const row_group<std::uint8_t, Out> rows(t, row, row_above<Out>(t, Policy, row));
        auto* const buffer = static_cast<Out*>(t.row_buffer);
        std::uint32_t left[rows_per_pass];
        for (int q = 0; q < rows_per_pass; ++q) left[q] = t.carry_in && q < rows.rows ? carry[row + q] : 0;
        byte_sums sums(left);
        std::int64_t i = 0;
        read_ahead<Policy> ahead(t, row, t.elements, rows_per_pass);

        const auto load_whole = [&](std::int64_t column) __attribute__((always_inline)) {
            for (int q = 0; q < rows_per_pass; ++q) {
                sums.pixels[q] = load_bytes(rows.image[q] + column);
                ahead(rows.image[q] + column);
            }
        };
        const auto prepare = [&]() __attribute__((always_inline)) {
            sums.sum_groups();
            sums.scan_within(transpose);
            sums.scan_across(carry_blocks);
            sums.unpack(transpose, last_lane);
        };
        const auto write = [&]<part Part>(int last) __attribute__((always_inline)) {
            write_quarter<0, Out, Policy, Part>(sums.upto, sums.groups, weights, rows, buffer, t.fetch_table, i, last);
            write_quarter<1, Out, Policy, Part>(sums.upto, sums.groups, weights, rows, buffer, t.fetch_table, i, last);
            write_quarter<2, Out, Policy, Part>(sums.upto, sums.groups, weights, rows, buffer, t.fetch_table, i, last);
            write_quarter<3, Out, Policy, Part>(sums.upto, sums.groups, weights, rows, buffer, t.fetch_table, i, last);
            i += last;
        };
        const auto edge = [&](int first, std::int64_t remaining) __attribute__((always_inline)) {
            const int last = remaining < columns ? static_cast<int>(remaining) : columns;
            for (int q = 0; q < rows_per_pass; ++q)
                sums.pixels[q] = load_bytes(edge_input<std::uint8_t>(rows.image[q] + i, {first, last}).values());
            prepare();
            write.template operator()<part::edge>(last);
        };

        if (t.lead > 0) edge(static_cast<int>(t.lead), t.elements);
        if (rows.rows < rows_per_pass) {
            while (i + columns <= t.elements) {
                load_whole(i);
                prepare();
                write.template operator()<part::few_rows>(columns);
            }
        } else if (i + columns <= t.elements) {
            load_whole(i);
            prepare();
            const std::int64_t ends[] = {ahead.turn, t.elements};
            for (const std::int64_t end : ends) {
                for (; i + 2 * columns <= end; i += columns) {
                    u32x upto[rows_per_pass];
                    byte_sums::bytes groups[rows_per_pass];
                    for (int q = 0; q < rows_per_pass; ++q) {
                        upto[q] = sums.upto[q];
                        groups[q] = sums.groups[q];
                    }
                    load_whole(i + columns);
                    sums.sum_groups();
                    write_quarter<0, Out, Policy, part::whole>(upto, groups, weights, rows, buffer, t.fetch_table, i,
                                                               columns);
                    sums.scan_within(transpose);
                    write_quarter<1, Out, Policy, part::whole>(upto, groups, weights, rows, buffer, t.fetch_table, i,
                                                               columns);
                    sums.scan_across(carry_blocks);
                    write_quarter<2, Out, Policy, part::whole>(upto, groups, weights, rows, buffer, t.fetch_table, i,
                                                               columns);
                    sums.unpack(transpose, last_lane);
                    write_quarter<3, Out, Policy, part::whole>(upto, groups, weights, rows, buffer, t.fetch_table, i,
                                                               columns);
                }
                ahead.take_turn();
            }
            write.template operator()<part::whole>(columns);
        }
        while (i < t.elements) edge(0, t.elements - i);
        if (t.carry != nullptr) {
            sums.save(left);
            for (int q = 0; q < rows_per_pass && q < rows.rows; ++q) carry[row + q] = left[q];
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

#endif  // BOXSUM_BYTE_DOT

// ---- Interleaved channels ----------------------------------------------------------------------------------------

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
    for (std::int64_t row = 0; row < t.rows; ++row) {
        const In* const image = reinterpret_cast<const In*>(at(t.image, row * t.image_stride)) - t.lead;
        Out* const table = reinterpret_cast<Out*>(at(t.table, row * t.table_stride));
        const Out* const above = static_cast<const Out*>(row_above<Out>(t, Policy, row));
        Out left[columns];
        for (int i = 0; i < columns; ++i) left[i] = t.carry_in ? carry[row * channels + i % channels] : Out{};
        sums.left = load(left);
        std::int64_t i = 0;
        read_ahead<Policy> ahead(t, row, t.elements * static_cast<std::int64_t>(sizeof(In)), 1);
        const auto edge = [&](int first, std::int64_t remaining) __attribute__((always_inline)) {
            const int last = remaining < columns ? static_cast<int>(remaining) : columns;
            const vec<Out> s = sums(load_pixels<In, Out, Square>(edge_input<In>(image + i, {first, last}).values()));
            const vec<Out> entry = add(load_above_edge(above == nullptr ? nullptr : above + i, last), s);
            store_edge(table + i, entry, last);
            if constexpr (Policy == stores::streaming) store_edge(buffer + i, entry, last);
            i += last;
        };
        // The lead may span vectors where there are more channels than lanes; such tiles go to the scalar kernels.
        if (t.lead > 0) edge(static_cast<int>(t.lead), t.elements);
        const std::int64_t ends[] = {ahead.turn / static_cast<std::int64_t>(sizeof(In)), t.elements};
        for (const std::int64_t end : ends) {
            for (; i + columns <= end; i += columns) {
                const vec<Out> s = sums(load_pixels<In, Out, Square>(image + i));
                const vec<Out> entry = add(load_above(above == nullptr ? nullptr : above + i), s);
                if ((i & (64 / static_cast<int>(sizeof(In)) - 1)) == 0) ahead(image + i);
                if constexpr (Policy == stores::streaming) {
                    stream(table + i, entry);
                    store(buffer + i, entry);
                } else {
                    store(table + i, entry);
                }
            }
            ahead.take_turn();
        }
        const std::int64_t whole = i;
        if (i < t.elements) edge(0, t.elements - i);
        if (t.carry != nullptr && whole == t.elements) {
            // Only whole tiles are continued; they end on a whole vector, and the next begins with lane 0 of `left`.
            store(left, sums.left);
            for (int c = 0; c < channels; ++c) carry[row * channels + c] = left[c];
        }
    }
    if constexpr (Policy == stores::streaming) stream_fence();
}

// ---- Column sums -------------------------------------------------------------------------------------------------

template <typename In, typename Sum, bool Square>
void add_columns(const void* image, std::int64_t image_stride, std::int64_t rows, std::int64_t elements, void* sums) {
    constexpr int lanes = vec<Sum>::lanes;
    constexpr int together = 8;  // vectors of sums that stay in registers
    auto* const out = static_cast<Sum*>(sums);
    std::int64_t i = 0;
    for (; i + together * lanes <= elements; i += together * lanes) {
        vec<Sum> s[together];
        for (int k = 0; k < together; ++k) s[k] = load(out + i + k * lanes);
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto* const x = reinterpret_cast<const In*>(at(image, r * image_stride)) + i;
            for (int k = 0; k < together; ++k) s[k] = add(s[k], load_pixels<In, Sum, Square>(x + k * lanes));
        }
        for (int k = 0; k < together; ++k) store(out + i + k * lanes, s[k]);
    }
    for (; i < elements; i += lanes) {
        const window w{0, elements - i < lanes ? static_cast<int>(elements - i) : lanes};
        vec<Sum> s = load(edge_input<Sum>(out + i, w).values());
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto* const x = reinterpret_cast<const In*>(at(image, r * image_stride)) + i;
            s = add(s, load_pixels<In, Sum, Square>(edge_input<In>(x, w).values()));
        }
        store_edge(out + i, s, w.last);
    }
}

// ---- The table of a kernel set -----------------------------------------------------------------------------------

/// Two to four channels (with fewer lanes than channels the scalar set serves), and column sums.
template <typename In, typename Out, bool Square>
constexpr void set_common(kernel_set::entry& e) {
    e.max_channels = vec<Out>::lanes < 4 ? vec<Out>::lanes : 4;
    e.interleaved = scan_interleaved<In, Out, Square, stores::cached>;
    e.interleaved_streaming = scan_interleaved<In, Out, Square, stores::streaming>;
    // Sums of signed numbers have an unsigned table of the same width: they are added modulo 2^bits.
    if constexpr (std::is_integral_v<Out>) e.add_columns = add_columns<In, Out, Square>;
}
template <typename In, typename Scan, typename Out, bool Square = false>
constexpr kernel_set::entry vector_entry() {
    kernel_set::entry e;
    e.cached = scan_tile<In, Scan, Out, Square, stores::cached>;
    e.streaming = scan_tile<In, Scan, Out, Square, stores::streaming>;
    set_common<In, Out, Square>(e);
    return e;
}
template <typename Out>
constexpr kernel_set::entry byte_entry() {
#if defined(BOXSUM_BYTE_DOT)
    kernel_set::entry e;
    e.cached = scan_bytes<Out, stores::cached>;
    e.streaming = scan_bytes<Out, stores::streaming>;
    set_common<std::uint8_t, Out, false>(e);
    return e;
#else
    return vector_entry<std::uint8_t, std::uint32_t, Out>();
#endif
}

constexpr kernel_set make_kernel_set(const char* name) {
    using u8 = std::uint8_t;
    using u16 = std::uint16_t;
    using s16 = std::int16_t;
    using u32 = std::uint32_t;
    using s32 = std::int32_t;
    using u64 = std::uint64_t;
    kernel_set set{name, static_cast<std::size_t>(vector_bytes), {}};
    const auto at = [&](kernel_id id) -> kernel_set::entry& { return set.kernels[static_cast<std::size_t>(id)]; };
    at(kernel_id::u8_u32) = byte_entry<u32>();
    at(kernel_id::u8_f32) = byte_entry<float>();
    at(kernel_id::u8_u64) = byte_entry<u64>();
    at(kernel_id::u8_f64) = byte_entry<double>();
    at(kernel_id::u16_u32) = vector_entry<u16, u32, u32>();
    at(kernel_id::u16_u64) = vector_entry<u16, u32, u64>();
    at(kernel_id::u16_u64_wide) = vector_entry<u16, u64, u64>();
    at(kernel_id::s16_u32) = vector_entry<s16, u32, u32>();
    at(kernel_id::s16_u64) = vector_entry<s16, s32, u64>();
    at(kernel_id::s16_u64_wide) = vector_entry<s16, u64, u64>();
    at(kernel_id::u32_u32) = vector_entry<u32, u32, u32>();
    at(kernel_id::u32_u64) = vector_entry<u32, u64, u64>();
    at(kernel_id::s32_u64) = vector_entry<s32, u64, u64>();
    at(kernel_id::f32_f32) = vector_entry<float, float, float>();
    at(kernel_id::f32_f64) = vector_entry<float, double, double>();
    at(kernel_id::f64_f64) = vector_entry<double, double, double>();
    at(kernel_id::f16_f32) = vector_entry<half_bits, float, float>();
    at(kernel_id::square_u8_u32) = vector_entry<u8, u32, u32, true>();
    at(kernel_id::square_u8_u64) = vector_entry<u8, u32, u64, true>();
    at(kernel_id::square_u8_u64_wide) = vector_entry<u8, u64, u64, true>();
    at(kernel_id::square_u8_f64) = vector_entry<u8, u32, double, true>();
    at(kernel_id::square_u8_f64_wide) = vector_entry<u8, double, double, true>();
    at(kernel_id::square_u16_u64) = vector_entry<u16, u64, u64, true>();
    at(kernel_id::square_u16_f64) = vector_entry<u16, double, double, true>();
    at(kernel_id::square_f32_f32) = vector_entry<float, float, float, true>();
    at(kernel_id::square_f32_f64) = vector_entry<float, double, double, true>();
    at(kernel_id::square_f64_f64) = vector_entry<double, double, double, true>();
    return set;
}

}  // namespace
}  // namespace boxsum::cpu
