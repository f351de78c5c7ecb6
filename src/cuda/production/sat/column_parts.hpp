#pragma once

#include "cuda/production/sat/prepared.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Tables so wide that the words of a row of tiles would fill the device: column parts, one launch each, that take over
/// the last column of the part before. Host-only.
namespace boxsum::cuda {

/// Columns of a part. A row of tiles has some 21 bytes of words a column, and each of its tiles looks at as many others
/// as the square root of their number: of a row of 2^32 pixels words took 90 GB, of its parts 22 MB. A multiple of 16,
/// so that all parts start alike.
// H100, 13.0, 8u32u, parts of 2^22 and the whole at once: 64 x 2^24 0.58, 1000 x 2^23 0.78, 1 x 2^28 0.15
#ifdef BOXSUM_EMULATED
inline constexpr std::int64_t part_cols = std::int64_t{1} << 13;
#else
inline constexpr std::int64_t part_cols = std::int64_t{1} << 20;
#endif

struct column_parts {
    std::int64_t sums;  ///< columns of the whole table without a border

    explicit column_parts(const sat_geometry& g) : sums(g.cols - g.origin) {}

    std::int64_t count() const { return std::max<std::int64_t>(1, (sums + part_cols - 1) / part_cols); }

    /// The table's, from sum k * part_cols on. Its border is the last column of the part before.
    sat_geometry part(const sat_geometry& g, std::int64_t k) const {
        if (count() == 1) return g;
        sat_geometry of_part = g;
        of_part.cols = std::min(part_cols, sums - k * part_cols) + g.origin;
        if (k == 0) return of_part;
        of_part.carries.left_row_stride = g.table_row_stride;
        of_part.carries.left_plane_stride = g.table_plane_stride;
        of_part.carries.has_corner = true;  // where there is anything above
        return of_part;
    }
};

/// Two parts or more.
class prepared_columns final : public prepared_table {
  public:
    /// `prepare(geometry)`: a part's table.
    template <typename Prepare>
    prepared_columns(const sat_geometry& g, int pixel_bytes, int sum_bytes, const Prepare& prepare)
        : g_(g),
          parts_(g),
          pixel_bytes_(std::int64_t{pixel_bytes} * g.channels),
          sum_bytes_(std::int64_t{sum_bytes} * g.channels),
          first_(prepare(parts_.part(g, 0))),
          last_(prepare(parts_.part(g, parts_.count() - 1))) {
        if (parts_.count() > 2) middle_ = prepare(parts_.part(g, 1));
    }

    bool run(const table_memory& memory, const execution& how) const override {
        const std::int64_t last = parts_.count() - 1;
        if (!first_->run(memory, how)) return false;
        const auto* const image = static_cast<const std::byte*>(memory.image);
        const auto* const above = static_cast<const std::byte*>(memory.carries.above);
        auto* const table = static_cast<std::byte*>(memory.table);
        for (std::int64_t k = 1; k <= last; ++k) {
            const std::int64_t col = k * part_cols;
            table_memory part{image + col * pixel_bytes_, table + col * sum_bytes_};
            part.carries.left = table + g_.origin * g_.table_row_stride + (col + g_.origin - 1) * sum_bytes_;
            if (above != nullptr) part.carries.above = above + (col - (g_.carries.has_corner ? 0 : 1)) * sum_bytes_;
            if (!(k == last ? last_ : middle_)->run(part, how)) return false;
        }
        return true;
    }

  private:
    sat_geometry g_;
    column_parts parts_;
    std::int64_t pixel_bytes_, sum_bytes_;  ///< of all channels
    std::unique_ptr<const prepared_table> first_, middle_, last_;
};

}  // namespace boxsum::cuda
