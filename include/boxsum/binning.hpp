#pragma once

#include <boxsum/export.hpp>
#include <boxsum/types.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// What happens to a pixel whose value no bin covers. NaN is counted nowhere, whatever this says.
enum class out_of_range : std::uint8_t {
    ignored,  ///< counted nowhere
    clamped,  ///< counted in the first bin when below, in the last when above
};

/// The three ways from a pixel to its bin.
enum class bin_rule : std::uint8_t { uniform, lookup, indices };

/// Which bin a pixel falls in: the function Q of Poostchi et al. (eq. 1). Bins are numbered 0 .. bins() - 1.
class binning {
  public:
    static constexpr std::int64_t max_bins = 1024;
    static constexpr std::uint16_t no_bin = 0xffff;  ///< in look-up tables: counted nowhere

    /// `bins` ranges of equal width over [lo, hi). For any image type. A value v in [lo, hi) falls in bin
    /// floor((v - lo) * (bins / (hi - lo))), computed in double and capped at bins - 1, so that rounding never moves a
    /// value below hi out of the last bin.
    /// Throws invalid_argument unless 1 <= bins <= 1024, lo and hi are finite, lo < hi, and the bins are wide enough
    /// for bins / (hi - lo) to be finite.
    static binning uniform(std::int64_t bins, double lo, double hi, out_of_range outside = out_of_range::ignored);

    /// Bin `table[v]` for pixel v: 256 entries for 8u images, 65536 for 16u. Entries are below `bins`, or `no_bin`.
    /// Throws invalid_argument for another size, and for an entry that is neither, with its index.
    static binning lookup(std::int64_t bins, std::span<const std::uint16_t> table);

    /// The image holds bin numbers: 8u, 16u or 32s.
    static binning indices(std::int64_t bins, out_of_range outside = out_of_range::ignored);

    std::int64_t bins() const noexcept { return bins_; }
    bin_rule rule() const noexcept { return rule_; }
    double lo() const noexcept { return lo_; }  ///< `uniform`, and 0 for `indices`
    double hi() const noexcept { return hi_; }  ///< `uniform`, and bins() for `indices`
    out_of_range outside() const noexcept { return outside_; }
    std::span<const std::uint16_t> table() const noexcept { return table_; }  ///< empty unless `lookup`

    /// The bin of one value, or -1: the definition that every algorithm follows. For `lookup` the value must be an
    /// index of the table.
    std::int64_t bin_of(double value) const noexcept;

  private:
    binning() = default;

    bin_rule rule_ = bin_rule::uniform;
    out_of_range outside_ = out_of_range::ignored;
    std::int64_t bins_ = 0;
    double lo_ = 0;
    double hi_ = 0;
    std::vector<std::uint16_t> table_;
};

/// The bin of a value under uniform ranges, or -1 (see binning::uniform).
constexpr std::int64_t uniform_bin(double value, std::int64_t bins, double lo, double hi,
                                   out_of_range outside) noexcept {
    if (value >= lo && value < hi) {
        const double scaled = (value - lo) * (static_cast<double>(bins) / (hi - lo));
        return scaled < static_cast<double>(bins) ? static_cast<std::int64_t>(scaled) : bins - 1;
    }
    if (outside == out_of_range::ignored || value != value) return -1;
    return value < lo ? 0 : bins - 1;
}

}  // namespace boxsum
