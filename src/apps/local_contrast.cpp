#include "apps/filter_checks.hpp"
#include "apps/moments.hpp"
#include "core/exhausted_memory.hpp"

#include <boxsum/filters.hpp>

namespace boxsum {

void local_contrast(const const_any_view& image, const any_view& result, const local_contrast_options& options) try {
    const window_radius radius = apps::check_window(options.window);
    apps::check_positive("epsilon", options.epsilon);
    const apps::window_job job =
        apps::make_window_job(image, radius, options.border, options.border_value, options.threads);
    apps::check_variance_window(radius, options.border, image.shape);
    apps::check_result("result", result, image, {dtype::f32});
    apps::visit_image_type(image.shape.type, [&]<typename Pixel>() {
        const auto& kernels = std::get<apps::pixel_kernels<Pixel>>(job.kernels->pixel);
        apps::for_each_band(job, [&](const apps::band& b, int) {
            apps::deviations<Pixel>(
                job, b,
                [&](std::int64_t row, std::int64_t first, std::int64_t n, const double* mean, const double* deviation) {
                    kernels.contrast(apps::row_of<float>(result, row, b.plane) + first,
                                     apps::row_of<Pixel>(image, row, b.plane) + first, mean, deviation, options.epsilon,
                                     n);
                });
        });
    });
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
