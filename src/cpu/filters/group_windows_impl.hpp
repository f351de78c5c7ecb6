// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Windows of floating images by additions alone, of eight rows at a time, then of eight columns at a time. Both axes
// are cut into groups of eight samples, from the first sample of the first window on. Eight neighbouring windows of
// more than eight samples, those that begin in one group, share whole groups:
//
//     | own group |  group  | ... |  group  | last group |
//          [ window                              ]           suffix of its own group + whole groups + prefix of the
//          last
//
// Suffixes and prefixes stay in registers. The sums of whole groups are made of suffixes and prefixes of blocks of
// groups (van Herk 1992; Gil and Werman 1993, with + for max), an eighth of the work and of the memory. Windows of up
// to eight samples are made of suffixes and prefixes of blocks as wide as the window. Nothing is subtracted, so nothing
// outside a window acts on it, and the order of the additions depends on the place in the image alone.
//
// Along columns a vector holds neighbouring elements of a row, along rows the eight rows of one element, to which they
// are transposed in registers ("line": eight doubles an element, one for each row).

namespace group_lanes {

constexpr int lanes = BOXSUM_ROWS_BYTES / 8, parts = 8 / lanes;
typedef f64 reals __attribute__((vector_size(lanes * 8)));
typedef f32 floats __attribute__((vector_size(lanes * 4)));

struct every_lane {
    template <int... i>
    struct list {};
};

template <int i>
struct constant {
    static constexpr int value = i;
};

// Sanitized, the checks of what is inlined would be repeated in each of its places.
#if defined(BOXSUM_SANITIZED)
#define BOXSUM_INLINE
#else
#define BOXSUM_INLINE __attribute__((always_inline))
#endif

/// f(constant<0>), f(constant<1>), ...: indices of arrays in registers have to be constants before anything else.
template <int n, int first = 0, typename F>
BOXSUM_INLINE inline void unrolled(F&& f) {
    if constexpr (first < n) {
        f(constant<first>{});
        unrolled<n, first + 1>(f);
    }
}

template <typename V, typename T>
BOXSUM_INLINE inline V load(const T* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <typename V, typename T>
BOXSUM_INLINE inline void store(T* to, V v) {
    std::memcpy(to, &v, sizeof v);
}
BOXSUM_INLINE inline reals as_reals(const f64* x) {
    return load<reals>(x);
}
BOXSUM_INLINE inline reals as_reals(const f32* x) {
#if defined(__AVX512F__)  // GCC 12 converts halves
    return (reals)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x));
#else
    return __builtin_convertvector(load<floats>(x), reals);
#endif
}

template <typename V, int by, int... i>
BOXSUM_INLINE inline void exchange(V& a, V& b, every_lane::list<i...>) {
    constexpr int count = sizeof...(i);
    const V low = __builtin_shufflevector(a, b, (i & by ? count + i - by : i)...);
    b = __builtin_shufflevector(a, b, (i & by ? count + i : i + by)...);
    a = low;
}

/// lanes x lanes values, or as many such squares beside each other as a vector holds, by exchange of ever smaller
/// squares (Eklundh 1972).
template <int by = lanes / 2, typename V>
BOXSUM_INLINE inline void transpose(V (&v)[lanes]) {
    if constexpr (by > 0) {
        unrolled<lanes>([&](auto i) BOXSUM_INLINE {
            constexpr int at = decltype(i)::value;
            if constexpr ((at & by) == 0)
                exchange<V, by>(v[at], v[at + by],
                                typename make_list<sizeof(V) / sizeof(v[0][0])>::template of<every_lane>{});
        });
        transpose<by / 2>(v);
    }
}

// ---- eight windows --------------------------------------------------------------------------------------------------

/// Of `width` <= 8 samples; sample(i) for i < 7 + width.
template <int width, typename Sample>
BOXSUM_INLINE inline void narrow_windows(reals (&v)[8], Sample&& sample) {
    constexpr int count = 7 + width;
    reals suffix[count], prefix[count];
    unrolled<count>([&](auto i) BOXSUM_INLINE { suffix[decltype(i)::value] = prefix[decltype(i)::value] = sample(i); });
    unrolled<count>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value, back = count - 1 - at;
        if constexpr (at % width != 0) prefix[at] += prefix[at - 1];
        // Of the last block only a part may be there, whose suffixes no window has.
        if constexpr (back % width != width - 1 && back / width * width + width <= count)
            suffix[back] += suffix[back + 1];
    });
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        if constexpr (at % width == 0)
            v[at] = prefix[at + width - 1];
        else
            v[at] = suffix[at] + prefix[at + width - 1];
    });
}

