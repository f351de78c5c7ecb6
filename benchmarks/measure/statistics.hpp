#pragma once

#include <vector>

namespace boxsum::bench {

/// Where repeated measurements lie. A median forgives the rounds that something else disturbed; the quartiles say how
/// much there was to forgive.
struct spread {
    double median = 0;
    double low = 0;   ///< lower quartile
    double high = 0;  ///< upper quartile
    int samples = 0;
};

/// Quartiles by linear interpolation between the sorted samples (type 7 of Hyndman and Fan 1996).
/// Throws invalid_argument for no samples, or one that is no finite number.
spread spread_of(std::vector<double> samples);

}  // namespace boxsum::bench
