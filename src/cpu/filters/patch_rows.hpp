#pragma once

#include "cpu/filters/patch_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

/// Sums of patches made of sums of rows.
namespace boxsum::filters {

/// Samples of boxes of a fixed width by doubling: sums of 1, 2, 4, .. samples, and of these, one for each bit of the
/// width.
struct doubling {
    std::int64_t width;
    int levels = 1;

    explicit doubling(std::int64_t samples) : width(samples) {
        while ((std::int64_t{1} << levels) <= width) ++levels;
    }

    /// Calls part(level, offset) for the sums that make a box, from its first sample on.
    template <typename F>
    void for_each_part(F&& part) const {
        std::int64_t offset = 0;
        for (int level = levels; level-- > 0;) {
            if ((width >> level & 1) == 0) continue;
            part(level, offset);
            offset += std::int64_t{1} << level;
        }
    }
};

/// Rows whose sum is wanted, at most four; of more, the first ones are added up.
template <typename S>
class row_list {
  public:
    row_list(const patch_sum_kernels<S>& kernels, S* memory, std::int64_t n)
        : kernels_(kernels), memory_(memory), n_(n) {}

    void add(const S* row) {
        if (count_ == 4) {
            kernels_.add(memory_, rows_.data(), count_, n_);
            rows_[0] = memory_;
            count_ = 1;
        }
        rows_[static_cast<std::size_t>(count_++)] = row;
    }
    /// The sum: of one row, the row itself.
    const S* sum() const {
        if (count_ == 1) return rows_[0];
        kernels_.add(memory_, rows_.data(), count_, n_);
        return memory_;
    }
    const S* const* rows() const { return rows_.data(); }
    int count() const { return count_; }

  private:
    const patch_sum_kernels<S>& kernels_;
    S* memory_;
    std::int64_t n_;
    std::array<const S*, 4> rows_{};
    int count_ = 0;
};

/// Rows of sums are computed to the end of a vector, where nobody looks: what is left of one takes as long as a whole
/// one.
inline constexpr std::int64_t padding = 16;
constexpr std::int64_t padded(std::int64_t n) {
    return (n + padding - 1) / padding * padding;
}

/// Rows or columns first .. end - 1.
struct span {
    std::int64_t first, end;

    std::int64_t size() const { return end - first; }
    bool contains(std::int64_t i) const { return first <= i && i < end; }
};

constexpr span within(span a, span b) {
    return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

}  // namespace boxsum::filters
