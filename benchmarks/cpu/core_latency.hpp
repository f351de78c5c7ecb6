#pragma once

namespace boxsum::bench {

/// Restricts thread i of OpenMP and of the library to the i-th processor that the process may use. Returns how many
/// threads were pinned.
int pin_threads();

/// Nanoseconds for a cache line to go from the core of thread 0 to that of thread 1 and back, the median of many round
/// trips; 0 with one core. Virtual processors move between placements, so each result carries its own.
double round_trip_ns();

}  // namespace boxsum::bench
