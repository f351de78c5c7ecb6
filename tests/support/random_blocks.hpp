#pragma once

#include "support/strided_block.hpp"

#include <cstdint>
#include <random>

namespace boxsum::test {

/// For fixtures whose shapes and strides are random.
class random_blocks {
  protected:
    explicit random_blocks(std::uint64_t seed) : random_(seed) {}

    std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

    /// Of poison. With `only_read` elements may share a place.
    template <typename T>
    block<T> random_block(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes,
                          bool only_read = false) {
        const lying how = pick(4) == 0 ? lying::row_major : only_read && pick(2) == 0 ? lying::repeated : lying::anyhow;
        return block<T>(rows, cols, channels, planes, how, random_);
    }

    std::mt19937_64 random_;
};

}  // namespace boxsum::test
