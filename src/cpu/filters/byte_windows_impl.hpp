// No include guard: each byte_windows_*.cpp includes this once, as row_kernels_*.cpp do theirs.
#include "cpu/filters/row_kernels.hpp"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Windows of 8-bit images, a row at a time, without shuffles: 32-bit lane l of a block of elements (as many as a vector
// has bytes) holds elements 4 l .. 4 l + 3. Masks and shifts part them into even and odd elements of 16 bits, which are
// kept as two arrays (planes); what enters a window or leaves it is an unaligned load from one of them. One scan of the
// lanes' totals, or one for each of several channels, serves the whole block. "Lane order" of a block: the first pixels
// of all lanes, then the second, third and fourth ones.

namespace boxsum::filters::BOXSUM_ROWS {
namespace {

#include "cpu/filters/lanes_impl.hpp"

constexpr int bytes = BOXSUM_ROWS_BYTES, lanes_of_block = bytes / 4;
typedef u32 words __attribute__((vector_size(bytes)));
typedef s32 numbers __attribute__((vector_size(bytes)));
typedef f32 reals __attribute__((vector_size(bytes)));
typedef u64 longs __attribute__((vector_size(bytes)));
typedef u16 halves __attribute__((vector_size(bytes)));
typedef s16 signed_halves __attribute__((vector_size(bytes)));

template <typename V>
inline V load(const void* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <typename V>
inline void store(void* to, V v) {
    std::memcpy(to, &v, sizeof v);
}
inline words all(u32 x) {
    return words{} + x;
}
inline reals all_real(f32 x) {
    return reals{} + x;
}

/// a b + c, rounded once (`fused`) or twice: for what has a bound of its error.
#if defined(__AVX512F__) || defined(__FMA__) || defined(__aarch64__)
constexpr bool fused = true;
#else
constexpr bool fused = false;
#endif
inline reals multiply_add(reals a, reals b, reals c) {
#if defined(__AVX512F__)
    return (reals)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (reals)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (reals)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}
/// c - a b.
inline reals less_product(reals c, reals a, reals b) {
#if defined(__AVX512F__)
    return (reals)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (reals)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (reals)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return c - a * b;
#endif
}

/// a where the mask has ones, else b.
inline words chosen(words mask, words a, words b) {
#if defined(__AVX512F__)
    return (words)_mm512_ternarylogic_epi32((__m512i)mask, (__m512i)a, (__m512i)b, 0xca);
#else
    return (a & mask) | (b & ~mask);
#endif
}

/// The pixels of a block, of which `n` are in the image; the others are 0.
inline words load_pixels(const u8* x, i64 n) {
    if (n >= bytes) return load<words>(x);
    alignas(bytes) u8 some[bytes] = {};
    std::memcpy(some, x, static_cast<std::size_t>(n));
    return load<words>(some);
}

/// A row that is read by whole blocks: the last is elsewhere, with zeros beyond the row's end, where it is cut. So
/// loops call nothing, which would cost them their registers.
class source_blocks {
  public:
    source_blocks(const u8* row, i64 n) : row_(row), whole_(n / bytes * bytes), last_{} {
        std::memcpy(last_, row + whole_, static_cast<std::size_t>(n - whole_));
    }
    words at(i64 i) const { return load<words>(i < whole_ ? row_ + i : last_); }

  private:
    const u8* row_;
    i64 whole_;
    alignas(bytes) u8 last_[bytes];
};

/// A row that is written by whole blocks.
template <typename T>
class target_blocks {
  public:
    target_blocks(T* row, i64 n) : row_(row), n_(n), whole_(n / bytes * bytes) {}
    ~target_blocks() {
        if (row_ != nullptr && n_ > whole_)
            std::memcpy(row_ + whole_, last_, static_cast<std::size_t>(n_ - whole_) * sizeof(T));
    }
    target_blocks(const target_blocks&) = delete;
    target_blocks& operator=(const target_blocks&) = delete;

    T* at(i64 i) { return i < whole_ ? row_ + i : last_; }
    bool wanted() const { return row_ != nullptr; }

  private:
    T* row_;
    i64 n_, whole_;
    alignas(bytes) T last_[bytes];
};

inline halves even_of(words x) {
    return (halves)(x & 0x00ff00ffu);
}
inline halves odd_of(words x) {
    return (halves)x >> 8;
}

void sample(u8* values, u8* counts, const u8* x, const u8* mask, int nodata, i64 n) {
    typedef u8 octets __attribute__((vector_size(bytes)));
    const auto without = static_cast<u8>(nodata);
    for (i64 i = 0; i < n; i += bytes) {
        const octets pixels = (octets)load_pixels(x + i, n - i);
        octets counting = ~octets{};
        if (mask != nullptr) {
            __builtin_prefetch(mask + i + 1024);
            counting = (octets)((octets)load_pixels(mask + i, n - i) != 0);
        }
        __builtin_prefetch(x + i + 1024);
        if (nodata >= 0) counting &= (octets)(pixels != without);
        store(values + i, pixels & counting);
        store(counts + i, counting & 1);
    }
}

// Planes of what enters less what leaves, added to what they hold (`keep`) or alone.
void change_planes(u16* even, u16* odd, const u8* in, const u8* out, bool keep, i64 n) {
    const auto block = [&](i64 i, words a, words z) {
        halves e = even_of(a) - even_of(z), o = odd_of(a) - odd_of(z);
        if (keep) {
            e += load<halves>(even + i / 2);
            o += load<halves>(odd + i / 2);
        }
        store(even + i / 2, e);
        store(odd + i / 2, o);
    };
    i64 i = 0;
    for (; i + bytes <= n; i += bytes) {
        __builtin_prefetch(in + i + 1024);
        __builtin_prefetch(out + i + 1024);
        block(i, load<words>(in + i), load<words>(out + i));
    }
    if (i < n) block(i, load_pixels(in + i, n - i), load_pixels(out + i, n - i));
}

// The same, and planes of the change of P = x (255 - x) / 2: (in - out) (255 - in - out) / 2, which fits 16 bits.
void change_both_planes(u16* even, u16* odd, u16* p_even, u16* p_odd, const u8* in, const u8* out, bool keep, i64 n) {
    const auto p_change = [](halves a, halves z) {
        const halves product = (a - z) * (255 - a - z);
        return (halves)((signed_halves)product >> 1);
    };
    const auto block = [&](i64 i, words a, words z) {
        const halves ae = even_of(a), ao = odd_of(a), ze = even_of(z), zo = odd_of(z);
        halves e = ae - ze, o = ao - zo;
        store(p_even + i / 2, p_change(ae, ze));
        store(p_odd + i / 2, p_change(ao, zo));
        if (keep) {
            e += load<halves>(even + i / 2);
            o += load<halves>(odd + i / 2);
        }
        store(even + i / 2, e);
        store(odd + i / 2, o);
    };
    i64 i = 0;
    for (; i + bytes <= n; i += bytes) {
        __builtin_prefetch(in + i + 1024);
        __builtin_prefetch(out + i + 1024);
        block(i, load<words>(in + i), load<words>(out + i));
    }
    if (i < n) block(i, load_pixels(in + i, n - i), load_pixels(out + i, n - i));
}

/// The upper halves of products.
inline halves high_products(halves a, u16 b) {
#if defined(__AVX512BW__)
    return (halves)_mm512_mulhi_epu16((__m512i)a, (__m512i)(halves{} + b));
#elif defined(__AVX2__)
    return (halves)_mm256_mulhi_epu16((__m256i)a, (__m256i)(halves{} + b));
#elif defined(__SSE2__)
    return (halves)_mm_mulhi_epu16((__m128i)a, (__m128i)(halves{} + b));
#else
    const words low = ((words)a & 0xffffu) * b >> 16, high = ((words)a >> 16) * b & 0xffff0000u;
    return (halves)(low | high);
#endif
}

/// The two signed parts of a lane, multiplied and added.
template <int low, int high>
inline words dot(halves v) {
    [[maybe_unused]] const words weights = all(u32{low} | u32{high} << 16);
#if defined(__AVX512BW__)
    return (words)_mm512_madd_epi16((__m512i)v, (__m512i)weights);
#elif defined(__AVX2__)
    return (words)_mm256_madd_epi16((__m256i)v, (__m256i)weights);
#elif defined(__SSE2__)
    return (words)_mm_madd_epi16((__m128i)v, (__m128i)weights);
#elif defined(__aarch64__)
    if constexpr (low == 1 && high == 1) return (words)vpaddlq_s16((int16x8_t)v);
    return (words)(((numbers)((words)v << 16) >> 16) * low + ((numbers)v >> 16) * high);
#else
    return (words)(((numbers)((words)v << 16) >> 16) * low + ((numbers)v >> 16) * high);
#endif
}

/// Adds n elements to lanes, unsigned ones 32768 lower. Whole vectors are read, the last of which may end beyond them.
inline void add_elements(words& sums, const u16* x, i64 n, u16 flip) {
    halves place = {};
    for (int k = 0; k < bytes / 2; ++k) place[k] = static_cast<u16>(k);
    for (i64 i = 0; i < n; i += bytes / 2) {
        halves v = load<halves>(x + i) ^ flip;
        if (n - i < bytes / 2) {
            const u16 left = static_cast<u16>(n - i);
            v &= (halves)(place < left);
        }
        sums += dot<1, 1>(v);
    }
}

void plane_totals(u32* totals, const u16* even, const u16* odd, i64 first, i64 count, i64 channels, bool is_signed) {
    // Element e is even[e / 2] or odd[(e - 1) / 2]; shifts round down, below 0, too.
    const i64 begin = first * channels, end = begin + count * channels;
    if (channels == 1) {
        const u16 flip = is_signed ? 0 : 0x8000;
        words sums = {};
        add_elements(sums, even + ((begin + 1) >> 1), ((end + 1) >> 1) - ((begin + 1) >> 1), flip);
        add_elements(sums, odd + (begin >> 1), (end >> 1) - (begin >> 1), flip);
        totals[0] = scan_lanes<u32, 1>(sums)[lanes_of_block - 1] + static_cast<u32>(count) * flip;
        return;
    }
    // Of a plane every second or third element is of one channel: 48 sums of every 48th.
    for (i64 k = 0; k < channels; ++k) totals[k] = 0;
    for (i64 parity = 0; parity < 2; ++parity) {
        const u16* const x = parity == 0 ? even : odd;
        const i64 from = (begin + 1 - parity) >> 1, stop = (end + 1 - parity) >> 1;
        u32 sums[48] = {};
        const auto add = [&](i64 at, i64 n) {
            if (is_signed)
                for (i64 k = 0; k < n; ++k) sums[k] += static_cast<u32>(static_cast<s32>(static_cast<s16>(x[at + k])));
            else
                for (i64 k = 0; k < n; ++k) sums[k] += x[at + k];
        };
        i64 i = from;
        for (; i + 48 <= stop; i += 48) add(i, 48);
        add(i, stop - i);
        const i64 used = stop - from < 48 ? stop - from : 48, step = 2 % channels;
        for (i64 k = 0, channel = (2 * from + parity - begin) % channels; k < used; ++k) {
            totals[channel] += sums[k];
            channel += step;
            channel -= channel >= channels ? channels : 0;
        }
    }
}

/// Numbers of a block's elements, in lane order.
struct four {
    words w[4];
};

/// The low bytes of a block's results as pixels.
inline words pack(const four& f) {
#if defined(__AVX512F__)
    return chosen(all(0xffffu), chosen(all(0xffu), f.w[0], f.w[1] << 8), chosen(all(0xffu), f.w[2], f.w[3] << 8) << 16);
#elif defined(__aarch64__)  // shifts that keep what is below
    uint32x4_t packed = vsliq_n_u32((uint32x4_t)f.w[0], (uint32x4_t)f.w[1], 8);
    packed = vsliq_n_u32(packed, (uint32x4_t)f.w[2], 16);
    return (words)vsliq_n_u32(packed, (uint32x4_t)f.w[3], 24);
#else
    return ((f.w[0] & 0xffu) | (f.w[1] & 0xffu) << 8) | ((f.w[2] & 0xffu) << 16 | f.w[3] << 24);
#endif
}

/// What even and odd elements of a block gain against those before, by their place in a lane.
inline four gains(const byte_windows& row, i64 i) {
    const i64 m = i / 2;
    if (row.wide) {
        const words in = load<words>(row.in_even + m), out = load<words>(row.out_even + m);
        const words odd_in = load<words>(row.in_odd + m), odd_out = load<words>(row.out_odd + m);
        return {{(in & 0xffffu) - (out & 0xffffu), (odd_in & 0xffffu) - (odd_out & 0xffffu), (in >> 16) - (out >> 16),
                 (odd_in >> 16) - (odd_out >> 16)}};
    }
    const numbers a = (numbers)(load<halves>(row.in_even + m) - load<halves>(row.out_even + m));
    const numbers b = (numbers)(load<halves>(row.in_odd + m) - load<halves>(row.out_odd + m));
    return {{(words)((numbers)((words)a << 16) >> 16), (words)((numbers)((words)b << 16) >> 16), (words)(a >> 16),
             (words)(b >> 16)}};
}

inline words last_of(words v) {
    return lanes<u32>::last_repeated<1>(v, typename make_list<lanes_of_block>::template of<lanes<u32>>{});
}

template <int... i>
inline words first_of(words v, lanes<u32>::list<i...>) {
    return __builtin_shufflevector(v, v, (i * 0)...);
}
inline words first_of(words v) {
    return first_of(v, typename make_list<lanes_of_block>::template of<lanes<u32>>{});
}

/// Running sums of three interleaved channels. Place j of lane l belongs to channel l + j, modulo 3, so that what is of
/// one place in one lane is of the next place in the lane before. u[0] has both the first and the last place.
template <int by>
inline void scan_threes(words (&u)[3]) {
    if constexpr (by < lanes_of_block) {
        const typename make_list<lanes_of_block>::template of<lanes<u32>> every;
        words before[3];
        for (int j = 0; j < 3; ++j) before[j] = lanes<u32>::shifted_up<by>(u[j], every);
        for (int j = 0; j < 3; ++j) u[j] += before[(j + by) % 3];
        scan_threes<by * 2>(u);
    }
}

/// A block's windows where channels are interleaved. carry[k]: the window of the channel of the block's element k
/// before the block, and then of the next block's. Not inlined: one for all kernels.
__attribute__((noinline)) four next_of_channels(const byte_windows& row, words* carry, i64 i) {
    const four v = gains(row, i);
    four f;
    if (row.channels == 4) {
        for (int j = 0; j < 4; ++j) {
            f.w[j] = scan_lanes<u32, 1>(v.w[j]) + carry[j];
            carry[j] = last_of(f.w[j]);
        }
    } else if (row.channels == 2) {
        for (int j = 0; j < 2; ++j) {
            f.w[j + 2] = scan_lanes<u32, 1>(v.w[j] + v.w[j + 2]) + carry[j];
            f.w[j] = f.w[j + 2] - v.w[j + 2];
            carry[j] = last_of(f.w[j + 2]);
        }
    } else {
        words third[3];  // lanes 0, 3, ..; 1, 4, ..; 2, 5, ..
        for (int k = 0; k < 3; ++k)
            for (int l = 0; l < lanes_of_block; ++l) third[k][l] = l % 3 == k ? ~0u : 0u;
        words u[3] = {v.w[0] + v.w[3], v.w[1], v.w[2]};
        scan_threes<1>(u);
        for (int j = 0; j < 3; ++j)
            u[j] += (carry[j] & third[0]) | (carry[(j + 1) % 3] & third[1]) | (carry[(j + 2) % 3] & third[2]);
        for (int j = 0; j < 3; ++j) carry[j] = last_of(u[(j + 1) % 3]);
        f = {{u[0] - v.w[3], u[1], u[2], u[0]}};
    }
    return f;
}

/// Apart from what it is part of, which so can stay in registers: the function above takes its address.
struct channel_carries {
    words of[4];
};

/// Rows of one channel whose pixels all count, plain or wide ones, have kernels of their own: what the others may do
/// costs registers. Rows with spreads are never wide.
enum class kind { any, plain, wide };
inline kind kind_of(const byte_windows& row, const byte_counts& counts) {
    return row.channels != 1 || counts.samples != nullptr ? kind::any : row.wide ? kind::wide : kind::plain;
}

/// Running sums over a row, block by block.
template <kind rows>
class row_scan {
  public:
    row_scan(const byte_windows& row, channel_carries& carries)
        : given_(row), carries_(carries), row_(row), carry_(all(row.before[0])), one_channel_(row.channels == 1) {
        if (rows == kind::any)
            for (int k = 0; k < 4; ++k) carries.of[k] = all(row.before[k]);
    }

    __attribute__((always_inline)) inline four next(i64 i) {  // a call would keep carries in memory
        four f;
        const bool one_channel = rows != kind::any || one_channel_;
        if (one_channel && (rows == kind::wide || (rows == kind::any && row_.wide))) {
            const four v = gains(row_, i);
            const words two = v.w[0] + v.w[1], three = two + v.w[2], total = three + v.w[3];
            const words inclusive = scan_lanes<u32, 1>(total) + carry_, before = inclusive - total;
            f = {{before + v.w[0], before + two, before + three, inclusive}};
            carry_ = last_of(inclusive);
        } else if (one_channel) {
            const i64 m = i / 2;
            const halves a = load<halves>(row_.in_even + m) - load<halves>(row_.out_even + m);
            const halves b = load<halves>(row_.in_odd + m) - load<halves>(row_.out_odd + m);
            const words total = dot<1, 1>(a) + dot<1, 1>(b);
            const words inclusive = scan_lanes<u32, 1>(total) + carry_;
            f.w[0] = inclusive - total + dot<1, 0>(a);
            f.w[1] = f.w[0] + dot<1, 0>(b);
            f.w[2] = inclusive - (words)((numbers)b >> 16);
            f.w[3] = inclusive;
            carry_ = last_of(inclusive);
        } else {
            f = next_of_channels(given_, carries_.of, i);
        }
        if (row_.running != nullptr)
            for (int j = 0; j < 4; ++j) {
                u32* const kept = row_.running + i + j * lanes_of_block;
                f.w[j] += load<words>(kept);
                store(kept, f.w[j]);
            }
        return f;
    }

    void continue_as(const row_scan& other) { carry_ = other.carry_; }

  private:
    const byte_windows& given_;
    channel_carries& carries_;
    const byte_windows row_;
    words carry_;
    bool one_channel_;
};

template <int... i>
inline reals zip_low(reals a, reals b, lanes<f32>::list<i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * lanes_of_block + i / 2)...);
}
template <int... i>
inline reals zip_high(reals a, reals b, lanes<f32>::list<i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * lanes_of_block + lanes_of_block / 2 + i / 2)...);
}

