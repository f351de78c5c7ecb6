#pragma once

// The ends of rows where the instruction set has no masks: through memory. Part of such a vector wrapper, which has
// defined vec, load and store.

#include <cstddef>
#include <type_traits>

namespace boxsum::cpu {
namespace {

/// Copies 0 to `most` bytes, a power of two, in pieces of powers of two.
template <int most>
BOXSUM_INLINE void copy_small(std::byte* to, const std::byte* from, int bytes) {
    if ((bytes & most) != 0) {
        __builtin_memcpy(to, from, most);
        to += most;
        from += most;
    }
    if constexpr (most > 1) copy_small<most / 2>(to, from, bytes);
}
/// A vector's worth of bytes from p, of which the first `count` are read; the others are zero.
BOXSUM_INLINE void load_part(std::byte (&to)[vector_bytes], const void* p, int count) {
    __builtin_memset(to, 0, vector_bytes);
    copy_small<vector_bytes>(to, static_cast<const std::byte*>(p), count);
}
/// The first `count` lanes from p; the others are zero and not read.
template <typename T>
BOXSUM_INLINE vec<T> load_first(const T* p, int count) {
    alignas(vector_bytes) std::byte all[vector_bytes];
    load_part(all, p, count * static_cast<int>(sizeof(T)));
    return load(reinterpret_cast<const T*>(all));
}
/// Bytes from .. end - 1 of v to where they belong behind p.
template <typename T>
BOXSUM_INLINE void store_between(T* p, vec<T> v, int from, int end) {
    alignas(vector_bytes) std::byte all[vector_bytes];
    store(reinterpret_cast<T*>(all), v);
    copy_small<vector_bytes>(reinterpret_cast<std::byte*>(p) + from, all + from, end - from);
}
/// The first `bytes` bytes of v, 0 to all.
template <typename T>
BOXSUM_INLINE void store_part(T* p, vec<T> v, int bytes) {
    store_between(p, v, 0, bytes);
}

}  // namespace
}  // namespace boxsum::cpu
