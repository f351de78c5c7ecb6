// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Windows of floats of which some pixels count: sums as where all do (group_kernels_impl.hpp), to which those that do
// not are 0, beside numbers of those that do. Numbers are integers, so they slide: down the columns and along the line,
// where eight rows are a vector.

template <typename T>
void clean(T* __restrict to, const T* __restrict x, const u8* __restrict counts, T none, i64 n) {
    using bits = bits_of<T>;
    const bits other = __builtin_bit_cast(bits, none);
    for (i64 i = 0; i < n; ++i) {
        const bits all = static_cast<bits>(0 - bits{counts[i]}), given = __builtin_bit_cast(bits, x[i]);
        to[i] = __builtin_bit_cast(T, static_cast<bits>((given & all) | (other & static_cast<bits>(~all))));
    }
}

namespace group_lanes {

typedef s32 numbers __attribute__((vector_size(lanes * 4)));

BOXSUM_INLINE inline reals as_reals(const s32* x) {
#if defined(__AVX512F__)  // masked, for the warnings of GCC 12
    return (reals)_mm512_maskz_cvtepi32_pd(0xff, (__m256i)load<numbers>(x));
#else
    return __builtin_convertvector(load<numbers>(x), reals);
#endif
}

#if defined(__AVX512F__)
BOXSUM_INLINE inline __mmask8 where(const u8* counts) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(counts));
    return static_cast<__mmask8>(_mm_test_epi8_mask(eight, eight));
}
#endif

/// 0 where counts, 1 or 0, are.
BOXSUM_INLINE inline reals counted(const f32* x, const u8* counts) {
#if defined(__AVX512F__)
    return (reals)_mm512_maskz_cvtps_pd(where(counts), _mm256_loadu_ps(x));
#else
    numbers all;
    for (int i = 0; i < lanes; ++i) all[i] = -s32{counts[i]};
    return __builtin_convertvector((floats)((numbers)load<floats>(x) & all), reals);
#endif
}
BOXSUM_INLINE inline reals counted(const f64* x, const u8* counts) {
#if defined(__AVX512F__)
    return (reals)_mm512_maskz_loadu_pd(where(counts), x);
#else
    typedef s64 words __attribute__((vector_size(lanes * 8)));
    words all;
    for (int i = 0; i < lanes; ++i) all[i] = -s64{counts[i]};
    return (reals)((words)load<reals>(x) & all);
#endif
}

/// As pixel_rows, of pixels that count.
template <typename T>
class counted_rows {
    const T* x[16];  // from their element `start` on
    const u8* counts[16];
    i64 start = 0;

  public:
    counted_rows(const T* const* first, const T* const* last, const u8* const* first_counts,
                 const u8* const* last_counts) {
        for (int i = 0; i < 8; ++i) {
            x[i] = first[i];
            x[8 + i] = last[i];
            counts[i] = first_counts[i];
            counts[8 + i] = last_counts[i];
        }
    }
    BOXSUM_INLINE inline reals at(int i, i64 c) const { return counted(x[i] + (c - start), counts[i] + c); }
    BOXSUM_INLINE inline void fetch(int i, i64 c) const { __builtin_prefetch(x[i] + (c - start)); }
    void end(i64 c, i64 count) {
        end_rows(x, ends, c, count);
        start = c;
    }

  private:
    T ends[16][lanes];
};

template <typename T>
void counted_down(f64* line, const T* const* first, const T* const* last, const u8* const* first_counts,
                  const u8* const* last_counts, const group_windows& windows, const f64* beyond, i64 n) {
    counted_rows<T> rows(first, last, first_counts, last_counts);
    sums_down(line, rows, windows, beyond, n);
}

/// Not inlined: GCC 12 joins two rows' loops, and then makes no vectors.
__attribute__((noinline)) void slide_numbers(s32* __restrict to, s32* __restrict sums, const u8* __restrict in,
                                             const u8* __restrict out, i64 n) {
    for (i64 i = 0; i < n; ++i) {
        const s32 sum = sums[i] + in[i];
        to[i] = sum;
        sums[i] = sum - out[i];
    }
}

