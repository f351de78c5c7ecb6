#include "cuda/filters/device_strips.hpp"
#include "filters/filter_checks.hpp"
#include "filters/radius_map.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/memory.hpp>

#include <vector>

namespace boxsum::cuda {
namespace {

using filters::window_job;

window_job checked_job(const const_any_view& image, window_radius radius, border_mode border, double border_value) {
    (void)current_device();  // without a device that is the first thing to say
    return filters::make_window_job(image, radius, border, border_value, 1);
}

void execute_means(const window_job& job, const any_view& result, stream_ref stream) {
    execute({.job = job,
             .results = {result},
             .consume = [](const filter_step& at) { enqueue_means(at.task, at.results[0], at.stream); }},
            stream);
}

}  // namespace

void box_filter(const const_any_view& image, const any_view& result, const box_filter_options& options,
                stream_ref stream) {
    const window_job job = checked_job(image, options.radius, options.border, options.border_value);
    filters::check_result("result", result, image, {image.shape.type, dtype::f32, dtype::f64});
    execute_means(job, result, stream);
}

void local_statistics(const const_any_view& image, const local_statistics_results& results,
                      const local_statistics_options& options, stream_ref stream) {
    const window_radius radius = filters::check_window(options.window);
    const window_job job = checked_job(image, radius, options.border, options.border_value);
    filters::check_statistics_results(image, results);
    if (results.variance || results.deviation) filters::check_variance_window(radius, options.border, image.shape);

    // As on the CPU: a rounded mean needs the sum itself, and a mean alone needs no squares.
    local_statistics_results rest = results;
    if (rest.mean && (!is_floating(rest.mean->shape.type) || (!rest.variance && !rest.deviation))) {
        execute_means(job, *rest.mean, stream);
        rest.mean.reset();
    }
    std::vector<any_view> wanted;
    for (const auto& r : {rest.mean, rest.variance, rest.deviation})
        if (r) wanted.push_back(*r);
    if (wanted.empty()) return;
    execute({.job = job,
             .results = wanted,
             .squares = true,
             .consume =
                 [&](const filter_step& at) {
                     window_results to;
                     std::size_t next = 0;
                     if (rest.mean) to.mean = at.results[next++];
                     if (rest.variance) to.variance = at.results[next++];
                     if (rest.deviation) to.deviation = at.results[next++];
                     enqueue_statistics(at.task, to, at.stream);
                 }},
            stream);
}

void adaptive_threshold(const const_any_view& image, const any_view& result, const threshold_options& options,
                        stream_ref stream) {
    const filters::threshold_values values = filters::check_threshold(image, result, options);
    const window_job job = checked_job(image, values.radius, options.border, options.border_value);
    const bool wolf = options.method == threshold_method::wolf;
    device_buffer extremes;
    if (wolf) extremes = device_buffer(sizeof(window_extremes), stream);
    auto* const of_plane = static_cast<window_extremes*>(extremes.data());
    if (wolf) stream.synchronize();  // host images use other streams
    filter_run run{.job = job, .results = {result}, .squares = true, .consume = {}};
    if (wolf)
        run.before = [&](const filter_step& at) {
            enqueue_clear_extremes(of_plane, at.stream);
            enqueue_extremes(at.task, of_plane, at.stream);
        };
    run.consume = [&](const filter_step& at) {
        enqueue_threshold(at.task, at.results[0], options.method, values.k, values.range, of_plane, at.stream);
    };
    execute(run, stream);
}

void local_contrast(const const_any_view& image, const any_view& result, const local_contrast_options& options,
                    stream_ref stream) {
    const window_radius radius = filters::check_window(options.window);
    filters::check_positive("epsilon", options.epsilon);
    const window_job job = checked_job(image, radius, options.border, options.border_value);
    filters::check_variance_window(radius, options.border, image.shape);
    filters::check_result("result", result, image, {dtype::f32});
    execute({.job = job,
             .results = {result},
             .squares = true,
             .consume =
                 [&](const filter_step& at) { enqueue_contrast(at.task, at.results[0], options.epsilon, at.stream); }},
            stream);
}

void variable_box_filter(const const_any_view& image, const const_any_view& radius, const any_view& result,
                         const variable_box_filter_options& options, stream_ref stream) {
    (void)current_device();  // without a device that is the first thing to say
    filters::check_image(image);
    filters::check_border(options.border, options.border_value, image.shape.type);
    filters::check_result("result", result, image, {image.shape.type, dtype::f32, dtype::f64});
    filters::check_radius_map(radius, image.shape);
    filters::check_disjoint("result", result, "radius", radius);
    const std::int64_t largest = check_radii(radius, stream);
    const window_job job = checked_job(image, {largest, largest}, options.border, options.border_value);
    execute(
        {.job = job,
         .results = {result},
         .consume = [](const filter_step& at) { enqueue_variable_means(at.task, at.radius, at.results[0], at.stream); },
         .radius = radius},
        stream);
}

}  // namespace boxsum::cuda
