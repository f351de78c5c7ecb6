#pragma once

#include <cstdint>
#include <cstring>

/// Words through which blocks of one launch hand values to each other: 64 bits, the upper half a tag that says of which
/// call and lap the lower half is. A reader that finds the expected tag has the value, whatever lay there before, so
/// nothing is cleared between calls.
///
/// Why relaxed accesses suffice: tag and value are one 64-bit access, which the memory model makes single-copy atomic
/// for naturally aligned words (also word by word in a vector access). A reader sees the word of this call whole, or
/// an older word with another tag; it never needs anything else that the writer wrote. Values of 64 bits travel as two
/// words, each with its tag.
namespace boxsum::cuda {

using tagged_word = std::uint64_t;

/// Words of a value.
template <typename Sum>
inline constexpr int words_of = static_cast<int>(sizeof(Sum) / sizeof(std::uint32_t));

__device__ inline tagged_word tagged(std::uint32_t tag, std::uint32_t value) {
    return std::uint64_t{tag} << 32 | value;
}

__device__ inline std::uint32_t tag_of(tagged_word w) {
    return static_cast<std::uint32_t>(w >> 32);
}

/// Two neighbouring words, 16 bytes, so that the accesses of a warp are contiguous.
struct word_pair {
    tagged_word a, b;

