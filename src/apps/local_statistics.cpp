#include "apps/box_filter.hpp"
#include "apps/filter_checks.hpp"
#include "apps/moments.hpp"
#include "core/exhausted_memory.hpp"

#include <boxsum/filters.hpp>

#include <algorithm>

namespace boxsum {
namespace apps {
namespace {

void write(const window_job& job, const any_view& result, const f64* values, std::int64_t row, std::int64_t first,
           std::int64_t n, std::int64_t plane) {
    if (result.shape.type == dtype::f32)
        job.kernels->block.convert_32f(row_of<f32>(result, row, plane) + first, values, n);
    else
        std::copy_n(values, n, row_of<f64>(result, row, plane) + first);
}

template <typename Pixel>
void statistics_band(const window_job& job, const local_statistics_results& results, const band& b) {
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
}  // namespace apps

void local_statistics(const const_any_view& image, const local_statistics_results& results,
                      const local_statistics_options& options) try {
    const window_radius radius = apps::check_window(options.window);
    const apps::window_job job =
        apps::make_window_job(image, radius, options.border, options.border_value, options.threads);
    apps::check_statistics_results(image, results);
    if (results.variance || results.deviation) apps::check_variance_window(radius, options.border, image.shape);

    local_statistics_results rest = results;
    // Rounding half up needs the sum itself: a mean in double just below a half would round up. And an integer image's
    // mean alone needs no squares. (A floating image's is that of the variance, whatever else is asked for.)
    if (rest.mean && !is_floating(image.shape.type) &&
        (!is_floating(rest.mean->shape.type) || (!rest.variance && !rest.deviation))) {
        apps::box_filter(job, *rest.mean);
        rest.mean.reset();
    }
    if (!rest.mean && !rest.variance && !rest.deviation) return;
    apps::visit_image_type(image.shape.type, [&]<typename Pixel>() {
        apps::for_each_band(job, [&](const apps::band& b, int) { apps::statistics_band<Pixel>(job, rest, b); });
    });
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
