#include "apps/bands.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace boxsum::apps {

int used_threads(int requested, std::int64_t elements) {
    if (requested > 0) return requested;
    // Below this a thread's share is shorter than waking it up.
    constexpr std::int64_t worthwhile = std::int64_t{1} << 16;
    const std::int64_t useful = std::max<std::int64_t>(elements / worthwhile, 1);
#if defined(_OPENMP)
    return static_cast<int>(std::min<std::int64_t>(useful, omp_get_max_threads()));
#else
    return static_cast<int>(std::min<std::int64_t>(useful, std::max(1u, std::thread::hardware_concurrency())));
#endif
}

void for_each_band(std::int64_t planes, std::int64_t rows, int threads,
                   const std::function<void(const band&, int thread)>& work) {
    // A band starts by summing a whole window of rows, so planes are only cut where there are too few of them.
    const std::int64_t pieces = std::clamp<std::int64_t>((threads + planes - 1) / planes, 1, rows);
    const std::int64_t bands = planes * pieces;
    std::exception_ptr failure;
    std::mutex failing;
#if defined(_OPENMP)
#pragma omp parallel for schedule(static, 1) num_threads(threads)
#endif
    for (std::int64_t i = 0; i < bands; ++i) {
        const std::int64_t piece = i % pieces;
        try {
#if defined(_OPENMP)
            const int thread = omp_get_thread_num();
#else
            const int thread = 0;
#endif
            work({i / pieces, rows * piece / pieces, rows * (piece + 1) / pieces}, thread);
        } catch (...) {
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace boxsum::apps
