// AVX-512 F, BW, VL, DQ, VBMI, VPOPCNTDQ, BITALG (Ice Lake, Zen 4 and later).
//
// 64 bin numbers are compared with the bin at once, which gives a 64-bit mask of "this pixel is in the bin". The
// prefix sum of its bits needs no shuffle: a lane of the table counts the bits of the mask up to its own position,
//
//     mask           1 0 1 1 0 ...                       (32 bits, in every lane)
//     lane triangle  1 1 1 0 0 ...                       (lane i: bits 0..i)
//     popcount       2                                   of the two, AND-ed: the entry of lane 2
//
// and the popcount of the whole mask is what the next 32 pixels start from. Weights are scanned in the lanes instead,
// by doubling (Hillis and Steele 1986).

#include "cpu/histogram/bin_kernels.hpp"
#include "cpu/histogram/index_pixels.hpp"

#include <immintrin.h>

#include <type_traits>

namespace boxsum::cpu {
namespace {

#define BOXSUM_INLINE inline __attribute__((always_inline))

BOXSUM_INLINE __m512i splat_bin(std::uint8_t, std::uint32_t bin) {
    return _mm512_set1_epi8(static_cast<char>(bin));
}
BOXSUM_INLINE __m512i splat_bin(std::uint16_t, std::uint32_t bin) {
    return _mm512_set1_epi16(static_cast<short>(bin));
}

/// Which of the 64 pixels at p are in the bin.
BOXSUM_INLINE std::uint64_t mask_of(const std::uint8_t* p, __m512i bin) {
    return _mm512_cmpeq_epi8_mask(_mm512_load_si512(p), bin);
}
BOXSUM_INLINE std::uint64_t mask_of(const std::uint16_t* p, __m512i bin) {
    return _mm512_cmpeq_epi16_mask(_mm512_load_si512(p), bin) |
           static_cast<std::uint64_t>(_mm512_cmpeq_epi16_mask(_mm512_load_si512(p + 32), bin)) << 32;
}

// A scanner turns 32 pixels of a row into their prefix sums, in `vectors` vectors of the table's type.

struct scan_u32 {
    using entry = std::uint32_t;
    static constexpr int vectors = 2;
    using carry = __m512i;
    __m512i low = _mm512_setr_epi32(0x1, 0x3, 0x7, 0xf, 0x1f, 0x3f, 0x7f, 0xff, 0x1ff, 0x3ff, 0x7ff, 0xfff, 0x1fff,
                                    0x3fff, 0x7fff, 0xffff);
    __m512i high = _mm512_or_si512(_mm512_slli_epi32(low, 16), _mm512_set1_epi32(0xffff));

    static BOXSUM_INLINE carry start() { return _mm512_setzero_si512(); }
    BOXSUM_INLINE void scan(std::uint32_t mask, const float*, carry& before, __m512i (&out)[vectors]) const {
        const __m512i m = _mm512_set1_epi32(static_cast<int>(mask));
        out[0] = _mm512_add_epi32(_mm512_popcnt_epi32(_mm512_and_si512(m, low)), before);
        out[1] = _mm512_add_epi32(_mm512_popcnt_epi32(_mm512_and_si512(m, high)), before);
        before = _mm512_add_epi32(before, _mm512_popcnt_epi32(m));
    }
    static BOXSUM_INLINE __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
};

struct scan_u16 {
    using entry = std::uint16_t;
    static constexpr int vectors = 1;
    using carry = __m512i;
    __m512i triangle = _mm512_broadcast_i64x4(_mm256_setr_epi16(0x1, 0x3, 0x7, 0xf, 0x1f, 0x3f, 0x7f, 0xff, 0x1ff,
                                                                0x3ff, 0x7ff, 0xfff, 0x1fff, 0x3fff, 0x7fff, -1));

