#include "core/view_checks.hpp"

#include <boxsum/binning.hpp>
#include <boxsum/error.hpp>

#include <cmath>
#include <string>

namespace boxsum {
namespace {

void check_bins(std::int64_t bins) {
    if (bins < 1 || bins > binning::max_bins)
        throw invalid_argument("bins: is " + std::to_string(bins) + ", must be 1 to " +
                               std::to_string(binning::max_bins));
}

std::string range_text(double lo, double hi) {
    return "range: is [" + text_of(lo) + ", " + text_of(hi) + "), ";
}

void check_outside(out_of_range outside) {
    if (outside != out_of_range::ignored && outside != out_of_range::clamped)
        throw invalid_argument("outside: is " + std::to_string(static_cast<int>(outside)) + ", not an out_of_range");
}

}  // namespace

binning binning::uniform(std::int64_t bins, double lo, double hi, out_of_range outside) {
    check_bins(bins);
    check_outside(outside);
    if (!std::isfinite(lo) || !std::isfinite(hi)) throw invalid_argument(range_text(lo, hi) + "must be finite");
    if (!(lo < hi)) throw invalid_argument(range_text(lo, hi) + "its lower end must be below its upper end");
    if (!std::isfinite(hi - lo)) throw invalid_argument(range_text(lo, hi) + "its width must fit a double");
    if (!std::isfinite(static_cast<double>(bins) / (hi - lo)))
        throw invalid_argument(range_text(lo, hi) + "too narrow for " + std::to_string(bins) + " bins");
    binning b;
    b.outside_ = outside;
    b.bins_ = bins;
    b.lo_ = lo;
    b.hi_ = hi;
    return b;
}

binning binning::lookup(std::int64_t bins, std::span<const std::uint16_t> table) {
    check_bins(bins);
    if (table.size() != 256 && table.size() != 65536)
        throw invalid_argument("table: has " + std::to_string(table.size()) +
                               " entries, must have 256 (8u images) or 65536 (16u images)");
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i] >= bins && table[i] != no_bin)
            throw invalid_argument("table: entry " + std::to_string(i) + " is " + std::to_string(table[i]) +
                                   ", must be below " + std::to_string(bins) + " or no_bin");
    binning b;
    b.rule_ = bin_rule::lookup;
    b.bins_ = bins;
    b.table_.assign(table.begin(), table.end());
    return b;
}

binning binning::indices(std::int64_t bins, out_of_range outside) {
    check_bins(bins);
    check_outside(outside);
    binning b;
    b.rule_ = bin_rule::indices;
    b.outside_ = outside;
    b.bins_ = bins;
    b.hi_ = static_cast<double>(bins);
    return b;
}

std::int64_t binning::bin_of(double value) const noexcept {
    if (rule_ != bin_rule::lookup) return uniform_bin(value, bins_, lo_, hi_, outside_);
    const std::uint16_t entry = table_[static_cast<std::size_t>(value)];
    return entry == no_bin ? -1 : entry;
}

}  // namespace boxsum
