// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Windows of 8-bit images of one channel, a row at a time, without shuffles: 32-bit lane l of a block of pixels (as
// many as a vector has bytes) holds pixels 4 l .. 4 l + 3. Masks and shifts part them into even and odd columns of 16
// bits, which are kept as two arrays (planes); the column that enters a window or leaves it is an unaligned load from
// one of them. One scan of the lanes' totals serves the whole block. "Lane order" of a block: the first pixels of all
// lanes, then the second, third and fourth ones.

namespace byte_lanes {

constexpr int bytes = BOXSUM_ROWS_BYTES, lanes_of_block = bytes / 4;
typedef u32 words __attribute__((vector_size(bytes)));
typedef s32 numbers __attribute__((vector_size(bytes)));
typedef f32 reals __attribute__((vector_size(bytes)));
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

/// The pixels of a block, of which `n` are in the image; the others are 0.
inline words load_pixels(const u8* x, i64 n) {
    if (n >= bytes) return load<words>(x);
    alignas(bytes) u8 some[bytes] = {};
    std::memcpy(some, x, static_cast<std::size_t>(n));
    return load<words>(some);
}
inline void store_pixels(u8* to, words v, i64 n) {
    if (n >= bytes) return store(to, v);
    alignas(bytes) u8 some[bytes];
    store(some, v);
    std::memcpy(to, some, static_cast<std::size_t>(n));
}
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
    for (; i + bytes <= n; i += bytes) block(i, load<words>(in + i), load<words>(out + i));
    if (i < n) block(i, load_pixels(in + i, n - i), load_pixels(out + i, n - i));
}

u32 plane_total(const u16* even, const u16* odd, i64 first, i64 count, bool is_signed) {
    const auto sum = [&](const u16* x, i64 begin, i64 end) {
        u32 unsigned_sum = 0, signed_sum = 0;
        for (i64 i = begin; i < end; ++i) {
            unsigned_sum += x[i];
            signed_sum += static_cast<u32>(static_cast<s32>(static_cast<s16>(x[i])));
        }
        return is_signed ? signed_sum : unsigned_sum;
    };
    // Column c is even[c / 2] or odd[(c - 1) / 2]; shifts round down, below 0, too.
    return sum(even, (first + 1) >> 1, (first + count + 1) >> 1) + sum(odd, first >> 1, (first + count) >> 1);
}

/// Pixel sums of a block's windows, in lane order.
struct four {
    words w[4];
};

/// Running sums over a row, block by block.
class row_scan {
  public:
    explicit row_scan(const byte_windows& row) : row_(row), carry_(all(row.before)) {}

    inline four next(i64 i) {
        const i64 m = i / 2;
        const numbers a = (numbers)(load<halves>(row_.in_even + m) - load<halves>(row_.out_even + m));
        const numbers b = (numbers)(load<halves>(row_.in_odd + m) - load<halves>(row_.out_odd + m));
        const numbers a_low = (numbers)((words)a << 16) >> 16, b_low = (numbers)((words)b << 16) >> 16;
        const numbers a_high = a >> 16, b_high = b >> 16;
        const words d01 = (words)(a_low + b_low), d012 = d01 + (words)a_high, total = d012 + (words)b_high;
        const words scanned = scan_lanes<u32, 1>(total);
        const words inclusive = scanned + carry_, x = inclusive - total;
        four f = {{x + (words)a_low, x + d01, x + d012, inclusive}};
        const typename make_list<lanes_of_block>::template of<lanes<u32>> every;
        carry_ = lanes<u32>::last_repeated<1>(inclusive, every);
        if (row_.running != nullptr)
            for (int j = 0; j < 4; ++j) {
                u32* const kept = row_.running + i + j * lanes_of_block;
                f.w[j] += load<words>(kept);
                store(kept, f.w[j]);
            }
        return f;
    }

  private:
    const byte_windows& row_;
    words carry_;
};

/// Results 0 .. 255 of a block as pixels.
inline words pack(const four& f) {
    return (f.w[0] | f.w[1] << 8) | (f.w[2] << 16 | f.w[3] << 24);
}

// ---- means ----

