#pragma once

#include "measure/statistics.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

/// Interleaved rounds: in every round all contestants take their turn, so that a drift of the clock, a warm machine or
/// a busy neighbour meets all of them.
namespace boxsum::bench {

/// What is timed: `run` does `computations` of the same computations. `before`, where there is one, opens every turn
/// without being timed: it writes back, or fetches, what the contestant before left in or out of the caches.
struct contestant {
    std::string name;
    std::function<void()> run;
    int computations = 1;
    std::function<void()> before = {};
};

/// Microseconds that a call takes; what a device enqueued is waited for.
using stopwatch = std::function<double(const std::function<void()>&)>;

/// The stopwatch of computations on the host.
double host_us(const std::function<void()>& run);

/// How many computations fill a round: at least one, at most `most`.
int computations_for(double once_us, double round_ms, int most = 1 << 20);

/// Microseconds a computation of each contestant takes in each of `rounds` rounds behind one that is not counted: a row
/// a contestant.
std::vector<std::vector<double>> times_by_round(std::span<const contestant> contestants, int rounds,
                                                const stopwatch& time_us);

/// The same over all rounds.
std::vector<spread> race(std::span<const contestant> contestants, int rounds, const stopwatch& time_us);

/// A contestant on the host: runs once, then chooses as many computations as fill `round_ms`. Its turns open with one
/// computation that is not timed.
contestant host_contestant(std::string name, std::function<void()> once, double round_ms);

}  // namespace boxsum::bench
