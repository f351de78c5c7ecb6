#include "measure/statistics.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace boxsum::bench {

spread spread_of(std::vector<double> samples) {
    if (samples.empty()) throw invalid_argument("samples: there are none");
    for (const double x : samples)
        if (!std::isfinite(x)) throw invalid_argument("samples: " + std::to_string(x) + " is no finite number");
    std::sort(samples.begin(), samples.end());
    const auto quantile = [&](double share) {
        const double position = share * static_cast<double>(samples.size() - 1);
        const auto below = static_cast<std::size_t>(position);
        const std::size_t above = std::min(below + 1, samples.size() - 1);
        return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
    };
    return {quantile(0.5), quantile(0.25), quantile(0.75), static_cast<int>(samples.size())};
}

}  // namespace boxsum::bench
