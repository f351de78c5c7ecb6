#pragma once

namespace boxsum::cpu {

/// Whether the caller is a thread of a parallel region of OpenMP, its own or somebody else's.
bool in_parallel_region();

/// Threads that the next parallel region may use: OpenMP's (OMP_NUM_THREADS, the process's affinity). One inside
/// another parallel region, whose threads have the cores already, and one in a child of fork(): the threads of OpenMP
/// do not survive it, and its next region would wait for them for ever.
int available_threads();

/// Runs work(context, thread, threads) on `threads` threads, the caller being one of them, or on fewer where the
/// runtime grants fewer; `threads` of the call is what it granted. Returns when all are done. `work` must not throw.
void run_team(int threads, void (*work)(void* context, int thread, int threads), void* context);

}  // namespace boxsum::cpu
