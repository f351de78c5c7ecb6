#pragma once

#include "cpu/filters/row_job.hpp"
#include "cpu/filters/write_row.hpp"
#include "filters/filter_jobs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>

namespace boxsum::filters {

/// Wolf's terms of a plane, by channel. NaN compares false and so does not count.
struct extremes {
    std::array<f64, 4> largest_deviation = {0, 0, 0, 0};
    std::array<f64, 4> smallest_pixel;

    extremes() { smallest_pixel.fill(std::numeric_limits<f64>::infinity()); }

    void include(const extremes& other) {
        for (std::size_t k = 0; k < 4; ++k) {
            largest_deviation[k] = std::max(largest_deviation[k], other.largest_deviation[k]);
            smallest_pixel[k] = std::min(smallest_pixel[k], other.smallest_pixel[k]);
        }
    }
};

/// Writes the results of a threshold for rows of a plane, or pieces of them, from their windows.
template <typename Pixel>
class threshold_rows {
  public:
    /// `wolf`: null for other methods.
    threshold_rows(const row_job& job, const threshold_job& formula, const extremes* wolf, const any_view& result,
                   std::int64_t plane)
        : job_(job),
          terms_{formula.method, formula.k, formula.range, formula.p, formula.q, nullptr, nullptr},
          output_(formula.output),
          result_(result),
          plane_(plane),
          limits_(job.n()) {
        if (wolf == nullptr) return;
        terms_.largest_deviation = wolf->largest_deviation.data();
        terms_.smallest_pixel = wolf->smallest_pixel.data();
    }

    /// Elements first .. first + n - 1 of a row, which begin with channel 0.
    void write(std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean, const f64* deviation) {
        const std::int64_t channels = job_.shape.channels;
        const Pixel* const x = job_.pixels<Pixel>(row, plane_) + first;
        kernels_.thresholds(limits_.data(), x, mean, deviation, terms_, n / channels, channels);
        if (output_ == threshold_output::threshold)
            write_row(job_, result_, limits_.data(), row, first, n, plane_);
        else
            kernels_.exceeds(job_.row_to<u8>(result_, row, plane_) + first, x, limits_.data(),
                             output_ == threshold_output::zero_one ? 1 : 255, n);
    }

  private:
    const row_job& job_;
    threshold_terms terms_;
    threshold_output output_;
    any_view result_;
    std::int64_t plane_;
    work_buffer<f64> limits_;
    const pixel_kernels<Pixel>& kernels_ = std::get<pixel_kernels<Pixel>>(job_.kernels->pixel);
};

}  // namespace boxsum::filters
