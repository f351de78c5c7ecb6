#pragma once

// What all kernels of an instruction set share: groups of four rows, the edges of rows, reading ahead, writing entries.
// Part of scan_kernels.hpp.

#include "cpu/simd/kernels.hpp"
#include BOXSUM_VECTOR_WRAPPER

namespace boxsum::cpu {
namespace {

enum class stores { cached, streaming };

/// What is known about a vector of columns of four rows: all exist; fewer rows do; it ends the row, or begins one that
/// is written past the caches.
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

/// The first `count` elements of a vector at the end of a row; the others are zero and not read.
template <typename In>
struct edge_input {
    alignas(vector_bytes) std::byte bytes[vector_bytes];
    BOXSUM_INLINE edge_input(const In* p, int count) { load_part(bytes, p, count * static_cast<int>(sizeof(In))); }
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
    if (p == nullptr || last <= 0) return zero<T>();
    return last >= vec<T>::lanes ? load(p) : load_first(p, last);
}
template <typename T>
BOXSUM_INLINE void store_edge(T* p, vec<T> v, int last) {
    // Where all is there by an ordinary store: the next rows read it back, and a masked one is not forwarded to them.
    if (last >= vec<T>::lanes)
        store(p, v);
    else
        store_part(p, v, within_vector<T>(last) * static_cast<int>(sizeof(T)));
}

/// The border entries of row r of a tile of at most `channels`, before the row. Here and not in a pass of their own:
/// rows that are written past the caches have these lines at hand now.
template <int channels, typename Out>
BOXSUM_INLINE void put_border(const tile& t, std::int64_t r, Out* row) {
    const std::int64_t border = t.border;
    const auto* const values = static_cast<const Out*>(t.border_values);
    for (std::int64_t k = 0; k < channels; ++k)  // GCC would call memset
        if (channels == 1 || k < border) row[k - border] = values == nullptr ? Out{} : values[r * border + k];
}

/// Four rows of a tile of one channel: where they are, and how many of them exist. Rows that do not exist read the last
/// one and are not stored.
template <typename In, typename Out>
struct row_group {
    const In* image[rows_per_pass];
    Out* table[rows_per_pass];
    const Out* above;
    std::int64_t rows;

    BOXSUM_INLINE row_group(const tile& t, std::int64_t row, const void* above_row)
        : above(static_cast<const Out*>(above_row)), rows(t.rows - row) {
        image[0] = reinterpret_cast<const In*>(at(t.image, row * t.image_stride));
        table[0] = reinterpret_cast<Out*>(at(t.table, row * t.table_stride));
        for (std::int64_t q = 1; q < rows_per_pass; ++q) {
            image[q] = reinterpret_cast<const In*>(at(image[q - 1], q < rows ? t.image_stride : 0));
            table[q] = reinterpret_cast<Out*>(at(table[q - 1], q < rows ? t.table_stride : 0));
        }
        if (t.border > 0)
            for (std::int64_t q = 0; q < rows_per_pass; ++q)
                put_border<1>(t, row + (q < rows ? q : rows - 1), table[q]);
    }
};

/// Bytes between the entries that are written and the line of the table that is asked for, in each of the four rows:
/// two vectors of the byte kernels, two to four of the others. On Intel's server cores a store that misses the
/// first-level cache holds up the ones behind it (Granite Rapids, in cache: 32f32f 5 %, 32f64f 10 %, squares of 8u 20
/// %, 8u32u 3 %; the others lose up to 5 % with 512 bytes, bytes with 256). AMD's gain nothing (Zen 5).
inline constexpr std::int64_t table_fetch_bytes = 256;
inline constexpr std::int64_t byte_table_fetch_bytes = 512;

#if defined(BOXSUM_VECTOR_JOINER)

/// A row that is written past the caches, wherever it starts. Streaming stores want multiples of a vector, so what is
/// stored are the last words of one vector of entries and the first of the next, joined by a permutation; what lies
/// before the first multiple and behind the last is written by ordinary stores. Vectors come in the order of columns.
template <typename Out>
struct streamed_row {
    static constexpr bool begins_with_edge = true;  ///< its first vector goes to put_edge()
    static constexpr int all_words = vector_bytes / 4;
    static constexpr int entry_words = static_cast<int>(sizeof(Out)) / 4;
    Out* start;           ///< the multiple before the row
    int words;            ///< from there to the row, 1 to all of a vector
    vector_joiner join;   ///< of that many words and the rest
    vec<Out> unfinished;  ///< the latest vector, whose last `words` words are not written

