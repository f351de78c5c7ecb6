// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Windows of 8-bit images, a row at a time, without shuffles: 32-bit lane l of a block of elements (as many as a vector
// has bytes) holds elements 4 l .. 4 l + 3. Masks and shifts part them into even and odd elements of 16 bits, which are
// kept as two arrays (planes); what enters a window or leaves it is an unaligned load from one of them. One scan of the
// lanes' totals, or one for each of several channels, serves the whole block. "Lane order" of a block: the first pixels
// of all lanes, then the second, third and fourth ones.

namespace byte_lanes {

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
#if defined(__AVX512F__)
constexpr bool fused = true;
#else
constexpr bool fused = false;
#endif
inline reals multiply_add(reals a, reals b, reals c) {
#if defined(__AVX512F__)
    return (reals)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
    return a * b + c;
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

u32 plane_total(const u16* x, i64 n, bool is_signed) {
    u32 unsigned_sum = 0, signed_sum = 0;
    for (i64 i = 0; i < n; ++i) {
        unsigned_sum += x[i];
        signed_sum += static_cast<u32>(static_cast<s32>(static_cast<s16>(x[i])));
    }
    return is_signed ? signed_sum : unsigned_sum;
}

void plane_totals(u32* totals, const u16* even, const u16* odd, i64 first, i64 count, i64 channels, bool is_signed) {
    for (i64 k = 0; k < channels; ++k) totals[k] = 0;
    // Element e is even[e / 2] or odd[(e - 1) / 2]; shifts round down, below 0, too. Of a plane every second or third
    // element, or each, is of one channel: 48 sums of every 48th.
    const i64 begin = first * channels;
    for (i64 parity = 0; parity < 2; ++parity) {
        const u16* const x = parity == 0 ? even : odd;
        const i64 from = (begin + 1 - parity) >> 1, stop = (begin + count * channels + 1 - parity) >> 1;
        if (channels == 1) {
            totals[0] += plane_total(x + from, stop - from, is_signed);
            continue;
        }
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
    const auto chosen = [](words mask, words a, words b) {  // a where the mask has ones, else b
        return (words)_mm512_ternarylogic_epi32((__m512i)mask, (__m512i)a, (__m512i)b, 0xca);
    };
    return chosen(all(0xffffu), chosen(all(0xffu), f.w[0], f.w[1] << 8), chosen(all(0xffu), f.w[2], f.w[3] << 8) << 16);
#else
    return ((f.w[0] & 0xffu) | (f.w[1] & 0xffu) << 8) | ((f.w[2] & 0xffu) << 16 | f.w[3] << 24);
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
#else
    return (words)(((numbers)((words)v << 16) >> 16) * low + ((numbers)v >> 16) * high);
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

    inline four next(i64 i) {
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

/// Values in lane order become those of neighbouring pixels.
inline void store_reals(f32* to, const reals (&v)[4]) {
    const typename make_list<lanes_of_block>::template of<lanes<f32>> every;
    const reals a = zip_low(v[0], v[2], every), b = zip_low(v[1], v[3], every);
    const reals c = zip_high(v[0], v[2], every), d = zip_high(v[1], v[3], every);
    const reals ordered[4] = {zip_low(a, b, every), zip_high(a, b, every), zip_low(c, d, every), zip_high(c, d, every)};
    std::memcpy(to, ordered, sizeof ordered);
}

/// How many pixels count in each of a block's windows.
template <kind rows>
class count_scan {
  public:
    explicit count_scan(const byte_counts& counts)
        : counts_(counts),
          none_{},
          numbers_(counts.samples != nullptr ? counts.samples->numbers : none_, carries_),
          full_(all(counts.rows * counts.full)) {}

    /// At least 1. Whether all have the same number. `left`: elements of the row from the block's first on.
    inline bool next(words (&n)[4], i64 i, i64 left) {
        if (sampled()) {
            const four f = next_sampled(i, left);
            for (int j = 0; j < 4; ++j) n[j] = f.w[j];
            return false;
        }
        if (i >= counts_.first_full && i < counts_.end_full) {
            for (words& each : n) each = full_;
            return true;
        }
        for (int j = 0; j < 4; ++j) n[j] = load<words>(counts_.cols + i + j * lanes_of_block) * counts_.rows;
        return false;
    }

    bool sampled() const { return rows == kind::any && counts_.samples != nullptr; }
    /// Results of a block with `fill` in place of those of too few pixels.
    inline words filled(int j, words result, words fill) const { return (result & given_[j]) | (fill & ~given_[j]); }
    inline words given(int j) const { return given_[j]; }
    /// Bytes that are all ones where the window has enough pixels and its own one counts.
    inline words given_pixels(i64 i, i64 left) const {
        const four f = {{given_[0], given_[1], given_[2], given_[3]}};
        return pack(f) & (load_pixels(counts_.samples->own + i, left) * 255u);
    }
    inline void fill_reals(reals (&v)[4]) const {
        for (int j = 0; j < 4; ++j) v[j] = (reals)filled(j, (words)v[j], (words)all_real(counts_.samples->fill_real));
    }

  private:
    __attribute__((noinline)) four next_sampled(i64 i, i64 left) {
        const byte_samples& samples = *counts_.samples;
        four f = numbers_.next(i);
        reals bits[4];
        for (int j = 0; j < 4; ++j) {
            given_[j] = (words)(f.w[j] >= all(samples.least));
            bits[j] = (reals)f.w[j];
            f.w[j] -= (words)(f.w[j] == 0u);
        }
        if (samples.counted != nullptr) {
            target_blocks<u32> to(samples.counted + i, left < bytes ? left : bytes);
            store_reals(reinterpret_cast<f32*>(to.at(0)), bits);
        }
        return f;
    }

    const byte_counts& counts_;
    const byte_windows none_;
    channel_carries carries_;
    row_scan<rows> numbers_;
    words full_, given_[4];
};

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

    inline void take(four& f) const {
        switch (way_) {
            case way::direct:
                for (words& w : f.w) w = rounded(__builtin_convertvector((numbers)w, reals), 0);
                return;
            case way::centred:
                for (words& w : f.w) w = rounded(__builtin_convertvector((numbers)(w - centre_), reals) + bias_, 127);
                return;
            case way::exact:
                for (words& w : f.w) {
                    const words t = w + half_;
#if defined(__AVX512F__)  // rounded down to an integer by the sum with 2^23, whose bits are 0x4b000000
                    const words q = (words)_mm512_fmadd_round_ps((__m512) __builtin_convertvector((numbers)t, reals),
                                                                 (__m512)reciprocal_, (__m512)all_real(0x1p23f),
                                                                 _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
                    const words remainder = t + 0x4b000000u * n_ - q * n_;
                    w = (words)_mm512_mask_add_epi32((__m512i)q,
                                                     _mm512_cmpge_epi32_mask((__m512i)remainder, (__m512i)all(n_)),
                                                     (__m512i)q, (__m512i)all(1));
#else
                    const reals quotient = __builtin_convertvector((numbers)t, reals) * reciprocal_;
                    const words q = (words) __builtin_convertvector(quotient, numbers);
                    w = q - (words)((numbers)(t - q * n_) >= (numbers)all(n_));
#endif
                }
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

/// The same where each window has its own count.
inline words means_of_each(words w, words n, bool half_up) {
    const words t = half_up ? w + (n >> 1) : w;
    const reals reciprocal = all_real(quotient<u32>::reduced) / __builtin_convertvector((numbers)n, reals);
    const words q = (words) __builtin_convertvector(__builtin_convertvector((numbers)t, reals) * reciprocal, numbers);
    return q - (words)((numbers)(t - q * n) >= (numbers)n);
}

template <kind rows>
void means_of(u8* out, const byte_windows& row, const byte_counts& counts, bool half_up, i64 n) {
    channel_carries carries;
    row_scan<rows> scan(row, carries);
    count_scan<rows> numbers_of(counts);
    target_blocks<u8> to(out, n);
    const uniform_means uniform(counts.rows * counts.full, half_up);
    for (i64 i = 0; i < n; i += bytes) {
        four f = scan.next(i);
        words count[4];
        if (numbers_of.next(count, i, n - i))
            uniform.take(f);
        else
            for (int j = 0; j < 4; ++j) f.w[j] = means_of_each(f.w[j], count[j], half_up);
        if (numbers_of.sampled())
            for (int j = 0; j < 4; ++j) f.w[j] = numbers_of.filled(j, f.w[j], all(counts.samples->fill));
        store(to.at(i), pack(f));
    }
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
/// Whether one of the lanes is negative: masks are, where they hold.
inline bool any(numbers v) {
#if defined(__AVX512DQ__)
    return _mm512_movepi32_mask((__m512i)v) != 0;
#elif defined(__AVX__)
    return _mm256_movemask_ps((__m256)v) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)v) != 0;
#else
    const longs parts = (longs)v;
    u64 joined = 0;
    for (int i = 0; i < bytes / 8; ++i) joined |= parts[i];
    return (joined & 0x8000000080000000u) != 0;
#endif
}
inline reals multiply_add(reals a, f32 b, reals c) {
    return multiply_add(a, all_real(b), c);
}

/// A pixel against its window, by comparisons in 32 bits with a bound E of their error; u = 2^-24. With the sum S, P of
/// the window, m = S / n, var = m (255 - m) - 2 P / n and M the true mean:
///   m errs by 3 u M; m (255 - m) by u M (3 M + 5 (255 - M)), 2 P / n <= M (255 - M) by 4 u of it; var by 2550 u M.
///   bradley: x > (1 - k) m, whose six roundings err by 6 u of itself: x is compared with 16 u less and 16 u more.
///   Others: x > c + d, as a |a| > e with a = x - (1 - k) m or x - m, g = max(1, |1 - k|):
///     a errs by 5 u g M + u |a|, so a |a| by |a| u 255 g 13;
///     sauvola: e = (k / R) |k / R| m^2 var errs by 12 u of itself and (k / R)^2 m^2 2550 u M;
///     niblack: e = k |k| var by 2 u of itself and k^2 2550 u M;
///     nick: e = k |k| (255 m - 2 P / n), likewise.
///   Where both sides are closer than E, e is at most a^2 + E. All in all E = 8192 u g |a| + 3600 u f m with f = 255
///   (k / R)^2 m or k^2.
///   wolf, with r = m - I and its true size at most R = |r| + 1024 u, h = max(1, |1 - k|, |k|), D the largest
///   deviation:
///     a = x - ((1 - k) m + k I) errs by 2040 u h + u |a|, so a |a| by 16384 u h |a|, and by (2 u h)(h) where |a| is
///     less than its error; e = (k / D) |k / D| r |r| var by (k / D)^2 R^2 650250 u and, as var is at most D^2, by 2040
///     u k^2 R.
/// Pixels within E are in doubt. Those of a window that is one value, ties of niblack, and of wolf where it is I, are
/// told by integers; a block with others is done again by the definition, in double.
struct verdicts {
    numbers yes[4];  ///< negative, or not
    numbers doubts = {};
};

template <threshold_method method>
inline verdicts decide(words x, const four& s, const four& p, const words* n, const reals* reciprocal,
                       const byte_threshold& rule) {
    verdicts v;
    for (int j = 0; j < 4; ++j) {
        const reals pixel = __builtin_convertvector((numbers)(j == 3 ? x >> 24 : (x >> (8 * j)) & 0xffu), reals);
        const reals sum = __builtin_convertvector((numbers)s.w[j], reals);
        if constexpr (method == threshold_method::bradley) {
            const reals factor = reciprocal[j] * rule.scale, less = 0.0f - pixel;  // of 0 it is not -0
            v.yes[j] = (numbers)multiply_add(sum, factor * (1 - 0x1p-20f), less);
            v.doubts |= v.yes[j] ^ (numbers)multiply_add(sum, factor * (1 + 0x1p-20f), less);
            continue;
        }
        const reals m = sum * reciprocal[j];
        const reals q = __builtin_convertvector(p.w[j], reals) * (reciprocal[j] + reciprocal[j]);
        reals a = multiply_add(m, -rule.scale, pixel);
        if constexpr (method == threshold_method::wolf) a = pixel - (m * rule.scale + rule.shift);
        const reals size = absolute(a);
        reals e, bound;  // + 0: where e is 0, it is not -0
        if constexpr (method == threshold_method::wolf) {
            const reals r = m - rule.smallest, most = absolute(r) + 0x1p-14f;
            e = r * absolute(r) * (m * (255.0f - m) - q) * rule.square + 0.0f;
            bound = most * (most * rule.bound + rule.bound_of_mean) + rule.least_bound;
        } else if constexpr (method == threshold_method::nick) {
            e = multiply_add(multiply_add(m, 255.0f, -q), rule.square, reals{});
            bound = m * rule.bound;
        } else if constexpr (method == threshold_method::niblack) {
            e = multiply_add(multiply_add(m, 255.0f - m, -q), rule.square, reals{});
            bound = m * rule.bound;
        } else {
            const reals m2 = m * m;
            e = multiply_add(m2 * multiply_add(m, 255.0f - m, -q), rule.square, reals{});
            bound = m2 * rule.bound;
        }
        const reals d = multiply_add(-a, size, e);
        v.yes[j] = (numbers)d;
        numbers close = (numbers)(absolute(d) - multiply_add(size, rule.bound_of_difference, bound));
        if constexpr (method == threshold_method::niblack || method == threshold_method::wolf) {
            // All pixels alike, x: S = n x and P = n x (255 - x) / 2, and only then, as P is strictly concave.
            const words value = (words) __builtin_convertvector(pixel, numbers);
            const words of_one = value * (255 - value) >> 1;
            numbers alike =
                ((numbers)(value * n[j]) == (numbers)s.w[j]) & ((numbers)(of_one * n[j]) == (numbers)p.w[j]);
            if constexpr (method == threshold_method::wolf) alike &= pixel == all_real(rule.smallest);
            v.yes[j] &= ~alike;
            close &= ~alike;
        }
        v.doubts |= close;
    }
    return v;
}

typedef signed char signed_bytes __attribute__((vector_size(bytes)));

/// Pixels that are all ones where the numbers are negative, which their first bytes tell.
inline words signs_of(const numbers (&v)[4]) {
    const words low = ((words)v[0] >> 24 & 0xffu) | ((words)v[1] >> 16 & 0xff00u);
    const words signs = low | (((words)v[2] >> 8 & 0xff0000u) | ((words)v[3] & 0xff000000u));
    return (words)((signed_bytes)signs < 0);
}

/// By the definition. Inlined, since a call takes addresses of windows, which AVX2 would then store each time.
__attribute__((always_inline)) inline words decided(words x, const four& s, const four& p, const words* n,
                                                    const byte_threshold& rule, i64 here) {
    const defined_block block(s, p, n);
    f64 limit[bytes];
    alignas(bytes) u8 pixels[bytes], verdict[bytes] = {};
    store(pixels, x);
    thresholds<u8>(limit, pixels, block.mean, block.deviation, *rule.definition, here, 1);
    exceeds<u8>(verdict, pixels, limit, 255, here);
    return load<words>(verdict);
}

template <threshold_method method, kind rows>
void decide_row(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
                const byte_threshold& rule, i64 n) {
    constexpr bool of_means = method == threshold_method::bradley;
    channel_carries s_carries, p_carries;
    row_scan<rows> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<rows> numbers_of(counts);
    const source_blocks pixels(x, n);
    target_blocks<u8> to(out, n);
    const reals full_reciprocal = all_real(1 / static_cast<f32>(counts.rows * counts.full));
    const words yes = all(0x01010101u * rule.yes);
    const byte_threshold here = rule;  // which what is written does not change
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i);
        four p = {};
        if constexpr (!of_means) p = p_scan.next(i);
        words count[4];
        reals reciprocal[4];
        if (numbers_of.next(count, i, n - i))
            for (reals& r : reciprocal) r = full_reciprocal;
        else
            for (int j = 0; j < 4; ++j) reciprocal[j] = 1.0f / __builtin_convertvector((numbers)count[j], reals);
        const verdicts v = decide<method>(pixels.at(i), s, p, count, reciprocal, here);
        words result = __builtin_expect(any(v.doubts), false)
                           ? decided(pixels.at(i), s, p, count, rule, n - i < bytes ? n - i : bytes)
                           : signs_of(v.yes);
        result &= yes;
        if (numbers_of.sampled()) {
            const words given = numbers_of.given_pixels(i, n - i);
            result = (result & given) | (all(0x01010101u * counts.samples->fill) & ~given);
        }
        store(to.at(i), result);
    }
}

template <threshold_method method>
void decide_by(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
               const byte_threshold& rule, i64 n) {
    const kind of = kind_of(sums, counts);
    if (of == kind::plain) return decide_row<method, kind::plain>(out, x, sums, spreads, counts, rule, n);
    if constexpr (method == threshold_method::bradley)
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
        default:
            return decide_by<threshold_method::sauvola>(out, x, sums, spreads, counts, rule, n);
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
/// Half of the lanes, in double. (GCC 12 warns of the intrinsics without masks.)
template <int half>
inline doubles in_double(words v) {
    const few_numbers x = half_of<half>(v, typename make_list<lanes_of_block / 2>::template of<lanes<u64>>{});
#if defined(__AVX512F__)
    return (doubles)_mm512_maskz_cvtepu32_pd(0xff, (__m256i)x);
#else  // what instruction sets have are conversions of signed numbers
    return __builtin_convertvector((few_numbers)(x ^ (s32)0x80000000), doubles) + 0x1p31;
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
#else
    return c - a * b;
#endif
}

/// How many pixels windows of half the lanes have: n, 255 n, 2 n, 1 / n.
struct real_counts {
    doubles n, most, twice, reciprocal;

    explicit real_counts(doubles count)
        : n(count), most(255.0 * count), twice(count + count), reciprocal(1.0 / count) {}
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
template <typename F>
inline void with_counts(bool uniform, const real_counts& full, const words* n, F&& f) {
    if (uniform)
        f([&](auto, int) -> const real_counts& { return full; });
    else
        f([&](auto half, int j) { return real_counts(in_double<decltype(half)::value>(n[j])); });
}

/// Mean and deviation in 32 bits of windows of n pixels each: S / n and the root of N / n^2, N = S (255 n - S) - 2 n P,
/// each rounded in double, and then to 32 bits. N is exact in double. The products with 1 / n are within 3 units of the
/// last place of those, so they round alike unless they are as close to the middle between two numbers of 32 bits.
/// - Means: S / n, whose middle would be an odd multiple of 2^-(24 - e) for a mean from 2^e on, is that middle only if
///   2^17 divides n, which is left out; else it is 2^-25 / n of itself or more away, with n <= 2^19 much further than
///   that.
/// - Deviations: told by the bits; then the block is done by the definition.
template <kind rows>
void deviations_of(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                   const byte_counts& counts, i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<rows> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<rows> numbers_of(counts);
    target_blocks<f32> to_mean(mean, n), to_deviation(deviation, n);
    const u32 full = counts.rows * counts.full;
    const real_counts full_counts(doubles{} + static_cast<f64>(full));
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i), p = p_scan.next(i);
        words count[4];
        const bool uniform = numbers_of.next(count, i, n - i);
        numbers ties = {};
        if (!uniform || full % 131072 == 0)
            for (const words& c : count) ties |= (c & 131071u) == 0u;
        bool defined = any(ties);
        reals results[2][4];
        if (!defined) {
            longs middles = {};
            with_counts(uniform, full_counts, count, [&](auto&& counts_of) {
                for_each_half<2>(s, p, counts_of, results, [&](const real_windows& w, few_reals* to, auto, int) {
                    const doubles root = root_of(w.numerator()) * w.of.reciprocal;
                    // The 29 bits that 32-bit numbers lack, within 8 of their middle.
                    middles |= (longs)((((longs)root - (longs{} + 0x0ffffff8u)) & 0x1ffffff0u) == 0u);
                    to[0] = in_single(w.sum * w.of.reciprocal);
                    to[1] = in_single(root);
                });
            });
            defined = any((numbers)middles);
        }
        if (defined)
            with_counts(false, full_counts, count, [&](auto&& counts_of) {
                for_each_half<2>(s, p, counts_of, results, [&](const real_windows& w, few_reals* to, auto, int) {
                    to[0] = in_single(w.sum / w.of.n);
                    to[1] = in_single(root_of(w.numerator() / (w.of.n * w.of.n)));
                });
            });
        if (numbers_of.sampled())
            for (auto& result : results) numbers_of.fill_reals(result);
        if (to_mean.wanted()) store_reals(to_mean.at(i), results[0]);
        store_reals(to_deviation.at(i), results[1]);
    }
}

void deviations(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                const byte_counts& counts, i64 n) {
    kind_of(sums, counts) == kind::plain ? deviations_of<kind::plain>(mean, deviation, sums, spreads, counts, n)
                                         : deviations_of<kind::any>(mean, deviation, sums, spreads, counts, n);
}

/// The largest variance of the row's windows and of `largest`. In 32 bits a variance errs by at most 2550 u 255 < 0.04
/// (see verdicts): only blocks that may have a larger one are done in double, by the definition.
f64 largest_variance(f64 largest, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
                     i64 n) {
    channel_carries s_carries, p_carries;
    row_scan<kind::any> s_scan(sums, s_carries), p_scan(spreads, p_carries);
    count_scan<kind::any> numbers_of(counts);
    const reals full_reciprocal = all_real(1 / static_cast<f32>(counts.rows * counts.full));
    reals limit = all_real(static_cast<f32>(largest) - 0.05f);
    for (i64 i = 0; i < n; i += bytes) {
        four s = s_scan.next(i), p = p_scan.next(i);
        words count[4];
        const bool uniform = numbers_of.next(count, i, n - i);
        numbers above = {};
        for (int j = 0; j < 4; ++j) {
            if (numbers_of.sampled()) {  // windows without a result have no variance
                s.w[j] = numbers_of.filled(j, s.w[j], words{});
                p.w[j] = numbers_of.filled(j, p.w[j], words{});
            }
            const reals reciprocal =
                uniform ? full_reciprocal : 1.0f / __builtin_convertvector((numbers)count[j], reals);
            const reals m = __builtin_convertvector((numbers)s.w[j], reals) * reciprocal;
            const reals q = __builtin_convertvector(p.w[j], reals) * (reciprocal + reciprocal);
            above |= m * (255.0f - m) - q > limit;
        }
        if (!any(above)) continue;
        const defined_block block(s, p, count);
        for (i64 k = 0; k < bytes && k < n - i; ++k)
            largest = block.variance[k] > largest ? block.variance[k] : largest;
        limit = all_real(static_cast<f32>(largest) - 0.05f);
    }
    return largest;
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
        const bool uniform = numbers_of.next(count, i, n - i);
        const words pixels = from.at(i);
        const auto pixel = [&](auto half, int j) {
            return in_double<decltype(half)::value>((pixels >> (8 * j)) & 0xffu);
        };
        const auto divisor = [&](doubles root) {
            const longs below = (longs)(root < least);
            return (doubles)(((longs)least & below) | ((longs)root & ~below));
        };
        reals results[2][4];
        with_counts(uniform, full_counts, count, [&](auto&& counts_of) {
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
            with_counts(false, full_counts, count, [&](auto&& counts_of) {
                for_each_half<1>(s, p, counts_of, results, [&](const real_windows& w, few_reals* to, auto half, int j) {
                    const doubles root = root_of(w.numerator() / (w.of.n * w.of.n));
                    to[0] = in_single((pixel(half, j) - w.sum / w.of.n) / divisor(root));
                });
            });
        if (numbers_of.sampled()) numbers_of.fill_reals(results[0]);
        store_reals(written.at(i), results[0]);
    }
}

}  // namespace byte_lanes
