#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <vector>

namespace boxsum::filters {
namespace {

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

template <typename Pixel>
std::vector<extremes> find_extremes(const row_job& job) {
    const view_shape& s = job.shape;
    std::vector<extremes> planes(static_cast<std::size_t>(s.planes));
    std::mutex joining;
    for_each_band(job, [&](const band& b, int) {
        extremes mine;
        deviations<Pixel>(job, b,
                          [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64*, const f64* deviation) {
                              const Pixel* x = job.pixels<Pixel>(row, b.plane) + first;
                              for (std::int64_t k = 0; k < s.channels; ++k) {
                                  f64 largest = mine.largest_deviation[static_cast<std::size_t>(k)];
                                  f64 smallest = mine.smallest_pixel[static_cast<std::size_t>(k)];
                                  for (std::int64_t i = k; i < n; i += s.channels) {
                                      largest = deviation[i] > largest ? deviation[i] : largest;
                                      smallest = static_cast<f64>(x[i]) < smallest ? static_cast<f64>(x[i]) : smallest;
                                  }
                                  mine.largest_deviation[static_cast<std::size_t>(k)] = largest;
                                  mine.smallest_pixel[static_cast<std::size_t>(k)] = smallest;
                              }
                          });
        const std::lock_guard lock(joining);
        planes[static_cast<std::size_t>(b.plane)].include(mine);
    });
    return planes;
}

template <typename Pixel>
void threshold(const row_job& job, const any_view& result, threshold_method method, f64 k, f64 range) {
    const auto& kernels = std::get<pixel_kernels<Pixel>>(job.kernels->pixel);
    const view_shape& s = job.shape;
    std::vector<extremes> planes;
    if (method == threshold_method::wolf) planes = find_extremes<Pixel>(job);
    for_each_band(job, [&](const band& b, int) {
        threshold_terms terms{method, k, range, nullptr, nullptr};
        if (!planes.empty()) {
            const extremes& e = planes[static_cast<std::size_t>(b.plane)];
            terms.largest_deviation = e.largest_deviation.data();
            terms.smallest_pixel = e.smallest_pixel.data();
        }
        const auto decide = [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean,
                                const f64* deviation) {
            kernels.threshold(job.row_to<u8>(result, row, b.plane) + first, job.pixels<Pixel>(row, b.plane) + first,
                              mean, deviation, terms, n / s.channels, s.channels);
        };
        if (method == threshold_method::bradley)
            means<Pixel>(job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean) {
                decide(row, first, n, mean, nullptr);
            });
        else
            deviations<Pixel>(job, b, decide);
    });
}

}  // namespace

void adaptive_threshold(const row_job& job, const threshold_job& formula, const any_view& result) {
    visit_image_type(job.shape.type, [&]<typename Pixel>() {
        threshold<Pixel>(job, result, formula.method, formula.k, formula.range);
    });
}

}  // namespace boxsum::filters
