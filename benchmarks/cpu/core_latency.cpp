#include "cpu/core_latency.hpp"

#include "cpu/team.hpp"

#include <boxsum/cpu.hpp>

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <vector>

namespace boxsum::bench {

namespace {

struct pinning {
    const std::vector<int>& processors;
    std::atomic<int> pinned{0};

    void pin(int thread) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processors[static_cast<std::size_t>(thread)], &one);
        if (::sched_setaffinity(0, sizeof one, &one) == 0) ++pinned;
    }
};

}  // namespace

int pin_threads() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    std::vector<int> processors;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &allowed)) processors.push_back(i);
    pinning all{processors};
    const int threads = std::min(describe_cpu().threads, static_cast<int>(processors.size()));
    // The limits are measured by OpenMP's threads, the tables are made by the library's.
#pragma omp parallel num_threads(threads)
    all.pin(omp_get_thread_num());
    const int of_openmp = all.pinned.exchange(0);
    cpu::run_team(
        threads, [](void* context, int thread, int) { static_cast<pinning*>(context)->pin(thread); }, &all);
    return std::min(of_openmp, all.pinned.load());
}

double round_trip_ns() {
    if (omp_get_max_threads() < 2) return 0;
    constexpr int rounds = 64;
    constexpr int trips = 64;
    struct alignas(128) line {
        std::atomic<int> value{0};
    };
    line ball;
    std::array<double, rounds> samples{};
#pragma omp parallel num_threads(2)
    {
        const bool first = omp_get_thread_num() == 0;
        if (omp_get_num_threads() == 2)
            for (int r = 0; r < rounds; ++r) {
                const auto start = std::chrono::steady_clock::now();
                for (int t = 0; t < trips; ++t) {
                    const int mine = 2 * (r * trips + t) + (first ? 0 : 1);
                    while (ball.value.load(std::memory_order_acquire) != mine) {
                    }
                    ball.value.store(mine + 1, std::memory_order_release);
                }
                if (first)
                    samples[static_cast<std::size_t>(r)] =
                        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
                        trips;
            }
    }
    std::nth_element(samples.begin(), samples.begin() + rounds / 2, samples.end());
    return samples[rounds / 2];
}

}  // namespace boxsum::bench
