#pragma once

#include "competitors/random_reads.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum::bench {

/// What sums of boxes cost at least: a thread reads the places of four entries, reads these, and writes their sum, of
/// the table's width (4 or 8 bytes; integers, whatever the type). `corners` and `sums` are device memory for `boxes`
/// of them; the table has one channel and one plane.
void read_entries(const const_any_view& table, const random_corners* corners, std::int64_t boxes, void* sums,
                  cuda::stream_ref stream);

}  // namespace boxsum::bench