    BOXSUM_INLINE void begin(Out* row) {
        const int behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / 4 % all_words);
        words = behind == 0 ? all_words : behind;
        start = row - words / entry_words;
        join = vector_joiner(words);
        unfinished = zero<Out>();
    }
    /// Any vector but the first.
    BOXSUM_INLINE void put(std::int64_t i, vec<Out> v) {
        stream(start + i, join(unfinished, v));
        unfinished = v;
    }
    /// The first vector of the row, or the one that ends it, of which `entries` exist.
    ///
    /// Ordinary stores go to multiples of a vector, too. One that reaches into the next line, though its mask is empty
    /// there, asks for that line, and the streaming stores behind it wait.
    BOXSUM_INLINE void put_edge(std::int64_t i, vec<Out> v, int entries) {
        if (entries <= 0) return;
        const int there = within_vector<Out>(entries) * entry_words;
        const int from = i > 0 ? 0 : words, end = words + there;
        const vec<Out> line = join(unfinished, v);
        unfinished = v;
        if (from == 0 && end >= all_words)
            stream(start + i, line);
        else
            store_between(start + i, line, 4 * from, 4 * (end < all_words ? end : all_words));
        if (there < all_words && end > all_words) finish(i + vec<Out>::lanes, end - all_words);
    }
    /// The first `count` of the words that are not written yet, at column i.
    BOXSUM_INLINE void finish(std::int64_t i, int count) const {
        store_part(start + i, join(unfinished, unfinished), 4 * count);
    }
    /// After a row of `elements` entries.
    BOXSUM_INLINE void end(std::int64_t elements) const {
        if (elements > 0 && elements % vec<Out>::lanes == 0) finish(elements, words);
    }
    /// Asks for the lines that ordinary stores will write in a row of the tile.
    BOXSUM_INLINE static void fetch_ends(const tile& t, const std::byte* row) {
        prefetch(row);
        prefetch(row + (t.elements - 1) * static_cast<std::int64_t>(sizeof(Out)));
    }
};

#else

/// A row that is written past the caches and starts on a line; others are staged (staged_rows.hpp).
template <typename Out>
struct streamed_row {
    static constexpr bool begins_with_edge = false;
    Out* row;

    BOXSUM_INLINE void begin(Out* first) { row = first; }
    BOXSUM_INLINE void put(std::int64_t i, vec<Out> v) { stream(row + i, v); }
    BOXSUM_INLINE void put_edge(std::int64_t i, vec<Out> v, int entries) { store_edge(row + i, v, entries); }
    BOXSUM_INLINE void end(std::int64_t) const {}
    BOXSUM_INLINE static void fetch_ends(const tile& t, const std::byte* row) {
        if (t.border > 0) prefetch(row - 1);
        if (t.elements % vec<Out>::lanes != 0) prefetch(row + t.elements * static_cast<std::int64_t>(sizeof(Out)) - 1);
    }
};

#endif

/// Writes entries of four rows, as far as they exist.
template <stores Policy, typename Out>
struct column_writer {
    struct no_rows {};
    Out* const (&table)[rows_per_pass];
    Out* buffer;  // streaming: tile::row_buffer
    std::int64_t rows;
    std::conditional_t<Policy == stores::streaming, streamed_row<Out>[rows_per_pass], no_rows> streamed;

    template <typename In>
    BOXSUM_INLINE column_writer(const tile& t, const row_group<In, Out>& group)
        : table(group.table), buffer(static_cast<Out*>(t.row_buffer)), rows(group.rows) {
        if constexpr (Policy == stores::streaming)
            for (std::int64_t q = 0; q < rows_per_pass; ++q) {
                streamed[q].begin(table[q]);
                // Of the next rows; of these they were asked for before.
                streamed_row<Out>::fetch_ends(t, at(table[q], rows_per_pass * t.table_stride));
            }
    }
    /// The lines of `count` vectors from column i on, `ahead` bytes further.
    BOXSUM_INLINE void fetch(std::int64_t i, int count, std::int64_t ahead) const {
        for (std::int64_t q = 0; q < rows_per_pass; ++q)
            for (int k = 0; k < count; ++k)
                if (k * vector_bytes % 64 == 0) prefetch(at(table[q] + i, ahead + k * vector_bytes));
    }

    template <part Part>
    BOXSUM_INLINE void put(std::int64_t q, std::int64_t i, vec<Out> v, int last) {
        if (Part != part::whole && q >= rows) return;
        if constexpr (Policy == stores::streaming) {
            if constexpr (Part == part::edge)
                streamed[q].put_edge(i, v, last);
            else
                streamed[q].put(i, v);
        } else if constexpr (Part == part::edge) {
            store_edge(table[q] + i, v, last);
        } else {
            store(table[q] + i, v);
        }
    }
    /// After rows of `elements` entries.
    BOXSUM_INLINE void finish(std::int64_t elements) const {
        if constexpr (Policy == stores::streaming)
            for (std::int64_t q = 0; q < rows_per_pass && q < rows; ++q) streamed[q].end(elements);
    }
    /// The row above of the next four rows.
    template <part Part>
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

BOXSUM_INLINE bool opaque(bool b) {
    int known = b;
    asm volatile("" : "+r"(known));
    return known != 0;
}

/// What is taken from every pixel of a tile. Its vectors lie in memory, and their place is kept from the compiler:
/// registers are for tiles that take nothing.
template <typename T, int vectors = 1>
struct pixel_shift {
    bool any;
    bool negated;
    int step = 0;  ///< of the next vector: its first lane, in `offsets`
    int period;
    alignas(vector_bytes) T offsets[vectors * vec<T>::lanes];

