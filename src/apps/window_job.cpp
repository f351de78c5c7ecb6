#include "apps/window_job.hpp"

#include "apps/filter_checks.hpp"

namespace boxsum::apps {

double border_pixel(double border_value, dtype image) {
    return image == dtype::f32 ? static_cast<double>(static_cast<float>(border_value)) : border_value;
}

window_job make_window_job(const const_any_view& image, window_radius radius, border_mode border, double border_value,
                           int threads) {
    check_image(image);
    check_border(border, border_value, image.shape.type);
    check_radius(radius, border, image.shape);
    check_threads(threads);
    const view_shape& s = image.shape;
    // A cut window never reaches further than the image, so the radius may be anything; elsewhere it is bounded by
    // check_radius.
    window_job job;
    job.image = image;
    job.rows = window_axis(s.rows, border == border_mode::shrink ? std::min(radius.rows, s.rows) : radius.rows, border);
    job.cols = window_axis(s.cols, border == border_mode::shrink ? std::min(radius.cols, s.cols) : radius.cols, border);
    job.border_value = border_pixel(border_value, s.type);
    job.largest_window = largest_window(radius, border, s);
    job.threads = used_threads(threads, s.planes * s.rows * s.cols * s.channels);
    job.kernels = &rows_of_this_machine();
    return job;
}

void for_each_band(const window_job& job, const std::function<void(const band&, int thread)>& work) {
    for_each_band(job.image.shape.planes, job.image.shape.rows, job.threads, work);
}

}  // namespace boxsum::apps
