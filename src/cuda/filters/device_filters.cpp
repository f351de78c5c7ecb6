#include "core/view_checks.hpp"
#include "cuda/filters/device_strips.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>

#include <vector>

namespace boxsum::cuda {
namespace {

filters::part part_of(const filter_inputs& inputs) {
    return {inputs.image.shape, inputs.at, inputs.whole};
}

std::optional<view_shape> shape_of(const any_view& result) {
    if (result.data == nullptr) return {};
    return result.shape;
}

void check_image(const const_any_view& image) {
    (void)current_device();  // without a device that is the first thing to say
    check_view("image", image);
}

window_filter means_of(const filters::window_job& windows) {
    return {.windows = windows,
            .consume = [](const filter_step& at) { enqueue_means(at.task, at.results[0], at.stream); }};
}

}  // namespace

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                const filter_options& options) {
    check_image(inputs.image);
    const filters::window_job job = filters::box_filter_job(part_of(inputs), outputs.result.shape, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute(means_of(job), {inputs.image, {outputs.result}}, stream);
}

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, stream_ref stream,
                      const filter_options& options) {
    check_image(inputs.image);
    const filters::window_job job = filters::statistics_job(
        part_of(inputs), {shape_of(outputs.mean), shape_of(outputs.variance), shape_of(outputs.deviation)}, options);
    filters::check_results({{"image", inputs.image}},
                           {{"mean", outputs.mean}, {"variance", outputs.variance}, {"deviation", outputs.deviation}});

    // As on the CPU: a mean alone needs no squares, and a rounded one needs the sum itself.
    window_outputs rest = outputs;
    const bool spread = outputs.variance.data != nullptr || outputs.deviation.data != nullptr;
    if (outputs.mean.data != nullptr && (!spread || !is_floating(outputs.mean.shape.type))) {
        execute(means_of(job), {inputs.image, {outputs.mean}}, stream);
        rest.mean = {};
    }
    if (!spread) return;
    std::vector<any_view> wanted;
    for (const any_view& r : {rest.mean, rest.variance, rest.deviation})
        if (r.data != nullptr) wanted.push_back(r);
    execute({.windows = job,
             .squares = true,
             .consume =
                 [&](const filter_step& at) {
                     window_results to;
                     std::size_t next = 0;
                     if (rest.mean.data != nullptr) to.mean = at.results[next++];
                     if (rest.variance.data != nullptr) to.variance = at.results[next++];
                     if (rest.deviation.data != nullptr) to.deviation = at.results[next++];
                     enqueue_statistics(at.task, to, at.stream);
                 }},
            {inputs.image, wanted}, stream);
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                        const threshold_rule& rule, const filter_options& options) {
    check_image(inputs.image);
    const filters::threshold_job job =
        filters::make_threshold_job(part_of(inputs), outputs.result.shape, rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute({.windows = job.windows,
             .squares = job.method != threshold_method::bradley,
             .extremes = job.method == threshold_method::wolf,
             .consume =
                 [&](const filter_step& at) {
                     enqueue_threshold(at.task, at.results[0], job.method, job.k, job.range, at.extremes, at.stream);
                 }},
            {inputs.image, {outputs.result}}, stream);
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                    const contrast_rule& rule, const filter_options& options) {
    check_image(inputs.image);
    const filters::contrast_job job = filters::make_contrast_job(part_of(inputs), outputs.result.shape, rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute(
        {.windows = job.windows,
         .squares = true,
         .consume = [&](const filter_step& at) { enqueue_contrast(at.task, at.results[0], job.epsilon, at.stream); }},
        {inputs.image, {outputs.result}}, stream);
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                         const filter_options& options) {
    check_image(inputs.image);
    check_view("radius", inputs.radius);
    const filters::part given{inputs.image.shape, inputs.at, inputs.whole};
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const std::int64_t found = check_radii(inputs.radius, inputs.largest_radius, stream);
    const filters::window_job job = filters::variable_job(given, inputs.radius.shape, outputs.result.shape,
                                                          inputs.largest_radius.value_or(found), options);
    filters::check_results({{"image", inputs.image}, {"radius", inputs.radius}}, {{"result", outputs.result}});
    execute({.windows = job,
             .consume =
                 [](const filter_step& at) { enqueue_variable_means(at.task, at.radius, at.results[0], at.stream); }},
            {inputs.image, {outputs.result}, inputs.radius}, stream);
}

}  // namespace boxsum::cuda
