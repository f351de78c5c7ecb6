// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Windows of floating images by additions alone (of sums) or by merges alone (of means and squared deviations), of
// eight rows at a time, then of eight columns at a time. Both axes are cut into groups of eight samples, from the first
// sample of the first window on. Eight neighbouring windows of more than eight samples, those that begin in one group,
// share whole groups:
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

/// f(constant<0>), f(constant<1>), ...: indices of arrays in registers have to be constants before anything else. All
/// in one function: of a chain of functions, each with the rest of it inlined, a compiler goes through every one.
template <int... i, typename F>
BOXSUM_INLINE inline void call_with_each(F&& f, every_lane::list<i...>) {
    (f(constant<i>{}), ...);
}
template <int n, typename F>
BOXSUM_INLINE inline void unrolled(F&& f) {
    call_with_each(f, typename make_list<n>::template of<every_lane>{});
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

// ---- what windows are made of ---------------------------------------------------------------------------------------

/// Sums. The number of a join says which of a window's it is, what it joins is its first argument, then the second.
struct additions {
    using value = reals;

    template <int>
    BOXSUM_INLINE inline reals join(reals a, reals b) const {
        return a + b;
    }
    BOXSUM_INLINE inline reals join_whole(reals a, reals b) const { return a + b; }
    BOXSUM_INLINE inline reals join_prefix(reals a, reals b) const { return a + b; }
    BOXSUM_INLINE inline static reals start(reals x) { return x; }
    BOXSUM_INLINE inline static reals at(const f64* from) { return load<reals>(from); }
    BOXSUM_INLINE inline static void put(f64* to, reals v) { store(to, v); }
};

struct moment_value {
    reals mean, m2;
};
struct one_sample {
    reals x;
};

BOXSUM_INLINE inline moment_value merged(const moment_value& a, const moment_value& b, const merge_shares& by) {
    const reals d = b.mean - a.mean;
    return {a.mean + by.part * d, (a.m2 + b.m2) + (by.scale * d) * d};
}
BOXSUM_INLINE inline moment_value merged(const moment_value& a, const one_sample& b, const merge_shares& by) {
    const reals d = b.x - a.mean;
    return {a.mean + by.part * d, a.m2 + (by.scale * d) * d};
}

/// Means and sums of squared deviations, the latter `plane` values behind the former.
struct merges {
    using value = moment_value;

    const group_merges& shares;
    i64 plane;

    template <int k, typename Other>
    BOXSUM_INLINE inline value join(const value& a, const Other& b) const {
        return merged(a, b, shares.of_eight[k]);
    }
    BOXSUM_INLINE inline value join_whole(const value& a, const value& b) const { return merged(a, b, shares.whole); }
    BOXSUM_INLINE inline value join_prefix(const value& a, const value& b) const { return merged(a, b, shares.prefix); }
    BOXSUM_INLINE inline static value start(const value& x) { return x; }
    BOXSUM_INLINE inline static value start(const one_sample& x) { return {x.x, reals{}}; }
    BOXSUM_INLINE inline value at(const f64* from) const { return {load<reals>(from), load<reals>(from + plane)}; }
    BOXSUM_INLINE inline void put(f64* to, const value& v) const {
        store(to, v.mean);
        store(to + plane, v.m2);
    }
};

// ---- eight windows --------------------------------------------------------------------------------------------------

/// Of `width` <= 8 samples; sample(i) for i < 7 + width. Joins: 0 to 14 suffixes, 15 to 29 prefixes, 30 to 37 both.
template <int width, typename By, typename Sample>
BOXSUM_INLINE inline void narrow_windows(typename By::value (&v)[8], const By& by, Sample&& sample) {
    constexpr int count = 7 + width;
    decltype(sample(constant<0>{})) x[count];
    typename By::value suffix[count], prefix[count];
    unrolled<count>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        x[at] = sample(i);
        suffix[at] = prefix[at] = by.start(x[at]);
    });
    unrolled<count>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value, back = count - 1 - at;
        if constexpr (at % width != 0) prefix[at] = by.template join<15 + at>(prefix[at - 1], x[at]);
        // Of the last block only a part may be there, whose suffixes no window has.
        if constexpr (back % width != width - 1 && back / width * width + width <= count)
            suffix[back] = by.template join<back>(suffix[back + 1], x[back]);
    });
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        if constexpr (at % width == 0)
            v[at] = prefix[at + width - 1];
        else
            v[at] = by.template join<30 + at>(suffix[at], prefix[at + width - 1]);
    });
}

