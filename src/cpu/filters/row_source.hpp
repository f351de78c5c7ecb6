#pragma once

#include "cpu/filters/row_job.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace boxsum::filters {

/// Rows of one plane as sums take them: the image's own, or what a mask makes of them.
template <typename T>
class row_source {
  public:
    virtual ~row_source() = default;
    /// Row `row` of the whole image; of floating images also -1, the row beyond a constant border. The last two rows
    /// that were asked for live, of floating ones the last sixteen.
    virtual const T* row(std::int64_t row) = 0;
    /// Rows that are far apart are streams that begin anew with every row, too short for the hardware to follow.
    virtual void fetch(std::int64_t) {}
};

template <typename T>
class image_rows final : public row_source<T> {
  public:
    image_rows(const row_job& job, std::int64_t plane) : job_(job), plane_(plane) {
        if constexpr (std::is_floating_point_v<T>)
            if (job.rows.border == border_mode::constant) {
                constant_ = work_buffer<T>(job.n());
                std::fill_n(constant_.data(), job.n(), static_cast<T>(job.border_value));
            }
    }

    const T* row(std::int64_t row) override { return row < 0 ? constant_.data() : job_.pixels<T>(row, plane_); }

    void fetch(std::int64_t row) override {
        if (row >= 0) fetch_lines(job_.pixels<T>(row, plane_), job_.n() * static_cast<std::int64_t>(sizeof(T)));
    }

  private:
    const row_job& job_;
    std::int64_t plane_;
    work_buffer<T> constant_;
};

}  // namespace boxsum::filters
