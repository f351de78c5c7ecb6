#pragma once

namespace boxsum::cpu {

/// Whether the caller is a thread of a parallel region of OpenMP's, its own or somebody else's. Its threads have the
/// cores already.
bool in_parallel_region();

/// Threads that a call may use: processors that the calling thread may run on, bounded by the quota of the control
/// group and by OMP_NUM_THREADS (or what omp_set_num_threads() said, where the program uses OpenMP).
int threads_of_process();
/// The same, but 1 within a parallel region.
int available_threads();

/// The caller and as many of `wanted - 1` other threads as answer at once, for work that takes one thread `work_us`. No
/// thread is waited for longer than pays: one that sleeps, is not started yet or has no processor is left out, and
/// woken or started for the calls to come, as often as costs no more than a hundredth of all work that was asked about.
/// Cores where other callers are at work (run_team(), alone or not) are left to them, unless the work is so long that
/// it may outlast theirs. 1 while another caller has the threads, as its work fills the cores.
int ready_threads(int wanted, double work_us);

/// Runs work(context, thread, threads) on `threads` threads, the caller being one of them, or on fewer; `threads` of
/// the call is how many. Starts and wakes what it needs. Fewer within a parallel region, while another caller has the
/// threads, and where the system gives none. Returns when all are done. `work` must not throw.
void run_team(int threads, void (*work)(void* context, int thread, int threads), void* context);

}  // namespace boxsum::cpu