    BOXSUM_INLINE explicit pixel_shift(const tile& t)
        : any(t.offsets != nullptr), negated(t.negated), period(vec<T>::lanes * static_cast<int>(t.channels)) {
        if (!any) return;
        if constexpr (vectors == 1) period = vec<T>::lanes;
        for (int i = 0; i < period; ++i) {
            const double offset = t.offsets[vectors == 1 ? 0 : i % t.channels];
            if constexpr (std::is_integral_v<T>)
                offsets[i] = static_cast<T>(static_cast<std::int64_t>(offset));
            else
                offsets[i] = static_cast<T>(offset);
        }
    }
    /// Unknown to the compiler, too, which would write each loop twice.
    BOXSUM_INLINE bool takes_something() const { return opaque(any); }
    BOXSUM_INLINE vec<T> next() {
        const T* p = offsets + step;
        asm("" : "+r"(p));
        if constexpr (vectors > 1) {
            step += vec<T>::lanes;
            if (step == period) step = 0;
        }
        return load(p);
    }
};
#if defined(BOXSUM_BYTE_DOT)

/// Tables of bytes that take an offset; others have wide kernels, which do.
template <typename Out>
inline constexpr bool shifts_sums = std::is_same_v<Out, std::uint32_t>;

/// What an offset takes from the sums of a row: the kernels of bytes have no place for it before they sum.
struct sum_shift {
    bool any;
    bool negated;
    std::uint32_t offset = 0;
    alignas(vector_bytes) std::uint32_t lanes[vec<std::uint32_t>::lanes];  ///< of the first columns of a row

    BOXSUM_INLINE explicit sum_shift(const tile& t) : any(t.offsets != nullptr), negated(t.negated) {
        if (!any) return;
        offset = static_cast<std::uint32_t>(static_cast<std::int64_t>(t.offsets[0]));
        for (std::uint32_t i = 0; i < vec<std::uint32_t>::lanes; ++i) lanes[i] = (i + 1) * offset;
    }
    BOXSUM_INLINE bool takes_something() const { return opaque(any); }
    /// What is taken from the sums up to `i` and the columns behind it.
    BOXSUM_INLINE vec<std::uint32_t> taken(std::int64_t i) const {
        const std::uint32_t* p = lanes;
        asm("" : "+r"(p));
        return add(load(p), splat(static_cast<std::uint32_t>(i) * offset));
    }
    BOXSUM_INLINE vec<std::uint32_t> less(vec<std::uint32_t> sums, vec<std::uint32_t> of_columns) const {
        return negated ? subtract(of_columns, sums) : subtract(sums, of_columns);
    }
    template <std::size_t vectors>
    BOXSUM_INLINE void operator()(vec<std::uint32_t> (&sums)[vectors], std::int64_t i) const {
        const vec<std::uint32_t> of_columns = taken(i);
        for (vec<std::uint32_t>& s : sums) s = less(s, of_columns);
    }
    /// Between a row sum as the kernel counts it and as tile::carry has it.
    BOXSUM_INLINE std::uint32_t start(std::uint32_t carry) const { return any && negated ? 0 - carry : carry; }
    BOXSUM_INLINE std::uint32_t end(std::uint32_t sum, std::int64_t elements) const {
        return start(sum - (any ? static_cast<std::uint32_t>(elements) * offset : 0));
    }
};

#endif  // BOXSUM_BYTE_DOT

/// A vector of pixels.
template <typename In, typename Scan>
BOXSUM_INLINE vec<Scan> load_pixels(const In* p) {
    return load_as<Scan>(p);
}
/// The first `count` of them; the others are zero.
template <typename In, typename Scan>
BOXSUM_INLINE vec<Scan> load_pixels_edge(const In* p, int count) {
    if constexpr (std::is_same_v<In, Scan>)
        return count >= vec<Scan>::lanes ? load(p) : load_first(p, count);
    else
        return load_as<Scan>(edge_input<In>(p, count).values());
}
/// What is summed of pixels of the same columns for entries of type Out: less the tile's offset, squared. Squares less
/// an offset are of floats, and what scans in a narrower type takes none.
template <typename Out, bool Square, typename T, int vectors, std::size_t n>
BOXSUM_INLINE void make_terms(vec<T> (&x)[n], pixel_shift<T, vectors>& shift) {
    constexpr bool of_floats = std::is_floating_point_v<T>;
    constexpr bool shifts =
        sizeof(T) == sizeof(Out) && of_floats == std::is_floating_point_v<Out> && (!Square || of_floats);
    if constexpr (shifts)
        if (shift.takes_something()) {
            const vec<T> offset = shift.next();
            for (vec<T>& v : x) v = shift.negated ? subtract(offset, v) : subtract(v, offset);
        }
    if constexpr (Square) {
        for (vec<T>& v : x) v = square(v);
        if constexpr (shifts)
            if (opaque(shift.negated))
                for (vec<T>& v : x) v = subtract(zero<T>(), v);
    }
}

}  // namespace
}  // namespace boxsum::cpu
