#pragma once

#include <boxsum/cpu.hpp>

#include <cstdint>

namespace boxsum::cpu {

/// Threads for work that moves `bytes` bytes: `requested`, or for 0 as many as pay for their wake-up.
int choose_threads(std::int64_t bytes, int requested);

/// Streaming or cached, for tables of `table_bytes` altogether whose rows are aligned for streaming stores or not.
store_policy choose_store(std::int64_t table_bytes, bool aligned, store_policy requested);

}  // namespace boxsum::cpu
