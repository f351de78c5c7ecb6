#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"

#include <algorithm>

namespace boxsum::filters {
namespace {

void write(const row_job& job, const any_view& result, const f64* values, std::int64_t row, std::int64_t first,
           std::int64_t n, std::int64_t plane) {
    if (result.data == nullptr) return;
    if (result.shape.type == dtype::f32)
        job.kernels->block.convert_32f(job.row_to<f32>(result, row, plane) + first, values, n);
    else
        std::copy_n(values, n, job.row_to<f64>(result, row, plane) + first);
}

template <typename Pixel>
void statistics_band(const row_job& job, const window_outputs& results, const band& b) {
    work_buffer<f64> deviation(job.n());
    moments<Pixel>(job, b,
                   [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean, const f64* variance) {
                       write(job, results.mean, mean, row, first, n, b.plane);
                       write(job, results.variance, variance, row, first, n, b.plane);
                       if (results.deviation.data == nullptr) return;
                       job.kernels->block.square_root(deviation.data(), variance, n);
                       write(job, results.deviation, deviation.data(), row, first, n, b.plane);
                   });
}

}  // namespace

void local_statistics(const row_job& job, const window_outputs& results) {
    window_outputs rest = results;
    const bool spread = results.variance.data != nullptr || results.deviation.data != nullptr;
    // A mean alone needs no squares. And rounding half up needs the sum itself: a mean in double just below a half
    // would round up.
    if (results.mean.data != nullptr && (!spread || !is_floating(results.mean.shape.type))) {
        box_filter(job, results.mean);
        rest.mean = {};
    }
    if (!spread) return;
    visit_image_type(job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) { statistics_band<Pixel>(job, rest, b); });
    });
}

}  // namespace boxsum::filters
