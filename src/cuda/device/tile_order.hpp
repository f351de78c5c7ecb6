#pragma once

#include "core/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace boxsum::cuda {

struct tile_index {
    std::int64_t row, col;  ///< I and J of the papers

    friend bool operator==(const tile_index&, const tile_index&) = default;
};

/// Diagonal-major order of a grid of tiles, as in figure 9 of Emoto et al. 2018: diagonal I + J = 0, 1, ..., and within
/// it I upwards. The printed serial number (I + J)(I + J + 1) / 2 + I holds up to the main anti-diagonal of a square;
/// past it, and for rows != cols, diagonals get shorter again, which these functions count.
struct diagonal_order {
    std::int64_t rows, cols;  ///< tiles

    BOXSUM_HOST_DEVICE std::int64_t count() const { return rows * cols; }
    BOXSUM_HOST_DEVICE std::int64_t diagonals() const { return rows + cols - 1; }

    /// First I of a diagonal.
    BOXSUM_HOST_DEVICE std::int64_t first_row(std::int64_t diagonal) const {
        return diagonal < cols ? 0 : diagonal - cols + 1;
    }

    /// Tiles of a diagonal.
    BOXSUM_HOST_DEVICE std::int64_t length(std::int64_t diagonal) const {
        const std::int64_t last_row = diagonal < rows ? diagonal : rows - 1;
        return last_row - first_row(diagonal) + 1;
    }

    /// Tiles of all diagonals before this one.
    BOXSUM_HOST_DEVICE std::int64_t before(std::int64_t diagonal) const {
        const std::int64_t shorter = rows < cols ? rows : cols;
        const std::int64_t longer = rows < cols ? cols : rows;
        if (diagonal <= shorter) return triangle(diagonal);
        if (diagonal <= longer) return triangle(shorter) + (diagonal - shorter) * shorter;
        return count() - triangle(diagonals() - diagonal);
    }

    BOXSUM_HOST_DEVICE std::int64_t serial(tile_index t) const {
        return before(t.row + t.col) + t.row - first_row(t.row + t.col);
    }

    BOXSUM_HOST_DEVICE tile_index tile(std::int64_t serial) const {
        const std::int64_t shorter = rows < cols ? rows : cols;
        std::int64_t diagonal;
        if (serial < triangle(shorter))
            diagonal = triangle_root(serial);
        else if (serial < count() - triangle(shorter))
            diagonal = shorter + quotient(serial - triangle(shorter), shorter);
        else
            diagonal = diagonals() - 1 - triangle_root(count() - 1 - serial);
        const std::int64_t row = first_row(diagonal) + serial - before(diagonal);
        return {row, diagonal - row};
    }

  private:
    /// A grid has less than 2^32 tiles, and a division by an unknown number of 64 bits is 100 instructions.
    BOXSUM_HOST_DEVICE static std::int64_t quotient(std::int64_t a, std::int64_t b) {
        return a >> 32 == 0 && b >> 32 == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b) : a / b;
    }

    BOXSUM_HOST_DEVICE static std::int64_t triangle(std::int64_t n) { return n * (n + 1) / 2; }

    /// Largest n with triangle(n) <= x; the root is exact to a unit, which the loops mend.
    BOXSUM_HOST_DEVICE static std::int64_t triangle_root(std::int64_t x) {
        auto n = static_cast<std::int64_t>((sqrt(8.0 * static_cast<double>(x) + 1.0) - 1.0) / 2.0);
        while (triangle(n + 1) <= x) ++n;
        while (triangle(n) > x) --n;
        return n;
    }
};

}  // namespace boxsum::cuda