/// Values in lane order become those of neighbouring pixels. Past the caches only whole lines.
inline void store_reals(f32* to, const reals (&v)[4], [[maybe_unused]] bool streaming = false) {
    const typename make_list<lanes_of_block>::template of<lanes<f32>> every;
    const reals a = zip_low(v[0], v[2], every), b = zip_low(v[1], v[3], every);
    const reals c = zip_high(v[0], v[2], every), d = zip_high(v[1], v[3], every);
    const reals ordered[4] = {zip_low(a, b, every), zip_high(a, b, every), zip_low(c, d, every), zip_high(c, d, every)};
#if defined(__AVX512F__)
    if (streaming && reinterpret_cast<std::uintptr_t>(to) % bytes == 0) {
        for (int j = 0; j < 4; ++j) _mm512_stream_ps(to + j * lanes_of_block, (__m512)ordered[j]);
        return;
    }
#endif
    std::memcpy(to, ordered, sizeof ordered);
}

/// Whether one of the lanes is negative: masks are, where they hold.
inline bool any(numbers v) {
#if defined(__AVX512DQ__)
    return _mm512_movepi32_mask((__m512i)v) != 0;
#elif defined(__AVX__)
    return _mm256_movemask_ps((__m256)v) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)v) != 0;
#elif defined(__aarch64__)
    return vminvq_s32((int32x4_t)v) < 0;
