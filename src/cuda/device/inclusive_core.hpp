#pragma once

#include "core/problem.hpp"

#include <algorithm>
#include <cstdint>

/// Host-only, in every build: costs are counted with it. The layouts differ from the inclusive one in their place only:
/// an exclusive table is zeros in its first row and column and, from (1, 1) on, the inclusive table of the image
/// without its last row and column; a padded table the same with that of the whole image.
namespace boxsum::cuda {

/// What is left to compute when the zeros of the layout are written.
struct inclusive_core {
    std::int64_t layers, rows, cols;

    bool empty() const { return rows == 0 || cols == 0; }
    double elements() const {
        return static_cast<double>(layers) * static_cast<double>(rows) * static_cast<double>(cols);
    }
};

inline inclusive_core core_of(const problem& p) {
    const std::int64_t border = p.form.border();
    return {p.image.planes * p.image.channels, p.table.rows - border, p.table.cols - border};
}

/// Launches that write the zeros of the layout.
inline std::int64_t border_launches(const problem& p) {
    return p.form.border();
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// How many sums an algorithm on tiles of W x W hands over, in elements of the table, over all layers.
struct tile_cost {
    double elements;                  ///< of the table
    double count;                     ///< tiles: one sum each
    double row_sums, col_sums;        ///< of all tiles: a sum per row, or column, of each
    double row_carries, col_carries;  ///< of all tiles that have a left, or upper, neighbour
    double corners;                   ///< tiles that have both

    tile_cost(const problem& p, std::int64_t w) {
        const inclusive_core core = core_of(p);
        const auto layers = static_cast<double>(core.layers);
        const auto tile_rows = static_cast<double>(ceil_div(core.rows, w));
        const auto tile_cols = static_cast<double>(ceil_div(core.cols, w));
        elements = std::max(1.0, core.elements());
        count = layers * tile_rows * tile_cols;
        row_sums = layers * static_cast<double>(core.rows) * tile_cols;
        col_sums = layers * static_cast<double>(core.cols) * tile_rows;
        row_carries = layers * static_cast<double>(core.rows) * (tile_cols - 1);
        col_carries = layers * static_cast<double>(core.cols) * (tile_rows - 1);
        corners = layers * (tile_rows - 1) * (tile_cols - 1);
    }
};

}  // namespace boxsum::cuda
