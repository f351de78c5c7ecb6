// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Sums, and moments, of all pixels of a window: what group_windows_impl.hpp joins, and its results.

namespace group_lanes {

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

// ---- along columns --------------------------------------------------------------------------------------------------

/// A pixel as what windows are made of.
inline const reals& sample_of(const additions&, const reals& x) {
    return x;
}
inline one_sample sample_of(const merges&, const reals& x) {
    return {x};
}

template <typename Rows>
void sums_down(f64* line, Rows& rows, const group_windows& windows, const f64* beyond, i64 n) {
    with_width(windows, [&](auto width) {
        down_as<decltype(width)::value>(rows, windows, additions{}, n, [&](i64 c, reals(&v)[8]) BOXSUM_INLINE {
            if (beyond != nullptr)
                unrolled<8>([&](auto i) BOXSUM_INLINE { v[decltype(i)::value] += load<reals>(beyond + c); });
            put_line(line + 8 * c, v);
        });
    });
}

template <typename T>
void down(f64* line, const T* const* first, const T* const* last, const group_windows& windows, const f64* beyond,
          i64 n) {
    pixel_rows<T> rows(first, last);
    sums_down(line, rows, windows, beyond, n);
}

/// Of every column as if it had one sample.
template <typename T>
void down_moments(f64* line, const T* const* first, const T* const* last, const group_windows& windows,
                  const f64* beyond, const moments_down& how, i64 n) {
    pixel_rows<T> rows(first, last);
    const merges by{*how.shares, windows.stride / 2};
    with_width(windows, [&](auto width) {
        down_as<decltype(width)::value>(rows, windows, by, n, [&](i64 c, moment_value(&v)[8]) BOXSUM_INLINE {
            if (beyond != nullptr)
                unrolled<8>([&](auto i) BOXSUM_INLINE {
                    v[decltype(i)::value] = merged(v[decltype(i)::value], by.at(beyond + c), how.beyond);
                });
            reals one[8];
            unrolled<8>([&](auto i) BOXSUM_INLINE { one[decltype(i)::value] = v[decltype(i)::value].mean; });
            put_line(line + 8 * c, one);
            unrolled<8>([&](auto i) BOXSUM_INLINE {
                one[decltype(i)::value] = v[decltype(i)::value].m2 * how.inverse_rows[decltype(i)::value];
            });
            put_line(line + how.plane + 8 * c, one);
        });
    });
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
            put_rows(rows, c * channels, sums, nullptr, 0, n, factors.streaming);
        } else if (c >= factors.first_full && c + count <= factors.end_full) {
            put_rows(rows, c * channels, sums, factors.full, 0, n, factors.streaming);
        } else {
            for (i64 i = 0; i < rounded; ++i)
                for (i64 r = 0; r < 8; r += lanes) {
                    const f64 of_column = factors.cols[i < count ? c + i : cols - 1];
                    const reals factor = 1.0 / (as_reals(factors.rows + r) * of_column);
                    for (i64 k = 0; k < channels; ++k) store(each + (i * channels + k) * 8 + r, factor);
                }
            put_rows(rows, c * channels, sums, each, 8, n, factors.streaming);
        }
    }
    end_lines(factors.streaming);
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
        if (means != nullptr) put_rows(means, c * channels, mean, nullptr, 0, n, how.streaming);
        put_rows(spreads, c * channels, spread, nullptr, 0, n, how.streaming);
    }
    end_lines(how.streaming);
    return any;
}

}  // namespace group_lanes
