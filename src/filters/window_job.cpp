#include "filters/window_job.hpp"

#include "filters/filter_checks.hpp"

namespace boxsum::filters {

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
    job.threads = threads;
    return job;
}

}  // namespace boxsum::filters
