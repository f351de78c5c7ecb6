#include "support/emulation/machine.hpp"

#include "support/emulation/grid.hpp"
#include "support/emulation/settings.hpp"

#include <string_view>

namespace boxsum::emulation {
namespace {

std::string text_of(const location& where) {
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

emulated_thread& at(const char* doing, const location& where) {
    emulated_thread& thread = active_block->current();
    thread.doing = doing;
    thread.where = where;
    return thread;
}

bool same(const location& a, const location& b) {
    return a.line() == b.line() && std::string_view(a.file_name()) == b.file_name();
}

}  // namespace

void fail(const std::string& message) {
    block& b = *active_block;
    grid& g = *active_grid;
    if (!g.failed) {
        const emulated_thread& thread = b.current();
        g.failed = message + "\n  said thread (" + std::to_string(thread.index.x) + ", " +
                   std::to_string(thread.index.y) + ", " + std::to_string(thread.index.z) + ")" +
                   (thread.where ? " at " + text_of(*thread.where) : std::string()) + " of\n" + b.describe() +
                   " all resident blocks:\n" + g.describe();
    }
    b.leave();
    std::abort();
}

void yield(const location& where) {
    at("runs", where);
    if (active_grid->chance(active_grid->how.preemption)) active_block->yield();
}

void look(const void* address, const char* what, const location& where) {
    emulated_thread& thread = at(what, where);
    // Who looks at the same place again found nothing there.
    if (thread.last_look == address || active_grid->chance(4)) active_block->look_again();
    thread.last_look = address;
}

void rest(const location& where) {
    at("rests", where);
    active_block->look_again();
}

void block_barrier(const char* what, const location& where) {
    (void)block_count(false, what, where);
}

int block_count(bool predicate, const char* what, const location& where) {
    block& b = *active_block;
    at(what, where);
    emulated_barrier& barrier = b.barrier(0);
    if (b.alive() != b.size()) fail("a barrier of the block, but some of its threads have ended");
    if (barrier.arrived > 0 && !same(*barrier.where, where))
        fail("a divergent barrier: threads of the block wait at different ones, one at " + text_of(*barrier.where));
    b.arrive(barrier, static_cast<int>(b.size()), predicate, where);
    return barrier.last_predicates;
}

void wait_for_predecessor() {
    active_block->wait_for_predecessor();
}

void named_barrier(int id, int threads, const location& where) {
    block& b = *active_block;
    at("waits at a barrier of some warps", where);
    if (id < 1 || id > 15) fail("barrier " + std::to_string(id) + " does not exist, they are 1 to 15");
    if (threads <= 0 || threads % 32 != 0)
        fail("a barrier of " + std::to_string(threads) + " threads, not whole warps");
    emulated_barrier& barrier = b.barrier(id);
    if (barrier.arrived > 0 && barrier.expected != threads) fail("a barrier with different numbers of threads");
    b.arrive(barrier, threads, false, where);
}

std::uint64_t collect(collective kind, unsigned mask, std::uint64_t value, int operand, const location& where) {
    return active_block->collect(kind, mask, value, operand, where);
}

int lane_number() {
    return static_cast<int>(active_block->current().number % 32);
}

std::byte* dynamic_shared_memory() {
    return active_block->shared_memory();
}

void do_later(const engine_work& work) {
    emulated_thread& thread = active_block->current();
    ++thread.own_work;
    active_block->queue.push_back({work, thread.number});
}

void add_later(unsigned* word, unsigned value) {
    active_grid->additions.emplace_back(word, value);
}

void finish_own_work() {
    while (active_block->current().own_work > 0) active_block->do_one_work();
}

void inline_assembly(const char* text, const location& where) {
    at("executes inline assembly", where);
    if (std::string_view(text).find("\"cp.async.wait_all;\"") != std::string_view::npos) {
        if (active_grid->chance(2)) active_block->yield();
        finish_own_work();
        return;
    }
    fail(std::string("inline assembly that is not emulated: ") + text);
}

}  // namespace boxsum::emulation