/// floor(w / n + 1/2), or without the half, of windows of `n` pixels each.
///
/// (w + bias) / n is at least 1 / (2 n) from every half integer, where bias is 0 for an odd n, 1/2 for an even one, and
/// (1 - n) / 2 for rounding down; w + bias < 2^23 is exact. The product with 1 / n errs by the reciprocal's and its own
/// rounding, 2^-24 of at most 256 each; the sum with 1.5 * 2^23 rounds once, to an integer: right while 2^-15 <
/// 1 / (2 n). With 127 n taken away first, of which the integer is told in the end, the quotient is at most 129, and n
/// may be twice as large.
class uniform_means {
  public:
    uniform_means(u32 n, bool half_up)
        : way_(n < 16000 && half_up && n % 2 != 0 ? way::direct
               : n < 32000                        ? way::centred
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
                    const reals quotient = __builtin_convertvector((numbers)t, reals) * reciprocal_;
                    const words q = (words) __builtin_convertvector(quotient, numbers);
                    w = q - (words)((numbers)(t - q * n_) >= (numbers)all(n_));
                }
        }
    }

  private:
    enum class way { direct, centred, exact };

    inline words rounded(reals v, int centre) const {
        return (words)(v * reciprocal_ + all_real(0x1.8p23f + static_cast<f32>(centre))) & 0xffu;
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

void means(u8* out, const byte_windows& row, const byte_counts& counts, bool half_up, i64 n) {
    row_scan scan(row);
    const uniform_means uniform(counts.rows * counts.full, half_up);
    for (i64 i = 0; i < n; i += bytes) {
        four f = scan.next(i);
        if (i >= counts.first_full && i < counts.end_full)
            uniform.take(f);
        else
            for (int j = 0; j < 4; ++j)
                f.w[j] =
                    means_of_each(f.w[j], load<words>(counts.cols + i + j * lanes_of_block) * counts.rows, half_up);
        store_pixels(out + i, pack(f), n - i);
    }
}

// ---- by the definition ----

/// Windows of a block in the order of its pixels, in double.
struct defined_block {
    f64 mean[bytes], deviation[bytes];

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
            deviation[k] =
                __builtin_sqrt(static_cast<f64>(total * (255 * c - total) - 2 * c * spread[at]) / (real * real));
        }
    }
};

// ---- thresholds ----

inline reals absolute(reals x) {
    return (reals)((words)x & 0x7fffffffu);
}
inline bool any(numbers mask) {
    typedef u64 longs __attribute__((vector_size(bytes)));
    const longs parts = (longs)mask;
    u64 joined = 0;
    for (int i = 0; i < bytes / 8; ++i) joined |= parts[i];
    return joined != 0;
}

/// A pixel against its window, by comparisons in 32 bits with a bound E of their error; u = 2^-24. With the sum S, P of
/// the window, m = S / n, var = m (255 - m) - 2 P / n and M the true mean:
///   m errs by 3 u M; m (255 - m) by u M (3 M + 5 (255 - M)), 2 P / n <= M (255 - M) by 4 u of it; var by 2550 u M.
///   bradley: x > (1 - k) m, which errs by 5 u of itself: x is compared with 15 u less and 15 u more.
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
    numbers yes[4];
    bool doubt = false;
};

template <threshold_method method>
inline verdicts decide(words x, const four& s, const four& p, const words* n, const reals* reciprocal,
                       const byte_threshold& rule) {
    verdicts v;
    numbers doubts = {};
    for (int j = 0; j < 4; ++j) {
        const reals pixel = __builtin_convertvector((numbers)(j == 3 ? x >> 24 : (x >> (8 * j)) & 0xffu), reals);
        const reals m = __builtin_convertvector((numbers)s.w[j], reals) * reciprocal[j];
        if constexpr (method == threshold_method::bradley) {
            const reals t = m * rule.scale;
            v.yes[j] = pixel > t * (1 - 0x1p-20f);
            doubts |= v.yes[j] ^ (pixel > t * (1 + 0x1p-20f));
            continue;
        }
        const reals q = __builtin_convertvector(p.w[j], reals) * (reciprocal[j] + reciprocal[j]);
        reals a = pixel - m * rule.scale;
        if constexpr (method == threshold_method::wolf) a = pixel - (m * rule.scale + rule.shift);
        const reals size = absolute(a);
        reals e, bound;
        if constexpr (method == threshold_method::wolf) {
            const reals r = m - rule.smallest, most = absolute(r) + 0x1p-14f;
            e = r * absolute(r) * (m * (255.0f - m) - q) * rule.square;
            bound = most * (most * rule.bound + rule.bound_of_mean) + rule.least_bound;
        } else if constexpr (method == threshold_method::nick) {
            e = (255.0f * m - q) * rule.square;
            bound = m * rule.bound;
        } else if constexpr (method == threshold_method::niblack) {
            e = (m * (255.0f - m) - q) * rule.square;
            bound = m * rule.bound;
        } else {
            const reals m2 = m * m;
            e = m2 * (m * (255.0f - m) - q) * rule.square;
            bound = m2 * rule.bound;
        }
        const reals d = a * size - e;
        v.yes[j] = d > 0;
        numbers close = absolute(d) < size * rule.bound_of_difference + bound;
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
        doubts |= close;
    }
    v.doubt = any(doubts);
    return v;
}

