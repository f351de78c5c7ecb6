#include "cpu/streaming_limit.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace boxsum::bench {
namespace {

/// 64 elements are In, Out and Second vectors of 64 bytes; each output vector is one of the input's.
using mover = void (*)(const std::byte* in, std::byte* out, std::byte* second, std::int64_t strips,
                       limit_stores stores);

/// Bytes between a store and the line that is asked for before it.
constexpr int fetch_bytes = 2048;

#if defined(__x86_64__)

template <int In, int Out, int Second, limit_stores Stores>
__attribute__((target("avx512f"))) void move_512(const std::byte* in, std::byte* out, std::byte* second,
                                                 std::int64_t strips) {
    for (; strips > 0; --strips) {
        __m512i v[In];
#pragma GCC unroll 16
        for (int k = 0; k < In; ++k) {
            v[k] = _mm512_load_si512(in + 64 * k);
            if constexpr (Stores == limit_stores::streaming)
                _mm_prefetch(reinterpret_cast<const char*>(in + 64 * k + 1024), _MM_HINT_T0);
        }
#pragma GCC unroll 16
        for (int k = 0; k < Out + Second; ++k) {
            std::byte* const to = k < Out ? out + 64 * k : second + 64 * (k - Out);
            if constexpr (Stores == limit_stores::fetched)
                _mm_prefetch(reinterpret_cast<const char*>(to + fetch_bytes), _MM_HINT_T0);
            if constexpr (Stores == limit_stores::streaming)
                _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v[k % In]);
            else
                _mm512_store_si512(to, v[k % In]);
        }
        in += 64 * In;
        out += 64 * Out;
        second += 64 * Second;
    }
    if constexpr (Stores == limit_stores::streaming) _mm_sfence();
}

template <int In, int Out, int Second, limit_stores Stores>
__attribute__((target("avx2"))) void move_256(const std::byte* in, std::byte* out, std::byte* second,
                                              std::int64_t strips) {
    for (; strips > 0; --strips) {
        __m256i v[2 * In];
#pragma GCC unroll 32
        for (int k = 0; k < 2 * In; ++k) {
            v[k] = _mm256_load_si256(reinterpret_cast<const __m256i*>(in + 32 * k));
            if constexpr (Stores == limit_stores::streaming)
                _mm_prefetch(reinterpret_cast<const char*>(in + 32 * k + 1024), _MM_HINT_T0);
        }
#pragma GCC unroll 32
        for (int k = 0; k < 2 * (Out + Second); ++k) {
            std::byte* const to = k < 2 * Out ? out + 32 * k : second + 32 * (k - 2 * Out);
            if constexpr (Stores == limit_stores::fetched)
                if (k % 2 == 0) _mm_prefetch(reinterpret_cast<const char*>(to + fetch_bytes), _MM_HINT_T0);
            if constexpr (Stores == limit_stores::streaming)
                _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v[k % (2 * In)]);
            else
                _mm256_store_si256(reinterpret_cast<__m256i*>(to), v[k % (2 * In)]);
        }
        in += 64 * In;
        out += 64 * Out;
        second += 64 * Second;
    }
    if constexpr (Stores == limit_stores::streaming) _mm_sfence();
}

#endif

template <int In, int Out, int Second, limit_stores Stores>
void move_with(const std::byte* in, std::byte* out, std::byte* second, std::int64_t strips) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return move_512<In, Out, Second, Stores>(in, out, second, strips);
    if (__builtin_cpu_supports("avx2")) return move_256<In, Out, Second, Stores>(in, out, second, strips);
#endif
    for (; strips > 0; --strips) {
        for (int k = 0; k < Out + Second; ++k)
            std::memcpy(k < Out ? out + 64 * k : second + 64 * (k - Out), in + 64 * (k % In), 64);
        in += 64 * In;
        out += 64 * Out;
        second += 64 * Second;
    }
}

template <int In, int Out, int Second>
void move_strips(const std::byte* in, std::byte* out, std::byte* second, std::int64_t strips, limit_stores stores) {
    switch (stores) {
        case limit_stores::cached:
            return move_with<In, Out, Second, limit_stores::cached>(in, out, second, strips);
        case limit_stores::fetched:
            return move_with<In, Out, Second, limit_stores::fetched>(in, out, second, strips);
        case limit_stores::streaming:
            return move_with<In, Out, Second, limit_stores::streaming>(in, out, second, strips);
    }
}

struct known_traffic {
    int in, out, second;
    mover move;
};

template <int In, int Out, int Second>
constexpr known_traffic known() {
    return {In, Out, Second, move_strips<In, Out, Second>};
}

/// The element sizes of the type pairs and of the triples with squares.
constexpr std::array<known_traffic, 16> all_traffic{
    known<1, 4, 0>(), known<1, 8, 0>(), known<2, 4, 0>(), known<2, 8, 0>(), known<4, 4, 0>(), known<4, 8, 0>(),
    known<8, 8, 0>(), known<1, 4, 4>(), known<1, 4, 8>(), known<1, 8, 8>(), known<2, 4, 8>(), known<2, 8, 8>(),
    known<4, 4, 4>(), known<4, 4, 8>(), known<4, 8, 8>(), known<8, 8, 8>()};

}  // namespace

void run_streaming_limit(const traffic& t, std::int64_t elements, limit_stores stores, int threads) {
    const auto found = std::find_if(all_traffic.begin(), all_traffic.end(), [&](const known_traffic& k) {
        return k.in == t.in_bytes && k.out == t.out_bytes && k.second == t.second_bytes;
    });
    if (found == all_traffic.end()) throw std::logic_error("no streaming limit for these element sizes");
    const std::int64_t strips = elements / 64;
    const auto part = [&](int thread, int of) {
        const std::int64_t first = strips * thread / of;
        const std::int64_t count = strips * (thread + 1) / of - first;
        found->move(static_cast<const std::byte*>(t.in) + first * 64 * t.in_bytes,
                    static_cast<std::byte*>(t.out) + first * 64 * t.out_bytes,
                    static_cast<std::byte*>(t.second) + first * 64 * t.second_bytes, count, stores);
    };
    if (threads == 1) return part(0, 1);
#pragma omp parallel num_threads(threads)
    part(omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace boxsum::bench