    static BOXSUM_INLINE carry start() { return _mm512_setzero_si512(); }
    BOXSUM_INLINE void scan(std::uint32_t mask, const float*, carry& before, __m512i (&out)[vectors]) const {
        constexpr __mmask32 upper = 0xffff0000u;  // lanes 16..31, whose 16 bits are the mask's upper half
        const __m512i first = _mm512_set1_epi16(static_cast<short>(mask));
        const __m512i second = _mm512_set1_epi16(static_cast<short>(mask >> 16));
        const __m512i in_first = _mm512_popcnt_epi16(first);
        const __m512i halves = _mm512_mask_blend_epi16(upper, first, second);
        const __m512i scanned = _mm512_add_epi16(_mm512_popcnt_epi16(_mm512_and_si512(halves, triangle)), before);
        out[0] = _mm512_mask_add_epi16(scanned, upper, scanned, in_first);
        before = _mm512_add_epi16(before, _mm512_add_epi16(in_first, _mm512_popcnt_epi16(second)));
    }
    static BOXSUM_INLINE __m512i add(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
};

struct scan_f32 {
    using entry = float;
    static constexpr int vectors = 2;
    using carry = __m512;
    __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    static BOXSUM_INLINE carry start() { return _mm512_setzero_ps(); }
    template <int Distance>
    BOXSUM_INLINE __m512 from_left(__m512 x) const {
        return _mm512_maskz_permutexvar_ps(static_cast<__mmask16>(0xffff << Distance),
                                           _mm512_sub_epi32(lane, _mm512_set1_epi32(Distance)), x);
    }
    BOXSUM_INLINE void scan(std::uint32_t mask, const float* weights, carry& before, __m512i (&out)[vectors]) const {
        for (int i = 0; i < 2; ++i) {
            // Masked lanes are not looked at, so a NaN elsewhere stays there.
            __m512 x = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> (16 * i)), weights + 16 * i);
            x = _mm512_add_ps(x, from_left<1>(x));
            x = _mm512_add_ps(x, from_left<2>(x));
            x = _mm512_add_ps(x, from_left<4>(x));
            x = _mm512_add_ps(x, from_left<8>(x));
            x = _mm512_add_ps(x, before);
            before = _mm512_permutexvar_ps(_mm512_set1_epi32(15), x);
            out[i] = _mm512_castps_si512(x);
        }
    }
    static BOXSUM_INLINE __m512i add(__m512i a, __m512i b) {
        return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
    }
};

alignas(64) constexpr std::uint16_t first_words[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                       16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

template <typename Entry>
BOXSUM_INLINE __m512i load_some(const Entry* p, std::int64_t n) {
    if constexpr (sizeof(Entry) == 4)
        return _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << n) - 1), p);
    else
        return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((std::uint64_t{1} << n) - 1), p);
}
template <typename Entry>
BOXSUM_INLINE void store_some(Entry* p, __m512i v, std::int64_t n) {
    if constexpr (sizeof(Entry) == 4)
        _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1), v);
    else
        _mm512_mask_storeu_epi16(p, static_cast<__mmask32>((std::uint64_t{1} << n) - 1), v);
}

/// Entries from .. end - 1 of v, to where they belong behind p, a multiple of 64 bytes: a masked store that reaches
/// into the next line would ask for that line, too, although nothing is written there.
template <typename Entry>
BOXSUM_INLINE void store_between(Entry* p, __m512i v, std::int64_t from, std::int64_t end) {
    const std::uint64_t some = ((std::uint64_t{1} << end) - 1) & ~((std::uint64_t{1} << from) - 1);
    if constexpr (sizeof(Entry) == 4)
        _mm512_mask_store_epi32(p, static_cast<__mmask16>(some), v);
    else
        _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(some), v);
}

/// A row that is written past the caches, wherever it starts, as in cpu/simd/row_group.hpp: what is stored are the last
/// entries of one vector and the first of the next, joined by a permutation, at multiples of 64 bytes; ordinary stores
/// write what lies before the first and behind the last multiple. Vectors come in the order of columns.
template <typename Entry>
struct streamed_row {
    static constexpr int lanes = 64 / static_cast<int>(sizeof(Entry));
    Entry* start;        ///< the multiple before the row
    std::int64_t words;  ///< entries from there to the row, 1 to all of a vector
    __m512i source;      ///< for the permutation
    __m512i unfinished;  ///< the latest vector, whose last `words` entries are not written