template <threshold_method method>
void decide_row(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
                const byte_threshold& rule, i64 n) {
    constexpr bool of_means = method == threshold_method::bradley;
    row_scan s_scan(sums), p_scan(spreads);
    const u32 full = counts.rows * counts.full;
    const reals full_reciprocal = all_real(1 / static_cast<f32>(full));
    const words yes = all(0x01010101u * rule.yes);
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i);
        four p = {};
        if constexpr (!of_means) p = p_scan.next(i);
        words count[4];
        reals reciprocal[4];
        if (i >= counts.first_full && i < counts.end_full)
            for (int j = 0; j < 4; ++j) {
                count[j] = all(full);
                reciprocal[j] = full_reciprocal;
            }
        else
            for (int j = 0; j < 4; ++j) {
                count[j] = load<words>(counts.cols + i + j * lanes_of_block) * counts.rows;
                reciprocal[j] = 1.0f / __builtin_convertvector((numbers)count[j], reals);
            }
        const verdicts v = decide<method>(load_pixels(x + i, n - i), s, p, count, reciprocal, rule);
        if (v.doubt) {
            const defined_block block(s, p, count);
            f64 limit[bytes];
            const i64 here = n - i < bytes ? n - i : bytes;
            thresholds<u8>(limit, x + i, block.mean, block.deviation, *rule.definition, here, 1);
            exceeds<u8>(out + i, x + i, limit, rule.yes, here);
            continue;
        }
        const words packed = ((words)v.yes[0] & 0xffu) | ((words)v.yes[1] & 0xff00u) | ((words)v.yes[2] & 0xff0000u) |
                             ((words)v.yes[3] & 0xff000000u);
        store_pixels(out + i, packed & yes, n - i);
    }
}

void decide_pixels(u8* out, const u8* x, const byte_windows& sums, const byte_windows& spreads,
                   const byte_counts& counts, const byte_threshold& rule, i64 n) {
    switch (rule.definition->method) {
        case threshold_method::bradley:
            return decide_row<threshold_method::bradley>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::niblack:
            return decide_row<threshold_method::niblack>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::nick:
            return decide_row<threshold_method::nick>(out, x, sums, spreads, counts, rule, n);
        case threshold_method::wolf:
            return decide_row<threshold_method::wolf>(out, x, sums, spreads, counts, rule, n);
        default:
            return decide_row<threshold_method::sauvola>(out, x, sums, spreads, counts, rule, n);
    }
}

// ---- means and deviations ----

template <int... i>
inline reals zip_low(reals a, reals b, lanes<f32>::list<i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * lanes_of_block + i / 2)...);
}
template <int... i>
inline reals zip_high(reals a, reals b, lanes<f32>::list<i...>) {
    return __builtin_shufflevector(a, b, (i % 2 * lanes_of_block + lanes_of_block / 2 + i / 2)...);
}

/// Values in lane order become those of neighbouring pixels.
inline void store_reals(f32* to, const f32* in_lanes, i64 n) {
    reals v[4];
    std::memcpy(v, in_lanes, sizeof v);
    const typename make_list<lanes_of_block>::template of<lanes<f32>> every;
    const reals a = zip_low(v[0], v[2], every), b = zip_low(v[1], v[3], every);
    const reals c = zip_high(v[0], v[2], every), d = zip_high(v[1], v[3], every);
    const reals ordered[4] = {zip_low(a, b, every), zip_high(a, b, every), zip_low(c, d, every), zip_high(c, d, every)};
    if (n >= bytes) return std::memcpy(to, ordered, sizeof ordered), void();
    f32 some[bytes];
    std::memcpy(some, ordered, sizeof ordered);
    std::memcpy(to, some, static_cast<std::size_t>(n) * sizeof(f32));
}

