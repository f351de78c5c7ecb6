#include "support/emulation/grid.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace boxsum::emulation {

grid* active_grid = nullptr;
block* active_block = nullptr;

namespace {

/// Passes over all waiting threads of a block without any news. Generous: a look-back reads at most a few hundred words
/// before it does something.
constexpr std::uint64_t patience = 3000;

/// A thread that spins without a look, an atomic or a barrier cannot be interrupted.
constexpr int watchdog_seconds = 60;

std::vector<std::unique_ptr<block>>& hosts() {
    static std::vector<std::unique_ptr<block>> all;
    return all;
}

void wait_for_end(grid& g) {
    std::uint64_t before = 0;
    for (int quiet = 0; !g.done.try_acquire_for(std::chrono::seconds(1));) {
        const std::uint64_t now = g.switches.load(std::memory_order_relaxed);
        quiet = now == before ? quiet + 1 : 0;
        before = now;
        if (quiet < watchdog_seconds) continue;
        std::fprintf(stderr, "emulation: no thread gave up the turn for %d s; it spins without a look\n%s\n",
                     watchdog_seconds, g.describe().c_str());
        std::abort();
    }
}

}  // namespace

settings& configure() {
    static settings now;
    return now;
}

grid::grid(const launch_description& what, const settings& with)
    : launch(what), how(with), order(what.grid.count()), random_state(with.seed * 0x9e3779b97f4a7c15u + 1) {
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    if (how.order == block_order::backward) std::reverse(order.begin(), order.end());
    if (how.order == block_order::shuffled)
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

std::uint64_t grid::random() {  // splitmix64
    std::uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

std::optional<std::uint64_t> grid::draw() {
    if (started == order.size()) return {};
    return order[started++];
}

void grid::add_one() {
    std::swap(additions[random() % additions.size()], additions.back());
    *additions.back().first += additions.back().second;
    additions.pop_back();
    idle_looks = 0;
}

void grid::pass_turn(block& from) {
    if (!additions.empty() && chance(4)) add_one();
    if (resident.size() < 2) return;
    std::size_t to = random() % (resident.size() - 1);
    if (resident[to] == &from) to = resident.size() - 1;
    active_block = resident[to];
    active_block->turn.release();
    from.turn.acquire();
    active_block = &from;
    from.install();
    if (failed) from.leave();
}

void grid::retire(block& from) {
    std::erase(resident, &from);
    if (resident.empty()) {
        done.release();
        return;
    }
    active_block = resident[random() % resident.size()];
    active_block->turn.release();
}

void grid::nothing_new() {
    if (!additions.empty()) return add_one();
    if (++idle_looks > patience * resident.size()) fail("deadlock: everybody waits for something that does not come");
}

std::string grid::describe() const {
    std::string text;
    for (const block* b : resident) text += b->describe();
    if (started < order.size())
        text += "  " + std::to_string(order.size() - started) + " of " + std::to_string(order.size()) +
                " blocks have not started\n";
    return text;
}

void run(const launch_description& launch) {
    grid g(launch, configure());
    active_grid = &g;
    const auto residents =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(1, g.how.resident_blocks)), g.order.size());
    while (hosts().size() < residents) hosts().push_back(std::make_unique<block>());
    for (std::size_t i = 0; i < residents; ++i) {
        g.resident.push_back(hosts()[i].get());
        hosts()[i]->start(g, *g.draw());
    }
    active_block = g.resident.front();
    active_block->turn.release();
    wait_for_end(g);
    while (!g.additions.empty()) g.add_one();
    active_grid = nullptr;
    active_block = nullptr;
    if (g.failed) throw failure(*g.failed);
}

bool in_kernel() {
    return active_block != nullptr;
}

void progress() {
    active_grid->idle_looks = 0;
}

}  // namespace boxsum::emulation
