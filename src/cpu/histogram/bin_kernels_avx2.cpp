// AVX2. There is neither a mask register nor a vector popcount, so the comparison of 32 bin numbers gives 32 bytes of 0
// or 1, whose prefix sums within 16 bytes take four shifts and additions (Hillis and Steele 1986). They are widened to
// the table's type, and the totals of the 16 bytes before are added. Weights are scanned in the same way, as floats.

#include "cpu/histogram/bin_kernels.hpp"
#include "cpu/histogram/index_pixels.hpp"

#include <immintrin.h>

#include <type_traits>

namespace boxsum::cpu {
namespace {

#define BOXSUM_INLINE inline __attribute__((always_inline))

constexpr int step = 32;  // pixels of one comparison

BOXSUM_INLINE __m256i splat_bin(std::uint8_t, std::uint32_t bin) {
    return _mm256_set1_epi8(static_cast<char>(bin));
}
BOXSUM_INLINE __m256i splat_bin(std::uint16_t, std::uint32_t bin) {
    return _mm256_set1_epi16(static_cast<short>(bin));
}
BOXSUM_INLINE __m256i load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

/// 32 bytes, all ones where the pixel is in the bin.
BOXSUM_INLINE __m256i compare(const std::uint8_t* p, __m256i bin) {
    return _mm256_cmpeq_epi8(load(p), bin);
}
BOXSUM_INLINE __m256i compare(const std::uint16_t* p, __m256i bin) {
    // Packing works within 128 bits; the permutation puts the quarters back in order.
    return _mm256_permute4x64_epi64(
        _mm256_packs_epi16(_mm256_cmpeq_epi16(load(p), bin), _mm256_cmpeq_epi16(load(p + 16), bin)), 0xd8);
}

BOXSUM_INLINE __m256i prefix_bytes(__m256i inside) {
    __m256i x = _mm256_and_si256(inside, _mm256_set1_epi8(1));
    x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 1));
    x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 2));
    x = _mm256_add_epi8(x, _mm256_bslli_epi128(x, 4));
    return _mm256_add_epi8(x, _mm256_bslli_epi128(x, 8));
}

// A scanner turns 32 pixels of a row into their prefix sums, in `vectors` vectors of the table's type.

struct scan_u32 {
    using entry = std::uint32_t;
    static constexpr int vectors = 4;
    using carry = __m256i;

    static BOXSUM_INLINE carry start() { return _mm256_setzero_si256(); }
    static BOXSUM_INLINE void scan(__m256i inside, const float*, carry& before, __m256i (&out)[vectors]) {
        const __m256i x = prefix_bytes(inside);
        const __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
        const __m256i totals = _mm256_shuffle_epi8(x, _mm256_set1_epi32(static_cast<int>(0x8080800fu)));
        const __m256i middle = _mm256_add_epi32(before, _mm256_permute2x128_si256(totals, totals, 0x00));
        out[0] = _mm256_add_epi32(_mm256_cvtepu8_epi32(low), before);
        out[1] = _mm256_add_epi32(_mm256_cvtepu8_epi32(_mm_bsrli_si128(low, 8)), before);
        out[2] = _mm256_add_epi32(_mm256_cvtepu8_epi32(high), middle);
        out[3] = _mm256_add_epi32(_mm256_cvtepu8_epi32(_mm_bsrli_si128(high, 8)), middle);
        before = _mm256_add_epi32(middle, _mm256_permute2x128_si256(totals, totals, 0x11));
    }
    static BOXSUM_INLINE __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
};

struct scan_u16 {
    using entry = std::uint16_t;
    static constexpr int vectors = 2;
    using carry = __m256i;

    static BOXSUM_INLINE carry start() { return _mm256_setzero_si256(); }
    static BOXSUM_INLINE void scan(__m256i inside, const float*, carry& before, __m256i (&out)[vectors]) {
        const __m256i x = prefix_bytes(inside);
        const __m256i totals = _mm256_shuffle_epi8(x, _mm256_set1_epi16(static_cast<short>(0x800f)));
        const __m256i middle = _mm256_add_epi16(before, _mm256_permute2x128_si256(totals, totals, 0x00));
        out[0] = _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(x)), before);
        out[1] = _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm256_extracti128_si256(x, 1)), middle);
        before = _mm256_add_epi16(middle, _mm256_permute2x128_si256(totals, totals, 0x11));
    }
    static BOXSUM_INLINE __m256i add(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
};

struct scan_f32 {
    using entry = float;
    static constexpr int vectors = 4;
    using carry = __m256;

