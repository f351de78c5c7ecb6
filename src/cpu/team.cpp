// The threads of the process: one set for all callers, which one caller has at a time.
//
// A thread that has worked spins for a moment, as the next call often follows at once, and then sleeps. A call asks the
// threads whether they are there and takes those that answer within a microsecond or two; it never waits for one that
// sleeps longer than its work is worth. So nothing has to be known about what waking costs on a machine or how busy it
// is, and a call is as fast as one thread on its worst day.
//
//     asleep --woken--> awake (spins, answers) --work--> working --done--> awake --nothing to do--> asleep

#include "cpu/team.hpp"

#include "core/control_group.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Of whichever OpenMP the program has, if it has one: the library itself needs none.
extern "C" {
int omp_in_parallel() __attribute__((weak));
int omp_get_max_threads() __attribute__((weak));
}

namespace boxsum::cpu {
namespace {

using clock = std::chrono::steady_clock;

double microseconds_since(clock::time_point start) {
    return std::chrono::duration<double, std::micro>(clock::now() - start).count();
}

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// How long a thread spins for its next work: longer than what programs do between two calls in a loop, and short
/// enough not to be missed by others. One that was woken too late for a call outlasts it, up to a bound, to be there
/// for the next.
constexpr double awake_us = 200;
constexpr double longest_awake_us = 3000;
/// What the caller pays for starting a thread and for waking one (Zen 4 under KVM: 20 to 60 and 2 to 5).
constexpr double start_cost_us = 60;
constexpr double wake_cost_us = 5;
/// How long threads that were just woken take to answer, and no longer is waited; after a question that was not
/// answered by all, for some time only a fraction of the work.
constexpr double longest_wait_us = 60;
constexpr int questions_in_doubt = 16;
/// Up to which cores are left to the other callers that have them: longer work may outlast theirs, and have the core
/// then.
constexpr double short_work_us = 5000;
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

enum state : std::uint32_t { asleep, awake, working, leaving };

struct alignas(64) worker {
    std::atomic<std::uint32_t> now{awake};
    std::atomic<std::uint32_t> answered{0};  ///< the last question that it saw
    int number = 0;                          ///< in the team that works
    pthread_t handle{};
};

/// Everything but `taken` belongs to whoever has set that; `question` and the work are for the workers to read.
struct worker_set {
    std::atomic<bool> taken{false};
    std::atomic<std::uint32_t> question{0};
    std::atomic<double> stay_awake_us{awake_us};
    std::atomic<int> unfinished{0};
    void (*work)(void* context, int thread, int threads) = nullptr;
    void* context = nullptr;
    int threads = 0;

    /// In run_team(), with others or alone; on a line of its own, as every caller writes it.
    alignas(64) std::atomic<int> callers{0};

    alignas(64) int count = 0;
    double credit_us = 0;  ///< for starting and waking
    int doubts = 0;        ///< questions until the next one with full patience
    std::array<worker*, 255> workers{};
};
constinit worker_set all;

/// The child of fork() has no worker and nobody who has taken them; it starts its own.
[[maybe_unused]] const int watches_fork = ::pthread_atfork(nullptr, nullptr, [] {
    all.count = 0;
    all.credit_us = 0;
    all.unfinished = 0;
    all.callers = 0;
    all.taken = false;
});

/// When the library is unloaded or the process ends, nobody may be in its code any more. Callers are alone from then
/// on.
struct leaver {
    ~leaver() {
        if (all.taken.exchange(true, std::memory_order_acquire)) return;  // somebody still computes: exit() takes all
        for (int i = 0; i < all.count; ++i) {
            worker& w = *all.workers[static_cast<std::size_t>(i)];
            if (w.now.exchange(leaving, std::memory_order_release) == asleep) w.now.notify_one();
        }
        for (int i = 0; i < all.count; ++i) ::pthread_join(all.workers[static_cast<std::size_t>(i)]->handle, nullptr);
    }
} at_the_end;

void* live(void* of_worker) {
    worker& me = *static_cast<worker*>(of_worker);
    auto since = clock::now();
    for (int turn = 0;; ++turn) {
        std::uint32_t now = me.now.load(std::memory_order_acquire);
        if (now == awake) {
            me.answered.store(all.question.load(std::memory_order_relaxed), std::memory_order_relaxed);
            if (turn % 64 == 63 && microseconds_since(since) > all.stay_awake_us.load(std::memory_order_relaxed) &&
                me.now.compare_exchange_strong(now, asleep, std::memory_order_acq_rel)) {
                me.now.wait(asleep, std::memory_order_acquire);
                since = clock::now();
            }
            pause();
        } else if (now == working) {
            all.work(all.context, me.number, all.threads);
            me.now.store(awake, std::memory_order_relaxed);
            all.unfinished.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in run_team
            since = clock::now();
        } else if (now == leaving) {
            return nullptr;
        }
    }
}

/// One more worker; false where there is no thread to be had. Signals of the process are its own threads' affair.
bool start_worker() {
    worker* const made = new (std::nothrow) worker;
    if (made == nullptr) return false;
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    sigset_t every, before;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_SETMASK, &every, &before);
    const bool started = ::pthread_create(&made->handle, &attributes, live, made) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    if (started)
        all.workers[static_cast<std::size_t>(all.count++)] = made;
    else
        delete made;
    return started;
}

void start_workers(int wanted) {
    while (all.count < std::min(wanted, static_cast<int>(all.workers.size())) && start_worker()) {
    }
}

bool answered(const worker& w) {
    return w.answered.load(std::memory_order_relaxed) == all.question.load(std::memory_order_relaxed);
}

int count_ready(int wanted, double work_us) {
    all.credit_us = std::min(all.credit_us + work_us / 100, 1000.0);
    const double start_us = start_cost_us * std::max(wanted - all.count, 0);
    if (start_us > 0 && all.credit_us >= start_us) {
        all.credit_us -= start_us;
        start_workers(wanted);
    }
    int asked = 0;
    for (int i = 0; i < std::min(wanted, all.count); ++i) {
        worker& w = *all.workers[static_cast<std::size_t>(i)];
        std::uint32_t sleeps = asleep;
        if (w.now.load(std::memory_order_relaxed) == asleep && all.credit_us >= wake_cost_us &&
            w.now.compare_exchange_strong(sleeps, awake, std::memory_order_release)) {
            all.credit_us -= wake_cost_us;
            w.now.notify_one();
        }
        if (w.now.load(std::memory_order_relaxed) == awake) ++asked;
    }
    if (asked == 0) return 0;

    all.question.fetch_add(1, std::memory_order_relaxed);
    const double patience_us = std::min(all.doubts > 0 ? work_us / 50 : work_us / 8, longest_wait_us);
    all.doubts = std::max(all.doubts - 1, 0);
    const auto start = clock::now();
    for (;;) {
        int ready = 0;
        for (int i = 0; i < std::min(wanted, all.count); ++i)
            ready += answered(*all.workers[static_cast<std::size_t>(i)]) ? 1 : 0;
        const bool complete = ready >= asked;
        if (complete || microseconds_since(start) > patience_us) {
            if (!complete && all.doubts == 0) all.doubts = questions_in_doubt;
            const double outlasting_us = complete ? 0 : 1.5 * work_us;
            all.stay_awake_us.store(std::min(awake_us + outlasting_us, longest_awake_us), std::memory_order_relaxed);
            return ready;
        }
        for (int i = 0; i < 8; ++i) pause();
    }
}

int allowed_processors() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(CPU_COUNT(&mask), 1);
    return static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));  // more processors than the mask has bits
}

