#pragma once

#include "measure/statistics.hpp"

#include <boxsum/types.hpp>

#include <cstdint>

namespace boxsum::bench {

/// Threads of a program that all make tables at once, with the library's default options, beside one thread that makes
/// the same tables in turn.
struct callers_times {
    spread in_turn_us;   ///< a table
    spread together_us;  ///< a table, of the time until the last caller has ended, over all their tables
    bool correct = true;
};

/// `callers` images of n x n pixels, each with a table of its own; the threads wait between the rounds.
callers_times time_callers(type_pair types, std::int64_t n, int callers, int rounds, double round_ms);

}  // namespace boxsum::bench