/// Eight rows of columns to the line; `sums` of the windows' rows but the last. Rows are read in whole vectors, and
/// pass through memory: GCC 12 widens bytes one by one but in loops.
void numbers_down(s32* line, s32* __restrict sums, const u8* const* first, const u8* const* last, i64 n) {
    constexpr i64 together = 64, length = 2 * lanes;
    typedef s32 columns __attribute__((vector_size(length * 4)));
    alignas(64) s32 rows[8][together];
    for (i64 c = 0; c < n; c += together, line += 8 * together) {
        const i64 here = n - c < together ? (n - c + 15) / 16 * 16 : together;
        for (int r = 0; r < 8; ++r) slide_numbers(rows[r], sums + c, last[r] + c, first[r] + c, here);
        for (i64 i = 0; i < here; i += length)
            unrolled<parts>([&](auto part) BOXSUM_INLINE {
                constexpr int row = decltype(part)::value * lanes;
                columns t[lanes];
                unrolled<lanes>([&](auto j) BOXSUM_INLINE {
                    t[decltype(j)::value] = load<columns>(rows[row + decltype(j)::value] + i);
                });
                transpose(t);
                unrolled<lanes>([&](auto j) BOXSUM_INLINE {
                    numbers both[2];
                    std::memcpy(both, &t[decltype(j)::value], sizeof both);
                    s32* const to = line + 8 * (i + decltype(j)::value) + row;
                    store(to, both[0]);
                    store(to + 8 * lanes, both[1]);
                });
            });
    }
}

/// Of `cols` columns from `line` on, where `running` are the windows of the first; then of the next.
void numbers_along(s32* counts, const s32* line, s32* running, i64 width, i64 cols, i64 channels) {
    const i64 step = 8 * channels;
    for (i64 at = 0; at < step; at += lanes) {
        numbers w = load<numbers>(running + at);
        for (i64 i = at; i < cols * step; i += step) {
            store(counts + i, w);
            w += load<numbers>(line + i + width * step) - load<numbers>(line + i);
        }
        store(running + at, w);
    }
}

BOXSUM_INLINE inline reals inverse_of(reals n) {
#if defined(__AVX512F__)
    return (reals)BOXSUM_ROWS::inverse_of((__m512d)n);
#else
    return 1.0 / n;
#endif
}

void counted_means(const weighted_results& results, const f64* line, group_windows windows, const f64* beyond,
                   const s32* number_line, const s32* numbers_beyond, i64 cols, i64 channels) {
    alignas(64) f64 means[8 * 64];  // of up to four channels
    alignas(64) s32 counts[8 * 64], running[8 * 4];
    const i64 step = 8 * channels, together = columns_together(channels), width = windows.width;
    const bool divided = results.mean != nullptr;  // as where all count: n times 1 / n is not always 1
    const reals least = reals{} + results.least, fill = reals{} + results.fill;
    for (i64 at = 0; at < step; at += lanes) {
        numbers sum = numbers_beyond != nullptr ? load<numbers>(numbers_beyond + at) : numbers{};
        for (i64 c = 0; c < width; ++c) sum += load<numbers>(number_line + c * step + at);
        store(running + at, sum);
    }
    if (width > 8) begin_along(line, windows, sums_along{}, channels);
    for (i64 c = 0; c < cols; c += together) {
        const i64 rounded = cols - c < together ? (cols - c + 15) / 16 * 16 : together;
        sum_along(means, line + c * step, windows, c / 8, rounded, channels);
        if (beyond != nullptr)
            for (i64 i = 0; i < rounded; ++i) add_vectors(means + i * step, beyond, step);
        numbers_along(counts, number_line + c * step, running, width, rounded, channels);
        for (i64 i = 0; i < rounded * step; i += lanes) {
            const reals n = as_reals(counts + i), sum = as_reals(means + i);
            store(means + i, n >= least ? (divided ? sum / n : sum * inverse_of(n)) : fill);
        }
        const i64 n = (cols - c < together ? cols - c : together) * channels;
        const auto put = [&](auto* const* rows, const auto* of) {
            if (rows != nullptr) put_rows(rows, c * channels, of, nullptr, 0, n, results.streaming);
        };
        put(results.mean, means);
        put(results.mean_32f, means);
        put(results.weight, counts);
        put(results.weight_32f, counts);
        put(results.count, counts);
    }
    end_lines(results.streaming);
}

#undef BOXSUM_INLINE

}  // namespace group_lanes
