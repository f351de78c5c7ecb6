#pragma once

#include "program/record.hpp"

/// What a multiprocessor can do at most, which the micro-benchmarks are held to.
namespace boxsum::bench {

/// Shared memory has 32 banks of 4 bytes, on every device since compute capability 5.0.
inline constexpr double shared_bytes_a_clock = 128;

/// Results a clock and multiprocessor, of the table "Throughput of Native Arithmetic Instructions" in the CUDA C++
/// Programming Guide. Shuffles are 32 on all of them.
struct instruction_throughput {
    double float_additions, logical_operations, shuffles;
};

/// For compute capability major.minor, 6.0 and later; what is newer than the table has the throughput of its last row.
instruction_throughput throughput_of(int major, int minor);

/// The row as it is where its value is at least `least` and at most `most`, by a hundredth for reading the clock;
/// otherwise without a value, and wrong, with what it was.
micro_row held_to(micro_row row, double least, double most);

}  // namespace boxsum::bench
