#pragma once

#include "support/emulation/fiber.hpp"
#include "support/emulation/machine.hpp"

#include <semaphore.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

/// Inside the scheduler: the state of blocks, warps and threads.
namespace boxsum::emulation {

struct alignas(64) emulated_thread {
    context execution;
    extent index;  // threadIdx
    unsigned number = 0;
    bool exited = false;
    // Where it is or was last, for messages.
    const char* doing = "starts";
    std::optional<location> where;
    const void* last_look = nullptr;
    std::size_t own_work = 0;  // given to the copy engine and not done
};

struct emulated_warp {
    unsigned alive = 0;
    unsigned ready = 0;       // can run
    unsigned looking = 0;     // can run, but found nothing new when they did
    unsigned collecting = 0;  // wait in a collective
    int first_lane = 0;       // who runs first; changes
    struct {
        collective kind;
        unsigned mask;
        std::uint64_t value;
        int operand;
    } call[32];
    std::uint64_t result[32];  // of the last collective
};

struct emulated_barrier {
    int arrived = 0;
    int expected = 0;
    int predicates = 0;
    int last_predicates = 0;
    std::optional<location> where;
    std::array<unsigned, 32> waiting{};  // lanes, by warp
};

struct grid;

/// Who waits for the turn sleeps at once: the spin of std::binary_semaphore would take a processor from who has it.
class sleeping_semaphore {
  public:
    sleeping_semaphore() { sem_init(&state_, 0, 0); }
    sleeping_semaphore(const sleeping_semaphore&) = delete;
    sleeping_semaphore& operator=(const sleeping_semaphore&) = delete;
    ~sleeping_semaphore() { sem_destroy(&state_); }

    void release() { sem_post(&state_); }
    void acquire() {
        while (sem_wait(&state_) != 0) continue;  // a signal came
    }

  private:
    sem_t state_;
};

/// A block, and the operating system thread whose `thread_local` memory is its shared memory. Serves one block after
/// another.
class block {
  public:
    block();
    ~block();
    block(const block&) = delete;
    block& operator=(const block&) = delete;

    // By the grid
    void start(grid& g, std::uint64_t number);
    std::string describe() const;
    void install() const;
    sleeping_semaphore turn;

    // By the running thread of the block
    emulated_thread& current() { return threads_[current_]; }
    emulated_warp& current_warp() { return warps_[current_ / 32]; }
    unsigned current_bit() const { return 1u << current_ % 32; }
    void make_ready() {
        current_warp().ready |= current_bit();
        ready_warps_ |= 1u << current_ / 32;
    }
    void run_others();
    void look_again();
    void yield();
    void arrive(emulated_barrier& barrier, int expected, bool predicate, const location& where);
    std::uint64_t collect(collective kind, unsigned mask, std::uint64_t value, int operand, const location& where);
    void wait_for_predecessor() { waited_ = true; }
    void exit_thread();
    void leave();

    emulated_barrier& barrier(int id) { return barriers_[static_cast<std::size_t>(id)]; }
    std::size_t alive() const { return alive_; }
    std::size_t size() const { return threads_.size(); }
    std::byte* shared_memory() { return shared_.data() + shared_first_; }

    struct queued_work {
        engine_work work;
        std::size_t owner;
    };
    std::deque<queued_work> queue;
    bool do_one_work();

  private:
    void serve();
    void prepare();
    void check_shared_memory();
    std::size_t next();
    void release(emulated_barrier& barrier);
    void complete(emulated_warp& warp, unsigned lanes);
    void install_thread() const;

    std::thread host_;
    grid* grid_ = nullptr;
    std::uint64_t number_ = 0;
    extent index_;  // blockIdx
    bool stop_ = false;

    context main_;
    std::vector<fiber_stack> stacks_;
    std::vector<emulated_thread> threads_;
    std::vector<emulated_warp> warps_;
    std::array<emulated_barrier, 16> barriers_;
    std::vector<std::byte> shared_;
    std::size_t shared_first_ = 0, shared_bytes_ = 0;
    bool waited_ = false;  // for the launch before
    unsigned ready_warps_ = 0;
    std::size_t current_ = 0, alive_ = 0;
    unsigned favourite_ = 0;  // the warp that goes on while it can
};

}  // namespace boxsum::emulation
