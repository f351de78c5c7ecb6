#pragma once

#include <cstdint>
#include <string>

namespace boxsum::cli {

/// Model name of the processor; empty when the system does not say.
std::string processor_name();

/// Processors that the process may run on.
int available_processors();

/// What --threads asks for, at most one thread for each of them; 0 (by size) stays.
int bounded_threads(int threads);

/// Main memory in bytes.
std::int64_t memory_bytes();

}  // namespace boxsum::cli
