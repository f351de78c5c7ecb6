#include "core/exhausted_memory.hpp"
#include "cpu/filters/box_filter.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/filter_checks.hpp"

#include <boxsum/filters.hpp>

#include <algorithm>

namespace boxsum {
namespace filters {
namespace {

void write(const row_job& job, const any_view& result, const f64* values, std::int64_t row, std::int64_t first,
           std::int64_t n, std::int64_t plane) {
    if (result.shape.type == dtype::f32)
        job.kernels->block.convert_32f(row_of<f32>(result, row, plane) + first, values, n);
    else
        std::copy_n(values, n, row_of<f64>(result, row, plane) + first);
}

template <typename Pixel>
void statistics_band(const row_job& job, const local_statistics_results& results, const band& b) {
    work_buffer<f64> deviation(job.n());
    moments<Pixel>(job, b,
                   [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean, const f64* variance) {
                       if (results.mean) write(job, *results.mean, mean, row, first, n, b.plane);
                       if (results.variance) write(job, *results.variance, variance, row, first, n, b.plane);
                       if (!results.deviation) return;
                       job.kernels->block.square_root(deviation.data(), variance, n);
                       write(job, *results.deviation, deviation.data(), row, first, n, b.plane);
                   });
}

}  // namespace
}  // namespace filters

void local_statistics(const const_any_view& image, const local_statistics_results& results,
                      const local_statistics_options& options) try {
    const window_radius radius = filters::check_window(options.window);
    const filters::row_job job(
        filters::make_window_job(image, radius, options.border, options.border_value, options.threads));
    filters::check_statistics_results(image, results);
    if (results.variance || results.deviation) filters::check_variance_window(radius, options.border, image.shape);

    local_statistics_results rest = results;
    // Rounding half up needs the sum itself: a mean in double just below a half would round up. And an integer image's
    // mean alone needs no squares. (A floating image's is that of the variance, whatever else is asked for.)
    if (rest.mean && !is_floating(image.shape.type) &&
        (!is_floating(rest.mean->shape.type) || (!rest.variance && !rest.deviation))) {
        filters::box_filter(job, *rest.mean);
        rest.mean.reset();
    }
    if (!rest.mean && !rest.variance && !rest.deviation) return;
    filters::visit_image_type(image.shape.type, [&]<typename Pixel>() {
        filters::for_each_band(job,
                               [&](const filters::band& b, int) { filters::statistics_band<Pixel>(job, rest, b); });
    });
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