#else
    const longs parts = (longs)v;
    u64 joined = 0;
    for (int i = 0; i < bytes / 8; ++i) joined |= parts[i];
    return (joined & 0x8000000080000000u) != 0;
#endif
}

inline words at_least_one(words n) {
    return n - (words)(n == 0u);
}

/// How many pixels count in each of a block's windows.
template <kind rows>
class count_scan {
  public:
    explicit count_scan(const byte_counts& counts) : counts_(counts), full_(all(counts.rows * counts.full)) {}

    /// Where nothing counts 1. Whether all have the same number. `Sizes`: as for_each_block has them.
    template <typename Sizes>
    inline bool next(words (&n)[4], i64 i, Sizes) const {
        if (Sizes::value || (rows == kind::any && i >= counts_.first_full && i < counts_.end_full)) {
            for (words& each : n) each = full_;
            return true;
        }
        for (int j = 0; j < 4; ++j)
            n[j] = at_least_one(load<words>(counts_.cols + i + j * lanes_of_block)) * counts_.rows;
        return false;
    }

    /// 1 / n within 3 units of 2^-24 of it, where numbers are not all alike.
    inline reals reciprocal(int j, i64 i) const {
        return load<reals>(counts_.col_reciprocals + i + j * lanes_of_block) * (1 / static_cast<f32>(counts_.rows));
    }

    bool sampled() const { return rows == kind::any && counts_.samples != nullptr; }
    /// Results of a block with `fill` in place of those of too few pixels.
    inline words filled(int j, i64 i, words result, words fill) const { return chosen(given(i, j), result, fill); }
    inline words filled_pixels(words result, i64 i) const {
        const four f = {{given(i, 0), given(i, 1), given(i, 2), given(i, 3)}};
        return chosen(pack(f), result, all(0x01010101u * counts_.samples->fill));
    }
    /// The same of results in the order of pixels.
    void fill_pixels(f32 (&v)[bytes], i64 i) const {
        for (int k = 0; k < bytes; ++k)
            if (counts_.cols[i + k % 4 * lanes_of_block + k / 4] < counts_.samples->least)
                v[k] = counts_.samples->fill_real;
    }
    inline void fill_reals(reals (&v)[4], i64 i) const {
        for (int j = 0; j < 4; ++j)
            v[j] = (reals)filled(j, i, (words)v[j], (words)all_real(counts_.samples->fill_real));
    }

  private:
    words given(i64 i, int j) const {
        return (words)(load<numbers>(counts_.cols + i + j * lanes_of_block) >=
                       static_cast<s32>(counts_.samples->least));
    }

    const byte_counts& counts_;
    words full_;
};

/// 1 / n of numbers from 1 on.
inline reals inverse_of(words n) {
    const reals x = __builtin_convertvector((numbers)n, reals);
#if defined(__AVX512F__)  // one step of Newton's; masked, for the warnings of GCC 12
    const reals y = (reals)_mm512_maskz_rcp14_ps(0xffff, (__m512)x);
    return multiply_add(less_product(all_real(1), x, y), y, y);
#else
    return 1.0f / x;
#endif
}

template <kind rows>
bool find_numbers_of(const byte_samples& samples, i64 n) {
    channel_carries carries;
    row_scan<rows> scan(samples.numbers, carries);
    target_blocks<u32> to(samples.counted, n);
    u32* const cols = samples.cols;
    f32* const reciprocals = samples.reciprocals;
    const bool streaming = samples.streaming;
    const words least = all(samples.least);
    words fewest = {};
    for (i64 i = 0; i < n; i += bytes) {
        const four f = scan.next(i);
        words few = {};
        for (int j = 0; j < 4; ++j) {
            few |= f.w[j] - least;
            store(cols + i + j * lanes_of_block, f.w[j]);
            store(reciprocals + i + j * lanes_of_block, inverse_of(at_least_one(f.w[j])));
        }
        if (n - i >= bytes) fewest |= few;
        if (!to.wanted()) continue;
        const reals bits[4] = {(reals)f.w[0], (reals)f.w[1], (reals)f.w[2], (reals)f.w[3]};
        store_reals(reinterpret_cast<f32*>(to.at(i)), bits, streaming);
    }
    bool some = any((numbers)fewest);
    for (i64 i = n / bytes * bytes, k = 0; i + k < n; ++k)
        some |= cols[i + k % 4 * lanes_of_block + k / 4] < samples.least;
    return some;
}

bool find_numbers(const byte_samples& samples, i64 n) {
    return samples.numbers.channels == 1 && !samples.numbers.wide ? find_numbers_of<kind::plain>(samples, n)
                                                                  : find_numbers_of<kind::any>(samples, n);
}

/// Calls f(i, of_one_count or of_several_counts) for each block of a row from i on, until it says that it stops; i is
/// then the next one. Most have windows of one size, of which nothing is asked or converted again; rows of any kind ask
/// at each block.
template <kind rows, typename F>
inline bool for_each_block(i64& i, const byte_counts& counts, i64 n, F&& f) {
    const i64 first_full = counts.first_full, end_full = counts.end_full < n ? counts.end_full : n;
    i64 at = i;
    bool stops = false;
    while (at < n && !stops) {
        if (rows != kind::any && at >= first_full && at < end_full) {
            for (; at < end_full && !stops; at += bytes) stops = f(at, of_one_count{});
        } else {
            stops = f(at, of_several_counts{});
            at += bytes;
        }
    }
    i = at;
    return stops;
}
template <kind rows, typename F>
inline void for_each_block(const byte_counts& counts, i64 n, F&& f) {
    i64 i = 0;
    for_each_block<rows>(
        i, counts, n, [&](i64 at, auto sizes) __attribute__((always_inline)) {
            f(at, sizes);
            return false;
        });
}

// ---- means ----

/// floor(w / n + 1/2), or without the half, of windows of `n` pixels each.
///
/// (w + bias) / n is at least 1 / (2 n) from every half integer, where bias is 0 for an odd n, 1/2 for an even one, and
/// (1 - n) / 2 for rounding down; w + bias < 2^23 is exact. The product with 1 / n errs by the reciprocal's and its own
/// rounding, 2^-24 of at most 256 each; the sum with 1.5 * 2^23 rounds once, to an integer: right while 2^-15 <
/// 1 / (2 n). With 127 n taken away first, of which the integer is told in the end, the quotient is at most 129, and n
/// may be twice as large. A multiply-add has not the product's rounding, and n may be twice as large again.
class uniform_means {
  public:
    uniform_means(u32 n, bool half_up)
        : way_(n < (fused ? 32768 : 16000) && half_up && n % 2 != 0 ? way::direct
               : n < (fused ? 65026 : 32000)                        ? way::centred
                                                                    : way::exact),
          n_(n),
          half_(half_up ? n / 2 : 0),
          centre_(all(127 * n)),
          bias_(all_real(half_up ? (n % 2 == 0 ? 0.5f : 0.0f) : (1 - static_cast<f32>(n)) / 2)),
          reciprocal_(all_real((way_ == way::exact ? quotient<u32>::reduced : 1.0f) / static_cast<f32>(n))) {}

    struct direct {};
    struct centred {};
    struct exact {};

    /// f(direct, centred or exact), by which take() is to go.
    template <typename F>
    inline void by_way(F&& f) const {
        switch (way_) {
            case way::direct:
                return f(direct{});
            case way::centred:
                return f(centred{});
            case way::exact:
                return f(exact{});
        }
    }

