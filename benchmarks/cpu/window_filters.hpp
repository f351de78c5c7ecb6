#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace boxsum::bench {

class opencv_python;

/// A ratio of times and what it is to reach.
struct marked_ratio {
    const char* name;         ///< "copies", as records have it
    const char* target_name;  ///< "target_copies"
    double value = 0;
    double target = 0;    ///< 0: none
    bool at_most = true;  ///< else at least

    bool is_reached() const { return at_most ? value <= target : value >= target; }
};

/// One filter of one image; microseconds of a call, medians of the rounds.
struct filter_time {
    std::string group = {};         ///< "filters", "filters-avx2" and so on, as they are chosen
    std::string filter = {};        ///< "box mean 8u"
    std::string pixels = "random";  ///< or "grey", "black": all alike
    std::int64_t size = 0;
    std::int64_t radius = 0;
    int threads = 1;
    std::string instruction_set = {};
    bool correct = false;  ///< all of the results, against sums of exact integers or doubles
    double us = 0;
    /// A copy of half as many bytes as the filter reads and writes, which so moves as many; 0: not timed.
    double copy_us = 0;
    std::string peer = {};  ///< OpenCV's function; empty: it has none, or was not there when this was built
    double peer_us = 0;
    std::string newest = {};  ///< the function of a Python interpreter's OpenCV
    double newest_us = 0;
    std::vector<marked_ratio> ratios = {};
};

/// What is measured, and with what.
struct filter_settings {
    std::function<bool(std::string_view group)> wants;
    std::function<void(const filter_time&)> take;  ///< is called with each row as soon as it is known
    opencv_python* newest = nullptr;
    int rounds = 5;
    int most_threads = 1;
};

/// Box means, thresholds, means and deviations of n x n pixels, masked ones among them. A filter, the copy and others'
/// take turns.
///
///     filters          4096^2 in the best instructions, one thread, beside OpenCV's
///     filters-avx2     the same in AVX2, where the best is more
///     filters-threads  the same by two threads, beside one, and beside a copy by two
///     filters-small    512^2 and 1024^2, beside OpenCV's
///     filters-flat     pixels that are all alike, beside random ones
void time_window_filters(const filter_settings& settings);

}  // namespace boxsum::bench
