#include "core/exhausted_memory.hpp"
#include "cpu/filters/moments.hpp"
#include "filters/filter_checks.hpp"

#include <boxsum/filters.hpp>

namespace boxsum {

void local_contrast(const const_any_view& image, const any_view& result, const local_contrast_options& options) try {
    const window_radius radius = filters::check_window(options.window);
    filters::check_positive("epsilon", options.epsilon);
    const filters::row_job job(
        filters::make_window_job(image, radius, options.border, options.border_value, options.threads));
    filters::check_variance_window(radius, options.border, image.shape);
    filters::check_result("result", result, image, {dtype::f32});
    filters::visit_image_type(image.shape.type, [&]<typename Pixel>() {
        const auto& kernels = std::get<filters::pixel_kernels<Pixel>>(job.kernels->pixel);
        filters::for_each_band(job, [&](const filters::band& b, int) {
            filters::deviations<Pixel>(
                job, b,
                [&](std::int64_t row, std::int64_t first, std::int64_t n, const double* mean, const double* deviation) {
                    kernels.contrast(filters::row_of<float>(result, row, b.plane) + first,
                                     filters::row_of<Pixel>(image, row, b.plane) + first, mean, deviation,
                                     options.epsilon, n);
                });
        });
    });
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