    static BOXSUM_INLINE carry start() { return _mm256_setzero_ps(); }
    template <int Lanes>
    static BOXSUM_INLINE __m256 from_left(__m256 x) {  // within 128 bits
        return _mm256_castsi256_ps(_mm256_bslli_epi128(_mm256_castps_si256(x), 4 * Lanes));
    }
    static BOXSUM_INLINE void scan(__m256i inside, const float* weights, carry& before, __m256i (&out)[vectors]) {
        const __m128i low = _mm256_castsi256_si128(inside), high = _mm256_extracti128_si256(inside, 1);
        const __m128i quarters[vectors] = {low, _mm_bsrli_si128(low, 8), high, _mm_bsrli_si128(high, 8)};
        for (int i = 0; i < vectors; ++i) {
            // A bitwise AND, so that a NaN elsewhere becomes zero here.
            const __m256 keep = _mm256_castsi256_ps(_mm256_cvtepi8_epi32(quarters[i]));
            __m256 x = _mm256_and_ps(_mm256_loadu_ps(weights + 8 * i), keep);
            x = _mm256_add_ps(x, from_left<1>(x));
            x = _mm256_add_ps(x, from_left<2>(x));
            const __m256 lower = _mm256_permute2f128_ps(x, x, 0x08);  // zero, and the first four lanes
            x = _mm256_add_ps(x, _mm256_shuffle_ps(lower, lower, 0xff));
            x = _mm256_add_ps(x, before);
            before = _mm256_permutevar8x32_ps(x, _mm256_set1_epi32(7));
            out[i] = _mm256_castps_si256(x);
        }
    }
    static BOXSUM_INLINE __m256i add(__m256i a, __m256i b) {
        return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
    }
};

/// `Rows` rows at a time, so that the row above is read once for them. Streaming stores push lines out of the caches,
/// so there the row above is kept in `running`.
template <typename Scan, typename Index, bool streaming, int Rows>
BOXSUM_INLINE void fill_rows(const bin_rows& b, std::int64_t first) {
    using Entry = typename Scan::entry;
    constexpr int lanes = 32 / static_cast<int>(sizeof(Entry));
    constexpr bool weighted = std::is_same_v<Entry, float>;
    const __m256i bin = splat_bin(Index{}, b.bin);
    const Index* const indices = static_cast<const Index*>(b.indices) + first * b.index_stride;
    const float* const weights = weighted ? b.weights + first * b.index_stride : nullptr;
    std::byte* const table = static_cast<std::byte*>(b.table) + first * b.table_stride;
    const Entry* const above = streaming    ? static_cast<const Entry*>(b.running)
                               : first == 0 ? static_cast<const Entry*>(b.above)
                                            : reinterpret_cast<const Entry*>(table - b.table_stride);
    Entry* const running = static_cast<Entry*>(b.running);
    const std::int64_t index_stride = b.index_stride, table_stride = b.table_stride, cols = b.cols;
    typename Scan::carry carries[Rows];
    for (auto& carry : carries) carry = Scan::start();

    const auto scan_row = [&](int r, std::int64_t c, __m256i(&sums)[Scan::vectors]) __attribute__((always_inline)) {
        __m256i scanned[Scan::vectors];
        const float* const w = weighted ? weights + r * index_stride + c : nullptr;
        Scan::scan(compare(indices + r * index_stride + c, bin), w, carries[r], scanned);
        for (int v = 0; v < Scan::vectors; ++v) sums[v] = Scan::add(sums[v], scanned[v]);
    };

    std::int64_t c = 0;
    for (; c + step <= cols; c += step) {
        __m256i sums[Scan::vectors];
        for (int v = 0; v < Scan::vectors; ++v)
            sums[v] = above == nullptr ? _mm256_setzero_si256() : load(above + c + v * lanes);
        for (int r = 0; r < Rows; ++r) {
            scan_row(r, c, sums);
            Entry* const out = reinterpret_cast<Entry*>(table + r * table_stride) + c;
            for (int v = 0; v < Scan::vectors; ++v) {
                if constexpr (streaming)
                    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + v * lanes), sums[v]);
                else
                    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + v * lanes), sums[v]);
            }
        }
        if constexpr (streaming)
            for (int v = 0; v < Scan::vectors; ++v)
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(running + c + v * lanes), sums[v]);
    }
    if (c == cols) return;

    // The last columns go through a buffer: entries behind the row are not ours.
    const auto left = static_cast<std::size_t>(cols - c);
    alignas(32) Entry buffer[step] = {};
    if (above != nullptr) __builtin_memcpy(buffer, above + c, left * sizeof(Entry));
    __m256i sums[Scan::vectors];
    for (int v = 0; v < Scan::vectors; ++v) sums[v] = load(buffer + v * lanes);
    for (int r = 0; r < Rows; ++r) {
        scan_row(r, c, sums);
        for (int v = 0; v < Scan::vectors; ++v)
            _mm256_store_si256(reinterpret_cast<__m256i*>(buffer + v * lanes), sums[v]);
        __builtin_memcpy(reinterpret_cast<Entry*>(table + r * table_stride) + c, buffer, left * sizeof(Entry));
    }
    if constexpr (streaming) __builtin_memcpy(running + c, buffer, left * sizeof(Entry));
}

template <typename Scan, typename Index, bool streaming>
void fill_bin(const bin_rows& b) {
    constexpr int rows_per_pass = 4;
    std::int64_t r = 0;
    for (; r + rows_per_pass <= b.rows; r += rows_per_pass) fill_rows<Scan, Index, streaming, rows_per_pass>(b, r);
    for (; r < b.rows; ++r) fill_rows<Scan, Index, streaming, 1>(b, r);
    if constexpr (streaming) _mm_sfence();
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
    set.name = "avx2";
    set.streaming_alignment = 32;
    set_index_functions(set);
    set_bin_functions<scan_u32>(set, entry_kind::u32);
    set_bin_functions<scan_u16>(set, entry_kind::u16);
    set_bin_functions<scan_f32>(set, entry_kind::f32);
    return set;
}

}  // namespace

constinit const histogram_kernels avx2_histogram_kernels = make_set();

}  // namespace boxsum::cpu
