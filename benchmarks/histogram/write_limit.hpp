#pragma once

#include <cstddef>

namespace boxsum::bench {

enum class fill_kind { cached, streaming, memset };

/// Writes `bytes` bytes (a multiple of 64, 64-byte aligned) with the widest vectors of the machine, or by memset: what
/// an integral histogram of that size costs if it costs nothing but its output. The vectors hold random numbers, as
/// lines of zeros may be written faster than others.
void run_write_limit(void* out, std::size_t bytes, fill_kind kind, int threads);

}  // namespace boxsum::bench