void sampled_means(u8* out, u32* counts, const byte_windows& sums, const byte_windows& numbers_of, u32 least, u8 fill,
                   bool half_up, i64 n) {
    row_scan s_scan(sums), n_scan(numbers_of);
    for (i64 i = 0; i < n; i += bytes) {
        four f = s_scan.next(i);
        const four count = n_scan.next(i);
        for (int j = 0; j < 4; ++j) {
            const words none = (words)(count.w[j] == 0u), given = (words)(count.w[j] >= all(least));
            const words mean = means_of_each(f.w[j], count.w[j] - none, half_up);  // of 0 pixels as if they were 1
            f.w[j] = (mean & given) | (all(fill) & ~given);
        }
        store_pixels(out + i, pack(f), n - i);
        if (counts == nullptr) continue;
        f32 moved[bytes];  // bits are bits
        std::memcpy(moved, count.w, sizeof moved);
        store_reals(reinterpret_cast<f32*>(counts + i), moved, n - i);
    }
}

/// Mean and deviation in 32 bits of windows of n pixels each: S / n and the root of N / n^2, N = S (255 n - S) - 2 n P,
/// each rounded in double, and then to 32 bits. N is exact in double. The products with 1 / n are within 3 units of the
/// last place of those, so they round alike unless they are as close to the middle between two numbers of 32 bits.
/// - Means: S / n, whose middle would be an odd multiple of 2^-(24 - e) for a mean from 2^e on, is that middle only if
///   2^17 divides n, which is left out; else it is 2^-25 / n of itself or more away, with n <= 2^19 much further than
///   that.
/// - Deviations: told by the bits; then, and where windows are cut, the block is done by the definition.
void deviations(f32* mean, f32* deviation, const byte_windows& sums, const byte_windows& spreads,
                const byte_counts& counts, i64 n) {
    row_scan s_scan(sums), p_scan(spreads);
    const u32 full = counts.rows * counts.full;
    const f64 real = full, reciprocal = 1 / real;
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i), p = p_scan.next(i);
        bool defined = i < counts.first_full || i >= counts.end_full || full % 131072 == 0;
        if (!defined) {
            // In lane order, in memory: plain loops, of which every instruction set makes what it has.
            alignas(bytes) u32 sum[bytes], spread[bytes];
            alignas(bytes) f64 root[bytes];
            alignas(bytes) f32 means[bytes], roots[bytes];
            for (int j = 0; j < 4; ++j) {
                store(sum + j * lanes_of_block, s.w[j]);
                store(spread + j * lanes_of_block, p.w[j]);
            }
            for (int k = 0; k < bytes; ++k) {
                const f64 total = sum[k];
                root[k] = __builtin_sqrt(total * (255 * real - total) - static_cast<f64>(spread[k]) * (2 * real)) *
                          reciprocal;
                means[k] = static_cast<f32>(total * reciprocal);
                roots[k] = static_cast<f32>(root[k]);
            }
            // The 29 bits that 32-bit numbers lack, within 8 of their middle.
            u64 middles = 0;
            for (int k = 0; k < bytes; ++k) {
                u64 bits;
                std::memcpy(&bits, &root[k], sizeof bits);
                middles |= ((bits + 8 - 0x10000000) & 0x1fffffff) < 16 ? u64{1} : u64{0};
            }
            defined = middles != 0;
            if (!defined) {
                if (mean != nullptr) store_reals(mean + i, means, n - i);
                store_reals(deviation + i, roots, n - i);
                continue;
            }
        }
        words count[4];
        for (int j = 0; j < 4; ++j) count[j] = load<words>(counts.cols + i + j * lanes_of_block) * counts.rows;
        const defined_block block(s, p, count);
        const i64 here = n - i < bytes ? n - i : bytes;
        if (mean != nullptr) convert_32f(mean + i, block.mean, here);
        convert_32f(deviation + i, block.deviation, here);
    }
}

/// Sums, P and counts of a block's windows in lane order, in memory: plain loops, of which every instruction set makes
/// what it has.
struct numbers_of_block {
    alignas(bytes) u32 sum[bytes], spread[bytes], count[bytes];

    inline void fill(const four& s, const four& p, const byte_counts& counts, i64 i) {
        for (int j = 0; j < 4; ++j) {
            const words n = i >= counts.first_full && i < counts.end_full
                                ? all(counts.rows * counts.full)
                                : load<words>(counts.cols + i + j * lanes_of_block) * counts.rows;
            store(sum + j * lanes_of_block, s.w[j]);
            store(spread + j * lanes_of_block, p.w[j]);
            store(count + j * lanes_of_block, n);
        }
    }

    /// n^2 times the variance, an integer below 2^53.
    inline f64 numerator(int k) const {
        const f64 total = sum[k], n = count[k];
        return total * (255 * n - total) - static_cast<f64>(spread[k]) * (2 * n);
    }
};

