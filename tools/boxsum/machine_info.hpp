#pragma once

#include <cstdint>
#include <string>

namespace boxsum::cli {

/// Model name of the processor; empty when the system does not say.
std::string processor_name();

/// Main memory in bytes.
std::int64_t memory_bytes();

}  // namespace boxsum::cli
