#pragma once

#include <boxsum/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/histogram_table.hpp>

#include <cstdint>

namespace boxsum::bench {

/// Four entries of a table, by their place in it.
struct random_corners {
    std::uint32_t row[4];
    std::uint32_t col[4];
};

/// What box queries of a tensor in device memory cost at least: for every bin of every box four entries are read, at
/// places that have nothing to do with each other, and added up. A warp owns a box at a time, a thread every 32nd bin
/// of it, as the query kernel does for 32 bins; it writes one sum of all its entries (`sums`, `boxes` numbers, device
/// memory), so that no read can be left out. `corners`: `boxes` of them in device memory.
void read_random_entries(const const_any_tensor_view& tensor, const random_corners* corners, std::int64_t boxes,
                         std::uint32_t* sums, cuda::stream_ref stream);

}  // namespace boxsum::bench