/// How windows of more than eight samples, 8 q + rest + 1, go on along an axis: q - 1 whole groups, and of the last
/// group `rest` samples that all windows have. Values per element: `part`, of those samples; with whole groups `slot`,
/// suffixes of this block of groups and, from the first on, the groups of the next; `prefix`, of the latter.
struct group_state {
    f64 *part, *slot, *prefix;
    bool whole, in_block;  ///< whether there are whole groups; whether the next block has begun
};

/// What all eight have is joined once, before the suffixes. Joins: 0 that with the part, 1 to 8 suffixes, 9 to 15
/// prefixes, 16 to 23 both, 24 the last group of its part and its prefix, 25 to 30 the next part.
template <int rest, typename By, typename First, typename Last>
BOXSUM_INLINE inline void wide_windows(typename By::value (&v)[8], const By& by, First&& first, Last&& last,
                                       const group_state& state) {
    using value = typename By::value;
    constexpr int split = 8 - rest;
    value sum = {}, part = {}, prefix = {}, next = {};
    if (state.whole) {
        sum = by.at(state.slot);
        if (state.in_block) sum = by.join_whole(sum, by.at(state.prefix));
    }
    if constexpr (rest != 0) {
        part = by.at(state.part);
        sum = by.template join<0>(sum, part);
    }
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = 7 - decltype(i)::value;
        sum = by.template join<1 + at>(sum, first(constant<at>{}));
        v[at] = sum;
    });
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        constexpr int at = decltype(i)::value;
        const auto x = last(i);
        if constexpr (at == 0)
            prefix = by.start(x);
        else
            prefix = by.template join<8 + at>(prefix, x);
        v[at] = by.template join<16 + at>(v[at], prefix);
        if constexpr (at == split - 1)
            if (state.whole) {
                value group = prefix;
                if constexpr (rest != 0) group = by.template join<24>(part, prefix);
                by.put(state.slot, group);
                by.put(state.prefix, state.in_block ? by.join_prefix(by.at(state.prefix), group) : group);
            }
        if constexpr (at == split)
            next = by.start(x);
        else if constexpr (at > split)
            next = by.template join<24 + at - split>(next, x);
    });
    if constexpr (rest != 0) by.put(state.part, next);
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

/// A pixel as what windows are made of.
inline const reals& sample_of(const additions&, const reals& x) {
    return x;
}
inline one_sample sample_of(const merges&, const reals& x) {
    return {x};
}

/// What lies beyond is in all windows: each gets it at last.
BOXSUM_INLINE inline reals with_beyond(const additions&, reals v, const f64* beyond, const merge_shares&) {
    return v + load<reals>(beyond);
}
BOXSUM_INLINE inline moment_value with_beyond(const merges& by, const moment_value& v, const f64* beyond,
                                              const merge_shares& shares) {
    return merged(v, by.at(beyond), shares);
}

/// Eight rows of a vector of elements to the line.
BOXSUM_INLINE inline void put_line(f64* line, const reals (&v)[8]) {
    unrolled<parts>([&](auto part) BOXSUM_INLINE {
        constexpr int row = decltype(part)::value * lanes;
        reals t[lanes];
        unrolled<lanes>([&](auto i) BOXSUM_INLINE { t[decltype(i)::value] = v[row + decltype(i)::value]; });
        transpose(t);
        unrolled<lanes>([&](auto i)
                            BOXSUM_INLINE { store(line + decltype(i)::value * 8 + row, t[decltype(i)::value]); });
    });
}
BOXSUM_INLINE inline void put_values(f64* line, const reals (&v)[8], const moments_down*) {
    put_line(line, v);
}
/// Of every column as if it had one sample.
BOXSUM_INLINE inline void put_values(f64* line, const moment_value (&v)[8], const moments_down* how) {
    reals one[8];
    unrolled<8>([&](auto i) BOXSUM_INLINE { one[decltype(i)::value] = v[decltype(i)::value].mean; });
    put_line(line, one);
    unrolled<8>([&](auto i) BOXSUM_INLINE {
        one[decltype(i)::value] = v[decltype(i)::value].m2 * how->inverse_rows[decltype(i)::value];
    });
    put_line(line + how->plane, one);
}

