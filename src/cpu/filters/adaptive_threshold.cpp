#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/thresholds.hpp"
#include "cpu/filters/write_row.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace boxsum::filters {
namespace {

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
void threshold(const row_job& job, const threshold_job& formula, const any_view& result) {
    std::vector<extremes> planes;
    if (formula.method == threshold_method::wolf) planes = find_extremes<Pixel>(job);
    for_each_band(job, [&](const band& b, int) {
        threshold_rows<Pixel> rows(job, formula, planes.empty() ? nullptr : &planes[static_cast<std::size_t>(b.plane)],
                                   result, b.plane);
        const auto decide = [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean,
                                const f64* deviation) { rows.write(row, first, n, mean, deviation); };
        if (formula.of_means())
            means<Pixel>(job, b, [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean) {
                decide(row, first, n, mean, nullptr);
            });
        else
            deviations<Pixel>(job, b, decide);
    });
}

}  // namespace

void adaptive_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    if (job.sampled()) return sampled_threshold(job, formula, outputs);
    write_counts(job, outputs.count);
    visit_image_type(job.shape.type, [&]<typename Pixel>() { threshold<Pixel>(job, formula, outputs.result); });
}

}  // namespace boxsum::filters
