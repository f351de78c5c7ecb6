#include "histogram/write_limit.hpp"

#include <omp.h>

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace boxsum::bench {
namespace {

/// 256 bytes of random numbers.
const std::array<std::uint64_t, 32>& noise() {
    alignas(64) static const std::array<std::uint64_t, 32> words = [] {
        std::array<std::uint64_t, 32> w{};
        std::uint64_t x = 88172645463325252u;
        for (std::uint64_t& word : w) {  // xorshift64 (Marsaglia 2003)
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            word = x;
        }
        return w;
    }();
    return words;
}

#if defined(__x86_64__)

template <bool streaming>
__attribute__((target("avx512f"))) void fill_512(std::byte* out, std::size_t bytes) {
    const __m512i v0 = _mm512_loadu_si512(noise().data()), v1 = _mm512_loadu_si512(noise().data() + 8);
    for (std::size_t i = 0; i < bytes; i += 64) {
        const __m512i v = i % 128 == 0 ? v0 : v1;
        if constexpr (streaming)
            _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), v);
        else
            _mm512_store_si512(out + i, v);
    }
    if constexpr (streaming) _mm_sfence();
}

template <bool streaming>
__attribute__((target("avx2"))) void fill_256(std::byte* out, std::size_t bytes) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(noise().data()));
    for (std::size_t i = 0; i < bytes; i += 32) {
        if constexpr (streaming)
            _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), v);
        else
            _mm256_store_si256(reinterpret_cast<__m256i*>(out + i), v);
    }
    if constexpr (streaming) _mm_sfence();
}

#endif

void fill(std::byte* out, std::size_t bytes, fill_kind kind) {
    if (kind == fill_kind::memset) {
        std::memset(out, 0x5a, bytes);
        return;
    }
#if defined(__x86_64__)
    const bool streaming = kind == fill_kind::streaming;
    if (__builtin_cpu_supports("avx512f")) return streaming ? fill_512<true>(out, bytes) : fill_512<false>(out, bytes);
    if (__builtin_cpu_supports("avx2")) return streaming ? fill_256<true>(out, bytes) : fill_256<false>(out, bytes);
#endif
    for (std::size_t i = 0; i < bytes; i += 64) std::memcpy(out + i, noise().data(), 64);
}

}  // namespace

void run_write_limit(void* out, std::size_t bytes, fill_kind kind, int threads) {
    const std::size_t lines = bytes / 64;
    const auto part = [&](std::size_t thread, std::size_t of) {
        const std::size_t first = lines * thread / of;
        fill(static_cast<std::byte*>(out) + first * 64, (lines * (thread + 1) / of - first) * 64, kind);
    };
    if (threads == 1) return part(0, 1);
#pragma omp parallel num_threads(threads)
    part(static_cast<std::size_t>(omp_get_thread_num()), static_cast<std::size_t>(omp_get_num_threads()));
}

}  // namespace boxsum::bench
