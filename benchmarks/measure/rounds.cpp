#include "measure/rounds.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace boxsum::bench {

double host_us(const std::function<void()>& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

int computations_for(double once_us, double round_ms, int most) {
    if (!(once_us > 0)) return most;
    return static_cast<int>(std::clamp(round_ms * 1000 / once_us, 1.0, static_cast<double>(most)));
}

std::vector<std::vector<double>> times_by_round(std::span<const contestant> contestants, int rounds,
                                                const stopwatch& time_us) {
    if (rounds < 1) throw invalid_argument("rounds: is " + std::to_string(rounds) + ", must be at least 1");
    std::vector<std::vector<double>> times(contestants.size());
    for (int round = -1; round < rounds; ++round)
        for (std::size_t i = 0; i < contestants.size(); ++i) {
            if (contestants[i].before) contestants[i].before();
            const double us = time_us(contestants[i].run) / contestants[i].computations;
            if (round >= 0) times[i].push_back(us);
        }
    return times;
}

std::vector<spread> race(std::span<const contestant> contestants, int rounds, const stopwatch& time_us) {
    std::vector<spread> spreads;
    for (std::vector<double>& samples : times_by_round(contestants, rounds, time_us))
        spreads.push_back(spread_of(std::move(samples)));
    return spreads;
}

contestant host_contestant(std::string name, std::function<void()> once, double round_ms) {
    once();  // touches its memory, wakes its threads
    const int count = computations_for(host_us(once), round_ms);
    return {std::move(name),
            [once, count] {
                for (int i = 0; i < count; ++i) once();
            },
            count, once};
}

}  // namespace boxsum::bench