template <int width, typename By, typename T>
void down_as(f64* line, const T* const* first, const T* const* last, const group_windows& windows, const f64* beyond,
             const By& by, const moments_down* how, i64 n) {
    const T *x[8], *y[8];
    for (int i = 0; i < 8; ++i) {
        x[i] = first[i];
        y[i] = last[i];
    }
    group_state state{nullptr, nullptr, nullptr, windows.whole > 0, windows.phase > 0};
    const auto tile = [&](i64 c, auto&& load_from) BOXSUM_INLINE {
        typename By::value v[8];
        const auto of_first = [&](auto i) BOXSUM_INLINE { return sample_of(by, load_from(x[decltype(i)::value] + c)); };
        if constexpr (width > 0) {
            narrow_windows<width>(v, by, [&](auto i) BOXSUM_INLINE {
                constexpr int at = decltype(i)::value;
                if constexpr (at < 8)
                    return sample_of(by, load_from(x[at] + c));
                else
                    return sample_of(by, load_from(y[at + 1 - width] + c));
            });
        } else {
            state.part = windows.part + c;
            state.slot = windows.slots + windows.phase * windows.stride + c;
            state.prefix = windows.prefix + c;
            wide_windows<-width>(
                v, by, of_first,
                [&](auto i) BOXSUM_INLINE { return sample_of(by, load_from(y[decltype(i)::value] + c)); }, state);
        }
        if (beyond != nullptr)
            unrolled<8>([&](auto i) BOXSUM_INLINE {
                v[decltype(i)::value] =
                    with_beyond(by, v[decltype(i)::value], beyond + c, how != nullptr ? how->beyond : merge_shares{});
            });
        put_values(line + 8 * c, v, how);
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
    with_width(windows, [&](auto width) {
        down_as<decltype(width)::value>(line, first, last, windows, beyond, additions{}, nullptr, n);
    });
}

template <typename T>
void down_moments(f64* line, const T* const* first, const T* const* last, const group_windows& windows,
                  const f64* beyond, const moments_down& how, i64 n) {
    const merges by{*how.shares, windows.stride / 2};
    with_width(windows,
               [&](auto width) { down_as<decltype(width)::value>(line, first, last, windows, beyond, by, &how, n); });
}

/// Slots that hold groups become suffixes of their block.
void close_block(f64* slots, i64 whole, i64 stride, i64 n) {
    for (i64 k = whole - 2; k >= 0; --k) add_rows(slots + k * stride, slots + k * stride, slots + (k + 1) * stride, n);
}

// ---- along rows -----------------------------------------------------------------------------------------------------

/// Of few values, whole vectors.
inline void add_vectors(f64* to, const f64* x, i64 n) {
    for (i64 i = 0; i < n; i += lanes) store(to + i, as_reals(to + i) + as_reals(x + i));
}
inline void join_vectors(const additions&, f64* to, const f64* a, const f64* b, const merge_shares&, i64 n) {
    for (i64 i = 0; i < n; i += lanes) store(to + i, as_reals(a + i) + as_reals(b + i));
}
inline void join_vectors(const merges& by, f64* to, const f64* a, const f64* b, const merge_shares& shares, i64 n) {
    for (i64 i = 0; i < n; i += lanes) by.put(to + i, merged(by.at(a + i), by.at(b + i), shares));
}

BOXSUM_INLINE inline reals joined_by(const additions&, reals a, reals b, const merge_shares&) {
    return a + b;
}
BOXSUM_INLINE inline moment_value joined_by(const merges&, const moment_value& a, const moment_value& b,
                                            const merge_shares& shares) {
    return merged(a, b, shares);
}

/// How sums and moments differ along rows; `group` counts eights of columns.
struct sums_along {
    additions by(i64) const { return {}; }
    merge_shares closing(i64) const { return {}; }
    merge_shares begin(i64) const { return {}; }
    additions of_line() const { return {}; }
};
struct merges_along {
    const moments_along& how;
    i64 plane;  ///< of what goes on from group to group

    merges by(i64 group) const { return {how.groups[group], plane}; }
    const merge_shares& closing(i64 group) const { return how.groups[group].closing; }
    const merge_shares& begin(i64 i) const { return how.begin[i]; }
    merges of_line() const { return {how.groups[0], how.plane}; }
};

/// As close_block, of few values; `group`: that of the first slot.
template <typename How>
inline void close_short_block(const group_windows& windows, const How& how, i64 group, i64 n) {
    for (i64 k = windows.whole - 2; k >= 0; --k) {
        f64* const slot = windows.slots + k * windows.stride;
        join_vectors(how.by(0), slot, slot + windows.stride, slot, how.closing(group + k), n);
    }
}

/// Windows of every channel of `cols` columns from x on, eight at a time: finish(element, v) for elements 0, 8, ...,
/// the first of `group`.
template <int width, typename How, typename Finish>
BOXSUM_INLINE inline void along_as(const f64* x, group_windows& windows, const How& how, i64 group, i64 cols,
                                   i64 channels, Finish&& finish) {
    const i64 step = 8 * channels, ahead = (windows.width - 1) * step, whole = windows.whole;
    const auto line = how.of_line();
    i64 phase = windows.phase;
    for (i64 c = 0; c < cols; c += 8, ++group) {
        const auto by = how.by(group);
        // Not unrolled: of four parts the code of all kernels would take three times as long to compile.
        for (i64 at = 0; at < step; at += lanes) {
            const f64* const from = x + c * step + at;
            typename std::remove_cvref_t<decltype(by)>::value v[8];
            const auto sample = [&](auto i) BOXSUM_INLINE { return line.at(from + decltype(i)::value * step); };
            if constexpr (width > 0) {
                narrow_windows<width>(v, by, sample);
            } else {
                const f64* const end = from + ahead;
                const group_state state{windows.part + at, windows.slots + phase * windows.stride + at,
                                        windows.prefix + at, whole > 0, phase > 0};
                wide_windows<-width>(
                    v, by, sample, [&](auto i) BOXSUM_INLINE { return line.at(end + decltype(i)::value * step); },
                    state);
            }
            finish(c, at, v);
        }
        if (width <= 0 && ++phase >= whole) {
            close_short_block(windows, how, group + 2, step);
            phase = 0;
        }
    }
    windows.phase = phase;
}

/// Rest, groups and suffixes before the first windows of a row. `How::begin` in order: seven joins a group, then the
/// part's.
template <typename How>
void begin_along(const f64* line, const group_windows& windows, const How& how, i64 channels) {
    const i64 step = 8 * channels;
    const auto from = how.of_line();
    const auto to = how.by(0);
    i64 joined = 0;
    const auto chain = [&](i64 at, i64 first, i64 count) {
        auto v = from.at(line + first * step + at);
        for (i64 c = first + 1; c < first + count; ++c)
            v = joined_by(to, v, from.at(line + c * step + at), how.begin(joined++));
        return v;
    };
    for (i64 k = 0; k <= windows.whole; ++k) {
        const i64 first = 8 * (k + 1), before = joined;
        for (i64 at = 0; at < step; at += lanes) {
            joined = before;
            if (k == windows.whole) {
                if (windows.rest > 0) to.put(windows.part + at, chain(at, first, windows.rest));
                continue;
            }
            auto group = chain(at, first, windows.rest > 0 ? windows.rest : 8);
            if (windows.rest > 0) {
                const auto others = chain(at, first + windows.rest, 8 - windows.rest);
                group = joined_by(to, group, others, how.begin(joined++));
            }
            to.put(windows.slots + k * windows.stride + at, group);
        }
    }
    close_short_block(windows, how, 1, step);
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

/// The sums of windows of some columns, whatever becomes of them.
void sum_along(f64* sums, const f64* line, group_windows& windows, i64 group, i64 cols, i64 channels) {
    with_width(windows, [&](auto width) {
        along_as<decltype(width)::value>(line, windows, sums_along{}, group, cols, channels,
                                         [&](i64 first, i64 at, const reals(&v)[8]) BOXSUM_INLINE {
                                             unrolled<8>([&](auto i) BOXSUM_INLINE {
                                                 constexpr int col = decltype(i)::value;
                                                 store(sums + (first + col) * 8 * channels + at, v[col]);
                                             });
                                         });
    });
}

/// Windows of eight rows along them. `line` has (cols rounded up to 16) + width - 1 columns; rows of null are left out.
template <typename Out>
void along(Out* const* rows, const f64* line, group_windows windows, const f64* beyond, const mean_factors& factors,
           i64 cols, i64 channels) {
    alignas(64) f64 sums[8 * 64], each[8 * 64];  // of up to four channels
    const i64 step = 8 * channels, together = columns_together(channels);
    if (windows.width > 8) begin_along(line, windows, sums_along{}, channels);
    for (i64 c = 0; c < cols; c += together) {
        const i64 rounded = cols - c < together ? (cols - c + 15) / 16 * 16 : together;
        sum_along(sums, line + c * step, windows, c / 8, rounded, channels);
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
}

inline reals root(reals x) {
#if defined(__AVX512F__)  // masked, for the warnings of GCC 12
    return (reals)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#elif defined(__AVX2__)
    return (reals)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
    return (reals)_mm_sqrt_pd((__m128d)x);
#else
    for (int i = 0; i < lanes; ++i) x[i] = __builtin_sqrt(x[i]);
    return x;
#endif
}

/// Where a mean is not finite, neither it nor the spread is a number. Whether there is such a mean.
inline bool mark_what_is_not_finite(f64* mean, f64* spread, i64 n) {
    u64 any = 0;
    for (i64 i = 0; i < n; ++i) {
        const f64 nothing = mean[i] - mean[i];  // 0, or NaN
        mean[i] += nothing;
        spread[i] += nothing;
        any |= __builtin_bit_cast(u64, nothing);
    }
    return any << 1 != 0;
}

/// Means and spreads of windows of some columns, the first of `group`. Roots are taken between merges, which hide them.
/// Whether a mean is not finite.
bool merge_along(f64* mean, f64* spread, const f64* line, group_windows& windows, const f64* beyond,
                 const merges_along& along, i64 group, i64 cols, i64 channels) {
    const moments_along& how = along.how;
    reals all = {};
    with_width(windows, [&](auto width) {
        const auto finish = [&](i64 first, i64 at, moment_value(&v)[8]) BOXSUM_INLINE {
            unrolled<8>([&](auto i) BOXSUM_INLINE {
                constexpr int col = decltype(i)::value;
                if (beyond != nullptr) v[col] = merged(v[col], along.by(0).at(beyond + at), how.beyond);
                const reals variance = v[col].m2 * how.inverse_cols[8 * group + first + col];
                store(mean + (first + col) * 8 * channels + at, v[col].mean);
                store(spread + (first + col) * 8 * channels + at, how.deviations ? root(variance) : variance);
                all += v[col].mean;
            });
        };
        along_as<decltype(width)::value>(line, windows, along, group, cols, channels, finish);
    });
    f64 total = 0;
    for (int i = 0; i < lanes; ++i) total += all[i] - all[i];
    return total != 0 || total != total;
}

template <typename Out>
bool along_moments(Out* const* means, Out* const* spreads, const f64* line, group_windows windows, const f64* beyond,
                   const moments_along& how, i64 cols, i64 channels) {
    alignas(64) f64 mean[8 * 64], spread[8 * 64];  // of up to four channels
    const i64 step = 8 * channels, together = columns_together(channels);
    const merges_along along{how, windows.stride / 2};
    bool any = false;
    if (windows.width > 8) begin_along(line, windows, along, channels);
    for (i64 c = 0; c < cols; c += together) {
        const i64 rounded = cols - c < together ? (cols - c + 15) / 16 * 16 : together;
        if (merge_along(mean, spread, line + c * step, windows, beyond, along, c / 8, rounded, channels))
            any |= mark_what_is_not_finite(mean, spread, rounded * step);
        const i64 n = (cols - c < together ? cols - c : together) * channels;
        if (means != nullptr) put_rows(means, c * channels, mean, nullptr, 0, n);
        put_rows(spreads, c * channels, spread, nullptr, 0, n);
    }
    return any;
}

#undef BOXSUM_INLINE

}  // namespace group_lanes
