#include "cpu/filters/bands.hpp"

#include "cpu/team.hpp"

#include <algorithm>
#include <exception>
#include <mutex>

namespace boxsum::filters {
namespace {

/// As for tables.
constexpr int most_threads = 256;

/// All bands of a call. Thread t of a team does bands t, t + threads, ...
struct banded_work {
    std::int64_t rows, pieces, bands;
    band_work work;
    std::exception_ptr failure = nullptr;
    std::mutex failing = {};

    void run_band(std::int64_t i, int thread) {
        const std::int64_t piece = i % pieces;
        try {
            work({i / pieces, rows * piece / pieces, rows * (piece + 1) / pieces}, thread);
        } catch (...) {
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
        }
    }

    static void run(void* context, int thread, int threads) {
        banded_work& all = *static_cast<banded_work*>(context);
        for (std::int64_t i = thread; i < all.bands; i += threads) all.run_band(i, thread);
    }
};

}  // namespace

int used_threads(int requested, std::int64_t elements) {
    if (requested > 0) return requested;
    // Below this a thread's share is not worth a question. One pixel takes 0.3 to 2 ns.
    constexpr std::int64_t worthwhile = std::int64_t{1} << 16;
    constexpr double elements_per_us = 2000;
    const std::int64_t useful = std::max<std::int64_t>(elements / worthwhile, 1);
    const int most = static_cast<int>(std::min<std::int64_t>(useful, cpu::available_threads()));
    return cpu::ready_threads(most, static_cast<double>(elements) / elements_per_us);
}

void for_each_band(std::int64_t planes, std::int64_t rows, int threads, band_work work) {
    // A band starts by summing a whole window of rows, so planes are only cut where there are too few of them.
    const std::int64_t wanted = std::min(threads, most_threads);
    const std::int64_t pieces = std::clamp<std::int64_t>((wanted + planes - 1) / planes, 1, rows);
    banded_work all{rows, pieces, planes * pieces, work};
    cpu::run_team(static_cast<int>(std::min(wanted, all.bands)), banded_work::run, &all);
    if (all.failure) std::rethrow_exception(all.failure);
}

}  // namespace boxsum::filters
