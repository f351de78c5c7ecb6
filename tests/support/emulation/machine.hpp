#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>

/// What the emulated intrinsics and wrappers ask of the scheduler. All but run() are called by emulated threads.
///
/// Of all emulated threads one runs at a time. Blocks live on operating system threads, because shared memory is
/// `thread_local`; the threads of a block are fibers. The turn passes on at barriers, collectives, atomics and looks.
namespace boxsum::emulation {

struct extent {
    unsigned x = 1, y = 1, z = 1;

    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// A call of the kernel with its arguments.
struct kernel_call {
    void (*run)(const void* state);
    const void* state;
};

struct launch_description {
    extent grid, block;
    std::size_t shared_bytes = 0;
    kernel_call kernel{};
    bool overlaps = false;  ///< may start before its predecessor has ended
};

/// Runs all blocks to their end. Throws failure.
void run(const launch_description& launch);

/// Whether the caller is an emulated thread.
bool in_kernel();

/// Ends the launch: run() throws failure with the message, and who said it.
[[noreturn]] void fail(const std::string& message);

using location = std::source_location;

/// Other threads may run here.
void yield(const location& where);

/// Before a look at memory that others write: a thread that finds nothing new looks again and again.
void look(const void* address, const char* what, const location& where);

/// Something happened that others may wait for.
void progress();

/// Rests until everybody else had a turn.
void rest(const location& where);

// Barriers

/// Of all threads of the block.
void block_barrier(const char* what, const location& where);

/// The same, and the number of threads whose predicate holds.
int block_count(bool predicate, const char* what, const location& where);

/// bar.sync id, threads.
void named_barrier(int id, int threads, const location& where);

// Collectives of a warp

enum class collective : std::uint8_t {
    sync,
    shuffle,  ///< operand: the lane whose value is wanted
    ballot,
    all,
    any,
    match_any,
    match_all,
    add,
    minimum,
    maximum,
    signed_minimum,
    signed_maximum,
    bit_and,
    bit_or,
    bit_xor,
};

/// All lanes of the mask that have not ended call with the same mask and kind; what each gets.
std::uint64_t collect(collective kind, unsigned mask, std::uint64_t value, int operand, const location& where);

int lane_number();

/// What blocks of a launch that overlaps must have done before they end.
void wait_for_predecessor();

// Memory of the block

/// Dynamic shared memory, of the size that the launch asked for.
std::byte* dynamic_shared_memory();

/// Work of a copy engine: done at some later time, in the order of `work` by one thread.
struct engine_work {
    void (*run)(const void* state);
    unsigned char state[224];
};

template <typename Work>
engine_work make_work(const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= sizeof(engine_work::state));
    engine_work made{};
    made.run = [](const void* state) {
        Work copy;
        __builtin_memcpy(static_cast<void*>(&copy), state, sizeof copy);
        copy();
    };
    __builtin_memcpy(made.state, static_cast<const void*>(&work), sizeof work);
    return made;
}

void do_later(const engine_work& work);

/// An addition without a result is on its way to memory: it arrives at any time before the launch ends, also behind the
/// end of its block.
void add_later(unsigned* word, unsigned value);

/// Everything that this thread gave to do_later() is done.
void finish_own_work();

/// `asm volatile(...)` in a kernel, as text: the few instructions that kernels use themselves; fails for others.
void inline_assembly(const char* text, const location& where = location::current());

}  // namespace boxsum::emulation