/// How windows of more than eight samples, 8 q + rest + 1, go on along an axis: q - 1 whole groups, and of the last
/// group `rest` samples that all windows have. Values per element: `part`, the sum of those samples; with whole groups
/// `slot`, suffixes of this block of groups and, from the first on, the groups of the next; `prefix`, the sum of the
/// latter.
struct group_state {
    f64 *part, *slot, *prefix;
    bool whole, in_block;  ///< whether there are whole groups; whether the next block has begun
};

template <int rest, typename First, typename Last>
BOXSUM_INLINE inline void wide_windows(reals (&v)[8], First&& first, Last&& last, const group_state& state) {
    constexpr int split = (8 - rest) % 8;
    reals group = {}, sum = {};
    if (split != 0) group = sum = load<reals>(state.part);
    if (state.whole) {
        sum += load<reals>(state.slot);
        if (state.in_block) sum += load<reals>(state.prefix);
    }
    const auto finish = [&]() BOXSUM_INLINE {
        if (!state.whole) return;
        store(state.slot, group);
        store(state.prefix, state.in_block ? load<reals>(state.prefix) + group : group);
    };
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        const reals x = last(i);
        sum += x;
        v[at] = sum;
        if constexpr (at == split) {
            if constexpr (at != 0) finish();
            group = x;
        } else {
            group += x;
        }
    });
    if (split == 0)
        finish();
    else
        store(state.part, group);
    reals suffix = {};
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = 7 - decltype(i)::value;
        suffix = at == 7 ? first(constant<at>{}) : suffix + first(constant<at>{});
        v[at] += suffix;
    });
}

/// Calls f(constant<width>), constant<-rest> for more than eight samples.
template <int kind = 8, typename F>
void with_width(const group_windows& windows, F&& f) {
    if constexpr (kind == -7)
        f(constant<kind>{});
    else if (windows.width <= 8 ? windows.width == kind : windows.rest == -kind)
        f(constant<kind>{});
    else
        with_width<kind - 1>(windows, f);
}

// ---- along columns --------------------------------------------------------------------------------------------------

/// A vector of x[0 .. n - 1], 0 behind them.
template <typename T>
inline reals some(const T* x, i64 n) {
    f64 values[lanes] = {};
    for (i64 i = 0; i < n; ++i) values[i] = static_cast<f64>(x[i]);
    return load<reals>(values);
}

template <int width, typename T>
void down_as(f64* line, const T* const* first, const T* const* last, const group_windows& windows, const f64* beyond,
             i64 n) {
    const T *x[8], *y[8];
    for (int i = 0; i < 8; ++i) {
        x[i] = first[i];
        y[i] = last[i];
    }
    group_state state{nullptr, nullptr, nullptr, windows.whole > 0, windows.phase > 0};
    const auto tile = [&](i64 c, auto&& load_from) BOXSUM_INLINE {
        reals v[8];
        const auto of_first = [&](auto i) BOXSUM_INLINE { return load_from(x[decltype(i)::value] + c); };
        if constexpr (width > 0) {
            narrow_windows<width>(v, [&](auto i) BOXSUM_INLINE {
                constexpr int at = decltype(i)::value;
                if constexpr (at < 8)
                    return load_from(x[at] + c);
                else
                    return load_from(y[at + 1 - width] + c);
            });
        } else {
            state.part = windows.part + c;
            state.slot = windows.slots + windows.phase * windows.stride + c;
            state.prefix = windows.prefix + c;
            wide_windows<-width>(
                v, of_first, [&](auto i) BOXSUM_INLINE { return load_from(y[decltype(i)::value] + c); }, state);
        }
        if (beyond != nullptr) {
            const reals more = load<reals>(beyond + c);
            unrolled<8>([&](auto i) BOXSUM_INLINE { v[decltype(i)::value] += more; });
        }
        unrolled<parts>([&](auto part) BOXSUM_INLINE {
            constexpr int row = decltype(part)::value * lanes;
            reals t[lanes];
            unrolled<lanes>([&](auto i) BOXSUM_INLINE { t[decltype(i)::value] = v[row + decltype(i)::value]; });
            transpose(t);
            unrolled<lanes>(
                [&](auto i) BOXSUM_INLINE { store(line + (c + decltype(i)::value) * 8 + row, t[decltype(i)::value]); });
        });
    };
    i64 c = 0;
    for (; c + lanes <= n; c += lanes) {
        if (c % 16 == 0)
            for (int i = 0; i < 8; ++i) {
                __builtin_prefetch(y[i] + c + 128);
                if (width <= 0) __builtin_prefetch(x[i] + c + 128);
            }
        tile(c, [](const T* from) BOXSUM_INLINE { return as_reals(from); });
    }
    if (c < n) tile(c, [&](const T* from) { return some(from, n - c); });
}