    inline void take(four& f, direct) const {
        for (words& w : f.w) w = rounded(__builtin_convertvector((numbers)w, reals), 0);
    }
    inline void take(four& f, centred) const {
        for (words& w : f.w) w = rounded(__builtin_convertvector((numbers)(w - centre_), reals) + bias_, 127);
    }
    inline void take(four& f, exact) const {
        for (words& w : f.w) {
            const words t = w + half_;
#if defined(__AVX512F__)  // rounded down to an integer by the sum with 2^23, whose bits are 0x4b000000
            const words q =
                (words)_mm512_fmadd_round_ps((__m512) __builtin_convertvector((numbers)t, reals), (__m512)reciprocal_,
                                             (__m512)all_real(0x1p23f), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
            const words remainder = t + 0x4b000000u * n_ - q * n_;
            w = (words)_mm512_mask_add_epi32((__m512i)q, _mm512_cmpge_epi32_mask((__m512i)remainder, (__m512i)all(n_)),
                                             (__m512i)q, (__m512i)all(1));
#else
            const reals quotient = __builtin_convertvector((numbers)t, reals) * reciprocal_;
            const words q = (words) __builtin_convertvector(quotient, numbers);
            w = q - (words)((numbers)(t - q * n_) >= (numbers)all(n_));
#endif
        }
    }

  private:
    enum class way { direct, centred, exact };

    /// In the low byte.
    inline words rounded(reals v, int centre) const {
        return (words)multiply_add(v, reciprocal_, all_real(0x1.8p23f + static_cast<f32>(centre)));
    }

    way way_;
    u32 n_, half_;
    words centre_;
    reals bias_, reciprocal_;
};

/// The same where each window has its own count. `reciprocal` of that: within 3 units of 2^-24, which with three
/// roundings more stay below 2^-21.
inline words means_of_each(words w, words n, reals reciprocal, bool half_up) {
    const words t = half_up ? w + (n >> 1) : w;
    const reals quotients = __builtin_convertvector((numbers)t, reals) * (reciprocal * quotient<u32>::reduced);
    const words q = (words) __builtin_convertvector(quotients, numbers);
    return q - (words)((numbers)(t - q * n) >= (numbers)n);
}

template <kind rows>
void means_of(u8* out, const byte_windows& row, const byte_counts& counts, bool half_up, i64 n) {
    channel_carries carries;
    row_scan<rows> scan(row, carries);
    count_scan<rows> numbers_of(counts);
    target_blocks<u8> to(out, n);
    const uniform_means uniform(counts.rows * counts.full, half_up);
    uniform.by_way([&](auto way) __attribute__((always_inline)) {
        for_each_block<rows>(
            counts, n, [&](i64 i, auto sizes) __attribute__((always_inline)) {
                four f = scan.next(i);
                words count[4];
                if (numbers_of.next(count, i, sizes))
                    uniform.take(f, way);
                else
                    for (int j = 0; j < 4; ++j) {
                        const reals reciprocal = numbers_of.reciprocal(j, i);
                        f.w[j] = means_of_each(f.w[j], count[j], reciprocal, half_up);
                    }
                if (numbers_of.sampled())
                    for (int j = 0; j < 4; ++j) f.w[j] = numbers_of.filled(j, i, f.w[j], all(counts.samples->fill));
                store(to.at(i), pack(f));
            });
    });
}

void means(u8* out, const byte_windows& row, const byte_counts& counts, bool half_up, i64 n) {
    switch (kind_of(row, counts)) {
        case kind::plain:
            return means_of<kind::plain>(out, row, counts, half_up, n);
        case kind::wide:
            return means_of<kind::wide>(out, row, counts, half_up, n);
        case kind::any:
            return means_of<kind::any>(out, row, counts, half_up, n);
    }
}

/// The same of windows of one column, whose sums are in planes. With 2^k < rows <= 2^(k + 1) and m the integer at or
/// above 2^(16 + k) / rows, m (w + half) / 2^(16 + k) is too large by less than 256 rows / 2^(16 + k), which for rows
/// <= most_column_rows is at most 1 / rows, or by nothing where rows are a power of two: not enough to reach the next
/// integer.
void column_means(u8* out, const u16* even, const u16* odd, u32 rows, bool half_up, i64 n) {
    const int k = 31 - __builtin_clz(rows - 1);
    const auto multiplier = static_cast<u16>(((u32{1} << (16 + k)) + rows - 1) / rows);
    const auto half = static_cast<u16>(half_up ? rows / 2 : 0);
    target_blocks<u8> to(out, n);
    for (i64 i = 0; i < n; i += bytes) {
        const halves e = high_products(load<halves>(even + i / 2) + half, multiplier) >> k;
        const halves o = high_products(load<halves>(odd + i / 2) + half, multiplier) >> k;
        store(to.at(i), (words)(e | o << 8));
    }
}

// ---- by the definition ----

/// Windows of a block in the order of its pixels, in double.
struct defined_block {
    f64 mean[bytes], variance[bytes], deviation[bytes];

    defined_block(const four& s, const four& p, const words* n) {
        alignas(bytes) u32 sum[bytes], spread[bytes], number[bytes];
        for (int j = 0; j < 4; ++j) {
            store(sum + j * lanes_of_block, s.w[j]);
            store(spread + j * lanes_of_block, p.w[j]);
            store(number + j * lanes_of_block, n[j]);
        }
        for (int k = 0; k < bytes; ++k) {
            const int at = k % 4 * lanes_of_block + k / 4;
            const u64 total = sum[at], c = number[at];
            const f64 real = static_cast<f64>(c);
            mean[k] = static_cast<f64>(total) / real;
            variance[k] = static_cast<f64>(total * (255 * c - total) - 2 * c * spread[at]) / (real * real);
            deviation[k] = __builtin_sqrt(variance[k]);
        }
    }
};

// ---- thresholds ----

inline reals absolute(reals x) {
    return (reals)((words)x & 0x7fffffffu);
}
inline reals multiply_add(reals a, f32 b, reals c) {
    return multiply_add(a, all_real(b), c);
}

/// A pixel against its window, by comparisons in 32 bits with a bound E of their error; u = 2^-24. With the sum S, P of
/// the window, of n pixels, m = S / n, var = m (255 - m) - 2 P / n and M the true mean; S, P and 1 / n are in 32 bits
/// within u, u and 3 u of themselves, so m within 5 u:
///   bradley: x > (1 - k) m, which errs by 8 u of itself; it is taken with 16 u less and 16 u more.
///   Others: x > c + d, as a |a| > e with a = x - (1 - k) m or x - m, g = max(1, |1 - k|):
///     a errs by 7 u g M + u |a|, so a |a| by 5100 u g |a|, and by 49 u^2 g^2 M^2 where |a| is less than its error;
///     sauvola: e = (k / R) |k / R| m^2 var. var = 127.5^2 - 2 P / n - (m - 127.5)^2 errs by 500000 u; with the 14 u of
///     itself that the rest has, at most 16257 (k / R)^2 m^2, e errs by 730000 u (k / R)^2 m^2;
///     niblack: e = k |k| var = m (k |k| 255 - k |k| m) - k |k| 2 P / n, whose parts, at most 255 k^2 M each, err by 10
///     and 7 u of that, and their sum by 2 u;
///     nick: e = k |k| (255 m - 2 P / n), by less.
///   All in all E = 8192 u g |a| + f with f = (800000 u (k / R)^2 + 64 u^2 g^2) m^2 or (5120 u k^2 + 16384 u^2) m.
///   phansalkar: as sauvola with (1 - k + p y) m instead of (1 - k) m, y = exp(-q m / (2 R)) = 2^-t: t errs by 7 u of
///     itself, so y by 7 u (t ln 2) 2^-t, and by 5 u of itself as `power_of_two` has it. So a errs by 8 u |1 - k| M and
///     by |p| M 2^-t (14 + 7 t ln 2) u, at most 14 u |p| M, and by u |a|; g = 1.25 max(1, |1 - k|) + 2 |p|.
///   singh, with w = 2 R, r = x - m, d = min(|r|, 254/255 w), s = m + x: x > T where D = k m (2 d - w) - r (w - d) < 0,
///     as w > d. r errs by 6 u s, d by u w more. So r (w - d) errs by (10 w + 6 s) u s, k m (2 d - w) by
///     (12 w + 12 s) u |k| s, D by w (1 + |k|) u s more; as s <= 510, E = (12 w + 3100) (1 + 2 |k|) u s.
///   wolf, with r = m - I and its true size at most R = |r| + 2048 u, h = max(1, |1 - k|, |k|), D the largest
///   deviation:
///     a = x - ((1 - k) m + k I) errs by 2600 u h + u |a|, so a |a| by 6730 u h |a|, and by (2 u h)(h) where |a| is
///     less than its error; e = (k / D) |k / D| r |r| var by (k / D)^2 R^2 500000 u, by 4096 u k^2 R as var is at most
///     D^2, and by 5 u of itself: where both sides are closer than E, e is at most a^2 + E.
/// Pixels within E are in doubt. Those of a window that is one value, ties of niblack, and of wolf where it is I, are
/// told by integers, as phansalkar's blocks of one value are; a block with others is done again by the definition, in
/// double.
struct verdicts {
    numbers yes[4], doubts[4];  ///< negative, or not

    inline bool in_doubt() const { return any((doubts[0] | doubts[1]) | (doubts[2] | doubts[3])); }
};

/// Without spreads.
template <threshold_method method>
constexpr bool of_means = method == threshold_method::bradley || method == threshold_method::singh;

/// What sums are multiplied by, of windows of n pixels.
template <threshold_method method>
struct threshold_factors {
    reals mean, spread, limit, other;

