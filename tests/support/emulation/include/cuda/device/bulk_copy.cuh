#pragma once

// In place of src/cuda/device/bulk_copy.cuh.

#include "cuda/device/phase_barrier.cuh"
#include "support/emulation/settings.hpp"

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace boxsum::cuda {

// One code for every device.
inline constexpr bool has_copy_engine = true, may_lack_copy_engine = true;

inline void require_copy_engine() {
    if (!emulation::runs_code_of_9()) emulation::fail("the copy engine is used by code for compute capability 8");
}

inline void announce_barriers() {}

inline void expect(phase_barrier& barrier, int bytes) {
    barrier.count(0, bytes);
}

struct box_copy {
    std::byte* to;
    CUtensorMap map;
    int col, row, plane;
    phase_barrier* barrier;

    void operator()() const {
        const std::size_t line = static_cast<std::size_t>(map.box[0]) * static_cast<std::size_t>(map.element);
        for (int r = 0; r < map.box[1]; ++r) {
            std::byte* const line_to = to + static_cast<std::size_t>(r) * line;
            std::memset(line_to, 0, line);
            const std::int64_t y = std::int64_t{row} + r;
            if (y < 0 || y >= map.extents[1] || plane < 0 || plane >= map.extents[2]) continue;
            const std::int64_t first = std::max<std::int64_t>(col, 0);
            const std::int64_t last = std::min<std::int64_t>(std::int64_t{col} + map.box[0], map.extents[0]);
            if (first < last)
                std::memcpy(line_to + (first - col) * map.element,
                            map.data + plane * map.strides[1] + y * map.strides[0] + first * map.element,
                            static_cast<std::size_t>((last - first) * map.element));
        }
        barrier->count(0, -static_cast<int>(line) * map.box[1]);
    }
};

inline void copy_box(void* to_shared, const CUtensorMap& map, int col, int row, int plane, phase_barrier& barrier,
                     std::uint64_t) {
    require_copy_engine();
    if (reinterpret_cast<std::uintptr_t>(to_shared) % 128 != 0)
        emulation::fail("a box goes to shared memory that is not aligned to 128 bytes");
    if (std::int64_t{col} * map.element % 16 != 0)
        emulation::fail("a box starts at column " + std::to_string(col) + ", not at a multiple of 16 bytes");
    emulation::do_later(
        emulation::make_work(box_copy{static_cast<std::byte*>(to_shared), map, col, row, plane, &barrier}));
}

inline void prefetch_box(const CUtensorMap& map, int col, int, int) {  // there is no cache
    require_copy_engine();
    if (std::int64_t{col} * map.element % 16 != 0)
        emulation::fail("a box starts at column " + std::to_string(col) + ", not at a multiple of 16 bytes");
}

inline void announce_writes() {}

/// Every third copy from shared memory is carried out at once, to find bytes that are not there yet, and the others
/// when the thread waits for them, to find those that are replaced too early.
struct thread_stores {
    struct one {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
        unsigned group;
    };
    std::vector<one> waiting;
    unsigned group = 0, started = 0;

    static thread_stores& of_this_thread() {
        // Of all blocks: one thread runs at a time, and thread_local memory is shared memory.
        static std::map<std::pair<unsigned, unsigned>, thread_stores> of_threads;
        return of_threads[{blockIdx.x, threadIdx.x}];
    }

    /// Those of all groups before `end`.
    void carry_out(unsigned end) {
        std::erase_if(waiting, [&](const one& store) {
            const bool due = static_cast<int>(store.group - end) < 0;
            if (due) std::memcpy(store.to, store.from, store.bytes);
            return due;
        });
    }
};

inline void store_bytes(void* to, const void* from_shared, int bytes, std::uint64_t) {
    require_copy_engine();
    if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from_shared) |
         static_cast<std::uintptr_t>(bytes)) %
            16 !=
        0)
        emulation::fail("a copy of " + std::to_string(bytes) + " bytes is not aligned to 16 bytes");
    auto& stores = thread_stores::of_this_thread();
    if (++stores.started % 3 == 0)
        std::memcpy(to, from_shared, static_cast<std::size_t>(bytes));
    else
        stores.waiting.push_back({static_cast<std::byte*>(to), static_cast<const std::byte*>(from_shared),
                                  static_cast<std::size_t>(bytes), stores.group});
}

inline void close_store_group() {
    ++thread_stores::of_this_thread().group;
}

template <int Open>
inline void wait_until_read() {
    auto& stores = thread_stores::of_this_thread();
    stores.carry_out(stores.group - Open);
}

inline void wait_until_stored() {
    wait_until_read<0>();
}

}  // namespace boxsum::cuda
