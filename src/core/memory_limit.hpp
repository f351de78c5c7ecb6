#pragma once

#include <cstddef>
#include <string_view>

namespace boxsum {

/// What the shared pool keeps unless it is told: a sixteenth of what the process may have, and 1 GiB at most.
std::size_t default_pool_limit(std::size_t memory_of_process);

/// "67108864", "64M". Throws invalid_argument, naming `variable`, for anything else.
std::size_t parse_bytes(std::string_view variable, std::string_view text);

}  // namespace boxsum
