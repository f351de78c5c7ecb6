#pragma once

#include "support/emulation/block.hpp"
#include "support/emulation/settings.hpp"

#include <atomic>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::emulation {

/// One launch.
struct grid {
    const launch_description& launch;
    settings how;
    std::vector<std::uint64_t> order;  // of the blocks
    std::size_t started = 0;
    std::vector<block*> resident;
    std::optional<std::string> failed;
    std::uint64_t random_state;
    std::uint64_t idle_looks = 0;                           // since something happened
    std::vector<std::pair<unsigned*, unsigned>> additions;  // on their way to memory
    std::atomic<std::uint64_t> switches = 0;
    std::binary_semaphore done{0};

    grid(const launch_description& what, const settings& with);

    std::uint64_t random();
    bool chance(int one_in) { return one_in <= 1 || random() % static_cast<unsigned>(one_in) == 0; }

    /// The next block to start, if there is one.
    std::optional<std::uint64_t> draw();

    /// Another resident block runs until the turn comes back.
    void pass_turn(block& from);

    /// This block runs no more.
    void retire(block& from);

    /// One of the additions, any of them, is carried out.
    void add_one();

    /// A block found nothing but threads that look in vain.
    void nothing_new();

    std::string describe() const;
};

/// The launch that runs, and the block that has the turn.
extern grid* active_grid;
extern block* active_block;

}  // namespace boxsum::emulation