/// Read once; whoever comes first at the same time reads the same. No guarded static, which a fork may leave taken.
int known_quota() {
    static constinit std::atomic<int> known{0};
    int quota = known.load(std::memory_order_relaxed);
    if (quota == 0) {
        quota = processor_quota();
        known.store(quota, std::memory_order_relaxed);
    }
    return quota;
}

struct caller_at_work {
    caller_at_work() { all.callers.fetch_add(1, std::memory_order_relaxed); }
    caller_at_work(const caller_at_work&) = delete;
    caller_at_work& operator=(const caller_at_work&) = delete;
    ~caller_at_work() { all.callers.fetch_sub(1, std::memory_order_relaxed); }
};

int wanted_by_openmp() {
    if (omp_get_max_threads != nullptr) return std::max(omp_get_max_threads(), 1);
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const int told = text == nullptr ? 0 : std::atoi(text);
    return told > 0 ? told : 1 << 20;
}

}  // namespace

bool in_parallel_region() {
    return omp_in_parallel != nullptr && omp_in_parallel() != 0;
}

int threads_of_process() {
    return std::min({allowed_processors(), known_quota(), wanted_by_openmp()});
}

int available_threads() {
    return in_parallel_region() ? 1 : threads_of_process();
}

int ready_threads(int wanted, double work_us) {
    if (wanted <= 1 || in_parallel_region()) return 1;
    const int others = all.callers.load(std::memory_order_relaxed);
    if (others > 0 && work_us < short_work_us) wanted = std::min(wanted, threads_of_process() - others);
    if (wanted <= 1 || all.taken.exchange(true, std::memory_order_acquire)) return 1;
    const int ready = 1 + count_ready(wanted - 1, work_us);
    all.taken.store(false, std::memory_order_release);
    return ready;
}

void run_team(int threads, void (*work)(void* context, int thread, int threads), void* context) {
    const caller_at_work counted;
    if (threads <= 1 || in_parallel_region() || all.taken.exchange(true, std::memory_order_acquire)) {
        work(context, 0, 1);
        return;
    }
    start_workers(threads - 1);
    const int others = std::min(threads - 1, all.count);
    all.work = work;
    all.context = context;
    all.threads = others + 1;
    all.unfinished.store(others, std::memory_order_relaxed);
    for (int i = 0; i < all.count; ++i) all.workers[static_cast<std::size_t>(i)]->number = 0;
    int number = 0;
    // Those first that were there when they were asked.
    for (const bool any : {false, true})
        for (int i = 0; i < all.count && number < others; ++i) {
            worker& w = *all.workers[static_cast<std::size_t>(i)];
            if (w.number != 0 || !(any || answered(w))) continue;
            w.number = ++number;
            if (w.now.exchange(working, std::memory_order_acq_rel) == asleep) w.now.notify_one();
        }
    work(context, 0, others + 1);
    for (int turn = 0; all.unfinished.load(std::memory_order_acquire) != 0; ++turn)
        if (turn < 200)
            pause();
        else
            ::sched_yield();
    all.taken.store(false, std::memory_order_release);
}

}  // namespace boxsum::cpu