template <typename T>
void down(f64* line, const T* const* first, const T* const* last, const group_windows& windows, const f64* beyond,
          i64 n) {
    with_width(windows, [&](auto width) { down_as<decltype(width)::value>(line, first, last, windows, beyond, n); });
}

/// Slots that hold groups become suffixes of their block.
void close_block(f64* slots, i64 whole, i64 stride, i64 n) {
    for (i64 k = whole - 2; k >= 0; --k) add_rows(slots + k * stride, slots + k * stride, slots + (k + 1) * stride, n);
}

// ---- along rows -----------------------------------------------------------------------------------------------------

inline void add_vectors(f64* to, const f64* x, i64 n) {
    for (i64 i = 0; i < n; i += lanes) store(to + i, as_reals(to + i) + as_reals(x + i));
}

/// As close_block, of few values.
inline void close_short_block(const group_windows& windows, i64 n) {
    for (i64 k = windows.whole - 2; k >= 0; --k)
        add_vectors(windows.slots + k * windows.stride, windows.slots + (k + 1) * windows.stride, n);
}

/// Windows of every channel of `cols` columns from x on, eight at a time; to[8 * i] is element i of the result.
template <int width>
void along_as(f64* to, const f64* x, group_windows& windows, i64 cols, i64 channels) {
    const i64 step = 8 * channels, ahead = (windows.width - 1) * step, whole = windows.whole;
    i64 phase = windows.phase;
    for (i64 c = 0; c < cols; c += 8) {
        for (i64 k = 0; k < channels; ++k)
            unrolled<parts>([&](auto part) BOXSUM_INLINE {
                const i64 at = 8 * k + decltype(part)::value * lanes;
                const f64* const from = x + c * step + at;
                f64* const put = to + c * step + at;
                reals v[8];
                const auto sample = [&](auto i) BOXSUM_INLINE { return load<reals>(from + decltype(i)::value * step); };
                if constexpr (width > 0) {
                    narrow_windows<width>(v, sample);
                } else {
                    const f64* const end = from + ahead;
                    const group_state state{windows.part + at, windows.slots + phase * windows.stride + at,
                                            windows.prefix + at, whole > 0, phase > 0};
                    wide_windows<-width>(
                        v, sample, [&](auto i) BOXSUM_INLINE { return load<reals>(end + decltype(i)::value * step); },
                        state);
                }
                unrolled<8>([&](auto i)
                                BOXSUM_INLINE { store(put + decltype(i)::value * step, v[decltype(i)::value]); });
            });
        if (width <= 0 && ++phase >= whole) {
            close_short_block(windows, step);
            phase = 0;
        }
    }
    windows.phase = phase;
}

/// Sums of rest, groups and suffixes before the first windows of a row.
void begin_along(const f64* line, const group_windows& windows, i64 channels) {
    const i64 step = 8 * channels;
    const auto sum = [&](f64* to, i64 first, i64 count) {
        for (i64 i = 0; i < step; ++i) to[i] = line[first * step + i];
        for (i64 c = first + 1; c < first + count; ++c) add_vectors(to, line + c * step, step);
    };
    for (i64 k = 0; k < windows.whole; ++k) sum(windows.slots + k * windows.stride, 8 * (k + 1), 8);
    if (windows.rest > 0) sum(windows.part, (windows.width - 1) / 8 * 8, windows.rest);
    close_short_block(windows, step);
}

