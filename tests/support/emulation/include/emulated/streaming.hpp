#pragma once

// What src/cuda/device/streaming.cuh writes in assembly.

#include "support/emulation/machine.hpp"

#include <cstdint>
#include <cstring>

namespace boxsum::cuda {

inline std::uint64_t drop_from_l2() {
    return 0;
}
inline std::uint64_t unranked_in_l2() {
    return 0;
}

/// Whoever reads these after all reads rubbish.
inline void discard_line(void* line) {
    if (reinterpret_cast<std::uintptr_t>(line) % 128 != 0)
        emulation::fail("a discarded line that does not start at a multiple of 128 bytes");
    std::memset(line, 0xd5, 128);
}

/// Bytes that arrive later.
template <int Bytes>
struct bytes_copy {
    void* to;
    const void* from;
    int valid;

    void operator()() const {
        std::memcpy(to, from, static_cast<std::size_t>(valid));
        std::memset(static_cast<char*>(to) + valid, 0, static_cast<std::size_t>(Bytes - valid));
    }
};

template <int Bytes, bool WithLine = false>
void copy_async(void* to_shared, const void* from, int valid) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    // Where nothing is read, the kernels pass any address of the image, and an H200 takes it.
    if (address(to_shared) % Bytes != 0 || (valid > 0 && address(from) % Bytes != 0))
        emulation::fail("an asynchronous copy of " + std::to_string(Bytes) + " bytes that is not aligned to its size");
    if (valid < 0 || valid > Bytes) emulation::fail("an asynchronous copy of an impossible number of bytes");
    emulation::do_later(emulation::make_work(bytes_copy<Bytes>{to_shared, from, valid}));
}

template <int Bytes>
void copy_async(void* to_shared, const void* from) {
    copy_async<Bytes>(to_shared, from, Bytes);
}

/// Groups end where all copies do.
inline void group_copies() {}

template <int Open>
void wait_for_copies() {
    emulation::finish_own_work();
}

}  // namespace boxsum::cuda
