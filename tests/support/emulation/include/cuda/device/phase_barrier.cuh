#pragma once

// In place of src/cuda/device/phase_barrier.cuh.

#include "support/emulation/intrinsics.hpp"

#include <cstdint>
#include <cstring>

namespace boxsum::cuda {

struct phase_barrier {
    std::uint64_t state;

    using location = emulation::location;

    void initialize(int expected) {
        if (expected < 1 || expected > 0x7fff) emulation::fail("a barrier for an impossible number of arrivals");
        put({0, static_cast<std::uint16_t>(expected), static_cast<std::uint16_t>(expected)});
    }

    void arrive(const location& where = location::current()) {
        count(1, 0);
        emulation::yield(where);
    }

    void arrive_after_copies(const location& where = location::current()) {
        emulation::do_later(emulation::make_work(arrival{this}));
        emulation::yield(where);
    }

    bool passed(std::uint32_t parity, const location& where = location::current()) {
        return __shfl_sync(~0u, static_cast<unsigned>(get().parity() != parity), 0, 32, where) != 0;
    }

    void wait(std::uint32_t parity, const location& where = location::current()) {
        while (get().parity() == parity) emulation::look(this, "waits for a phase of a barrier", where);
    }

    /// Arrivals, and bytes that are still to come (or, negative, came).
    void count(int arrivals, int bytes) {
        fields now = get();
        if (now.pending < arrivals) emulation::fail("more arrivals at a barrier than its phase expects");
        now.pending = static_cast<std::uint16_t>(now.pending - arrivals);
        now.bytes += bytes;
        if (now.pending == 0 && now.bytes == 0) {
            now.pending = now.expected();
            now.expected_and_parity ^= 0x8000u;
        }
        put(now);
        emulation::progress();
    }

  private:
    struct fields {
        std::int32_t bytes;
        std::uint16_t pending;
        std::uint16_t expected_and_parity;

        std::uint16_t expected() const { return expected_and_parity & 0x7fffu; }
        std::uint32_t parity() const { return expected_and_parity >> 15; }
    };
    struct arrival {
        phase_barrier* barrier;
        void operator()() const { barrier->count(1, 0); }
    };
    static_assert(sizeof(fields) == sizeof(std::uint64_t));

    fields get() const {
        fields now;
        std::memcpy(&now, &state, sizeof now);
        return now;
    }
    void put(const fields& now) { std::memcpy(&state, &now, sizeof now); }
};

inline void sync_warps(int id, int threads, const emulation::location& where = emulation::location::current()) {
    emulation::named_barrier(id, threads, where);
}

}  // namespace boxsum::cuda