    threshold_factors(reals reciprocal, const byte_threshold& rule)
        : mean(reciprocal), spread(reciprocal * -2.0f), limit(reciprocal * rule.scale), other{} {
        if constexpr (method == threshold_method::bradley) {
            other = limit * (1 + 0x1p-20f);
            limit *= 1 - 0x1p-20f;
        }
        if constexpr (method == threshold_method::niblack || method == threshold_method::nick) spread *= rule.square;
        if constexpr (method == threshold_method::niblack) other = reciprocal * rule.square;
        if constexpr (method == threshold_method::nick) other = reciprocal * (255.0f * rule.square);
        if constexpr (method == threshold_method::phansalkar) other = reciprocal * rule.decay;
    }
};

#if defined(__AVX2__)
/// The bytes of each 16 in another order; 0 where that is negative. (GCC 12 warns of the intrinsics without masks.)
inline words in_order(words x, __m128i order) {
#if defined(__AVX512BW__)
    return (words)_mm512_shuffle_epi8((__m512i)x, _mm512_maskz_broadcast_i32x4(0xffff, order));
#else
    return (words)_mm256_shuffle_epi8((__m256i)x, _mm256_broadcastsi128_si256(order));
#endif
}
#endif

/// The pixels at place j.
inline words pixels_at(words x, int j) {
    if (j == 3) return x >> 24;
#if defined(__AVX2__)
    if (j > 0)
        return in_order(x, _mm_set_epi32(j - 244, j - 248, j - 252, j - 256));  // bytes j, j + 4 ... before zeros
#endif
    return (x >> (8 * j)) & 0xffu;
}

/// 127.5^2 - 2 P / n - (m - 127.5)^2
inline reals variance_of(reals sum, reals spread, reals mean, reals minus_two_means) {
    const reals c = multiply_add(sum, mean, all_real(-127.5f));
    return less_product(multiply_add(spread, minus_two_means, all_real(127.5f * 127.5f)), c, c);
}

/// 2^(a b), which is from 2^-120 to 1, within 5 u of itself beside what errs in a and b. The power of the rest, within
/// 1/2 of 0, is a polynomial that is good to 2.6 u, and to 4 u with its roundings (seen of all such numbers).
inline reals power_of_two(reals a, reals b) {
    const reals shifted = multiply_add(a, b, all_real(0x1.8p23f));  // the nearest integer in the last bits
    const reals rest = multiply_add(a, b, 0x1.8p23f - shifted);
    reals y = multiply_add(rest, 0x1.5c08e6p-10f, all_real(0x1.3d0c52p-7f));
    y = multiply_add(y, rest, all_real(0x1.c6b6e4p-5f));
    y = multiply_add(y, rest, all_real(0x1.ebf918p-3f));
    y = multiply_add(y, rest, all_real(0x1.62e428p-1f));
    y = multiply_add(y, rest, all_real(0x1.000002p+0f));
    return (reals)((words)y + ((words)shifted << 23));
}

/// factors_of(j): of the windows at place j.
template <threshold_method method, typename Factors>
inline verdicts decide(words x, const four& s, const four& p, Factors&& factors_of, const byte_threshold& rule) {
    verdicts v;
    for (int j = 0; j < 4; ++j) {
        const threshold_factors<method>& f = factors_of(j);
        const reals pixel = __builtin_convertvector((numbers)pixels_at(x, j), reals);
        const reals sum = __builtin_convertvector((numbers)s.w[j], reals);
        if constexpr (method == threshold_method::bradley) {
            const reals less = 0.0f - pixel;  // of 0 it is not -0
            v.yes[j] = (numbers)multiply_add(sum, f.limit, less);
            v.doubts[j] = v.yes[j] ^ (numbers)multiply_add(sum, f.other, less);
            continue;
        }
        if constexpr (method == threshold_method::singh) {
            const reals r = less_product(pixel, sum, f.mean), size = absolute(r), most = all_real(rule.most);
            const reals d = size < most ? size : most;
            const reals k_m = sum * f.limit, twice = multiply_add(d, 2.0f, all_real(-rule.whole));
            const reals rise = multiply_add(k_m, twice, reals{});  // where that is 0, it is not -0
            const reals difference = less_product(rise, r, rule.whole - d);
            v.yes[j] = (numbers)difference;
            v.doubts[j] =
                (numbers)less_product(absolute(difference), multiply_add(sum, f.mean, pixel), all_real(rule.bound));
            continue;
        }
        const reals spread = __builtin_convertvector(p.w[j], reals);
        const reals m = sum * f.mean;
        reals a;
        if constexpr (method == threshold_method::phansalkar)
            a = less_product(pixel, m, multiply_add(power_of_two(sum, f.other), rule.weight, all_real(rule.scale)));
        else
            a = less_product(pixel, sum, f.limit);
        reals e, uncertain, factor = all_real(rule.bound);  // f = uncertain * factor
        if constexpr (method == threshold_method::wolf) {
            a -= rule.shift;
            const reals r = m - rule.smallest;
            uncertain = absolute(r) + 0x1p-13f;
            factor = multiply_add(uncertain, rule.bound, all_real(rule.bound_of_mean));
            e = r * absolute(r) * variance_of(sum, spread, f.mean, f.spread);
        } else if constexpr (method == threshold_method::nick) {
            e = multiply_add(sum, f.other, spread * f.spread);
            uncertain = m;
        } else if constexpr (method == threshold_method::niblack) {
            e = multiply_add(m, less_product(all_real(255.0f * rule.square), sum, f.other), spread * f.spread);
            uncertain = m;
        } else {
            uncertain = m * m;
            e = uncertain * variance_of(sum, spread, f.mean, f.spread);
        }
        if constexpr (method == threshold_method::wolf || method == threshold_method::sauvola ||
                      method == threshold_method::phansalkar)
            e = multiply_add(e, rule.square, reals{});  // where that is 0, it is not -0
        const reals size = absolute(a), d = less_product(e, a, size);
        v.yes[j] = (numbers)d;
        reals certain = less_product(absolute(d), size, all_real(rule.bound_of_difference));
        if constexpr (method == threshold_method::wolf) certain -= rule.least_bound;
        v.doubts[j] = (numbers)less_product(certain, uncertain, factor);
    }
    return v;
}

/// Windows that are one value, x, have S = n x and P = n x (255 - x) / 2, and no others, as P is strictly concave.
/// Whether all of a block's are, of the same value.
inline bool is_flat(words value, const four& s, const four& p, const words (&n)[4]) {
    const words spread = value * (255 - value) >> 1;
    words differ = {};
    for (int j = 0; j < 4; ++j) differ |= (value * n[j] ^ s.w[j]) | (spread * n[j] ^ p.w[j]);
    return !any((numbers)(differ != 0u));
}

/// Pixels of such windows are not above them.
template <threshold_method method>
inline void settle_ties(verdicts& v, words x, const four& s, const four& p, const words (&n)[4],
                        const byte_threshold& rule) {
    for (int j = 0; j < 4; ++j) {
        const words value = pixels_at(x, j), spread = value * (255 - value) >> 1;
        numbers alike = ((numbers)(value * n[j]) == (numbers)s.w[j]) & ((numbers)(spread * n[j]) == (numbers)p.w[j]);
        if constexpr (method == threshold_method::wolf) alike &= (numbers)value == static_cast<s32>(rule.smallest);
        v.yes[j] &= ~alike;
        v.doubts[j] &= ~alike;
    }
}
/// Decides a block that is one value. Whether it is, and that is known.
template <threshold_method method>
inline bool settle_flat(words& result, words x, const four& s, const four& p, const words (&n)[4],
                        const byte_threshold& rule, words yes) {
    const words value = first_of(x) & 0xffu;
    if (any((numbers)(x != value * 0x01010101u)) || !is_flat(value, s, p, n)) return false;
    result = words{};
    if constexpr (method == threshold_method::phansalkar) result = yes & (0x01010101u * rule.flat[value[0]]);
    return method != threshold_method::wolf || !any((numbers)value != static_cast<s32>(rule.smallest));
}

typedef signed char signed_bytes __attribute__((vector_size(bytes)));

/// `yes` in the pixels whose numbers are negative, else 0.
inline words where_negative(const numbers (&v)[4], words yes) {
#if defined(__AVX2__)
    // Packing with saturation keeps signs; each 16 bytes then hold four first places, four second ones, ...
    const __m128i order = _mm_set_epi32(0x0f0b0703, 0x0e0a0602, 0x0d090501, 0x0c080400);
#if defined(__AVX512BW__)
    const __m512i low = _mm512_packs_epi32((__m512i)v[0], (__m512i)v[1]);
    const __m512i high = _mm512_packs_epi32((__m512i)v[2], (__m512i)v[3]);
    const words signs = in_order((words)_mm512_packs_epi16(low, high), order);
    return (words)_mm512_maskz_mov_epi8(_mm512_movepi8_mask((__m512i)signs), (__m512i)yes);
#else
    const __m256i low = _mm256_packs_epi32((__m256i)v[0], (__m256i)v[1]);
    const __m256i high = _mm256_packs_epi32((__m256i)v[2], (__m256i)v[3]);
    const words signs = in_order((words)_mm256_packs_epi16(low, high), order);
#endif
#elif defined(__aarch64__)  // shifts that keep what is above
    uint32x4_t packed = vsriq_n_u32((uint32x4_t)v[3], (uint32x4_t)v[2], 8);
    packed = vsriq_n_u32(packed, (uint32x4_t)v[1], 16);
    const words signs = (words)vsriq_n_u32(packed, (uint32x4_t)v[0], 24);
#else
    const words low = chosen(all(0xffu), (words)v[0] >> 24, (words)v[1] >> 16);
    const words high = chosen(all(0xff0000u), (words)v[2] >> 8, (words)v[3]);
    const words signs = chosen(all(0xffffu), low, high);
#endif
#if !defined(__AVX512BW__)
    return (words)((signed_bytes)signs < 0) & yes;
#endif
}

/// Bradley with 0 <= 1 - k <= 1 where sums can be rounded down: x > T as x > floor(T), of bytes. Floors of T with 16 u
/// less and more are alike, or else the pixels that they tell apart are in doubt.
#if defined(__AVX512F__)
template <threshold_method method, kind rows>
constexpr bool by_floors = method == threshold_method::bradley&& rows != kind::any;

template <typename Factors>
inline bool exceed_floors(words& result, words x, const four& s, Factors&& factors_of, words yes) {
    four low, high;
    words differ = {};
    for (int j = 0; j < 4; ++j) {
        const threshold_factors<threshold_method::bradley>& f = factors_of(j);
        const auto floor_of = [&](reals factor) {  // in the low byte of the sum with 2^23
            return (words)_mm512_fmadd_round_ps((__m512) __builtin_convertvector((numbers)s.w[j], reals),
                                                (__m512)factor, (__m512)all_real(0x1p23f),
                                                _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
        };
        low.w[j] = floor_of(f.limit);
        high.w[j] = floor_of(f.other);
        differ = (words)_mm512_ternarylogic_epi32((__m512i)differ, (__m512i)low.w[j], (__m512i)high.w[j], 0xf6);
    }
    const auto above = [&](const four& limits) {
        return (words)_mm512_maskz_mov_epi8(_mm512_cmpgt_epu8_mask((__m512i)x, (__m512i)pack(limits)), (__m512i)yes);
    };
    result = above(low);
    if (__builtin_expect(_mm512_test_epi32_mask((__m512i)differ, (__m512i)differ) == 0, true)) return false;
    const words other = result ^ above(high);
    return _mm512_test_epi32_mask((__m512i)other, (__m512i)other) != 0;
}
#else
template <threshold_method, kind>
constexpr bool by_floors = false;
#endif

/// A block of which pixels are in doubt.
struct doubtful_block {
    words x;
    four s, p, n;

    inline void keep(words pixels, const four& sums, const four& spreads, const words (&counts)[4]) {
        x = pixels;
        for (int j = 0; j < 4; ++j) {
            s.w[j] = sums.w[j];
            p.w[j] = spreads.w[j];
            n.w[j] = counts[j];
        }
    }
};

/// By the definition.
words decided(const doubtful_block& b, const byte_threshold& rule, i64 here) {
    const defined_block block(b.s, b.p, b.n.w);
    f64 limit[bytes];
    alignas(bytes) u8 pixels[bytes], verdict[bytes] = {};
    store(pixels, b.x);
    rule.pixels->thresholds(limit, pixels, block.mean, block.deviation, *rule.definition, here, 1);
    rule.pixels->exceeds(verdict, pixels, limit, 255, here);
    return load<words>(verdict);
}

/// Decides from block i on. Ends behind a block of which pixels are in doubt, which is left to the caller, so that the
/// loop calls nothing; or behind the row. Whether it is the former.
template <threshold_method method, kind rows>
__attribute__((noinline)) bool decide_until_doubt(i64& i, target_blocks<u8>& to, const source_blocks& pixels,
                                                  row_scan<rows>& sums, row_scan<rows>& spreads,
                                                  count_scan<rows>& numbers_of, const byte_counts& counts,
                                                  const byte_threshold& given_rule, i64 n, doubtful_block& left) {
    row_scan<rows> s_scan = sums, p_scan = spreads;
    const byte_threshold rule = given_rule;  // which what is written does not change
    const threshold_factors<method> full(all_real(1 / static_cast<f32>(counts.rows * counts.full)), rule);
    const words yes = all(0x01010101u * rule.yes);
    const bool stopped = for_each_block<rows>(
        i, counts, n, [&](i64 at, auto sizes) __attribute__((always_inline)) {
            const four s = s_scan.next(at);
            four p = {};
            if constexpr (!of_means<method>) p = p_scan.next(at);
            words count[4];
            bool uniform = decltype(sizes)::value;
            if (rows == kind::any) uniform = numbers_of.next(count, at, sizes);
            const words x = pixels.at(at);
            // Whether pixels are in doubt; then `result` is not theirs.
            words result;
            const auto judge = [&](auto&& factors_of) __attribute__((always_inline)) {
                if constexpr (by_floors<method, rows>) {
                    return exceed_floors(result, x, s, factors_of, yes);
                } else {
                    verdicts v = decide<method>(x, s, p, factors_of, rule);
                    bool in_doubt = v.in_doubt();
                    if constexpr (method == threshold_method::niblack || method == threshold_method::wolf ||
                                  method == threshold_method::phansalkar)
                        if (__builtin_expect(in_doubt, false)) {
                            if (rows != kind::any) numbers_of.next(count, at, sizes);
                            if (settle_flat<method>(result, x, s, p, count, rule, yes)) return false;
                            if constexpr (method != threshold_method::phansalkar) {
                                settle_ties<method>(v, x, s, p, count, rule);
                                in_doubt = v.in_doubt();
                            }
                        }
                    result = where_negative(v.yes, yes);
                    return in_doubt;
                }
            };
            const bool doubtful =
                uniform ? judge([&](int) -> const threshold_factors<method>& { return full; })
                        : judge([&](int j) { return threshold_factors<method>(numbers_of.reciprocal(j, at), rule); });
            if (__builtin_expect(doubtful, false)) {
                if (rows != kind::any) numbers_of.next(count, at, sizes);
                left.keep(x, s, p, count);
            }
            if (numbers_of.sampled()) result = numbers_of.filled_pixels(result, at);
            store(to.at(at), result);
            return doubtful;
        });
    sums.continue_as(s_scan);
    spreads.continue_as(p_scan);
    return stopped;
}

template <threshold_method method, kind rows>
void decide_row(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
                const byte_threshold& rule, i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<rows> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<rows> numbers_of(counts);
    const source_blocks pixels(x, n);
    target_blocks<u8> to(out, n);
    doubtful_block left;
    for (i64 i = 0;
         decide_until_doubt<method, rows>(i, to, pixels, s_scan, p_scan, numbers_of, counts, rule, n, left);) {
        const i64 at = i - bytes;
        words result = decided(left, rule, n - at < bytes ? n - at : bytes) & all(0x01010101u * rule.yes);
        if (numbers_of.sampled()) result = numbers_of.filled_pixels(result, at);
        store(to.at(at), result);
    }
}

template <threshold_method method>
void decide_by(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
               const byte_threshold& rule, i64 n) {
    kind of = kind_of(sums, counts);
    if (method == threshold_method::bradley && !(rule.scale >= 0 && rule.scale <= 1)) of = kind::any;
    if (of == kind::plain) return decide_row<method, kind::plain>(out, x, sums, spreads, counts, rule, n);
    if constexpr (of_means<method>)
        if (of == kind::wide) return decide_row<method, kind::wide>(out, x, sums, spreads, counts, rule, n);
    decide_row<method, kind::any>(out, x, sums, spreads, counts, rule, n);
}

void decide_pixels(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                   const byte_counts& counts, const byte_threshold& rule, i64 n) {
    switch (rule.definition->method) {
        case threshold_method::bradley:
            return decide_by<threshold_method::bradley>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::niblack:
            return decide_by<threshold_method::niblack>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::nick:
            return decide_by<threshold_method::nick>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::wolf:
            return decide_by<threshold_method::wolf>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::sauvola:
            return decide_by<threshold_method::sauvola>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::singh:
            return decide_by<threshold_method::singh>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::phansalkar:
            return decide_by<threshold_method::phansalkar>(out, x, sums, spreads, counts, rule, n);
    }
}

// ---- means and deviations ----

typedef f64 doubles __attribute__((vector_size(bytes)));
typedef s32 few_numbers __attribute__((vector_size(bytes / 2)));
typedef f32 few_reals __attribute__((vector_size(bytes / 2)));

template <int half, int... i>
inline few_numbers half_of(words v, lanes<u64>::list<i...>) {
    return __builtin_shufflevector((numbers)v, (numbers)v, (half * lanes_of_block / 2 + i)...);
}
/// Half of the lanes, in double.
template <int half>
inline doubles in_double(words v) {
#if defined(__aarch64__)  // GCC 12 converts lane by lane
    const auto x = (uint32x4_t)v;
    return (doubles)vcvtq_f64_u64(half == 0 ? vmovl_u32(vget_low_u32(x)) : vmovl_high_u32(x));
#else
    const few_numbers x = half_of<half>(v, typename make_list<lanes_of_block / 2>::template of<lanes<u64>>{});
#if defined(__AVX512F__)
    return (doubles)_mm512_maskz_cvtepu32_pd(0xff, (__m256i)x);
#else  // what instruction sets have are conversions of signed numbers
    return __builtin_convertvector((few_numbers)(x ^ (s32)0x80000000), doubles) + 0x1p31;
#endif
#endif
}
template <int half, int... i>
inline few_reals half_of(reals v, lanes<u64>::list<i...>) {
    return __builtin_shufflevector(v, v, (half * lanes_of_block / 2 + i)...);
}
template <int half>
inline doubles of_single(reals v) {
#if defined(__aarch64__)  // GCC 12 converts lane by lane
    const auto x = (float32x4_t)v;
    return (doubles)(half == 0 ? vcvt_f64_f32(vget_low_f32(x)) : vcvt_high_f64_f32(x));
#else
    const few_reals x = half_of<half>(v, typename make_list<lanes_of_block / 2>::template of<lanes<u64>>{});
#if defined(__AVX512F__)
    return (doubles)_mm512_maskz_cvtps_pd(0xff, (__m256)x);
#else
    return __builtin_convertvector(x, doubles);
#endif
#endif
}
inline few_reals in_single(doubles v) {
#if defined(__AVX512F__)  // GCC 12 converts halves
    return (few_reals)_mm512_maskz_cvtpd_ps(0xff, (__m512d)v);
#else
    return __builtin_convertvector(v, few_reals);
#endif
}
template <int... i>
inline reals joined(few_reals a, few_reals b, lanes<f32>::list<i...>) {
    return __builtin_shufflevector(a, b, i...);
}
inline doubles root_of(doubles v) {
#if defined(__AVX512F__)
    return (doubles)_mm512_maskz_sqrt_pd(0xff, (__m512d)v);
#elif defined(__AVX__)
    return (doubles)_mm256_sqrt_pd((__m256d)v);
#elif defined(__SSE2__)
    return (doubles)_mm_sqrt_pd((__m128d)v);
#elif defined(__aarch64__)
    return (doubles)vsqrtq_f64((float64x2_t)v);
#else
    for (int k = 0; k < bytes / 8; ++k) v[k] = __builtin_sqrt(v[k]);
    return v;
#endif
}

/// c - a b, of which nothing is rounded.
inline doubles less_product(doubles c, doubles a, doubles b) {
#if defined(__AVX512F__)
    return (doubles)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (doubles)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    return (doubles)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return c - a * b;
#endif
}

/// a b + c, rounded once or twice: for what has a bound of its error.
inline doubles multiply_add(doubles a, doubles b, doubles c) {
#if defined(__AVX512F__)
    return (doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    return (doubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

/// Whether one of the numbers that it was given has none of certain bits.
class bits_missing {
  public:
    explicit bits_missing(u64 bits) : bits_(longs{} + bits) {}
#if defined(__AVX512F__)
    inline void look_at(longs v) {
        found_ |= _mm512_testn_epi64_mask((__m512i)v, (__m512i)bits_);
    }
    inline bool found() const {
        return found_ != 0;
    }

  private:
    longs bits_;
    __mmask8 found_ = 0;
#else
    inline void look_at(longs v) {
        found_ |= (longs)((v & bits_) == 0u);
    }
    inline bool found() const {
        return any((numbers)found_);
    }

  private:
    longs bits_, found_ = {};
#endif
};

/// How many pixels windows of half the lanes have: n, 255 n, 2 n, 1 / n.
struct real_counts {
    doubles n, most, twice, reciprocal;

    explicit real_counts(doubles count) : real_counts(count, 1.0 / count) {}
    /// `near`: 1 / n within 3 units of 2^-24. A step of Newton's leaves 2^-44.8 of it, two 2 units of 2^-53.
    template <int steps>
    static real_counts of(doubles count, doubles near) {
        for (int step = 0; step < steps; ++step)
            near = multiply_add(less_product(doubles{} + 1.0, count, near), near, near);
        return real_counts(count, near);
    }

  private:
    real_counts(doubles count, doubles one_over)
        : n(count), most(255.0 * count), twice(count + count), reciprocal(one_over) {}
};

struct real_windows {
    doubles sum, spread;
    const real_counts& of;

    /// n^2 times the variance, an integer below 2^53.
    inline doubles numerator() const { return less_product(sum * (of.most - sum), spread, of.twice); }
};

template <int half>
struct place {
    static constexpr int value = half;
};

/// Calls f(windows, numbers, place<half>, j) for both halves of the lanes and each place in a lane; it makes `results`
/// numbers of 32 bits each. counts_of(place<half>, j) has their real_counts.
template <int results, typename Counts, typename F>
inline void for_each_half(const four& s, const four& p, Counts&& counts_of, reals (*to)[4], F&& f) {
    for (int j = 0; j < 4; ++j) {
        few_reals low[results], high[results];
        f(real_windows{in_double<0>(s.w[j]), in_double<0>(p.w[j]), counts_of(place<0>{}, j)}, low, place<0>{}, j);
        f(real_windows{in_double<1>(s.w[j]), in_double<1>(p.w[j]), counts_of(place<1>{}, j)}, high, place<1>{}, j);
        for (int k = 0; k < results; ++k)
            to[k][j] = joined(low[k], high[k], typename make_list<lanes_of_block>::template of<lanes<f32>>{});
    }
}

/// Calls f(counts_of) for a block: most have windows of one size, of which nothing is converted or divided.
/// reciprocal_of(j): about 1 / n of the windows at place j, which so many steps make better.
template <int steps, typename Reciprocal, typename F>
inline void with_counts(bool uniform, const real_counts& full, const words (&n)[4], Reciprocal&& reciprocal_of, F&& f) {
    if (uniform)
        f([&](auto, int) -> const real_counts& { return full; });
    else
        f([&](auto half, int j) {
            return real_counts::of<steps>(in_double<decltype(half)::value>(n[j]),
                                          of_single<decltype(half)::value>(reciprocal_of(j)));
        });
}

/// Means and deviations in 32 bits of windows of n pixels each: S / n and the root of N / n^2, N = S (255 n - S) - 2 n
/// P, each rounded in double, and then to 32 bits. N is exact in double. The products with 1 / n are within 2^-44.7 of
/// those, so they round alike unless they are as close to the middle between two numbers of 32 bits.
/// - Means: S / n, whose middle would be an odd multiple of 2^-(24 - e) for a mean from 2^e on, is that middle only if
///   2^17 divides n, which is left out; else it is 2^-25 / n of itself or more away, with n <= 2^19 much further than
///   that.
/// - Deviations: told by the bits; then the block is done by the definition.
struct real_moments {
    reals mean[4], deviation[4];
};

template <typename Counts>
inline real_moments moments_by_inverses(const four& s, const four& p, Counts&& counts_of, bits_missing& middles) {
    real_moments to;
    for (int j = 0; j < 4; ++j) {
        few_reals means[2], deviations[2];
        const auto find = [&](auto half) __attribute__((always_inline)) {
            constexpr int h = decltype(half)::value;
            const real_windows w{in_double<h>(s.w[j]), in_double<h>(p.w[j]), counts_of(half, j)};
            const doubles root = root_of(w.numerator()) * w.of.reciprocal;
            // The 29 bits that 32-bit numbers lack, within 1024 of their middle.
            middles.look_at((longs)root - (longs{} + 0x0ffffc00u));
            means[h] = in_single(w.sum * w.of.reciprocal);
            deviations[h] = in_single(root);
        };
        find(place<0>{});
        find(place<1>{});
        const typename make_list<lanes_of_block>::template of<lanes<f32>> every;
        to.mean[j] = joined(means[0], means[1], every);
        to.deviation[j] = joined(deviations[0], deviations[1], every);
    }
    return to;
}

/// Finds results from block i on. Ends behind a block that takes the definition, which is left to the caller; or behind
/// the row. Whether it is the former.
template <kind rows>
__attribute__((noinline)) bool find_deviations(i64& i, target_blocks<f32>& to_mean, target_blocks<f32>& to_deviation,
                                               row_scan<rows>& sums, row_scan<rows>& spreads,
                                               count_scan<rows>& numbers_of, const byte_counts& counts, i64 n,
                                               doubtful_block& left) {
    row_scan<rows> s_scan = sums, p_scan = spreads;
    const u32 full = counts.rows * counts.full;
    const real_counts full_counts(doubles{} + static_cast<f64>(full));
    const bool stopped = for_each_block<rows>(
        i, counts, n, [&](i64 at, auto sizes) __attribute__((always_inline)) {
            const four s = s_scan.next(at), p = p_scan.next(at);
            words count[4];
            const bool uniform = numbers_of.next(count, at, sizes);
            bool defined = uniform && full % 131072 == 0;
            if (!uniform) {
                numbers ties = {};
                for (const words& c : count) ties |= (c & 131071u) == 0u;
                defined = any(ties);
            }
            bits_missing middles(0x1ffff800);
            const auto find = [&](auto&& counts_of) __attribute__((always_inline)) {
                real_moments found = moments_by_inverses(s, p, counts_of, middles);
                if (numbers_of.sampled()) {
                    numbers_of.fill_reals(found.mean, at);
                    numbers_of.fill_reals(found.deviation, at);
                }
                if (to_mean.wanted()) store_reals(to_mean.at(at), found.mean);
                store_reals(to_deviation.at(at), found.deviation);
            };
            with_counts<1>(
                uniform, full_counts, count, [&](int j) { return numbers_of.reciprocal(j, at); }, find);
            defined |= middles.found();
            if (__builtin_expect(defined, false)) left.keep(words{}, s, p, count);
            return defined;
        });
    sums.continue_as(s_scan);
    spreads.continue_as(p_scan);
    return stopped;
}

template <kind rows>
void deviations_of(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                   const byte_counts& counts, i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<rows> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<rows> numbers_of(counts);
    target_blocks<f32> to_mean(mean, n), to_deviation(deviation, n);
    doubtful_block left;
    for (i64 i = 0; find_deviations<rows>(i, to_mean, to_deviation, s_scan, p_scan, numbers_of, counts, n, left);) {
        const defined_block block(left.s, left.p, left.n.w);
        alignas(bytes) f32 means[bytes], deviations[bytes];
        for (int k = 0; k < bytes; ++k) {
            means[k] = static_cast<f32>(block.mean[k]);
            deviations[k] = static_cast<f32>(block.deviation[k]);
        }
        if (numbers_of.sampled()) {
            numbers_of.fill_pixels(means, i - bytes);
            numbers_of.fill_pixels(deviations, i - bytes);
        }
        if (to_mean.wanted()) std::memcpy(to_mean.at(i - bytes), means, sizeof means);
        std::memcpy(to_deviation.at(i - bytes), deviations, sizeof deviations);
    }
}

void deviations(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                const byte_counts& counts, i64 n) {
    kind_of(sums, counts) == kind::plain ? deviations_of<kind::plain>(mean, deviation, sums, spreads, counts, n)
                                         : deviations_of<kind::any>(mean, deviation, sums, spreads, counts, n);
}

/// Whether a window may have a variance above `limit`, by the exact numerator of each: n^2 times the limit errs by less
/// than a unit of its last place.
inline bool may_exceed(const four& s, const four& p, const words (&n)[4], f64 limit) {
    const auto exceeds = [&](auto half, int j) {
        constexpr int h = decltype(half)::value;
        const doubles count = in_double<h>(n[j]), sum = in_double<h>(s.w[j]);
        const doubles numerator = less_product(sum * (255.0 * count - sum), in_double<h>(p.w[j]), count + count);
        return (longs)(numerator > limit * (count * count));
    };
    longs above = {};
    for (int j = 0; j < 4; ++j) above |= exceeds(place<0>{}, j) | exceeds(place<1>{}, j);
    return any((numbers)above);
}

/// Looks for a variance above `most`, from block i on. Ends behind the block that may have one, or behind the row.
/// Whether it is the former. In 32 bits a variance errs by less than 0.04 (see verdicts).
template <kind rows>
__attribute__((noinline)) bool find_variance(i64& i, const u8* x, row_scan<rows>& sums, row_scan<rows>& spreads,
                                             count_scan<rows>& numbers_of, const byte_counts& counts, f64 most, i64 n,
                                             doubtful_block& found) {
    row_scan<rows> s_scan = sums, p_scan = spreads;
    const f32 limit = static_cast<f32>(most) - 0.05f;
    const f64 exact_limit = most * (1 - 0x1p-50);
    const reals full = all_real(1 / static_cast<f32>(counts.rows * counts.full));
    const bool larger = for_each_block<rows>(
        i, counts, n, [&](i64 at, auto sizes) __attribute__((always_inline)) {
            four s = s_scan.next(at), p = p_scan.next(at);
            words count[4];
            bool uniform = decltype(sizes)::value;
            if (rows == kind::any) uniform = numbers_of.next(count, at, sizes);
            if (__builtin_expect(most == 0, false)) {  // no bound above 0 leaves flat areas out
                if (rows != kind::any) numbers_of.next(count, at, sizes);
                if (is_flat(all(x[at]), s, p, count)) return false;
            }
            reals largest = {};
            for (int j = 0; j < 4; ++j) {
                if (numbers_of.sampled()) {  // windows without a result have no variance
                    s.w[j] = numbers_of.filled(j, at, s.w[j], words{});
                    p.w[j] = numbers_of.filled(j, at, p.w[j], words{});
                }
                const reals reciprocal = uniform ? full : numbers_of.reciprocal(j, at);
                const reals variance =
                    variance_of(__builtin_convertvector((numbers)s.w[j], reals), __builtin_convertvector(p.w[j], reals),
                                reciprocal, reciprocal * -2.0f);
                largest = variance > largest ? variance : largest;
            }
            if (__builtin_expect(!any(largest > limit), true)) return false;
            if (rows != kind::any) numbers_of.next(count, at, sizes);
            if (!may_exceed(s, p, count, exact_limit)) return false;
            found.keep(words{}, s, p, count);
            return true;
        });
    sums.continue_as(s_scan);
    spreads.continue_as(p_scan);
    return larger;
}

/// The largest variance of the row's windows and of `largest`: only blocks that may have a larger one are done by the
/// definition.
template <kind rows>
f64 largest_variance_of(f64 largest, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                        const byte_counts& counts, i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<rows> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<rows> numbers_of(counts);
    doubtful_block found;
    for (i64 i = 0; find_variance<rows>(i, x, s_scan, p_scan, numbers_of, counts, largest, n, found);) {
        const defined_block block(found.s, found.p, found.n.w);
        for (i64 k = 0; k < bytes && k < n - (i - bytes); ++k)
            largest = block.variance[k] > largest ? block.variance[k] : largest;
    }
    return largest;
}

f64 largest_variance(f64 largest, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                     const byte_counts& counts, i64 n) {
    return kind_of(sums, counts) == kind::plain ? largest_variance_of<kind::plain>(largest, x, sums, spreads, counts, n)
                                                : largest_variance_of<kind::any>(largest, x, sums, spreads, counts, n);
}

void above(u8* __restrict out, const u8* __restrict x, const u8* __restrict limit, u8 yes, i64 n) {
    for (i64 i = 0; i < n; ++i) out[i] = x[i] > limit[i] ? yes : u8{0};
}

u8 smallest(const u8* x, i64 n) {
    u8 least = 255;
    for (i64 i = 0; i < n; ++i) least = x[i] < least ? x[i] : least;
    return least;
}

/// (x - S / n) / max(root, epsilon), as the definition has it, by a product with 1 / n: x - S / n = (n x - S) / n is
/// exactly 0 or as good as its numerator; the definition's errs by 2^-46 and one rounding, as it rounds S / n first;
/// all others of both by less than 16 units of the last place. Where that decides what 32 bits hold, the block is done
/// by the definition.
void contrasts(f32* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
               f64 epsilon, i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<kind::any> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<kind::any> numbers_of(counts);
    const real_counts full_counts(doubles{} + static_cast<f64>(counts.rows * counts.full));
    const doubles least = doubles{} + epsilon;
    const source_blocks from(x, n);
    target_blocks<f32> written(out, n);
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i), p = p_scan.next(i);
        words count[4];
        const bool uniform = numbers_of.next(count, i, of_several_counts{});
        const auto reciprocal_of = [&](int j) { return numbers_of.reciprocal(j, i); };
        const words pixels = from.at(i);
        const auto pixel = [&](auto half, int j) {
            return in_double<decltype(half)::value>((pixels >> (8 * j)) & 0xffu);
        };
        const auto divisor = [&](doubles root) {
            const longs below = (longs)(root < least);
            return (doubles)(((longs)least & below) | ((longs)root & ~below));
        };
        reals results[2][4];
        with_counts<2>(uniform, full_counts, count, reciprocal_of, [&](auto&& counts_of) {
            for_each_half<2>(s, p, counts_of, results, [&](const real_windows& w, few_reals* to, auto half, int j) {
                const doubles inverse = 1.0 / divisor(root_of(w.numerator()) * w.of.reciprocal);
                const doubles d = less_product(-w.sum, -pixel(half, j), w.of.n);
                const doubles difference = d * w.of.reciprocal, result = difference * inverse;
                const doubles size = (doubles)((longs)difference & 0x7fffffffffffffff);
                const doubles slack =
                    (size * 0x1p-49 + (doubles)((longs)(doubles{} + 0x1p-45) & (longs)(d != 0.0))) * inverse;
                to[0] = in_single(result - slack);
                to[1] = in_single(result + slack);
            });
        });
        numbers differ = {};
        for (int j = 0; j < 4; ++j) differ |= ~(results[0][j] == results[1][j]);  // NaN, too
        if (any(differ))
            with_counts<2>(false, full_counts, count, reciprocal_of, [&](auto&& counts_of) {
                for_each_half<1>(s, p, counts_of, results, [&](const real_windows& w, few_reals* to, auto half, int j) {
                    const doubles root = root_of(w.numerator() / (w.of.n * w.of.n));
                    to[0] = in_single((pixel(half, j) - w.sum / w.of.n) / divisor(root));
                });
            });
        if (numbers_of.sampled()) numbers_of.fill_reals(results[0], i);
        store_reals(written.at(i), results[0]);
    }
}

}  // namespace

constinit const byte_kernels byte_rows = {
    bytes,        sample, change_planes, change_both_planes, plane_totals,     find_numbers, means,
    column_means, above,  decide_pixels, deviations,         largest_variance, smallest,     contrasts,
};

}  // namespace boxsum::filters::BOXSUM_ROWS
