#pragma once

#include "core/problem.hpp"

#include <cstdint>

/// From a pixel to its bin, in registers.
namespace boxsum::cuda {

/// Q of Poostchi et al., eq. 1, for kernels: the same steps in double as boxsum::uniform_bin, so the same bins.
struct bin_finder {
    double lo, hi;
    double scale;  ///< bins / (hi - lo)
    int bins;      ///< of the rule
    bool clamped;
    const std::uint16_t* lookup;  ///< on the device; null for ranges

    bin_finder(const histogram_problem& h, const buffers& memory)
        : lo(h.lo),
          hi(h.hi),
          scale(static_cast<double>(h.bins_of_rule()) / (h.hi - h.lo)),
          bins(static_cast<int>(h.bins_of_rule())),
          clamped(h.outside == out_of_range::clamped),
          lookup(h.rule == bin_rule::lookup ? memory.lookup : nullptr) {}

    /// The bin, or -1.
    template <typename Pixel>
    __device__ int operator()(Pixel pixel) const {
        if (lookup != nullptr) {
            const std::uint16_t entry = lookup[static_cast<unsigned>(pixel)];
            return entry == binning::no_bin ? -1 : entry;
        }
        const auto v = static_cast<double>(pixel);
        if (v >= lo && v < hi) {
            const double scaled = (v - lo) * scale;
            return scaled < static_cast<double>(bins) ? static_cast<int>(scaled) : bins - 1;
        }
        if (!clamped || v != v) return -1;
        return v < lo ? 0 : bins - 1;
    }
};

}  // namespace boxsum::cuda