/// Two squares of 32-bit results beside each other, or one of 64-bit ones: with eight lanes whole lines of the cache.
template <typename Out>
constexpr int squares = 8 / sizeof(Out);

template <typename V, typename Half, int... i>
BOXSUM_INLINE inline V beside(Half a, Half b, every_lane::list<i...>) {
    return __builtin_shufflevector(a, b, i...);
}

/// What becomes of eight sums of each element, times a factor. `sums` has whole squares.
template <typename Out>
void put_rows(Out* const* rows, i64 at, const f64* sums, const f64* factors, i64 factor_step, i64 n) {
    typedef Out results __attribute__((vector_size(lanes * sizeof(Out))));
    typedef Out line __attribute__((vector_size(squares<Out> * lanes * sizeof(Out))));
    constexpr int length = squares<Out> * lanes;
    for (i64 i = 0; i < n; i += length) {
        const i64 here = n - i < length ? n - i : length;
        unrolled<parts>([&](auto part) BOXSUM_INLINE {
            constexpr int row = decltype(part)::value * lanes;
            const auto result = [&](i64 e) BOXSUM_INLINE {
                reals v = load<reals>(sums + 8 * e + row);
                if (factors != nullptr) v *= load<reals>(factors + factor_step * e + row);
                return __builtin_convertvector(v, results);
            };
            line t[lanes];
            unrolled<lanes>([&](auto j) BOXSUM_INLINE {
                const i64 e = i + decltype(j)::value;
                if constexpr (squares<Out> == 2)
                    t[decltype(j)::value] = beside<line>(result(e), result(e + lanes),
                                                         typename make_list<length>::template of<every_lane>{});
                else
                    t[decltype(j)::value] = result(e);
            });
            transpose(t);
            unrolled<lanes>([&](auto j) BOXSUM_INLINE {
                Out* const out = rows[row + decltype(j)::value];
                if (out == nullptr) return;
                if (here == length) return store(out + at + i, t[decltype(j)::value]);
                std::memcpy(out + at + i, &t[decltype(j)::value], static_cast<std::size_t>(here) * sizeof(Out));
            });
        });
    }
}

/// Columns whose windows are made and used together, so that they stay in the first-level cache.
constexpr i64 columns_together(i64 channels) {
    return channels == 1 ? 64 : 16;
}

/// Windows of eight rows along them. `line` has (cols rounded up to 16) + width - 1 columns; rows of null are left out.
template <typename Out>
void along(Out* const* rows, const f64* line, group_windows windows, const f64* beyond, const mean_factors& factors,
           i64 cols, i64 channels) {
    alignas(64) f64 sums[8 * 64], each[8 * 64];  // of up to four channels
    const i64 step = 8 * channels, together = columns_together(channels);
    if (windows.width > 8) begin_along(line, windows, channels);
    with_width(windows, [&](auto width) {
        for (i64 c = 0; c < cols; c += together) {
            const i64 rounded = cols - c < together ? (cols - c + 15) / 16 * 16 : together;
            along_as<decltype(width)::value>(sums, line + c * step, windows, rounded, channels);
            if (beyond != nullptr)
                for (i64 i = 0; i < rounded; ++i) add_vectors(sums + i * step, beyond, step);
            const i64 count = cols - c < together ? cols - c : together, n = count * channels;
            if (factors.cols == nullptr) {
                put_rows(rows, c * channels, sums, nullptr, 0, n);
            } else if (c >= factors.first_full && c + count <= factors.end_full) {
                put_rows(rows, c * channels, sums, factors.full, 0, n);
            } else {
                for (i64 i = 0; i < rounded; ++i)
                    for (i64 r = 0; r < 8; r += lanes) {
                        const f64 of_column = factors.cols[i < count ? c + i : cols - 1];
                        const reals factor = 1.0 / (as_reals(factors.rows + r) * of_column);
                        for (i64 k = 0; k < channels; ++k) store(each + (i * channels + k) * 8 + r, factor);
                    }
                put_rows(rows, c * channels, sums, each, 8, n);
            }
        }
    });
}

#undef BOXSUM_INLINE

}  // namespace group_lanes
