#pragma once

#include <cstdint>

namespace boxsum::bench {

/// What links to devices bring to page-locked host memory, in bytes a second.
struct link_rates {
    double sum = 0;      ///< of each alone
    double at_once = 0;  ///< of all together
};

/// Devices 0 to `devices` - 1, each into its own part of `memory`; at most 2 GiB of each, the best of three.
link_rates rates_of_links(int devices, void* memory, std::int64_t bytes);

}  // namespace boxsum::bench
