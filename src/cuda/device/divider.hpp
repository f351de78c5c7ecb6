#pragma once

#include "core/host_device.hpp"

#include <cstdint>

namespace boxsum::cuda {

/// Division of numbers below 2^31 by a number that is fixed for a launch: a multiplication and a shift instead of the
/// 20 dependent instructions of a division by an unknown number.
///
/// With 2^(s-1) < d <= 2^s and m = ceil(2^(31+s) / d), m fits in 32 bits and exceeds the quotient by e / d, e < d.
/// Then n * m / 2^(31+s) exceeds n / d by n * e / (d * 2^(31+s)) < 1 / d, too little to reach the next integer.
class divider {
  public:
    divider() = default;  ///< by 1

    /// 1 <= d < 2^31.
    explicit constexpr divider(std::uint32_t d) : divisor_(d) {
        while ((std::uint64_t{1} << (shift_ - 31)) < d) ++shift_;
        multiplier_ = static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + d - 1) / d);
    }

    BOXSUM_HOST_DEVICE constexpr std::uint32_t divisor() const { return divisor_; }

    /// n / divisor, n < 2^31.
    BOXSUM_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const {
        // The upper half of a product is one instruction, a shift of 64 bits several.
        return static_cast<std::uint32_t>(std::uint64_t{2 * n} * multiplier_ >> 32) >> (shift_ - 31);
    }

  private:
    std::uint32_t divisor_ = 1, multiplier_ = 1u << 31, shift_ = 31;
};

}  // namespace boxsum::cuda
