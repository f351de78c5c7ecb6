// No include guard: part of the kernels of an instruction set, inside their namespaces.

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
#elif defined(__aarch64__)  // lane by lane
    return (reals)vcvt_f64_f32((float32x2_t)load<floats>(x));
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
/// Sixteen rows go on in `ends` from their element c on, with zeros behind their last elements.
template <typename T>
void end_rows(const T* (&x)[16], T (&ends)[16][lanes], i64 c, i64 count) {
    for (int i = 0; i < 16; ++i) {
        for (i64 k = 0; k < lanes; ++k) ends[i][k] = k < count ? x[i][c + k] : T{0};
        x[i] = ends[i];
    }
}

/// The rows that eight windows begin with, then those that they end with.
template <typename T>
class pixel_rows {
    const T* x[16];  // from their element `start` on
    i64 start = 0;

  public:
    pixel_rows(const T* const* first, const T* const* last) {
        for (int i = 0; i < 8; ++i) {
            x[i] = first[i];
            x[8 + i] = last[i];
        }
    }
    BOXSUM_INLINE inline reals at(int i, i64 c) const { return as_reals(x[i] + (c - start)); }
    BOXSUM_INLINE inline void fetch(int i, i64 c) const { __builtin_prefetch(x[i] + (c - start)); }
    /// Elements c .. c + count - 1, fewer than a vector, are the last.
    void end(i64 c, i64 count) {
        end_rows(x, ends, c, count);
        start = c;
    }

  private:
    T ends[16][lanes];
};

/// put(element, v) for every vector of elements; `sample_of` makes what `by` joins of what rows have.
template <int width, typename By, typename Rows, typename Put>
BOXSUM_INLINE inline void down_as(Rows& rows, const group_windows& windows, const By& by, i64 n, Put&& put) {
    group_state state{nullptr, nullptr, nullptr, windows.whole > 0, windows.phase > 0};
    for (i64 c = 0; c < n; c += lanes) {
        if (n - c < lanes) rows.end(c, n - c);
        if (c % 16 == 0)
            for (int i = 0; i < 8; ++i) {
                rows.fetch(8 + i, c + 128);
                if (width <= 0) rows.fetch(i, c + 128);
            }
        typename By::value v[8];
        const auto first = [&](auto i) BOXSUM_INLINE { return sample_of(by, rows.at(decltype(i)::value, c)); };
        const auto last = [&](auto i) BOXSUM_INLINE { return sample_of(by, rows.at(8 + decltype(i)::value, c)); };
        if constexpr (width > 0) {
            narrow_windows<width>(v, by, [&](auto i) BOXSUM_INLINE {
                constexpr int at = decltype(i)::value;
                if constexpr (at < 8)
                    return first(i);
                else
                    return last(constant<at + 1 - width>{});
            });
        } else {
            state.part = windows.part + c;
            state.slot = windows.slots + windows.phase * windows.stride + c;
            state.prefix = windows.prefix + c;
            wide_windows<-width>(v, by, first, last, state);
        }
        put(c, v);
    }
}

// ---- along rows -----------------------------------------------------------------------------------------------------

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

/// A line of results. Only stores of whole lines of the cache leave past it: what has to be joined before is slower.
template <typename V, typename T>
BOXSUM_INLINE inline void store_line(T* to, V v, [[maybe_unused]] bool streaming) {
#if defined(__AVX512F__)
    static_assert(sizeof(V) == 64);
    if (streaming && reinterpret_cast<std::uintptr_t>(to) % 64 == 0)
        return _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#endif
    store(to, v);
}

/// Behind lines that left past the cache, before others may read them.
inline void end_lines([[maybe_unused]] bool streaming) {
#if defined(__AVX512F__)
    if (streaming) _mm_sfence();
#endif
}

/// What becomes of eight sums, or numbers, of each element, times a factor. `sums` has whole squares.
template <typename Out, typename In>
void put_rows(Out* const* rows, i64 at, const In* sums, const f64* factors, i64 factor_step, i64 n, bool streaming) {
    typedef In values __attribute__((vector_size(lanes * sizeof(In))));
    typedef Out results __attribute__((vector_size(lanes * sizeof(Out))));
    typedef Out line __attribute__((vector_size(squares<Out> * lanes * sizeof(Out))));
    constexpr int length = squares<Out> * lanes;
    for (i64 i = 0; i < n; i += length) {
        const i64 here = n - i < length ? n - i : length;
        unrolled<parts>([&](auto part) BOXSUM_INLINE {
            constexpr int row = decltype(part)::value * lanes;
            const auto result = [&](i64 e) BOXSUM_INLINE {
                values v = load<values>(sums + 8 * e + row);
                if constexpr (sizeof(In) == 8)
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
                if (here == length) return store_line(out + at + i, t[decltype(j)::value], streaming);
                std::memcpy(out + at + i, &t[decltype(j)::value], static_cast<std::size_t>(here) * sizeof(Out));
            });
        });
    }
}

/// Columns whose windows are made and used together, so that they stay in the first-level cache.
constexpr i64 columns_together(i64 channels) {
    return channels == 1 ? 64 : 16;
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

}  // namespace group_lanes
