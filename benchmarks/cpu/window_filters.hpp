#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// One filter of one image, on one thread; microseconds of a call, medians of the rounds.
struct window_time {
    std::string filter;  ///< "box mean 8u"
    std::int64_t radius = 0;
    bool correct = false;  ///< all of the results, against sums of exact integers or doubles
    double us = 0;
    /// A copy of half as many bytes as the filter reads and writes, which so moves as many.
    double copy_us = 0;
    std::string peer;  ///< OpenCV's function; empty: it has none, or was not there when this was built
    double peer_us = 0;
    double over_unmasked = 0;   ///< copies, over those of the filter where all pixels count; 0: all count
    double target_copies = 0;   ///< at most; 0: none
    double target_speedup = 0;  ///< over the peer, at least; 0: none
    double target_most = 0;     ///< of over_unmasked; 0: none

    double copies() const { return us / copy_us; }
};

/// Box means, thresholds, means and deviations of n x n random pixels, of some with a mask of every other pixel by
/// chance. The filter, the copy and the peer take turns.
std::vector<window_time> time_window_filters(std::int64_t n, int rounds);

}  // namespace boxsum::bench
