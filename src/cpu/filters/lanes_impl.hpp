// No include guard: part of the kernels of an instruction set, inside their namespaces.

using i64 = std::int64_t;

template <typename A>
struct lanes {
    static constexpr int count = BOXSUM_ROWS_BYTES / static_cast<int>(sizeof(A));
    typedef A vector __attribute__((vector_size(BOXSUM_ROWS_BYTES)));
    template <int... i>
    struct list {};

    template <int by, int... i>
    static vector shifted_up(vector v, list<i...>) {
#if defined(__AVX512F__)  // GCC 12 makes a permutation, whose indices it loads each time
        if constexpr (sizeof(A) == 4) return (vector)_mm512_maskz_alignr_epi32(0xffff, (__m512i)v, __m512i{}, 16 - by);
#endif
        return __builtin_shufflevector(vector{}, v, (count - by + i)...);
    }
    template <int channels, int... i>
    static vector last_repeated(vector v, list<i...>) {
        return __builtin_shufflevector(v, v, (count - channels + i % channels)...);
    }
};

template <int n, int... i>
struct make_list : make_list<n - 1, n - 1, i...> {};
template <int... i>
struct make_list<0, i...> {
    template <typename L>
    using of = typename L::template list<i...>;
};

/// Running sums of `channels` interleaved sequences inside a vector, in log2(lanes / channels) steps (Hillis, Steele).
template <typename A, int by>
inline typename lanes<A>::vector scan_lanes(typename lanes<A>::vector v) {
    using L = lanes<A>;
    if constexpr (by < L::count) {
        const typename make_list<L::count>::template of<L> all;
        v += L::template shifted_up<by>(v, all);
        return scan_lanes<A, by * 2>(v);
    } else {
        return v;
    }
}

/// floor((w + count / 2) / count) = floor(w / count + 1/2), exactly, without an integer division: the product with the
/// reciprocal in floating point is made slightly too small, so that it is the quotient or one below, and the remainder
/// tells which. Holds for quotients up to 2^16, and w + count / 2 below 2^31 (A = u32) or 2^63 (u64).
template <typename A>
struct quotient;

template <>
struct quotient<u32> {
    using real = f32;
    using whole = s32;
    static constexpr real reduced = 1.0f - 0x1p-21f;  // three roundings of 2^-24 each stay below 2^-21
};

template <>
struct quotient<u64> {
    using real = f64;
    using whole = s64;
    static constexpr real reduced = 1.0 - 0x1p-50;
};

struct of_one_count {
    static constexpr bool value = true;
};
struct of_several_counts {
    static constexpr bool value = false;
};
