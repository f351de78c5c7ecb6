#include "cpu/team.hpp"

#include <atomic>

#if defined(_OPENMP)
#include <omp.h>
#include <pthread.h>
#endif

namespace boxsum::cpu {

#if defined(_OPENMP)

namespace {

std::atomic<bool> in_forked_child{false};

void watch_fork() {
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { in_forked_child = true; });
    static_cast<void>(registered);
}

}  // namespace

int available_threads() {
    if (in_forked_child || omp_in_parallel() != 0) return 1;
    return omp_get_max_threads();
}

void run_team(int threads, void (*work)(void* context, int thread, int threads), void* context) {
    if (threads <= 1 || in_forked_child) {
        work(context, 0, 1);
        return;
    }
    watch_fork();  // before the first region: only threads that exist can be lost
#pragma omp parallel num_threads(threads)
    work(context, omp_get_thread_num(), omp_get_num_threads());
}

#else

int available_threads() {
    return 1;
}

void run_team(int, void (*work)(void* context, int thread, int threads), void* context) {
    work(context, 0, 1);
}

#endif

}  // namespace boxsum::cpu
