#pragma once

#include "cuda/device/tagged_words.cuh"
#include "cuda/device/warp_scan.cuh"

#include <cstddef>
#include <cstdint>

#ifdef BOXSUM_EMULATED
#include "emulated/word_gather.hpp"  // on a CPU, for tests: what is assembly here (tests/support/emulation)
#endif

/// Waiting for tagged words of several publishers at once, looking again at those words only that are still missing: a
/// look that finds nothing new costs the second-level cache as much as one that does (docs/decisions/warp-roles.md).
namespace boxsum::cuda {

#ifndef BOXSUM_EMULATED
/// Looks where `wanted` says so; one instruction under a predicate, so that the looks of a batch leave together.
__device__ inline void look_if(bool wanted, word_pair& w, const tagged_word* where, std::uint64_t keep) {
    asm volatile(
        "{\n.reg .pred wanted;\n"
        "setp.ne.u32 wanted, %3, 0;\n"
        "@wanted ld.relaxed.gpu.global.L2::cache_hint.v2.u64 {%0, %1}, [%2], %4;\n}"
        : "+l"(w.a), "+l"(w.b)
        : "l"(where), "r"(static_cast<std::uint32_t>(wanted)), "l"(keep)
        : "memory");
}

__device__ inline void look_if(bool wanted, tagged_word& w, const tagged_word* where, std::uint64_t keep) {
    asm volatile(
        "{\n.reg .pred wanted;\n"
        "setp.ne.u32 wanted, %2, 0;\n"
        "@wanted ld.relaxed.gpu.global.L2::cache_hint.u64 %0, [%1], %3;\n}"
        : "+l"(w)
        : "l"(where), "r"(static_cast<std::uint32_t>(wanted)), "l"(keep)
        : "memory");
}
#endif

/// Looks again at those of the words that do not have the tag; whether there were any. Words that nobody has looked at
/// are zero, and no tag is. Looked at once early and later until none is missing, the way there and other work overlap.
template <typename T, int Values>
__device__ inline bool look_at_missing(bool wanted, words_of_lane<T, Values>& words, const tagged_word* where,
                                       std::uint32_t tag, std::uint64_t keep) {
    if constexpr (words.words == 1) {
        const bool missing = wanted && tag_of(words.word[0]) != tag;
        look_if(missing, words.word[0], where, keep);
        return missing;
    } else {
        bool any = false;
#pragma unroll
        for (int i = 0; i < words.words; i += 2) {
            word_pair pair{words.word[i], words.word[i + 1]};
            const bool missing = wanted && !pair.has(tag);
            look_if(missing, pair, where + 32 * i, keep);
            words.word[i] = pair.a;
            words.word[i + 1] = pair.b;
            any = any || missing;
        }
        return any;
    }
}

template <typename Sum>
__device__ inline bool look_at_missing(bool wanted, words_of_value<Sum>& words, const tagged_word* where,
                                       std::uint32_t tag, std::uint64_t keep) {
    if constexpr (words_of<Sum> == 1) {
        const bool missing = wanted && !words.has(tag);
        look_if(missing, words.word[0], where, keep);
        return missing;
    } else {
        bool any = false;
#pragma unroll
        for (int i = 0; i < words_of<Sum>; i += 2) {
            word_pair pair{words.word[i], words.word[i + 1]};
            const bool missing = wanted && !pair.has(tag);
            look_if(missing, pair, where + i, keep);
            words.word[i] = pair.a;
            words.word[i + 1] = pair.b;
            any = any || missing;
        }
        return any;
    }
}

/// Looks again at those of a batch's words that are missing; whether there were any.
template <typename Words, int Batch>
__device__ inline bool look_at_batch(int first, int count, Words (&found)[Batch], const tagged_word* where,
                                     std::size_t stride, std::uint32_t tag, std::uint64_t keep) {
    bool missing = false;
#pragma unroll
    for (int i = 0; i < Batch; ++i, where += stride)
        missing |= look_at_missing(first + i < count, found[i], where, tag, keep);
    return missing;
}

/// Looks until no lane of the warp misses a word; look() says whether the lane does, and looks at what it misses. All
/// lanes call, and stay together: lanes that go on one by one would run what follows one by one. A pause between two
/// looks leaves the second-level cache to others.
template <typename Look>
__device__ inline void look_until_found(Look look) {
    while (__any_sync(whole_warp, look())) __nanosleep(100);
}

/// Calls add() with the words of `count` publishers, which lie `stride` apart, in this order whatever the timing; waits
/// for each. `Batch` of them are looked at together. Lanes may differ in everything.
template <int Batch, typename Words, typename Add>
__device__ inline void gather_in_order(const tagged_word* where, std::size_t stride, int count, std::uint32_t tag,
                                       std::uint64_t keep, Add add) {
    for (int first = 0; first < count; first += Batch, where += Batch * stride) {
        Words found[Batch]{};
        while (look_at_batch(first, count, found, where, stride, tag, keep)) {
        }
#pragma unroll
        for (int i = 0; i < Batch; ++i)
            if (first + i < count) add(found[i]);
    }
}

/// The same for a whole warp, with the same `count` in all lanes.
template <int Batch, typename Words, typename Add>
__device__ inline void gather_by_warp(const tagged_word* where, std::size_t stride, int count, std::uint32_t tag,
                                      std::uint64_t keep, Add add) {
    for (int first = 0; first < count; first += Batch, where += Batch * stride) {
        Words found[Batch]{};
        look_until_found([&] { return look_at_batch(first, count, found, where, stride, tag, keep); });
#pragma unroll
        for (int i = 0; i < Batch; ++i)
            if (first + i < count) add(found[i]);
    }
}

/// The same of two rows of publishers at once, those of `where` and those of `beside`: add() has a batch of both, and
/// words of zeros behind the last publisher.
template <int Batch, typename Words, typename Add>
__device__ inline void gather_two_by_warp(const tagged_word* where, const tagged_word* beside, std::size_t stride,
                                          int count, std::uint32_t tag, std::uint64_t keep, Add add) {
    for (int first = 0; first < count; first += Batch, where += Batch * stride, beside += Batch * stride) {
        Words found[Batch]{}, found_beside[Batch]{};
        look_until_found([&] {
            const bool missing = look_at_batch(first, count, found, where, stride, tag, keep);
            return look_at_batch(first, count, found_beside, beside, stride, tag, keep) || missing;
        });
        add(found, found_beside);
    }
}

}  // namespace boxsum::cuda
