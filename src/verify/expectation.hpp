#pragma once

#include "core/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace boxsum {

/// What a table must hold, in wide types, computed from the definition independently of every record, and the
/// comparison of whole outputs with it. Integer tables must agree exactly, modulo 2^bits. Floating ones obey
/// |T' - T| <= gamma_k * SAT(|x|) with gamma_k = k u / (1 - k u); sums that are not finite are compared by class.
///
/// A part of a larger table is expected as the whole image has it. Its carries are entries of the whole table, each
/// rounded once more: three more roundings; its border is theirs, bit for bit.
class expectation {
  public:
    /// `square`: the table of squares. The image is copied, so an in-place run may overwrite it later.
    expectation(const problem& p, const void* image, bool square) : expectation(p, {image, p.image}, 0, 0, square) {}

    /// Of a part, whose first pixel is (row, col) of the whole image.
    expectation(const problem& p, const const_any_view& whole, std::int64_t row, std::int64_t col, bool square);

    /// Writes the whole table's inclusive entries from (row, col) of the whole image on, rounded to their type; zeros
    /// for row or column -1.
    void put_entries(std::int64_t row, std::int64_t col, const any_view& entries) const;

    /// Compares all entries, borders included. `depth` is the record's k. The first wrong entry, or nothing.
    std::optional<std::string> mismatch(const void* table, std::int64_t depth) const;

    /// Root-mean-square error of a floating table over its finite entries; 0 for integers.
    double rms_error(const void* table) const;

  private:
    class rows;
    template <typename T>
    std::optional<std::string> compare(const void* table, std::int64_t depth) const;

    view_shape table_;
    view_shape image_;      ///< the whole one
    std::int64_t row_ = 0;  ///< of the part in it
    std::int64_t col_ = 0;
    std::int64_t shift_ = 0;
    bool square_ = false;
    std::vector<std::byte> pixels_;  ///< of the whole image, packed
};

}  // namespace boxsum