    __device__ bool has(std::uint32_t tag) const { return tag_of(a) == tag && tag_of(b) == tag; }
};

#ifdef BOXSUM_EMULATED
}  // namespace boxsum::cuda
#include "emulated/tagged_words.hpp"  // on a CPU, for tests: what is assembly here (tests/support/emulation)
namespace boxsum::cuda {
#else

/// Words shall stay in the second-level cache until their readers came; the image and the table stream past them.
/// Without the hint tables take 7 to 9 % longer (docs/decisions/exchange.md).
__device__ inline std::uint64_t keep_in_l2() {
    std::uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ inline void publish(tagged_word* where, tagged_word w, std::uint64_t keep) {
    asm volatile("st.relaxed.gpu.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(where), "l"(w), "l"(keep) : "memory");
}

__device__ inline void publish(tagged_word* where, word_pair w, std::uint64_t keep) {
    asm volatile("st.relaxed.gpu.global.L2::cache_hint.v2.u64 [%0], {%1, %2}, %3;" ::"l"(where), "l"(w.a), "l"(w.b),
                 "l"(keep)
                 : "memory");
}

__device__ inline tagged_word look(const tagged_word* where, std::uint64_t keep) {
    tagged_word w;
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u64 %0, [%1], %2;" : "=l"(w) : "l"(where), "l"(keep) : "memory");
    return w;
}

__device__ inline word_pair look_at_pair(const tagged_word* where, std::uint64_t keep) {
    word_pair w;
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.v2.u64 {%0, %1}, [%2], %3;"
                 : "=l"(w.a), "=l"(w.b)
                 : "l"(where), "l"(keep)
                 : "memory");
    return w;
}

#endif

/// What a lane hands on: values of any size as the payload of one word or of an even number of words. A warp publishes
/// pair i of its lanes at [64 * i + 2 * lane], or their single words at [lane], so that every access is contiguous.
template <typename T, int Values>
struct words_of_lane {
    static constexpr int values = Values;
    static constexpr int payload = (Values * static_cast<int>(sizeof(T)) + 3) / 4;
    static constexpr int words = payload == 1 ? 1 : (payload + 1) / 2 * 2;

    tagged_word word[words];

    /// Where a lane's first word is.
    __device__ static int first(int lane) { return words == 1 ? lane : 2 * lane; }

    /// From the last lane's last value, as words_of_lane<T, 1>, to behind all words of the warp.
    static constexpr int from_end = words_of<T> == 1 ? 1 : 32 * words_of<T> - 62;

    __device__ static words_of_lane of(const T (&x)[Values], std::uint32_t tag) {
        std::uint32_t bits[words]{};
        memcpy(bits, x, sizeof x);
        words_of_lane w;
#pragma unroll
        for (int i = 0; i < words; ++i) w.word[i] = tagged(tag, bits[i]);
        return w;
    }

    /// `where`: the lane's first word.
    __device__ void publish_at(tagged_word* where, std::uint64_t keep) const {
        if constexpr (words == 1) {
            publish(where, word[0], keep);
        } else {
#pragma unroll
            for (int i = 0; i < words; i += 2) publish(where + 32 * i, word_pair{word[i], word[i + 1]}, keep);
        }
    }

    __device__ bool has(std::uint32_t tag) const {
        bool all = true;
#pragma unroll
        for (const tagged_word w : word) all = all && tag_of(w) == tag;
        return all;
    }

    template <typename Sum>
    __device__ void add_to(Sum (&sum)[Values]) const {
        T x[Values];
        values_to(x);
#pragma unroll
        for (int i = 0; i < Values; ++i) sum[i] += static_cast<Sum>(x[i]);
    }

    /// Adds what several publishers have, values of 16 bits of which the sum has no more: two at a time.
    template <int Count, typename Sum>
    __device__ static void add_all_to(Sum (&sum)[Values], const words_of_lane (&found)[Count]) {
        static_assert(sizeof(T) == 2 && Values % 2 == 0);
        words_of_lane all = found[0];
#pragma unroll
        for (int i = 1; i < Count; ++i)
#pragma unroll
            for (int w = 0; w < words; ++w) all.word[w] += static_cast<std::uint32_t>(found[i].word[w]);
        all.add_to(sum);
    }

    /// Of one.
    __device__ T value() const {
        static_assert(Values == 1);
        T x[1];
        values_to(x);
        return x[0];
    }

  private:
    __device__ void values_to(T (&x)[Values]) const {
        std::uint32_t bits[words];
#pragma unroll
        for (int i = 0; i < words; ++i) bits[i] = static_cast<std::uint32_t>(word[i]);
        memcpy(x, bits, sizeof x);
    }
};

/// One value in its own words, side by side with those of the next lane's.
template <typename Sum>
struct words_of_value {
    tagged_word word[words_of<Sum>];

    __device__ static int first(int lane) { return lane * words_of<Sum>; }

    __device__ static words_of_value of(Sum x, std::uint32_t tag) {
        std::uint32_t bits[words_of<Sum>];
        memcpy(bits, &x, sizeof x);
        words_of_value v;
#pragma unroll
        for (int i = 0; i < words_of<Sum>; ++i) v.word[i] = tagged(tag, bits[i]);
        return v;
    }

    __device__ void publish_at(tagged_word* where, std::uint64_t keep) const {
        if constexpr (words_of<Sum> == 1) {
            publish(where, word[0], keep);
        } else {
#pragma unroll
            for (int i = 0; i < words_of<Sum>; i += 2) publish(where + i, word_pair{word[i], word[i + 1]}, keep);
        }
    }

    __device__ void look_at(const tagged_word* where, std::uint64_t keep) {
        if constexpr (words_of<Sum> == 1) {
            word[0] = look(where, keep);
        } else {
#pragma unroll
            for (int i = 0; i < words_of<Sum>; i += 2) {
                const word_pair pair = look_at_pair(where + i, keep);
                word[i] = pair.a;
                word[i + 1] = pair.b;
            }
        }
    }

    __device__ bool has(std::uint32_t tag) const {
        bool all = true;
#pragma unroll
        for (const tagged_word w : word) all = all && tag_of(w) == tag;
        return all;
    }

    __device__ Sum value() const {
        std::uint32_t bits[words_of<Sum>];
#pragma unroll
        for (int i = 0; i < words_of<Sum>; ++i) bits[i] = static_cast<std::uint32_t>(word[i]);
        Sum x;
        memcpy(&x, bits, sizeof x);
        return x;
    }
};

}  // namespace boxsum::cuda
