#include "cpu/team.hpp"

#include <atomic>

#if defined(_OPENMP)
#include <omp.h>
#include <pthread.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define BOXSUM_KNOWS_SINGLE_THREADED
#endif
#endif

namespace boxsum::cpu {

#if defined(_OPENMP)

namespace {

std::atomic<bool> in_forked_child{false};
std::atomic<bool> forked_among_threads{false};

bool has_other_threads() {
#if defined(BOXSUM_KNOWS_SINGLE_THREADED)
    return __libc_single_threaded == 0;
#else
    return true;
#endif
}

/// When the library is loaded, not at its first region: the threads that a child lacks may be those of a region of the
/// caller's own. The child of a process without a second thread has lost none and may start its own, but a grandchild
/// whose parent lost some may not.
[[maybe_unused]] const int watches_fork = ::pthread_atfork([] { forked_among_threads = has_other_threads(); }, nullptr,
                                                           [] {
                                                               if (forked_among_threads) in_forked_child = true;
                                                           });

}  // namespace

bool in_parallel_region() {
    return omp_in_parallel() != 0;
}

int available_threads() {
    if (in_forked_child || in_parallel_region()) return 1;
    return omp_get_max_threads();
}

void run_team(int threads, void (*work)(void* context, int thread, int threads), void* context) {
    if (threads <= 1 || in_forked_child) {
        work(context, 0, 1);
        return;
    }
#pragma omp parallel num_threads(threads)
    work(context, omp_get_thread_num(), omp_get_num_threads());
}

#else

bool in_parallel_region() {
    return false;
}

int available_threads() {
    return 1;
}

void run_team(int, void (*work)(void* context, int thread, int threads), void* context) {
    work(context, 0, 1);
}

#endif

}  // namespace boxsum::cpu