    BOXSUM_INLINE void begin(Entry* row) {
        const auto behind = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) / sizeof(Entry) % lanes);
        words = behind == 0 ? lanes : behind;
        start = row - words;
        unfinished = _mm512_setzero_si512();
        if constexpr (sizeof(Entry) == 4)
            source = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                      _mm512_set1_epi32(static_cast<int>(lanes - words)));
        else
            source =
                _mm512_add_epi16(_mm512_load_si512(first_words), _mm512_set1_epi16(static_cast<short>(lanes - words)));
    }
    BOXSUM_INLINE __m512i joined_with(__m512i next) const {
        if constexpr (sizeof(Entry) == 4)
            return _mm512_permutex2var_epi32(unfinished, source, next);
        else
            return _mm512_permutex2var_epi16(unfinished, source, next);
    }
    /// A whole vector, not the first.
    BOXSUM_INLINE void put(std::int64_t c, __m512i v) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(start + c), joined_with(v));
        unfinished = v;
    }
    /// Any vector, of which `there` entries exist.
    BOXSUM_INLINE void put_some(std::int64_t c, __m512i v, std::int64_t there) {
        const std::int64_t from = c > 0 ? 0 : words, end = words + there;
        const __m512i line = joined_with(v);
        unfinished = v;
        if (from == 0 && end >= lanes)
            _mm512_stream_si512(reinterpret_cast<__m512i*>(start + c), line);
        else if (from < lanes)
            store_between(start + c, line, from, end < lanes ? end : lanes);
        if (there < lanes && end > lanes) finish(c + lanes, end - lanes);
    }
    /// The first `count` of the entries that are not written yet, at column c.
    BOXSUM_INLINE void finish(std::int64_t c, std::int64_t count) const {
        store_between(start + c, joined_with(unfinished), 0, count);
    }
};

/// `Rows` rows at a time, so that the row above is read once for them. Streaming stores push lines out of the caches,
/// so there the row above is kept in `running`.
template <typename Scan, typename Index, bool streaming, int Rows>
BOXSUM_INLINE void fill_rows(const bin_rows& b, std::int64_t first) {
    using Entry = typename Scan::entry;
    constexpr int lanes = 64 / static_cast<int>(sizeof(Entry));
    const Scan scanner;
    const __m512i bin = splat_bin(Index{}, b.bin);
    const Index* const indices = static_cast<const Index*>(b.indices) + first * b.index_stride;
    constexpr bool weighted = std::is_same_v<Entry, float>;
    const float* const weights = weighted ? b.weights + first * b.index_stride : nullptr;
    std::byte* const table = static_cast<std::byte*>(b.table) + first * b.table_stride;
    const Entry* const above = streaming    ? static_cast<const Entry*>(b.running)
                               : first == 0 ? static_cast<const Entry*>(b.above)
                                            : reinterpret_cast<const Entry*>(table - b.table_stride);
    Entry* const running = static_cast<Entry*>(b.running);
    const std::int64_t index_stride = b.index_stride, table_stride = b.table_stride, cols = b.cols;
    typename Scan::carry carries[Rows];
    for (auto& carry : carries) carry = Scan::start();

    streamed_row<Entry> streamed[Rows];
    if constexpr (streaming)
        for (int r = 0; r < Rows; ++r) {
            streamed[r].begin(reinterpret_cast<Entry*>(table + r * table_stride));
            // Ordinary stores write the ends of rows.
            std::byte* const coming = table + (r + Rows) * table_stride;
            __builtin_prefetch(coming, 1);
            __builtin_prefetch(reinterpret_cast<Entry*>(coming) + cols - 1, 1);
        }

    // Only the last `index_unit` entries of a row may be incomplete.
    const auto columns = [&]<bool whole>(std::int64_t c, std::bool_constant<whole>) __attribute__((always_inline)) {
        const auto present = [&](int lane) {  // of the vector that starts at c + lane, how many entries exist
            const std::int64_t left = cols - c - lane;
            return left < 0 ? 0 : left > lanes ? std::int64_t{lanes} : left;
        };
        __m512i sums[64 / lanes];
        for (int v = 0; v < 64 / lanes; ++v)
            sums[v] = above == nullptr     ? _mm512_setzero_si512()
                      : streaming || whole ? _mm512_loadu_si512(above + c + v * lanes)
                                           : load_some(above + c + v * lanes, present(v * lanes));
        for (int r = 0; r < Rows; ++r) {
            const std::uint64_t mask = mask_of(indices + r * index_stride + c, bin);
            Entry* const out = reinterpret_cast<Entry*>(table + r * table_stride) + c;
            for (int half = 0; half < 2; ++half) {
                __m512i scanned[Scan::vectors];
                const float* const w = weighted ? weights + r * index_stride + c + 32 * half : nullptr;
                scanner.scan(static_cast<std::uint32_t>(mask >> (32 * half)), w, carries[r], scanned);
                for (int i = 0; i < Scan::vectors; ++i) {
                    const int v = half * Scan::vectors + i;
                    sums[v] = Scan::add(sums[v], scanned[i]);
                    const std::int64_t there = whole ? lanes : present(v * lanes);
                    if (there == 0) continue;  // an empty mask still asks for its line
                    if constexpr (streaming && whole)
                        streamed[r].put(c + v * lanes, sums[v]);
                    else if constexpr (streaming)
                        streamed[r].put_some(c + v * lanes, sums[v], there);
                    else if (there < lanes)
                        store_some(out + v * lanes, sums[v], there);
                    else
                        _mm512_storeu_si512(out + v * lanes, sums[v]);
                }
            }
        }
        if constexpr (streaming)
            for (int v = 0; v < 64 / lanes; ++v) _mm512_storeu_si512(running + c + v * lanes, sums[v]);
    };
    std::int64_t c = 0;
    if (streaming) {  // rows begin with an ordinary store
        columns(c, std::false_type{});
        c += index_unit;
    }
    for (; c + index_unit <= cols; c += index_unit) columns(c, std::true_type{});
    if (c < cols) columns(c, std::false_type{});
    if (streaming && cols % lanes == 0)
        for (int r = 0; r < Rows; ++r) streamed[r].finish(cols, streamed[r].words);
}