/// The largest variance of the row's windows and of `largest`. In 32 bits a variance errs by at most 2550 u 255 < 0.04
/// (see verdicts): only blocks that may have a larger one are done in double, by the definition.
f64 largest_variance(f64 largest, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
                     i64 n) {
    row_scan s_scan(sums), p_scan(spreads);
    const reals full_reciprocal = all_real(1 / static_cast<f32>(counts.rows * counts.full));
    reals limit = all_real(static_cast<f32>(largest) - 0.05f);
    numbers_of_block b;
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i), p = p_scan.next(i);
        numbers above = {};
        for (int j = 0; j < 4; ++j) {
            reals reciprocal = full_reciprocal;
            if (i < counts.first_full || i >= counts.end_full) {
                const words count = load<words>(counts.cols + i + j * lanes_of_block) * counts.rows;
                reciprocal = 1.0f / __builtin_convertvector((numbers)count, reals);
            }
            const reals m = __builtin_convertvector((numbers)s.w[j], reals) * reciprocal;
            const reals q = __builtin_convertvector(p.w[j], reals) * (reciprocal + reciprocal);
            above |= m * (255.0f - m) - q > limit;
        }
        if (!any(above)) continue;
        b.fill(s, p, counts, i);
        for (int k = 0; k < bytes; ++k) {
            const f64 c = b.count[k], x = b.numerator(k) / (c * c);
            const bool there = 4 * (k % lanes_of_block) + k / lanes_of_block < n - i;
            largest = there && x > largest ? x : largest;
        }
        limit = all_real(static_cast<f32>(largest) - 0.05f);
    }
    return largest;
}

/// (x - S / n) / max(root, epsilon), as the definition has it, by a product with 1 / n: x - S / n = (n x - S) / n is
/// exactly 0 or as good as its numerator; the definition's errs by 2^-46 and one rounding, as it rounds S / n first;
/// all others of both by less than 16 units of the last place. Where that decides what 32 bits hold, the block is done
/// by the definition.
void contrasts(f32* out, const u8* x, const byte_windows& sums, const byte_windows& spreads, const byte_counts& counts,
               f64 epsilon, i64 n) {
    row_scan s_scan(sums), p_scan(spreads);
    const f64 full_reciprocal = 1 / static_cast<f64>(counts.rows * counts.full);
    numbers_of_block b;
    for (i64 i = 0; i < n; i += bytes) {
        const four s = s_scan.next(i), p = p_scan.next(i);
        b.fill(s, p, counts, i);
        const words pixels = load_pixels(x + i, n - i);
        alignas(bytes) u32 pixel[bytes];
        for (int j = 0; j < 4; ++j) store(pixel + j * lanes_of_block, (pixels >> (8 * j)) & 0xffu);
        alignas(bytes) f64 reciprocal[bytes];
        alignas(bytes) f32 low[bytes], high[bytes];
        if (i >= counts.first_full && i < counts.end_full)
            for (int k = 0; k < bytes; ++k) reciprocal[k] = full_reciprocal;
        else
            for (int k = 0; k < bytes; ++k) reciprocal[k] = 1 / static_cast<f64>(b.count[k]);
        for (int k = 0; k < bytes; ++k) {
            const f64 root = __builtin_sqrt(b.numerator(k)) * reciprocal[k];
            const f64 inverse = 1 / (root < epsilon ? epsilon : root);
            const f64 d = static_cast<f64>(b.count[k]) * static_cast<f64>(pixel[k]) - static_cast<f64>(b.sum[k]);
            const f64 difference = d * reciprocal[k], result = difference * inverse;
            const f64 slack = (__builtin_fabs(difference) * 0x1p-49 + (d != 0 ? 0x1p-45 : 0.0)) * inverse;
            low[k] = static_cast<f32>(result - slack);
            high[k] = static_cast<f32>(result + slack);
        }
        u32 differ = 0;
        for (int k = 0; k < bytes; ++k) differ |= low[k] == high[k] ? 0u : 1u;  // NaN, too
        if (differ == 0) {
            store_reals(out + i, low, n - i);
            continue;
        }
        words count[4];
        for (int j = 0; j < 4; ++j) count[j] = load<words>(b.count + j * lanes_of_block);
        const defined_block block(s, p, count);
        contrast<u8>(out + i, x + i, block.mean, block.deviation, epsilon, n - i < bytes ? n - i : bytes);
    }
}

}  // namespace byte_lanes