template <typename Scan, typename Index, bool streaming>
void fill_bin(const bin_rows& b) {
    constexpr int rows_per_pass = 4;
    std::int64_t r = 0;
    for (; r + rows_per_pass <= b.rows; r += rows_per_pass) fill_rows<Scan, Index, streaming, rows_per_pass>(b, r);
    for (; r < b.rows; ++r) fill_rows<Scan, Index, streaming, 1>(b, r);
    if constexpr (streaming) _mm_sfence();
}

/// 256 table entries are four vectors; two permutations serve 128 of them each, and the pixel's top bit chooses.
void index_bytes(const void* pixels, void* indices, std::int64_t n, const void* rule) {
    const auto* const in = static_cast<const std::uint8_t*>(pixels);
    auto* const out = static_cast<std::uint8_t*>(indices);
    const auto* const table = static_cast<const std::uint8_t*>(rule);
    const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
    const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
    for (std::int64_t i = 0; i < n; i += 64) {
        const __mmask64 some = n - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (n - i)) - 1;
        const __m512i v = _mm512_maskz_loadu_epi8(some, in + i);
        const __m512i low = _mm512_permutex2var_epi8(t0, v, t1), high = _mm512_permutex2var_epi8(t2, v, t3);
        _mm512_mask_storeu_epi8(out + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high));
    }
}

template <typename Scan>
constexpr void set_bin_functions(histogram_kernels& set, entry_kind kind) {
    const auto e = static_cast<std::size_t>(kind);
    set.cached[e][0] = fill_bin<Scan, std::uint8_t, false>;
    set.cached[e][1] = fill_bin<Scan, std::uint16_t, false>;
    set.streaming[e][0] = fill_bin<Scan, std::uint8_t, true>;
    set.streaming[e][1] = fill_bin<Scan, std::uint16_t, true>;
}

constexpr histogram_kernels make_set() {
    histogram_kernels set{};
    set.name = "avx512";
    set.streaming_alignment = 1;
    set_index_functions(set);
    set.lookup_u8[0] = index_bytes;
    set_bin_functions<scan_u32>(set, entry_kind::u32);
    set_bin_functions<scan_u16>(set, entry_kind::u16);
    set_bin_functions<scan_f32>(set, entry_kind::f32);
    return set;
}

}  // namespace

constinit const histogram_kernels avx512_histogram_kernels = make_set();

}  // namespace boxsum::cpu
